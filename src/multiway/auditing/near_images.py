"""Near copies among images: with noise, scaled, turned to negatives or mirrored, they keep their finest detail."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.lookup import half_of
from multiway.auditing.metadata import numbered
from multiway.auditing.near import check_near, far_above, unit_rows
from multiway.auditing.report import Verdict

SIDE = 16
"""Places along each axis at which detail is compared."""
LEAST = 0.15
"""Correlation of detail from which on two images may be one; that of strangers is about 0."""
COMMON, IMAGES_PER_COMMON, MOST_IMAGES = 8, 5, 400
"""Patterns that images share, such as edges of the body, which are left out; and images they are learnt from."""
FEWEST = 8

Rows = NDArray[np.int64]
Array32 = NDArray[np.float32]


class Details:
    """What each image has that its neighbouring voxels do not, at places that mirroring exchanges."""

    def __init__(self) -> None:
        self.rows: list[Array32 | None] = []

    def add(self, image: NDArray[Any]) -> None:
        """Take in one image `(channels, *sizes)`."""
        self.rows.append(_detail(image) if min(image.shape[1:]) >= 3 else None)

    def check(
        self, splits: dict[str, Rows], names: Sequence[str], groups: Sequence[str], digests: Sequence[bytes | None]
    ) -> Verdict | None:
        """Whether images of other splits are nearly training images; exact copies are said elsewhere.

        Args:
            splits: Rows of each split, `train` among them.
            names: What each image is called.
            groups: What belongs together, such as a patient.
            digests: Hash of each image.
        """
        shapes = {None if row is None else row.shape for row in self.rows}
        if len(shapes) > 1 or None in shapes or len(splits["train"]) < FEWEST:
            return None
        stack, exact = np.stack([row for row in self.rows if row is not None]), np.array(digests, object)
        halves = [(known, others, _Common.of(stack[known])) for known, others in _halves(splits["train"], groups)]
        usual = [common.correlations(stack[others], stack[known]).max(1) for known, others, common in halves]
        pairs = {}
        for split, rows in splits.items():
            if split == "train":
                continue
            value = np.hstack([common.correlations(stack[rows], stack[known]) for known, _, common in halves])
            known = np.concatenate([known for known, _, _ in halves])
            value[_are_equal(exact[rows], exact[known]).any(1)] = 0
            near, best = value.max(1), known[value.argmax(1)]
            places = np.flatnonzero(far_above(near, np.concatenate(usual), LEAST))
            pairs[split] = [(names[rows[at]], names[best[at]], float(near[at])) for at in places]
        return check_near(pairs, sum(len(rows) for split, rows in splits.items() if split in pairs), "images")


def _are_equal(digests: NDArray[np.object_], others: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Which hashes are the same; what has none is like nothing."""
    known = np.array([digest is not None for digest in others], np.bool_)
    return np.asarray((digests[:, None] == others) & known)


def _halves(train: Rows, groups: Sequence[str]) -> Iterator[tuple[Rows, Rows]]:
    """Either half of the training images, and the other, which says how like strangers are."""
    half = half_of(np.zeros(len(train), np.int64), numbered(groups[row] for row in train))
    yield train[half], train[~half]
    yield train[~half], train[half]


@dataclasses.dataclass(frozen=True, eq=False)
class _Common:
    """What many images share.

    mean: `(channels, *sizes)`.
    patterns: `(patterns, values)`, orthogonal.
    """

    mean: Array32
    patterns: Array32

    @classmethod
    def of(cls, images: Array32) -> Self:
        """Mean and first principal components."""
        chosen = images[np.unique(np.linspace(0, len(images) - 1, min(len(images), MOST_IMAGES)).astype(int))]
        mean = chosen.mean(0)
        rows = unit_rows((chosen - mean).reshape(len(chosen), -1))
        count = min(COMMON, len(chosen) // IMAGES_PER_COMMON)
        return cls(mean, np.linalg.svd(rows, full_matrices=False)[2][:count])

    def own(self, images: Array32) -> Array32:
        """What each image has of its own, of length one; 0 for one without detail."""
        rows = unit_rows((images - self.mean).reshape(len(images), -1))
        own = unit_rows(rows - (rows @ self.patterns.T) @ self.patterns)
        own[~images.reshape(len(images), -1).any(1)] = 0
        return own

    def correlations(self, images: Array32, known: Array32) -> Array32:
        """`(images, known)` largest absolute correlation over all ways to mirror."""
        against = self.own(known).T
        best = np.zeros((len(images), len(known)), np.float32)
        axes = range(2, images.ndim)
        for count in range(len(axes) + 1):
            for flipped in itertools.combinations(axes, count):
                np.maximum(best, np.abs(self.own(np.flip(images, flipped)) @ against), out=best)
        return best


def _detail(image: NDArray[Any]) -> Array32:
    """Each voxel without the mean of its neighbours along the axes, thinned, of length one."""
    values = image.astype(np.float32)
    axes = range(1, values.ndim)
    inner = values[(slice(None), *(slice(1, -1) for _ in axes))]
    around = sum(_moved(values, axis, step) for axis in axes for step in (0, 2))
    detail = inner - around / (2 * len(axes))
    thinned = detail[np.ix_(np.arange(len(detail)), *map(_places, detail.shape[1:]))]
    length = np.linalg.norm(thinned)
    return np.asarray(thinned / length if length > 1e-6 * np.abs(values).max(initial=1) else 0 * thinned)


def _moved(values: Array32, axis: int, start: int) -> Array32:
    """Inner voxels' neighbours along one axis."""
    sizes = values.shape[1:]
    places = [slice(start, start + size - 2) if each == axis else slice(1, -1) for each, size in enumerate(sizes, 1)]
    return values[(slice(None), *places)]


def _places(size: int) -> Rows:
    """Evenly spaced places, the same from either end."""
    count = min(size, SIDE)
    first = np.linspace(0, (size - 1) / 2, count // 2, endpoint=False).astype(np.int64)
    middle = [] if count % 2 == 0 else [size // 2]
    return np.concatenate([first, middle, size - 1 - first[::-1]]).astype(np.int64)
