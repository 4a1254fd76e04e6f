"""Audit of scans: patients, copies, labels, what the grid tells, and how intensities were scaled."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.agreement import check_one_label
from multiway.auditing.duplicates import check_duplicates, digest_of
from multiway.auditing.groups import check_groups
from multiway.auditing.lookup import check_lookup
from multiway.auditing.report import Verdict, found
from multiway.auditing.statistics import check_statistics
from multiway.data.volumes import Cases, IntensityScale, VolumeOptions, read_cases
from multiway.data.volumes.intensity import BYTES
from multiway.data.volumes.volume import VolumeHeader

BLOCKS = found(
    "blocks", "note", "blocks of one scene share no pixel, but neighbours look alike: scores hold for this scene alone"
)
NOT_SCALED = found("statistics", "note", "scaling was not looked at, as training refuses these splits")
Rows = NDArray[np.int64]


def torn_cases(source: str, options: VolumeOptions) -> Cases | None:
    """The cases of a table whose own splits tear a patient apart, which training refuses; None for any other."""
    named = read_cases(source, options)
    if named.patients is None or not named.splits:
        return None
    patients = [{named.patients[row] for row in rows} for rows in named.splits.values()]
    return named if sum(map(len, patients)) > len(set().union(*patients)) else None


def title_of(source: str, splits: dict[str, Rows], what: str = "cases") -> str:
    """The data, and how much each split has."""
    counts = ", ".join(f"{split} {len(rows):,}" for split, rows in splits.items())
    return f"{source}: {sum(map(len, splits.values())):,} {what}; {counts}"


def check_patients(patients: Sequence[str] | None, splits: dict[str, Rows]) -> Verdict:
    """Whether a patient is in two splits, as far as patients are known."""
    if patients is None:
        return found("groups", "note", "patients are not known, so whether one is in two splits was not looked at")
    return check_groups({name: [patients[row] for row in rows] for name, rows in splits.items()}, "patient")


def check_copies(
    digests: Sequence[bytes | None], labels: Sequence[str], names: Sequence[str], splits: dict[str, Rows], what: str
) -> Iterator[Verdict]:
    """Whether one image is in two splits or has two labels; constant ones are not compared."""
    called = {name: [names[row] for row in rows] for name, rows in splits.items()}
    yield check_duplicates({name: [digests[row] for row in rows] for name, rows in splits.items()}, called, f"{what}s")
    yield check_one_label(digests, labels, names, what)


def check_grid(cases: Cases, labels: Sequence[str], target: str = "the class") -> Verdict | None:
    """Whether sizes, spacing, orientation or type tell the class, as where each class is from a scanner of its own."""
    if "train" not in cases.splits or "test" not in cases.splits:
        return None
    facts = [_facts(cases.scans.header(index)) for index in range(cases.count)]
    codes = {name: _numbered([each[name] for each in facts]) for name in facts[0]}
    classes = _numbered(labels)
    groups = _numbered(cases.names if cases.patients is None else cases.patients)
    train, test = cases.splits["train"], cases.splits["test"]
    return check_lookup(
        {name: code[train] for name, code in codes.items()}, classes[train],
        {name: code[test] for name, code in codes.items()}, classes[test],
        what="the grid of the scans", target=target, groups=(groups[train], groups[test]),
    )  # fmt: skip


def _facts(header: VolumeHeader) -> dict[str, object]:
    spacing = None if header.spacing is None else tuple(round(step, 3) for step in header.spacing)
    return {"sizes": header.sizes, "spacing": spacing, "orientation": header.orientation, "type": header.dtype.str}


def _numbered(values: Iterable[object]) -> Rows:
    """A whole number for each distinct value."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)


class Images:
    """What an audit keeps of images as they are read, one at a time.

    Args:
        names: Of all images, in the order they are added.
        patients: One per image, if known.
        splits: Indices of images.
        what: What one is called: "volume".
    """

    def __init__(
        self, names: Sequence[str], patients: Sequence[str] | None, splits: dict[str, Rows], what: str
    ) -> None:
        self.names, self.patients, self.splits, self.what = names, patients, splits, what
        self.digests: list[bytes | None] = []
        self.labels: list[str] = []
        self.means: list[NDArray[np.float64]] = []
        self.squares: list[NDArray[np.float64]] = []

    def add(self, values: NDArray[Any], label: str, *, is_used: bool = True) -> None:
        """Take in `(channels, *sizes)` and what is to be told of it; one that is in no split is not compared."""
        self.digests.append(digest_of(values) if is_used else None)
        self.labels.append(label)
        voxels = values.reshape(len(values), -1).astype(np.float64)
        self.means.append(voxels.mean(1))
        self.squares.append(np.square(voxels).mean(1))

    def verdicts(
        self,
        cases: Cases | None,
        scale: IntensityScale | None,
        options: VolumeOptions,
        told: Sequence[str] = (),
        target: str = "the class",
    ) -> Iterator[Verdict | None]:
        """All that can be said of the images.

        Args:
            cases: Where they come from; None for blocks of one scene.
            scale: How training scales them; None where it refuses the splits.
            options: How they are read.
            told: What the grid of each image should not tell; nothing is looked up if it is empty.
            target: That in words.
        """
        yield BLOCKS if cases is None else check_patients(self.patients, self.splits)
        yield from check_copies(self.digests, self.labels, self.names, self.splits, self.what)
        if cases is not None and told:
            yield check_grid(cases, told, target)
        yield NOT_SCALED if scale is None else self._scaling(scale, options)

    def _scaling(self, scale: IntensityScale, options: VolumeOptions) -> Verdict:
        """Whether intensities are scaled by the training images alone, by each image itself, or by fixed numbers."""
        if scale.per_volume:
            return "each volume is scaled by itself"
        low, high = options.window or BYTES
        if set(scale.centre) == {low} and set(scale.spread) == {high - low}:
            return f"intensities are scaled by fixed numbers, {low:g} to {high:g}, and none was learnt"
        used = {"centre": np.array(scale.centre), "spread": np.array(scale.spread)}
        training, every = (self._moments(rows) for rows in (self.splits["train"], range(len(self.means))))
        names = [f"channel {place}" for place in range(len(scale.centre))]
        return check_statistics(used, training, every, names, rows="training volumes")

    def _moments(self, rows: Iterable[int]) -> dict[str, NDArray[np.float64]]:
        """Centre and spread of each channel over some images; what never varies has spread 1."""
        chosen = list(rows)
        centre = np.mean([self.means[row] for row in chosen], axis=0)
        square = np.mean([self.squares[row] for row in chosen], axis=0)
        variance = square - centre**2
        return {"centre": centre, "spread": np.where(variance > 1e-12 * square, np.sqrt(np.abs(variance)), 1.0)}
