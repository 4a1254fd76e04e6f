"""The one place for tolerances; the same on every machine."""

import torch
from torch import Tensor

TOLERANCES = {
    torch.float64: {"rtol": 1e-10, "atol": 1e-12},
    torch.float32: {"rtol": 1e-4, "atol": 1e-5},
    torch.bfloat16: {"rtol": 2e-2, "atol": 2e-2},
    torch.float16: {"rtol": 2e-3, "atol": 2e-3},
}


def assert_same(actual: Tensor, expected: Tensor) -> None:
    """Equal in shape and dtype, and in value to rounding of that dtype."""
    torch.testing.assert_close(actual, expected, **TOLERANCES[expected.dtype])
