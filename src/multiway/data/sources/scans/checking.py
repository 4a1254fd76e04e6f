"""`check_volumes`: read every scan once and say what is in them and what is wrong with them."""

import collections
import hashlib
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from multiway.data.findings import CheckReport, Failures, Findings, Place, kept, listed, quoted
from multiway.data.sources.scans.cases import Cases
from multiway.data.sources.scans.listing import PATIENT_NAMES
from multiway.data.sources.scans.loading import Source, geometry_findings, one_class_notes, read_cases
from multiway.data.sources.scans.medmnist import ArchiveScans
from multiway.data.sources.scans.options import VolumeOptions, VolumeSplit
from multiway.data.sources.scans.preparing import check_finite, prepared_header
from multiway.data.sources.scans.reading import foreign_form, is_scan
from multiway.data.sources.scans.volume import Volume, VolumeHeader, millimetres
from multiway.data.sources.tables import column_names, is_parquet

MOST_LISTED = 100


def looks_like_volumes(path: str | Path) -> bool:
    """Whether a path is a scan, a MedMNIST file, a folder, a datalist, or a table with a column of scans."""
    path = Path(path)
    if path.is_dir():
        return not _holds_texts(path)
    if is_scan(path) or foreign_form(path) or path.suffix.lower() == ".json":
        return True
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        return is_parquet(path) and _names_folders(column_names(path))
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            lines = [file.readline(100_000) for _ in range(3)]
    except OSError:
        return False
    cells = [cell.strip().strip('"') for line in lines[1:] for mark in ",;\t|" for cell in line.split(mark)]
    return any(is_scan(Path(cell)) for cell in cells if cell) or _names_folders(re.split(r"[,;\t|]", lines[0]))


