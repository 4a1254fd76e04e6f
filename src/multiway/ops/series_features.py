"""Features of series that a linear model tells classes by: kernels without learning, and what is pooled of them."""

import functools
import itertools
import math
from collections import Counter

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from multiway.ops.dispatch import fast_positive_sums, faster

LENGTH = 9
"""Steps that a kernel looks at."""
GOLDEN = (math.sqrt(5) + 1) / 2


@functools.cache
def ternary_kernels() -> Tensor:
    """The 84 kernels of MiniRocket: weights of -1, three of which are 2, `(84, 9)` (Dempster et al. 2021)."""
    places = list(itertools.combinations(range(LENGTH), 3))
    return torch.tensor(
        [[2.0 if place in three else -1.0 for place in range(LENGTH)] for three in places], device="cpu"
    )


def log_dilations(steps: int, count: int, most: int = 32) -> list[tuple[int, int]]:
    """Dilations up to the length of a series, evenly in their logarithm, and how many of `count` biases each has."""
    tried = min(count, most)
    exponent = math.log2(max(steps - 1, LENGTH - 1) / (LENGTH - 1)) / max(tried - 1, 1)
    shares = Counter(int(2 ** (exponent * place)) for place in range(tried))
    found = [(dilation, times * count // tried) for dilation, times in sorted(shares.items())]
    left = count - sum(number for _, number in found)
    return [(dilation, number + (place < left)) for place, (dilation, number) in enumerate(found)]


def golden_quantiles(count: int) -> Tensor:
    """The fractional parts of multiples of the golden ratio: any few neighbours lie evenly between 0 and 1."""
    return torch.arange(1, count + 1, dtype=torch.float64) * GOLDEN % 1


@faster(fast_positive_sums)
def positive_sums(
    answers: Float[Tensor, "rows steps kernels"],
    biases: Float[Tensor, "biases kernels"],
    kept: Float[Tensor, "rows steps"] | None = None,
) -> Float[Tensor, "rows 4 biases kernels"]:
    r"""How answers lie above biases, with z the first less the second.

    $$\sum_t [z_t > 0], \quad \sum_t z_t^+, \quad \sum_t t\,[z_t > 0], \quad \text{the longest run of } z_t > 0$$

    Steps that are not `kept` (0 there, else 1) count as below.
    """
    steps = torch.arange(answers.shape[1], dtype=answers.dtype, device=answers.device)[None, :, None]
    sums = []
    for bias in biases:
        over = answers - bias
        above = over > 0 if kept is None else (over > 0) & (kept > 0)[..., None]
        below = torch.where(above, -1.0, steps).cummax(1).values
        runs = torch.where(above, steps - below, 0.0)
        sums.append(torch.stack([above.sum(1), (over * above).sum(1), (steps * above).sum(1), runs.amax(1)], 1))
    return torch.stack(sums, 2)


def competing_counts(
    answers: Float[Tensor, "rows groups kernels steps"], kept: Float[Tensor, "rows steps"] | None = None
) -> tuple[Tensor, Tensor]:
    """Sums of the largest answer of each group by the kernel that gave it, and how often each kernel gave the smallest.

    Both `(rows, groups, kernels)` (Hydra: Dempster et al. 2023, soft and hard counts).
    """
    largest, smallest = answers.max(2), answers.min(2).indices
    value, one = largest.values, torch.ones_like(largest.values)
    if kept is not None:
        value, one = value * kept[:, None], one * kept[:, None]
    zero = answers.new_zeros(answers.shape[:3])
    return zero.scatter_add(2, largest.indices, value), zero.scatter_add(2, smallest, one)


def convolve(x: Float[Tensor, "rows variates steps"], weight: Tensor, dilation: int, groups: int = 1) -> Tensor:
    """Answers of kernels at every step, beyond either end of a series zeros: `(rows, kernels, steps)`."""
    return F.conv1d(x, weight, padding=dilation * (LENGTH // 2), dilation=dilation, groups=groups)


def dyadic_intervals(steps: int, depth: int = 6) -> list[tuple[int, int]]:
    """Starts and stops of 1, 2, 4, ... equal parts of a series, and of the same parts shifted by half of one."""
    found = list[tuple[int, int]]()
    for number in (2**level for level in range(min(depth, int(math.log2(steps)) + 1))):
        edges = torch.linspace(0, steps, number + 1).long()
        parts = list(itertools.pairwise(edges.tolist()))
        shift = math.ceil(steps / number / 2) if number > 1 and edges.diff().median() > 1 else 0
        found += parts + [(start + shift, stop + shift) for start, stop in parts[:-1] if shift]
    return found


def interval_quantiles(x: Float[Tensor, "rows variates steps"], every: int = 4) -> Float[Tensor, "rows features"]:
    r"""Quantiles of dyadic intervals of a series, of its smoothed slopes, their changes, and its spectrum (QUANT).

    An interval of m values has $1 + \lfloor (m - 1) / 4 \rfloor$ quantiles, evenly from the smallest to the largest;
    every second one is less the interval's mean. One alone is the median (Dempster et al. 2024, section 3). Missing
    values, NaN, are left out of an interval and count as 0 in the spectrum; an interval without any value gives 0.
    """
    slopes = x.diff()
    smooth = F.avg_pool1d(F.pad(slopes, (2, 2), "replicate"), 5, 1) if slopes.shape[2] else slopes
    features = list[Tensor]()
    for part in (x, smooth, slopes.diff(), torch.fft.rfft(torch.nan_to_num(x)).abs()):
        for start, stop in dyadic_intervals(part.shape[2]) if part.shape[2] else ():
            values, number = part[..., start:stop], 1 + (stop - start - 1) // every
            levels = torch.linspace(0, 1, number, dtype=x.dtype) if number > 1 else torch.tensor([0.5], dtype=x.dtype)
            found = values.nanquantile(levels, dim=2)  # (levels, rows, variates)
            found[1::2] -= values.nanmean(2)
            features.append(found.permute(1, 2, 0).flatten(1))
    return torch.nan_to_num(torch.cat(features, 1))
