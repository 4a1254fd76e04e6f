"""Controls of TGA's figure 2: its classifier with one of the three parts of its attention taken away."""

import math
from typing import Literal

import torch
from torch import Tensor
from torch import nn as torch_nn

from multiway import nn, ops
from multiway.models import TGATextClassifier, TGATextClassifierConfig


class TGAControlConfig(TGATextClassifierConfig):
    """Everything needed to rebuild a `TGAControl`; saved inside each run."""

    control: Literal["no_time", "trains", "filter"]
    """(I + Θ) V, whose graph knows no time; dot-product attention whose weights are tensor trains; (I + Ω) X, the
    filter of TGA's section 2 without attention."""


class ControlAttention(torch_nn.Module):
    r"""What stands in the place of graph attention, $(I + \Omega \odot \Theta)\, V$.

    $$\text{no time: } (I + \Theta)\, V \qquad \text{trains: } \mathrm{softmax}(Q K^\top / \sqrt{d})\, V \qquad
      \text{filter: } (I + \Omega)\, X$$

    Q, K and V are tensor trains as in TGA's algorithm 1, with one head; the filter has no weights.

    Shape:
        `(..., length, dim)` in and out; `valid` is `(..., length)`, True for words that are there.
    """

    def __init__(self, config: TGAControlConfig) -> None:
        super().__init__()
        self.control, self.damping = config.control, config.attention.damping
        count = {"no_time": 2, "trains": 3, "filter": 0}[config.control]
        sizes, rank = config.attention_sizes, config.attention.rank
        self.maps = torch_nn.ModuleList(nn.TTLinear(sizes, sizes, tt_ranks=rank, bias=False) for _ in range(count))

    def forward(self, x: Tensor, *, valid: Tensor) -> Tensor:
        """Mix the words that are there; absent ones are zero."""
        words = torch.where(valid[..., None], x, 0)
        mapped = [layer(words) for layer in self.maps]
        if self.control == "filter":
            time = ops.time_adjacency(x.shape[-2], self.damping, device=x.device, dtype=x.dtype)
            mixed = ops.graph_filter(words, time)
        elif self.control == "no_time":
            key, value = mapped
            mixed = ops.graph_filter(value, ops.content_adjacency(key))
        else:
            query, key, value = mapped
            scores = query @ key.mT / math.sqrt(key.shape[-1])
            mixed = ops.masked_softmax(scores, valid[..., None, :]) @ value
        return torch.where(valid[..., None], mixed, 0)


class TGAControl(TGATextClassifier):
    """`TGATextClassifier` with a `ControlAttention` in every block; all else is as there."""

    has_graphs = False

    def __init__(self, config: TGAControlConfig) -> None:
        super().__init__(config)
        for axis in range(len(self.axes)):
            for block in self.blocks_of(axis):
                block.attention = ControlAttention(config)
