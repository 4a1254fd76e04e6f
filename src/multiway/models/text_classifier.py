"""Classifiers of texts by the mean over their words: blocks trained from scratch, and an encoder that is tuned."""

import torch
from pydantic import Field
from torch import Tensor
from torch import nn as torch_nn

from multiway import nn
from multiway.config import Config
from multiway.errors import ShapeError
from multiway.models.registry import register
from multiway.models.transformer import BlockChoice, FeedForwardConfig, TransformerBlock


class TunedText(torch_nn.Module):
    """An encoder of tokens with a head on the mean of its last layer, trained together.

    Args:
        encoder: A network of transformers' kind: `input_ids` and `attention_mask` to `last_hidden_state`.
        head: On vectors of its width.

    Shape:
        Ids `(batch, tokens)`, one more than the tokenizer's, 0 where a text has ended; output `(batch, num_classes)`.
    """

    def __init__(self, encoder: torch_nn.Module, head: torch_nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the classes."""
        ids = without_tail(ids)
        keep = ids > 0
        hidden = self.encoder(input_ids=(ids - 1).clamp_min(0), attention_mask=keep.long()).last_hidden_state
        out: Tensor = self.head(masked_mean(hidden, keep))
        return out


def without_tail(ids: Tensor) -> Tensor:
    """Ids `(..., words)` without the columns behind the longest text of the batch; one stays."""
    return ids[..., : max(int((ids > 0).flatten(0, -2).any(0).sum()), 1)]


def masked_mean(tokens: Tensor, keep: Tensor) -> Tensor:
    """Mean over the tokens `(..., tokens, features)` that are there, `(..., features)`; zeros where none is."""
    weights = keep[..., None].to(tokens.dtype)
    return (tokens * weights).sum(-2) / weights.sum(-2).clamp_min(1)


class TextClassifierConfig(Config):
    """Everything needed to rebuild a `TextClassifier`; saved inside each run."""

    num_words: int = Field(gt=0)
    """Ids of words, that of padding (0) among them."""
    num_tokens: int = Field(gt=0)
    """Words of a text at most."""
    num_classes: int = Field(gt=1)
    dim: int = Field(64, gt=0)
    """Features of a word."""
    num_blocks: int = Field(1, ge=0)
    """Transformer blocks; 0 leaves the mean of the word vectors."""
    block: BlockChoice = BlockChoice(feed_forward=FeedForwardConfig(hidden=(128,)))
    """What a block is made of, its feed-forward among it."""
    dropout: float = Field(0.2, ge=0.0, lt=1.0)
    """Share dropped of word vectors and of the mean."""


class TextClassifier(torch_nn.Module):
    r"""Blocks over word vectors with positions, and a linear head on their mean.

    $$h_0 = E_{w} + P, \qquad h_l = \mathrm{Block}_l(h_{l-1}), \qquad y = W \operatorname{mean}_{t}(h_L) + b$$

    The feed-forward of the blocks is a choice (`models.transformer.FeedForwardConfig`): twins differ in it alone.

    Shape:
        Ids `(batch, words)`, 0 where a text has ended, at most `num_tokens` words; output `(batch, num_classes)`.
    """

    def __init__(self, config: TextClassifierConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = torch_nn.Embedding(config.num_words, config.dim, padding_idx=0)
        self.positions = torch_nn.Parameter(torch.empty(config.num_tokens, config.dim))
        self.blocks = torch_nn.ModuleList(TransformerBlock(config.dim, config.block) for _ in range(config.num_blocks))
        self.dropout = nn.Dropout(config.dropout)
        self.head = torch_nn.Linear(config.dim, config.num_classes)
        torch_nn.init.normal_(self.embedding.weight, std=0.1)  # small: training decides how large rare words become
        torch_nn.init.normal_(self.positions, std=0.02)
        with torch.no_grad():
            self.embedding.weight[0] = 0

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the classes."""
        if ids.ndim != 2 or ids.shape[1] > self.config.num_tokens:
            raise ShapeError(
                f"TextClassifier: ids must be (batch, words), of at most {self.config.num_tokens} words. "
                f"Got {tuple(ids.shape)}."
            )
        ids = without_tail(ids)
        keep = ids > 0
        x = self.dropout(self.embedding(ids) + self.positions[: ids.shape[1]]) * keep[..., None]
        for block in self.blocks:
            x = block(x, keep)
        out: Tensor = self.head(self.dropout(masked_mean(x, keep)))
        return out


register("text_classifier", TextClassifier)
