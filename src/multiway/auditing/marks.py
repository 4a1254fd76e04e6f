"""What marks an image: a border that tells its class, such as a frame, or a value that its mask is painted in."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.probes import Floats, Ints, Parts, ProbeErrors, questions_of
from multiway.auditing.report import Verdict, finding

SIDE = 8
"""Fields along each axis of a face."""
SURE = 0.75
"""Share of the commonest class's errors that a field of the border must surely remove."""
AHEAD = 0.1
"""By how much the border must tell more than the inside."""
INSIDE = 0.9
"""Share of the marked voxels, or of those on their edge, that have the value."""
OUTSIDE = 0.002
"""Share of all other voxels that may have it, too."""
PAINTED = 0.8
"""Share of the marked images that must be so."""
CENTRED = 0.9
"""The same of masks whose middle is that of the image, to a voxel."""
FEWEST_MARKED = 3
FEWEST_AT, WITHIN, MORE, GAP = 10, 3, 4.0, 0.03
"""Things that stop at one level, levels on either side, how much more often, and share of the range below a stamp."""
GOES_ON = 0.5
"""Share of a line that has the level of a bar, from which on the bar is part of what is seen."""
LEAST_SIDE, MOST_POINTS, LOOKED_AT = 12, 48, 4
"""Pixels of an image whose points are looked at, points along an axis, and those that are judged."""


def bounds_of(ends: Floats) -> Ints:
    """Which common bound each thing stops at, by its highest level, the next one below and its range: 0 for none.

    Levels of many things differ, so one that recurs is a limit of a device, a scale or a stamp. At the highest of all
    levels only a stamp is: nothing lies just below it, as it does where the range that all have ends.
    """
    highest, following, span = ends.T
    levels, place, count = np.unique(highest, return_inverse=True, return_counts=True)
    codes = np.zeros(len(ends), np.int64)
    for at in np.flatnonzero(count >= FEWEST_AT).tolist():
        around = np.delete(count[max(at - WITHIN, 0) : at + WITHIN + 1], min(at, WITHIN))
        gap = np.median(((highest - following) / np.maximum(span, 1e-300))[place == at])
        if count[at] > MORE * (around.mean() if len(around) else 0) and (at < len(levels) - 1 or gap > GAP):
            codes[place == at] = at + 1
    return codes


def ends_of(values: NDArray[Any]) -> tuple[Floats, Floats]:
    """Highest level, the next one and the range; and the same of the negative."""
    levels = np.unique(values[np.isfinite(values)]).astype(np.float64)
    levels = levels if len(levels) > 1 else np.zeros(2)
    span = levels[-1] - levels[0]
    return np.array([levels[-1], levels[-2], span]), np.array([-levels[0], -levels[1], span])


def bars_of(image: NDArray[Any]) -> tuple[int, ...]:
    """Lines at each side of `(channels, height, width)` of one level, which the line behind them does not go on."""
    grey = image.astype(np.float64).mean(0)
    counts = []
    for side in (grey, grey[::-1], grey.T, grey.T[::-1]):
        flat = np.logical_and.accumulate((side == side[0, 0]).all(1))
        count = int(flat.sum())
        counts.append(count if count < len(side) and (side[count] == side[0, 0]).mean() < GOES_ON else 0)
    return tuple(counts)


