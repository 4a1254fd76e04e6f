"""Additive attention against the same layer in ops of torch, and against dot-product attention."""

from collections.abc import Iterator

import torch
from torch import Tensor

from benchmarks.comparison import Comparison, measure, same_answers
from multiway import nn as mnn

SHAPES = {
    "sentence 64 x 45 x 256": (64, 45, 256),
    "sentence 64 x 45 x 16": (64, 45, 16),
    "text 8 x 256 x 64": (8, 256, 64),
}


class Plain(mnn.AdditiveAttention):
    """All values of tanh at once."""

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """Σ w tanh(q_i + k_j)."""
        return torch.tanh(query[..., :, None, :] + key[..., None, :, :]) @ self.score[0]


def run(repeats: int, names: list[str] | None) -> Iterator[dict[str, object]]:
    """Rows of every shape."""
    for name, (batch, length, dim) in SHAPES.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        ours, plain = mnn.AdditiveAttention(dim), Plain(dim)
        plain.load_state_dict(ours.state_dict())
        same_answers(ours, plain, torch.randn(2, min(length, 50), dim))  # in float32, the compiled scores' only numbers
        case = Comparison(
            benchmark="additive",
            shape=name,
            facts={"batch": batch, "length": length, "dim": dim},
            layers={"ours": ours, "in torch": plain, "dot product": mnn.DotProductAttention(dim)},
            x=torch.randn(batch, length, dim),
            flops=2 * batch * length * dim * (3 * dim + 2 * length),  # matrix products; tanh comes on top
            traffic=2 * batch * length * dim,
        )
        yield from measure(case, repeats)
