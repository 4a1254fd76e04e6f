"""Near copies among images: by their finest detail place by place, and at another place, as tiles that overlap.

`Traces` keeps what else gives an image away: its border, and the step between its intensities.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.lookup import half_of
from multiway.auditing.marks import Faces, bars_of, bounds_of, ends_of
from multiway.auditing.near import FEWEST, near_verdict, search, thin_rows, unit_rows
from multiway.auditing.probes import Parts, ProbeErrors, class_numbers, questions_of, split_halves
from multiway.auditing.report import Verdict, finding
from multiway.data.scaling import evenly

SIDE = 16
"""Places along each axis at which detail is compared."""
ALIKE = 0.9
"""Correlation that most images reach where all are frames of a few films; the nearest strangers reach 0.8."""
LEAST_OF_DETAIL = 0.15
"""Correlation of detail from which on two images may be one; that of strangers is about 0."""

Ints = NDArray[np.int64]
Array32 = NDArray[np.float32]
Floats = NDArray[np.float64]
COMMON, IMAGES_PER_COMMON, MOST_IMAGES = 8, 5, 400
"""Patterns that images share, such as edges of the body, which are left out; and images they are learnt from."""
SIDES, SMALLEST = {1: 256, 2: 48, 3: 16}, 12
"""Places along each axis, about the middle, by the number of axes, that are kept of large images."""
CANDIDATES = 4
"""Training images, by the size of their frequencies, that are laid over an image."""
MOST_TRAIN, MOST_REST = 2000, 1000
"""Images whose borders are compared."""
BLOCKS = (4, 8, 16)
"""Sides of blocks that programs pack images in."""
BLOCK, MOST_BLOCKS, SILENT = 8, 64, 1.5
"""Pixels of a block of JPEG, blocks that are looked at, and the size of a wave that rounding leaves, of 255."""
OF_FORM = 0.5
"""Share of the commonest class's errors that how images were stored must surely remove."""
MOST_VALUES, FINEST = 5000, 1e-3
"""Intensities that are looked at, and the share of their range from which on a step says something."""


