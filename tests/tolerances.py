"""The one place for tolerances; the same on every machine."""

import numpy as np
import torch
from numpy.typing import ArrayLike
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


def assert_near(actual: ArrayLike, expected: ArrayLike, relative: float) -> None:
    """Apart by at most a share of the largest magnitude, since a sum near zero is rounded as its terms are."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=relative * np.abs(np.asarray(expected)).max())


# Relative errors that a comparison may have, by what is computed; the number in a name is the precision.
TIGHT64 = 1e-13
"""One operation in float64."""
ROUNDING64 = 1e-12
"""A few operations in float64."""
SUMS64 = 1e-10
"""Sums in float64 taken in another order."""
LONG64 = 1e-9
"""Long sums or solutions in float64."""
STEPS64 = 1e-8
"""Many steps in float64, one after another."""
ROUNDING32 = 1e-6
"""A few operations in float32."""
SUMS32 = 1e-5
"""Sums in float32 taken in another order."""
LONG32 = 1e-4
"""Networks and long sums in float32."""
COARSE32 = 1e-3
"""Differences of large numbers in float32, or numbers printed with few digits."""
