"""Prediction of a volume larger than the patch a model takes: windows that overlap, blended by smooth weights."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from multiway.errors import ConfigError, ShapeError

SIGMA = 0.125
"""Standard deviation of the weights over the side of the patch: four deviations from its centre to its edge."""


class _Window(NamedTuple):
    """Where a window starts along one mode, and its weight at each of its positions."""

    start: int
    weights: Tensor


@torch.no_grad()
def sliding_window(
    predict: Callable[[Tensor], Tensor],
    volume: Tensor,
    patch: Sequence[int],
    overlap: float = 0.5,
    batch_size: int = 4,
    *,
    weighting: Literal["gaussian", "uniform"] = "gaussian",
) -> Tensor:
    """Predict window by window and blend: out = Σ_w g_w predict(volume_w), where Σ_w g_w = 1 at every voxel.

    Windows form a grid, so each weight is a product of one weight per mode, normalised along that mode before
    anything is predicted: no second accumulator, and no division by a sum that may be tiny. Where one patch covers
    the whole volume the result is `predict`'s own. A mode shorter than the patch is filled with zeros on both sides.

    Keeps one output of the volume's size and one batch of patches; no gradient.

    Args:
        predict: Maps `(batch, channels, *patch)` to `(batch, classes, *patch)`; called under `torch.no_grad`.
        volume: `(channels, *sizes)`, any number of modes.
        patch: Voxels along each mode that `predict` takes at once.
        overlap: Share of the patch that neighbours have in common, in [0, 1).
        batch_size: Patches per call.
        weighting: "gaussian" trusts the middle of a patch more than its edge; "uniform" takes the mean.

    Shape:
        Output `(classes, *sizes)`, float32 or wider, on the volume's device.

    Raises:
        ShapeError: `patch` has not one size per mode, or `predict` returns other sizes than it was given.
        ConfigError: `overlap`, `batch_size` or `weighting` is out of range.
    """
    patch, sizes = tuple(patch), tuple(volume.shape[1:])
    _check(patch, sizes, overlap, batch_size, weighting)
    before = [max(0, side - size) // 2 for side, size in zip(patch, sizes, strict=True)]
    padded = _pad(volume, patch, before)
    grid = [
        _windows_along(size, side, overlap, weighting, volume.device)
        for size, side in zip(padded.shape[1:], patch, strict=True)
    ]
    out: Tensor | None = None
    for windows in _batches(itertools.product(*grid), batch_size):
        positions = [tuple(slice(span.start, span.start + len(span.weights)) for span in window) for window in windows]
        answers = predict(torch.stack([padded[:, *position] for position in positions]))
        if answers.ndim != len(patch) + 2 or len(answers) != len(windows) or tuple(answers.shape[2:]) != patch:
            raise ShapeError(
                f"sliding_window: predict must return (batch, classes, *patch) with batch {len(windows)} and patch "
                f"{patch}. Got {tuple(answers.shape)}."
            )
        if out is None:
            wide = torch.promote_types(answers.dtype, torch.float32)
            out = torch.zeros(answers.shape[1], *padded.shape[1:], dtype=wide, device=padded.device)
        for window, position, answer in zip(windows, positions, answers, strict=True):
            weighed = answer.to(out)
            for mode, (_, weights) in enumerate(window):
                weighed = weighed * weights.to(weighed.dtype).view(-1, *[1] * (len(window) - 1 - mode))
            out[:, *position] += weighed
    assert out is not None  # a grid has at least one window
    return out[:, *(slice(start, start + size) for start, size in zip(before, sizes, strict=True))]


def _windows_along(size: int, side: int, overlap: float, weighting: str, device: torch.device) -> list[_Window]:
    """Windows of one mode, the last one flush with its end, their weights summing to one at every position."""
    step = max(1, int(side * (1 - overlap)))
    starts = [*range(0, size - side, step), size - side]
    shape = torch.ones(side, dtype=torch.float64)
    if weighting == "gaussian":
        distance = torch.arange(side, dtype=torch.float64) - (side - 1) / 2
        shape = torch.exp(-0.5 * (distance / (SIGMA * side)) ** 2)
    total = torch.zeros(size, dtype=torch.float64)
    for start in starts:
        total[start : start + side] += shape
    return [_Window(start, (shape / total[start : start + side]).to(device)) for start in starts]


def _pad(volume: Tensor, patch: Sequence[int], before: Sequence[int]) -> Tensor:
    """Fill modes shorter than the patch with zeros; a volume that is large enough is not copied."""
    sizes = volume.shape[1:]
    reached = [max(size, side) for size, side in zip(sizes, patch, strict=True)]
    if reached == list(sizes):
        return volume
    padded = volume.new_zeros(volume.shape[0], *reached)
    padded[:, *(slice(start, start + size) for start, size in zip(before, sizes, strict=True))] = volume
    return padded


def _batches(windows: Iterator[tuple[_Window, ...]], batch_size: int) -> Iterator[list[tuple[_Window, ...]]]:
    while batch := list(itertools.islice(windows, batch_size)):
        yield batch


def _check(patch: tuple[int, ...], sizes: tuple[int, ...], overlap: float, batch_size: int, weighting: str) -> None:
    if len(patch) != len(sizes) or not sizes or min(patch, default=0) < 1 or min(sizes) < 1:
        raise ShapeError(
            f"sliding_window: patch needs one positive size per mode of the volume. Got patch {patch} for sizes "
            f"{sizes}. The volume is (channels, *sizes), without a batch axis."
        )
    if not 0 <= overlap < 1:
        raise ConfigError(f"sliding_window: overlap is a share of the patch in [0, 1). Got {overlap}.")
    if batch_size < 1:
        raise ConfigError(f"sliding_window: batch_size must be at least 1. Got {batch_size}.")
    if weighting not in ("gaussian", "uniform"):
        raise ConfigError(f"sliding_window: weighting is 'gaussian' or 'uniform'. Got {weighting!r}.")
