"""Quantiles that a network forecasts, so that none crosses another."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

ONE = math.log(math.e - 1)
"""What softplus is 1 of."""


def rising_quantiles(
    raw: Float[Tensor, "*cells quantiles"], shares: Sequence[float]
) -> Float[Tensor, "*cells quantiles"]:
    r"""The median, and quantiles at positive distances on either side of it.

    $$q_k = r_m \pm \sum_j (z_j - z_{j-1})\, \mathrm{softplus}(r_j + \ln(e - 1))$$

    over the numbers j from the median m to k, where z are quantiles of the standard normal distribution. Those are
    what zeros become, and no number makes two quantiles cross.

    Args:
        raw: Any numbers.
        shares: Probabilities of the quantiles, rising, with 0.5 among them.
    """
    middle = list(shares).index(0.5)
    normal = raw.new_tensor([NormalDist().inv_cdf(share) for share in shares])
    gaps, median = F.softplus(raw + ONE), raw[..., middle : middle + 1]
    below = (gaps[..., :middle] * normal.diff()[:middle]).flip(-1).cumsum(-1).flip(-1)
    above = (gaps[..., middle + 1 :] * normal.diff()[middle:]).cumsum(-1)
    return torch.cat([median - below, median, median + above], -1)


def mean_widths(quantiles: Float[Tensor, "*cells quantiles"], shares: Sequence[float]) -> Float[Tensor, "2 *cells"]:
    """Mean distances from the median to the quantiles below it, and to those above it."""
    middle = list(shares).index(0.5)
    distances = (quantiles - quantiles[..., middle : middle + 1]).abs()
    return torch.stack([distances[..., :middle].mean(-1), distances[..., middle + 1 :].mean(-1)])
