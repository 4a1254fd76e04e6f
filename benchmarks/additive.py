"""Additive attention beside the same layer in ops of torch, and beside dot-product attention."""

from collections.abc import Iterator

import torch
from torch import Tensor

from benchmarks.comparison import Comparison, measure
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


def check(ours: mnn.AdditiveAttention, plain: mnn.AdditiveAttention, x: Tensor) -> None:
    """Refuse to time what is wrong, in float32, as the compiled scores are of no other numbers."""
    answers, gradients = [], []
    for layer in (ours, plain):
        leaf = x.clone().requires_grad_()
        answers.append(layer(leaf))
        gradients.append(torch.autograd.grad(answers[-1].square().sum(), [leaf, layer.score]))
    torch.testing.assert_close(answers[0], answers[1], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-3, atol=1e-4)


def run(repeats: int, names: list[str] | None) -> Iterator[dict[str, object]]:
    """Rows of every shape."""
    for name, (batch, length, dim) in SHAPES.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        ours, plain = mnn.AdditiveAttention(dim), Plain(dim)
        plain.load_state_dict(ours.state_dict())
        check(ours, plain, torch.randn(2, min(length, 50), dim))
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
