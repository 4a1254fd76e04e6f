"""Activations by name."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor
from torch.nn import functional as F

Activation = Literal["relu", "gelu", "silu"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