class Faces:
    """Mean intensity of fields on the border of each image and its corners, and on planes through its inside."""

    def __init__(self) -> None:
        self.outside: list[Floats] = []
        self.inside: list[Floats] = []
        self.points: list[Floats] = []

    def add(self, image: NDArray[Any]) -> None:
        """Take in one image `(channels, *sizes)`."""
        sizes = image.shape[1:]
        fields = _fields(image, [(0, size - 1) for size in sizes])
        corners = image[np.ix_(range(len(image)), *[(0, -1)] * len(sizes))]
        self.outside.append(np.concatenate([fields, corners.ravel()]))
        if image.ndim == 3 and min(sizes) >= LEAST_SIDE:
            self.points.append(_shrink(image.astype(np.float64).mean(0)))
        edges = [(size, max(size // 8, 1)) for size in sizes]
        cuts = [slice(min(cut, size - 1), -cut if size > 2 * cut else None) for size, cut in edges]
        core = image[(slice(None), *cuts)]  # without an eighth on either side of each axis
        self.inside.append(_fields(core, [tuple(size * part // 4 for part in (1, 2, 3)) for size in core.shape[1:]]))

    def check(self, labels: Ints, parts: Parts, target: str = "the class", what: str = "images") -> Verdict | None:
        """Whether one field of the border tells what none of the inside does."""
        if len({len(row) for row in self.outside}) > 1:
            return None
        border, inside = np.stack(self.outside), np.stack(self.inside)
        for number, kinds in enumerate(questions_of(labels)):  # a mark on one class alone tells it from the rest
            outcome = f"{target}, one from the rest" if number else target
            best = _best(border, kinds, parts)
            if best.sure_gain > SURE and best.gain > (within := _best(inside, kinds, parts)).gain + AHEAD:
                return finding(
                    "border",
                    "error",
                    f"the border of the {what} tells {outcome}: the mean of one field makes "
                    f"{best.count} errors on cases held out, the best of the inside {within.count}, the commonest "
                    f"class {best.usual}",
                    "Cut or fill the border alike for all cases.",
                )
            if self.points and (mark := _mark(np.stack(self.points), kinds, parts)) is not None:
                return finding(
                    "border",
                    "error",
                    f"a point near the border of the {what} tells {outcome}: its level makes {mark[0].count} errors on "
                    f"cases held out, the best of the middle {mark[1].count}, the commonest class {mark[0].usual}",
                    "Cover or cut what is written into the images.",
                )
        return f"the border of the {what} does not tell {target} better than the inside does"


def _fields(image: NDArray[Any], places: Sequence[Sequence[int]]) -> Floats:
    """Means of at most `SIDE` fields along each axis of planes through an image, at some places of each axis."""
    fields = []
    for axis, position in ((axis, place) for axis, chosen in enumerate(places, start=1) for place in chosen):
        plane = image.take(position, axis).astype(np.float64)
        for across in range(1, plane.ndim):
            size = plane.shape[across]
            edges = np.linspace(0, size, min(size, SIDE) + 1).astype(np.int64)
            widths = np.diff(edges).reshape([-1 if other == across else 1 for other in range(plane.ndim)])
            plane = np.add.reduceat(plane, edges[:-1], across) / widths
        fields.append(plane.ravel())
    return np.concatenate(fields)


def _shrink(image: Floats) -> Floats:
    """Means of blocks, at most `MOST_POINTS` along an axis."""
    for axis in (0, 1):
        step = -(-image.shape[axis] // MOST_POINTS)
        if step > 1:
            image = np.add.reduceat(image, np.arange(0, image.shape[axis], step), axis) / step
    return image


def _mark(points: Floats, labels: Ints, parts: Parts) -> tuple[ProbeErrors, ProbeErrors] | None:
    """What the most telling point of the outer quarters says, and that of the middle, where only the former tells."""
    learnt = parts[-1][0]
    levels, classes = points[learnt], np.unique(labels[learnt])
    means = np.stack([levels[labels[learnt] == each].mean(0) for each in classes])
    strength = means.std(0) / (levels.std(0) + 1e-9 * np.ptp(points) + 1e-300)
    inner = np.zeros(strength.shape, np.bool_)
    inner[tuple(slice(size // 4, size - size // 4) for size in strength.shape)] = True
    outer, middle = (
        _best(
            points.reshape(len(points), -1)[:, np.argsort(-np.where(where, strength, -1), axis=None)[:LOOKED_AT]],
            labels,
            parts,
        )
        for where in (~inner, inner)
    )
    return (outer, middle) if outer.sure_gain > SURE and outer.gain > middle.gain + AHEAD else None


def _best(columns: Floats, labels: Ints, parts: Parts) -> ProbeErrors:
    every = (ProbeErrors.of_column(column, labels, parts) for column in columns.T)
    return min(every, key=lambda errors: errors.count)


class Paint:
    """Which images give their mask away."""

    def __init__(self) -> None:
        self.painted: list[bool] = []
        self.centred: list[bool] = []

    def add(self, image: NDArray[Any], mask: NDArray[np.bool_]) -> None:
        """Take in an image `(channels, *sizes)` and what is marked; images without a mark say nothing."""
        if mask.any() and not mask.all():
            middle = np.argwhere(mask).mean(0) - (np.array(mask.shape) - 1) / 2
            self.centred.append(bool((np.abs(middle) <= 1).all()))
            inner = mask
            for axis, size in enumerate(mask.shape):
                padded = np.pad(mask, [(int(axis == other),) * 2 for other in range(mask.ndim)])
                inner = inner & padded.take(range(size), axis) & padded.take(range(2, size + 2), axis)
            edge = mask & ~inner  # marked voxels that have a neighbour along an axis which is not
            shown = [*image, *(image & 1 if image.dtype.kind in "iu" else ())]  # an annotation may hide in the last bit
            self.painted.append(any(_tells(channel, part, mask) for channel in shown for part in (mask, edge)))

    def check(self) -> Verdict | None:
        """Whether most marked images are painted."""
        count, every = sum(self.painted), len(self.painted)
        if every < FEWEST_MARKED:
            return None
        if sum(self.centred) > CENTRED * every:
            rule = f"{sum(self.centred):,} of {every:,} masks lie in the very middle of their image"
            fix = "Cut images out by what is known without the mask."
            return finding("painted", "error", f"{rule}, as where these were cut out around them", fix)
        if count < PAINTED * every:
            return f"no single value of the image tells the mask ({every:,} marked images looked at)"
        return finding(
            "painted",
            "error",
            f"in {count:,} of {every:,} marked images one value marks the mask or its edge and "
            "hardly anything else, as where annotations were saved into the image",
            "Take the images from before they were annotated.",
        )


def _tells(channel: NDArray[Any], part: NDArray[np.bool_], mask: NDArray[np.bool_]) -> bool:
    values, counts = np.unique(channel[part], return_counts=True)
    outside = channel[~mask] == values[counts.argmax()]
    return bool(counts.max() > INSIDE * part.sum() and outside.mean() < OUTSIDE)