def _holds_texts(folder: Path) -> bool:
    """Whether every file right in a folder, of which there are some, ends as a text does."""
    endings = {path.suffix.lower() for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")}
    return bool(endings) and endings <= {".txt", ".text", ".md", ".tokens"}


def _names_folders(columns: Iterable[str]) -> bool:
    """Whether columns are called `path` beside labels or patients, as where series lie in folders."""
    names = {name.strip().strip('"').lower() for name in columns}
    return "path" in names and bool(names & {"label", "mask", *PATIENT_NAMES})


def check_volumes(
    source: Source, options: VolumeOptions | None = None, split: VolumeSplit | None = None
) -> CheckReport:
    """Read each scan, one at a time, and report all that is wrong under these options.

    Raises:
        ConfigError: A library that reads a format is not installed.
    """
    options = options or VolumeOptions()
    name = quoted(Path(source).name, 80) if isinstance(source, str | Path) else "arrays in memory"
    findings, summary = Findings(name), dict[str, Any]()
    failures: Failures = []
    with kept(failures):
        cases = read_cases(source, options, failures=failures)
        sound = _read_all(cases, findings, failures)
        summary = _summary(cases, sound)
        findings.found += geometry_findings({cases.names[row]: scan.header for row, scan in sound.items()}, options)
        _check_whole(source, options, split, cases, failures, findings, summary)
    _report(failures, findings)
    return CheckReport(source=findings.source, summary=summary, findings=findings.ordered())


def _report(failures: Failures, findings: Findings) -> None:
    """Note each failure once."""
    different = {str(error): error for error in failures}
    for error in list(different.values())[:MOST_LISTED]:
        findings.take("source", error)
    if len(different) > MOST_LISTED:
        findings.add("source", "error", f"{len(different) - MOST_LISTED} more problems are not listed")


class _Scan:
    """What is kept of a scan after its voxels are gone."""

    def __init__(self, volume: Volume, options: VolumeOptions) -> None:
        values = volume.values
        self.low, self.high = float(values.min()), float(values.max())
        self.digest = hashlib.sha256(f"{values.shape}{values.dtype.kind}".encode() + values.tobytes()).hexdigest()
        self.header = volume.header
        self.prepared = prepared_header(self.header, options, volume.source)
        self.mask: tuple[float, ...] | None = None


def _read_all(cases: Cases, findings: Findings, failures: Failures) -> dict[int, _Scan]:
    """Read each case and its mask; what fails is kept, and the others go on."""
    sound: dict[int, _Scan] = {}
    for index in range(cases.count):
        with kept(failures):
            volume = cases.read(index)
            check_finite(volume)
            sound[index] = _Scan(volume, cases.options)
            mask = cases.mask(index)
            sound[index].mask = None if mask is None else tuple(np.unique(mask.values).tolist())
    _check_values(cases, sound, findings)
    _check_duplicates(cases, sound, findings)
    return sound


def _check_values(cases: Cases, sound: dict[int, _Scan], findings: Findings) -> None:
    zero = [index for index, scan in sound.items() if scan.low == scan.high == 0]
    flat = [index for index, scan in sound.items() if scan.low == scan.high != 0]
    for kind, rule, rows in (("zero", "every voxel is 0", zero), ("constant", "every voxel has one value", flat)):
        if rows:
            places = _places(cases, rows)
            findings.add(kind, "warning", rule, "Leave these cases out if that is not meant.", places, len(rows))


def _check_duplicates(cases: Cases, sound: dict[int, _Scan], findings: Findings) -> None:
    """Equal voxels within a split, across splits, and with different labels."""
    same: dict[str, list[int]] = collections.defaultdict(list)
    for index, scan in sound.items():
        if scan.low < scan.high:
            same[scan.digest].append(index)
    groups = [rows for rows in same.values() if len(rows) > 1]
    split_of = {int(row): name for name, rows in cases.splits.items() for row in rows}
    across = [rows for rows in groups if len({split_of.get(row) for row in rows}) > 1]
    within = [rows for rows in groups if rows not in across]
    labels = np.zeros(cases.count) if cases.labels is None else cases.labels
    mixed = [rows for rows in groups if len({int(labels[row]) for row in rows}) > 1]
    for kind, rule, fix, chosen in (
        ("leak", "equal volumes are in different splits", "Keep each in one split.", across),
        ("duplicates", "equal volumes are listed more than once", "Drop all but one, or name their patient.", within),
        ("labels", "equal volumes have different labels", "Correct the labels.", mixed),
    ):  # fmt: skip
        if chosen:
            places = [Place(detail=" = ".join(cases.names[row] for row in rows[:4])) for rows in chosen]
            findings.add(kind, "warning", rule, fix, places, len(chosen))


def _places(cases: Cases, rows: Iterable[int]) -> list[Place]:
    return [Place(detail=cases.scans.place(row)) for row in rows]


def _check_whole(
    source: Source,
    options: VolumeOptions,
    split: VolumeSplit | None,
    cases: Cases,
    failures: Failures,
    findings: Findings,
    summary: dict[str, Any],
) -> None:
    """What only shows when all cases are taken together, as training would."""
    for note in cases.notes:
        findings.add("note", "note", note.rstrip("."))
    if cases.labels is None and not cases.has_masks:
        findings.add("labels", "note", "there are no labels and no masks, so it can be predicted on and not trained on")
        return
    if isinstance(cases.scans, ArchiveScans):
        return
    same_sizes = isinstance(source, str | Path) and not cases.has_masks
    whole = read_cases(source, options, split or VolumeSplit(), same_sizes=same_sizes, failures=failures)
    summary["splits"] = _split_counts(whole)
    if len(whole.classes) == 1:
        findings.add("classes", "error", f"Every case is {quoted(whole.classes[0])}", "Give cases of two classes.")
        return
    for note in one_class_notes(whole):
        findings.add("classes", "warning", note)


def _summary(cases: Cases, sound: dict[int, _Scan]) -> dict[str, Any]:
    headers = [scan.header for scan in sound.values()]
    prepared = {_sizes(scan.prepared) for scan in sound.values()}
    return {
        "cases": cases.count,
        "sizes": _distinct(_sizes(header) for header in headers),
        "prepared sizes": _distinct(prepared) if prepared != {_sizes(header) for header in headers} else None,
        "channels": _distinct(str(header.channels) for header in headers),
        "axes": ", ".join(cases.options.axes or (headers[0].axes if headers else cases.axes)),
        "spacing": _distinct(millimetres(header.spacing, 4) for header in headers),
        "orientation": _distinct(header.orientation or "none" for header in headers),
        "type": _distinct(header.dtype.name for header in headers),
        "intensities": _range(sound.values()),
        "classes": _class_counts(cases),
        "patients": None if cases.patients is None else len(set(cases.patients)),
        "masks": _masks(list(sound.values())) if cases.has_masks else None,
        "splits": _split_counts(cases) or None,
    }  # fmt: skip


def _masks(scans: list[_Scan]) -> str:
    masks = [scan.mask for scan in scans if scan.mask is not None]
    values = sorted({value for mask in masks for value in mask})
    empty = sum(mask == (0,) for mask in masks)
    return f"{len(masks)}, values {listed((f'{value:g}' for value in values), 12)}" + (
        f", {empty} empty" if empty else ""
    )


def _range(scans: Collection[_Scan]) -> str | None:
    return f"{min(scan.low for scan in scans):g} to {max(scan.high for scan in scans):g}" if scans else None


def _sizes(header: VolumeHeader) -> str:
    return " x ".join(map(str, header.sizes))


def _distinct(values: Iterable[str]) -> str | None:
    counts = collections.Counter(values)
    if len(counts) < 2:
        return next(iter(counts), None)
    return listed((f"{value} ({count})" for value, count in counts.most_common()), 4)


def _class_counts(cases: Cases) -> str | None:
    if cases.labels is None:
        return None
    counts = np.bincount(cases.labels, minlength=len(cases.classes))
    return listed((f"{name} {count}" for name, count in zip(cases.classes, counts, strict=True)), 12)


def _split_counts(cases: Cases) -> str:
    counts = cases.class_counts()
    parts = []
    for name, rows in cases.splits.items():
        inner = ", ".join(f"{quoted(label)} {count}" for label, count in counts.get(name, {}).items())
        parts.append(f"{name} {len(rows)}" + (f" ({inner})" if inner and len(cases.classes) <= 6 else ""))
    return "; ".join(parts)
