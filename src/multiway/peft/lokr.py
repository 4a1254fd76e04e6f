"""PEFT's LoKr of a dense layer, with the same parameters and files, computed without forming its weight."""

from typing import Any

import torch
from jaxtyping import Float
from peft.tuners.lokr.layer import Linear
from torch import Tensor

from multiway import ops


class KroneckerLinear(Linear):  # type: ignore[misc]  # PEFT's classes are not typed
    r"""A Kronecker adapter, $y = W x + s \, (A \otimes B) x$, whose second product is taken mode by mode.

    PEFT 0.21 forms $A \otimes B$, as large as W, in each call. Here x is a matrix X of the two modes, and
    $A X B^\top$ costs as much as two small layers. `merge`, files and settings are those of `peft.LoKrConfig`.
    """

    def _get_delta_activations(self, adapter_name: str, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """What the adapter adds to the outputs; PEFT's name and arguments."""
        left, right = self._factors(adapter_name)
        x = self._cast_input_dtype(input, left.dtype)
        added = kronecker_rows(x, left * self.scaling[adapter_name], right)
        if self.training and self.rank_dropout[adapter_name]:
            added = added * self._kept_outputs(adapter_name, added)
        return added

    def _factors(self, adapter_name: str) -> tuple[Tensor, Tensor]:
        """A and B; either may be a product of two thin matrices."""
        left, right = (
            whole[adapter_name] if adapter_name in whole else down[adapter_name] @ up[adapter_name]
            for whole, down, up in (
                (self.lokr_w1, self.lokr_w1_a, self.lokr_w1_b),
                (self.lokr_w2, self.lokr_w2_a, self.lokr_w2_b),
            )
        )
        return left, right

    def _kept_outputs(self, adapter_name: str, like: Tensor) -> Tensor:
        """Which outputs the dropout keeps: PEFT drops rows of the weight, drawn in the same way."""
        kept = (torch.rand(self.out_features) > self.rank_dropout[adapter_name]).float()
        scaled: Tensor = kept / kept.mean() if self.rank_dropout_scale[adapter_name] else kept
        return scaled.to(like)


def kronecker_rows(
    x: Float[Tensor, "*lead in"], left: Float[Tensor, "a c"], right: Float[Tensor, "b d"]
) -> Float[Tensor, "*lead out"]:
    """Multiply the last axis by left ⊗ right, without forming it."""
    rows = x.reshape(-1, left.shape[1], right.shape[1])
    out: Tensor = ops.nd_linear(rows, [left, right], [])
    return out.reshape(*x.shape[:-1], -1)