def grid_of(image: NDArray[Any]) -> float:
    """How much more of the detail of blocks of eight is 0 where JPEG lays them than half a block away."""
    from scipy.fft import dctn  # takes a while, which other commands do without

    grey = image.astype(np.float64).mean(0)
    if min(grey.shape) < 3 * BLOCK:
        return 0.0
    grey *= 255 / max(float(np.abs(grey).max()), 1e-300)
    shares = []
    for start in (0, BLOCK // 2):
        part = grey[start:, start:]
        rows, columns = (size // BLOCK for size in part.shape)
        blocks = part[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK).swapaxes(1, 2)
        blocks = thin_rows(blocks.reshape(-1, BLOCK, BLOCK), MOST_BLOCKS)
        waves = dctn(blocks, axes=(1, 2), norm="ortho").reshape(len(blocks), -1)[:, 1:]
        shares.append(float((np.abs(waves) < SILENT).mean()))
    return shares[0] - shares[1]


def jumps_of(image: NDArray[Any], size: int) -> float:
    """How much larger steps between pixels are where blocks of so many meet than elsewhere, as a logarithm."""
    grey = image.astype(np.float64).mean(0)
    if min(grey.shape) < 3 * size:
        return 0.0
    at = elsewhere = 0.0
    for axis in (0, 1):
        steps = np.abs(np.diff(grey, axis=axis)).mean(1 - axis)
        meets = np.arange(1, len(steps) + 1) % size == 0
        at, elsewhere = at + steps[meets].mean(), elsewhere + steps[~meets].mean()
    return float(np.log(max(at, 1e-9) / max(elsewhere, 1e-9)))


class Common:
    """Mean and first principal components of many images."""

    def __init__(self, images: Array32) -> None:
        chosen = images[evenly(len(images), MOST_IMAGES)]
        self.mean = chosen.mean(0)
        rows = unit_rows((chosen - self.mean).reshape(len(chosen), -1))
        self.patterns = np.linalg.svd(rows, full_matrices=False)[2][: min(COMMON, len(chosen) // IMAGES_PER_COMMON)]

    def own(self, images: Array32) -> Array32:
        """What each image has of its own, of length one; 0 for one without detail."""
        rows = unit_rows((images - self.mean).reshape(len(images), -1))
        own = unit_rows(rows - (rows @ self.patterns.T) @ self.patterns)
        own[~images.reshape(len(images), -1).any(1)] = 0
        return own


def fine_detail(image: NDArray[Any]) -> Array32:
    """Each inner voxel of `(channels, *sizes)` without the mean of its neighbours along the axes."""
    values = image.astype(np.float32)
    axes, sizes = range(1, values.ndim), values.shape
    inner = values[(slice(None), *(slice(1, -1) for _ in axes))]
    around = np.zeros_like(inner)
    for axis, start in itertools.product(axes, (0, 2)):  # inner voxels' neighbours along one axis
        cut = slice(start, start + sizes[axis] - 2)
        around = around + values[(slice(None), *(cut if at == axis else slice(1, -1) for at in axes))]
    detail = np.asarray(inner - around / (2 * len(axes)), np.float32)
    return detail if np.linalg.norm(detail) > 1e-6 * np.abs(values).max(initial=1) else 0 * detail


class Details:
    """What each image has that its neighbouring voxels do not, at places that mirroring exchanges."""

    def __init__(self) -> None:
        self.rows: list[Array32] = []
        self.middles: list[Array32] = []

    def add(self, image: NDArray[Any]) -> None:
        """Take in one image `(channels, *sizes)`; smaller ones than three voxels are not compared."""
        if min(image.shape[1:]) >= 3:
            detail = fine_detail(image)
            thinned = detail[np.ix_(np.arange(len(detail)), *map(_places, detail.shape[1:]))]
            length, side = np.linalg.norm(thinned), SIDES.get(detail.ndim - 1, SMALLEST)
            self.rows.append(np.asarray(thinned / length if length > 0 else thinned))
            starts = [max(size - side, 0) // 2 for size in detail.shape[1:]]
            middle = detail[(slice(None), *(slice(start, start + side) for start in starts))]
            self.middles.append(middle.astype(np.float32))
        else:
            self.rows.append(np.empty(0, np.float32))

    def check(
        self, splits: dict[str, Ints], names: Sequence[str], groups: Sequence[str], digests: Sequence[bytes | None]
    ) -> Verdict | None:
        """Whether images of other splits are nearly training images, be they noisy, scaled, negatives or mirrored."""
        if len({row.shape for row in self.rows}) > 1 or not self.middles or len(splits["train"]) < FEWEST:
            return None
        placed = _Images(np.stack(self.rows), splits["train"], groups)
        kinds = placed, Moved(np.stack(self.middles), splits["train"], placed.usual)
        held = {split: rows for split, rows in splits.items() if split != "train"}
        pairs = {
            (split, pair[0]): pair
            for kind in kinds
            for split, rows in held.items()
            for pair in search(kind, rows, digests, ALIKE)
        }
        hits = [(split, names[row], names[other], value) for (split, _), (row, other, value) in sorted(pairs.items())]
        return near_verdict(hits, sum(map(len, held.values())), "images")


class _Images:
    """Details of images without what many share, which either half of the training images learns for the other."""

    least = LEAST_OF_DETAIL

    def __init__(self, stack: Array32, train: Ints, groups: Sequence[str]) -> None:
        half = half_of(np.zeros(len(train), np.int64), class_numbers(groups[row] for row in train))
        self.stack, self.halves = stack, [(_Placed(stack[rows]), rows) for rows in (train[half], train[~half])]
        self.known = np.concatenate([rows for _, rows in self.halves])
        strangers = zip(self.halves, reversed(self.halves), strict=True)
        nearest = [common.correlations(stack[rows], stack[own]).max(1) for (common, own), (_, rows) in strangers]
        self.usual = np.concatenate(nearest)

    def similarities(self, rows: Ints) -> Array32:
        """Largest absolute correlation over all ways to mirror."""
        return np.hstack([common.correlations(self.stack[rows], self.stack[known]) for common, known in self.halves])


class _Placed(Common):
    """Details place by place."""

    def correlations(self, images: Array32, known: Array32) -> Array32:
        """`(images, known)`."""
        against = self.own(known).T
        best = np.zeros((len(images), len(known)), np.float32)
        axes = range(2, images.ndim)
        for count in range(len(axes) + 1):
            for flipped in itertools.combinations(axes, count):
                np.maximum(best, np.abs(self.own(np.flip(images, flipped)) @ against), out=best)
        return best


def _places(size: int) -> Ints:
    """Evenly spaced places, the same from either end."""
    count = min(size, SIDE)
    first = np.linspace(0, (size - 1) / 2, count // 2, endpoint=False).astype(np.int64)
    middle = [] if count % 2 == 0 else [size // 2]
    return np.concatenate([first, middle, size - 1 - first[::-1]]).astype(np.int64)


class Moved:
    """Details about the middle of each image, laid over those of training images at every shift.

    Where an image has what another one has, the sizes of its frequencies are much alike at any shift, so few need
    be laid over it.

    Args:
        stack: `(images, channels, *sizes)`.
        train: Training images.
        usual: How like the nearest other a training image is place by place, as tiles that overlap are not.
    """

    least = 0.35

    def __init__(self, stack: Array32, train: Ints, usual: Array32) -> None:
        self.stack, self.known, self.usual, self.common = stack, train, usual, Common(stack[train])
        self.waves = self._waves(stack[train])
        self.mean = _sizes(self.waves).mean(0)
        self.sizes = unit_rows(_sizes(self.waves) - self.mean)

    def similarities(self, rows: Ints) -> Array32:
        """Largest correlation over all shifts; 0 where the sizes of frequencies are less alike than those of others."""
        waves = self._waves(self.stack[rows])
        alike = unit_rows(_sizes(waves) - self.mean) @ self.sizes.T
        best = np.zeros(alike.shape, np.float32)
        for row, others in enumerate(np.argsort(-alike, 1)[:, :CANDIDATES]):
            product = (waves[row] * self.waves[others].conj()).sum(1)
            shifts = np.fft.irfftn(product, self.stack.shape[2:], axes=range(1, product.ndim))
            best[row, others] = np.abs(shifts).reshape(len(others), -1).max(1)
        return best

    def _waves(self, images: Array32) -> NDArray[np.complex64]:
        own = self.common.own(images).reshape(images.shape)
        return np.fft.rfftn(own, axes=range(2, images.ndim)).astype(np.complex64)


def _sizes(waves: NDArray[np.complex64]) -> Array32:
    """Roots of the sizes of all frequencies, so that no few of them outweigh the rest."""
    return np.asarray(np.sqrt(np.abs(waves)).reshape(len(waves), -1))


class Traces:
    """What is kept of each image.

    steps: Smallest difference between two intensities of an image; 0 where it is too fine to say something.
    """

    def __init__(self) -> None:
        self.details, self.faces = Details(), Faces()
        self.steps: list[float] = []
        self.grids: list[float] = []
        self.jumps: list[list[float]] = []
        self.bars: list[tuple[int, ...]] = []
        self.greys: list[bool] = []
        self.ends: list[tuple[Floats, Floats]] = []

    def add(self, image: NDArray[Any]) -> None:
        """Take in one image `(channels, *sizes)`."""
        self.details.add(image)
        self.faces.add(image)
        if image.ndim == 3:
            self.grids.append(grid_of(image))
            self.jumps.append([jumps_of(image, size) for size in BLOCKS])
            self.bars.append(bars_of(image))
        self.greys.append(bool((image == image[:1]).all()))
        self.ends.append(ends_of(image))
        values = np.unique(thin_rows(image.ravel(), MOST_VALUES)).astype(np.float64)
        gap = float(np.diff(values).min(initial=np.inf))
        self.steps.append(round(gap, 9) if gap > FINEST * np.ptp(values) and np.isfinite(gap) else 0.0)

    def check(
        self,
        splits: dict[str, Ints],
        names: Sequence[str],
        groups: Sequence[str],
        digests: Sequence[bytes | None],
        labels: Sequence[str],
        target: str = "the class",
    ) -> Iterator[Verdict | None]:
        """Whether images are near copies of each other, and whether the border tells the label."""
        if "train" not in splits:
            return
        yield self.details.check(splits, names, groups, digests)
        classes, own = class_numbers(labels), class_numbers(groups)
        train, rest = splits["train"], [rows for name, rows in splits.items() if name != "train"]
        if rest:
            chosen = thin_rows(train, MOST_TRAIN), thin_rows(np.concatenate(rest), MOST_REST)
            parts = split_halves(*chosen, classes, own)
            yield self.faces.check(classes, parts, target)
            yield self._check_form(classes, parts, target)

    def _check_form(self, classes: Ints, parts: Parts, target: str) -> Verdict:
        """Whether the levels that occur, or a grid of packing, tell the class."""
        facts = {"the step between its levels": np.array(self.steps)}
        if self.grids and len(self.grids) == len(self.steps):
            facts["how much it was packed in blocks of eight"] = np.array(self.grids)
            jumps = zip(BLOCKS, np.transpose(self.jumps), strict=True)
            facts |= {f"jumps at every {size}th pixel": values for size, values in jumps}
        highest, lowest = (bounds_of(np.stack(ends)) for ends in zip(*self.ends, strict=True))
        codes = {"the level at which its lights end": highest, "the level at which its darks end": lowest}
        codes["whether its channels are alike"] = np.array(self.greys)
        codes |= {"bars at its sides": class_numbers(self.bars)} if self.bars else {}
        for what, values in [*facts.items(), *codes.items()]:
            judge = ProbeErrors.of_codes if what in codes else ProbeErrors.of_column
            for labels in questions_of(classes):
                errors = judge(values.astype(np.float64), labels, parts)
                if errors.sure_gain > OF_FORM:
                    rule = (
                        f"how images were stored tells {target}: {what} makes {errors.count} errors on images held out"
                    )
                    fix = "Store all classes alike: pack or round every image in the same way."
                    return finding("form", "error", f"{rule}, the commonest class {errors.usual}", fix)
        return f"how images were stored does not tell {target}"
