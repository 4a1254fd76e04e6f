"""Features of volumes that a few cases can teach: how bright they are, what shape stands out, how rough they are."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the values of a volume."""
VOLUME_FEATURES = 37
"""Of each channel."""
SPACE = (-3, -2, -1)


def volume_features(volumes: Float[Tensor, "batch channels depth height width"]) -> Float[Tensor, "batch features"]:
    """Brightness, shape and texture of each channel of each volume: 37 numbers, in float64.

    The shape is that of the voxels above Otsu's threshold. Texture is of the volume, and of means of 2 x 2 x 2 voxels.
    Sorting costs most: O(n log n) for n voxels.
    """
    volumes = volumes.double()
    rising = volumes.flatten(2).sort(-1).values
    bright = volumes > otsu_threshold(rising)[..., None, None, None]
    parts = [
        _moments(rising),
        _quantiles(rising),
        *(_mean_and_deviation(volumes, side) for side in (bright, ~bright)),
        shape_features(bright),
        texture_features(volumes),
        texture_features(F.avg_pool3d(volumes, _at_most(2, volumes))),
    ]
    return torch.cat(parts, -1).flatten(1)


def otsu_threshold(rising: Float[Tensor, "*batch values"]) -> Float[Tensor, "*batch"]:
    r"""The last of the lower values where n sorted ones are cut so that the means of both parts lie far apart.

    $$\max_k \; k\,(n - k)\,(\bar x_{\le k} - \bar x_{> k})^2$$ (Otsu 1979)
    """
    count = rising.shape[-1]
    below = torch.arange(1, count, dtype=rising.dtype, device=rising.device)
    sums = rising.cumsum(-1)
    means, others = sums[..., :-1] / below, (sums[..., -1:] - sums[..., :-1]) / (count - below)
    between = below * (count - below) * (others - means).square()
    return rising.gather(-1, F.pad(between, (0, 1), value=-1.0).argmax(-1, keepdim=True))[..., 0]


def shape_features(mask: Bool[Tensor, "*batch depth height width"]) -> Float[Tensor, "*batch features"]:
    r"""What 14 numbers say of V marked voxels among n, whose surface has S faces.

    $$V / n, \quad 36 \pi V^2 / S^3, \quad S_a / n \text{ along each axis},$$

    the centre and the extent along each axis, as shares of it, and the deviations along the principal axes, in voxels,
    from the smallest up. All are 0 where no voxel is marked.
    """
    sizes = torch.tensor(mask.shape[-3:], dtype=torch.float64, device=mask.device)
    solid, count = mask.double(), sizes.prod()
    voxels = solid.sum(SPACE)[..., None]
    faces = [F.pad(solid.movedim(axis, -1), (1, 1)).diff(dim=-1).abs().sum(SPACE) for axis in SPACE]
    surface = torch.stack(faces, -1)
    round_as_a_ball = 36 * math.pi * voxels.square() / surface.sum(-1, keepdim=True).clamp_min(1) ** 3
    extents = [_extent(mask.movedim(axis, -1).flatten(-3, -2).any(-2)) for axis in SPACE]
    places = torch.cartesian_prod(*(torch.arange(size, device=mask.device) + 0.5 for size in mask.shape[-3:])).double()
    marked, some = solid.flatten(-3), voxels.clamp_min(1)
    centre = marked @ places / some
    squares = (marked[..., None] * places).mT @ places / some[..., None] - centre[..., None] * centre[..., None, :]
    spreads = torch.linalg.eigvalsh(squares).clamp_min(0).sqrt()
    ends = [voxels / count, round_as_a_ball, surface / count, centre / sizes, torch.stack(extents, -1) / sizes, spreads]
    return torch.cat(ends, -1)


def texture_features(volumes: Float[Tensor, "*batch depth height width"]) -> Float[Tensor, "*batch features"]:
    """Mean size of the steps between neighbours along each axis; mean and deviation of the deviations within 3³ voxels.

    Of an axis of one voxel there is no step: 0.
    """
    changes = [volumes.diff(dim=axis) for axis in SPACE]
    steps = [change.abs().sum(SPACE) / max(math.prod(change.shape[-3:]), 1) for change in changes]
    window, flat = _at_most(3, volumes), volumes.flatten(0, -4)[:, None]
    means, squares = (F.avg_pool3d(values, window, 1) for values in (flat, flat.square()))
    local = (squares - means.square()).clamp_min(0).sqrt().flatten(1)
    rough = torch.stack([local.mean(1), local.std(1, correction=0)], -1).view(*volumes.shape[:-3], 2)
    return torch.cat([torch.stack(steps, -1), rough], -1)


def _moments(values: Tensor) -> Tensor:
    """Mean, deviation, skewness and kurtosis; the last two are 0 where nothing varies."""
    deviation, mean = torch.std_mean(values, -1, correction=0, keepdim=True)
    scaled = (values - mean) / torch.where(deviation > 0, deviation, 1.0)
    squares = scaled.square()
    return torch.cat([mean, deviation, (squares * scaled).mean(-1, True), squares.square().mean(-1, True)], -1)


def _mean_and_deviation(volumes: Tensor, mask: Tensor) -> Tensor:
    """Of the marked voxels; 0 without any."""
    count = mask.sum(SPACE, keepdim=True).clamp_min(1)
    mean = (volumes * mask).sum(SPACE, keepdim=True) / count
    variance = ((volumes - mean) * mask).square().sum(SPACE, keepdim=True) / count
    return torch.cat([mean, variance.sqrt()], -1).flatten(-3)


def _quantiles(rising: Tensor) -> Tensor:
    """Interpolated between the sorted values."""
    places = torch.tensor(QUANTILES, dtype=rising.dtype, device=rising.device) * (rising.shape[-1] - 1)
    return torch.lerp(rising[..., places.floor().long()], rising[..., places.ceil().long()], places.frac())


def _extent(marked: Tensor) -> Tensor:
    """Positions from the first marked one to the last."""
    first, last = marked.byte().argmax(-1), marked.byte().flip(-1).argmax(-1)
    return (marked.shape[-1] - first - last) * marked.any(-1)


def _at_most(size: int, volumes: Tensor) -> list[int]:
    return [min(size, side) for side in volumes.shape[-3:]]
