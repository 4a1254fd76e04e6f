"""An encoder of tokens that is trained together with its head, and means over the words that are there."""

from torch import Tensor, nn


class TunedText(nn.Module):
    """An encoder of tokens with a head on the mean of its last layer, trained together.

    Args:
        encoder: A network of transformers' kind: `input_ids` and `attention_mask` to `last_hidden_state`.
        head: On vectors of its width.

    Shape:
        Ids `(batch, tokens)`, one more than the tokenizer's, 0 where a text has ended; output `(batch, num_classes)`.
    """

    def __init__(self, encoder: nn.Module, head: nn.Module) -> None:
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
