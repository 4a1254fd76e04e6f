"""Audit of scans: patients, copies, labels, what the grid tells, and how intensities were scaled."""

import collections
import gzip
import struct
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.agreement import check_statistics
from multiway.auditing.duplicates import by_split, check_duplicates, check_groups, check_one_label, sample_digest
from multiway.auditing.lookup import check_lookup
from multiway.auditing.marks import Paint
from multiway.auditing.near_images import Traces
from multiway.auditing.probes import class_numbers
from multiway.auditing.report import AuditReport, Verdict, finding
from multiway.data import Finding
from multiway.data.options import VolumeOptions
from multiway.data.samples import Rows, Samples, Splits
from multiway.data.sources.scans.cases import Cases, splits_named
from multiway.data.sources.scans.intensity import BYTES, IntensityScale
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scans.volume import VolumeHeader

BLOCKS = finding(
    "blocks", "note", "blocks of one scene share no pixel, but neighbours look alike: scores hold for this scene alone"
)
UNKNOWN = finding("groups", "note", "patients are not known, so whether one is in two splits was not looked at")
NOT_SCALED = finding("statistics", "note", "scaling was not looked at, as training refuses these splits")
GZIP = b"\x1f\x8b"
NIFTI, DESCRIPTION = ".nii", slice(148, 228)
"""Where the first version of NIfTI keeps what wrote it."""
FEWEST = 3
"""Cases of a class, and of a value, that tell it without exception."""
BLOCK = "block"


def read_shared_cases(source: str, options: VolumeOptions) -> Cases | None:
    """The cases of a table whose own splits share a patient or a file, which training refuses; None for any other."""
    cases = read_cases(source, options, opened=False)
    splits = splits_named(cases)
    for groups in (cases.groups, files_of(cases)):
        if groups is not None:
            every = [{groups[row] for row in rows} for rows in splits.values()]
            if sum(map(len, every)) > len(set().union(*every)):
                return cases
    return None


def files_of(cases: Cases) -> tuple[Path, ...] | None:
    """File of each case; None where one file holds all."""
    files = [cases.inputs.file(row) for row in range(len(cases))]
    return tuple(file for file in files if file is not None) or None


def check_files(cases: Cases, splits: Splits) -> Verdict | None:
    """Whether a file is listed in two splits."""
    files = files_of(cases)
    if files is None:
        return None
    count = collections.Counter(file.name for file in set(files))
    names = [file.name if count[file.name] == 1 else f"{file.parent.name}/{file.name}" for file in files]
    return check_groups(by_split(names, splits), "file")


def check_grid(
    cases: Cases, splits: Splits, labels: Sequence[str], target: str = "the class", steps: Sequence[float] = ()
) -> Verdict | None:
    """Whether sizes, spacing, type or form of the file tell the class, as where each class is from its own scanner.

    steps: Of the intensities of each scan, as far as they are known.
    """
    if "train" not in splits or "test" not in splits:
        return None
    files = files_of(cases) or (None,) * len(cases)
    facts = [scan_facts(cases.inputs.file_header(row), file) for row, file in enumerate(files)]
    codes = {name: class_numbers(own[name] for own in facts) for name in facts[0]}
    codes |= {"step between intensities": class_numbers(steps)} if steps else {}
    classes = class_numbers(labels)
    groups = class_numbers(cases.groups or cases.names["case"])
    train, test = splits["train"], splits["test"]
    what = "the grid of the scans"
    verdict = check_lookup(
        {name: code[train] for name, code in codes.items()},
        classes[train],
        {name: code[test] for name, code in codes.items()},
        classes[test],
        what=what,
        target=target,
        groups=(groups[train], groups[test]),
    )
    is_leak = isinstance(verdict, Finding) and verdict.severity == "error"
    return verdict if is_leak else check_without_exception(codes, classes, what, target) or verdict


def scan_facts(header: VolumeHeader, file: Path | None) -> dict[str, Hashable]:
    """Everything that a network does not see, and that may follow the class all the same."""
    spacing = None if header.spacing is None else tuple(round(step, 3) for step in header.spacing)
    facts: dict[str, Hashable] = {
        "sizes": header.sizes,
        "spacing": spacing,
        "orientation": header.orientation,
        "type": header.dtype.str,
    }
    if file is None or not file.is_file():
        return facts
    packing, size = b"", file.stat().st_size
    with file.open("rb") as stream:
        head = stream.read(10)
        program = b""
        if NIFTI in file.suffixes:
            stream.seek(0)
            opened = gzip.GzipFile(fileobj=stream) if head[:2] == GZIP else stream
            program = opened.read(DESCRIPTION.stop)[DESCRIPTION]
        if head[:2] == GZIP:  # how it was called, without the time, and the size of what it holds
            stream.seek(-4, 2)
            packing, size = head[2:4] + head[8:10], int(struct.unpack("<I", stream.read(4))[0])
    facts |= {"file": file.suffix, "packing": packing, "bytes that are no voxels": size - header.nbytes}
    return {**facts, "program that is named in its header": program}


