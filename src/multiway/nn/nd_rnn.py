"""A recurrent layer whose steps and states are tensors: both maps of its cell are mode-wise."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from multiway.errors import ShapeError
from multiway.nn.nd_linear import NdLinear


class NdRNN(nn.Module):
    r"""An Elman network whose maps from step to state and from state to state are `NdLinear`.

    $$H_t = \tanh\big(\mathrm{NdLinear}_x(X_t) + \mathrm{NdLinear}_h(H_{t-1})\big), \qquad H_0 = 0$$

    NdLinear, section 3.3, which has no formula: a structured step is mapped to the hidden state without flattening it.
    With one mode this is `torch.nn.RNN` of one layer with `tanh`, whose `weight_ih_l0` is `from_step.weights[0]`.

    Args:
        in_sizes: Size of each mode of a step.
        hidden_sizes: Size of each mode of the state.
        bias: As for `NdLinear`, of both maps.
        init: As for `NdLinear`.
        device: As for `torch.nn.RNN`.
        dtype: As for `torch.nn.RNN`.

    Shape:
        steps `(batch, time, *in_sizes)` and a state `(batch, *hidden_sizes)`; states of all steps
        `(batch, time, *hidden_sizes)` and the last of them.

    Raises:
        ShapeError: The two size lists differ in length, are empty, or hold a size below one.

    Cost: that of both maps for every step, one step after another.
    """

    def __init__(
        self,
        in_sizes: Sequence[int],
        hidden_sizes: Sequence[int],
        *,
        bias: bool | str = True,
        init: str = "variance",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"bias": bias, "init": init, "device": device, "dtype": dtype}
        self.from_step = NdLinear(in_sizes, hidden_sizes, **options)
        self.from_state = NdLinear(hidden_sizes, hidden_sizes, **options)

    def forward(
        self, steps: Float[Tensor, "batch time *in_sizes"], state: Float[Tensor, "batch *hidden_sizes"] | None = None
    ) -> tuple[Float[Tensor, "batch time *hidden_sizes"], Float[Tensor, "batch *hidden_sizes"]]:
        """States of all steps, and the last one."""
        self._check(steps, state)
        mapped = self.from_step(steps)
        if state is None:
            state = torch.zeros_like(mapped[:, 0])
        states = []
        for step in mapped.unbind(1):
            state = torch.tanh(step + self.from_state(state))
            states.append(state)
        return torch.stack(states, 1), states[-1]

    def _check(self, steps: Tensor, state: Tensor | None) -> None:
        sizes = self.from_step.in_sizes
        if steps.shape[2:] != sizes or steps.shape[1:2] in {(), (0,)}:
            raise ShapeError(
                f"NdRNN: steps must be (batch, time, {', '.join(map(str, sizes))}) with at least one step. "
                f"Got {tuple(steps.shape)}."
            )
        expected = (steps.shape[0], *self.from_state.in_sizes)
        if state is not None and state.shape != expected:
            raise ShapeError(f"NdRNN: the state must be {expected}. Got {tuple(state.shape)}.")