def check_without_exception(codes: Mapping[str, Rows], classes: Rows, what: str, target: str) -> Verdict | None:
    """Whether each value of a fact goes with one class, in sets too small for a look-up's interval to say so."""
    if np.bincount(classes).min(initial=FEWEST) < FEWEST or len(np.unique(classes)) < 2:
        return None
    for name, code in codes.items():
        table = np.zeros((int(code.max()) + 1, int(classes.max()) + 1), np.int64)
        np.add.at(table, (code, classes), 1)
        if (table > 0).sum() == len(table) and table.sum(1).min() >= FEWEST and len(table) > 1:
            each = f"each of the {len(table)} values of {name} goes with one class in all {len(classes):,} cases"
            rule = f"{what} tells {target} without exception: {each}"
            return finding("lookup", "error", rule, "Bring all files into one form, from one source.")
    return None


class ScanImages:
    """What an audit keeps of images as they are read, one at a time.

    Args:
        cases: All of them, in the order they are added.
        splits: Rows of each.
        what: What one is called: "volume", or "block" of one scene.
    """

    def __init__(self, cases: Samples[Any], splits: Splits, what: str) -> None:
        self.cases, self.splits, self.what = cases, splits, what
        self.digests: list[bytes | None] = []
        self.labels: list[str] = []
        self.means: list[NDArray[np.float64]] = []
        self.squares: list[NDArray[np.float64]] = []
        self.traces, self.paint = Traces(), Paint()

    def add(
        self, values: NDArray[Any], label: str, *, is_used: bool = True, marked: NDArray[np.bool_] | None = None
    ) -> None:
        """Take in `(channels, *sizes)` and what is to be told of it; one that is in no split is not compared.

        Args:
            values: The image.
            label: Its class, or a name of its mask.
            is_used: Whether it is in a split.
            marked: Voxels that its mask marks, where there is a mask with a background.
        """
        self.traces.add(values)
        if marked is not None:
            self.paint.add(values, marked)
        self.digests.append(sample_digest(values) if is_used else None)
        self.labels.append(label)
        voxels = values.reshape(len(values), -1).astype(np.float64)
        self.means.append(voxels.mean(1))
        self.squares.append(np.square(voxels).mean(1))

    def report(
        self,
        scale: IntensityScale | None,
        options: VolumeOptions,
        outcomes: Sequence[str] = (),
        target: str = "the class",
    ) -> AuditReport:
        """All that can be said of the images.

        Args:
            scale: How training scales them; None where it refuses the splits.
            options: How they are read.
            outcomes: What the grid of each image should not tell; nothing is looked up if it is empty.
            target: That in words.
        """
        counts = ", ".join(f"{split} {len(rows):,}" for split, rows in self.splits.items())
        word = self.cases.word if self.what == "volume" else f"{self.what}s"
        title = f"{self.cases.source}: {sum(map(len, self.splits.values())):,} {word}; {counts}"
        return AuditReport.of(title, self._verdicts(scale, options, outcomes, target))

    def _verdicts(
        self, scale: IntensityScale | None, options: VolumeOptions, outcomes: Sequence[str], target: str
    ) -> Iterator[Verdict | None]:
        cases, splits, is_scene = self.cases, self.splits, self.what == BLOCK
        if is_scene:
            yield BLOCKS
        elif cases.groups is None:
            yield UNKNOWN
        else:
            yield check_groups(by_split(cases.groups, splits), "patient")
        yield None if is_scene else check_files(cases, splits)
        names = cases.names["case"]
        yield check_duplicates(by_split(self.digests, splits), by_split(names, splits), f"{self.what}s")
        yield check_one_label(self.digests, self.labels, names, self.what)
        yield self.paint.check()
        if outcomes and not is_scene:
            yield from self.traces.check(splits, names, cases.groups or names, self.digests, outcomes, target)
            yield check_grid(cases, splits, outcomes, target, self.traces.steps)
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
        names = [f"channel {index}" for index in range(len(scale.centre))]
        return check_statistics(used, training, every, names, rows="training volumes")

    def _moments(self, rows: Iterable[int]) -> dict[str, NDArray[np.float64]]:
        """Centre and spread of each channel over some images; what never varies has spread 1."""
        chosen = list(rows)
        centre = np.mean([self.means[row] for row in chosen], axis=0)
        square = np.mean([self.squares[row] for row in chosen], axis=0)
        variance = square - centre**2
        return {"centre": centre, "spread": np.where(variance > 1e-12 * square, np.sqrt(np.abs(variance)), 1.0)}
