"""What a check says of scans, each of which is read once, and whether a path holds some."""

import collections
import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from multiway.data.findings import Findings, Place, list_some
from multiway.data.options import MAX_BYTES
from multiway.data.sources.arrays import Archive
from multiway.data.sources.parquet import is_parquet
from multiway.data.sources.scans.arrays import is_medmnist
from multiway.data.sources.scans.bodies import grid_fixes, propose_grid
from multiway.data.sources.scans.cases import Cases, ScanLook
from multiway.data.sources.scans.listing import PATIENT_NAMES, may_be_datalist
from multiway.data.sources.scans.reading import foreign_form, is_scan
from multiway.data.sources.scans.volume import BARE_AXES, millimetres, sizes_in_words
from multiway.data.sources.tables import column_names
from multiway.errors import DataError, Fix, Message

ZARR = (".zgroup", "zarr.json")
"""A file that each folder of Zarr has."""
TABLES = (".csv", ".tsv", ".txt")
TEXTS = (".txt", ".text", ".md", ".tokens")
"""Endings of the files of a folder of texts, which holds no scans."""
FILLED: Message = (
    "If it means missing, give these voxels the value of the background, or clip them (",
    Fix("read.window", like="LOW,HIGH"),
    ").",
)
ORIENTATION = "RAS"
"""What scans that point in different directions are turned to."""


def looks_like_volumes(path: str | Path) -> bool:
    """Whether a path is a scan, a MedMNIST file, a folder, a datalist, or a table with a column of scans."""
    path = Path(path)
    if path.is_dir():
        entries = [entry for entry in path.iterdir() if not entry.name.startswith(".")]
        others = {*TEXTS, *TABLES, ".jsonl", ".parquet"}
        return not entries or any(entry.is_dir() or entry.suffix.lower() not in others for entry in entries)
    if is_scan(path) or foreign_form(path) or (path.suffix.lower() == ".json" and may_be_datalist(path)):
        return True
    if path.suffix.lower() not in TABLES:
        return is_parquet(path) and _names_folders(column_names(path))
    heads = _first_lines(path)[:1]
    return lists_scans(path) or any(_names_folders(re.split(r"[,;\t|]", line)) for line in heads)


def holds_named_arrays(source: object) -> bool:
    """Whether it is a folder of Zarr, or a .npz of several arrays that is none of MedMNIST's: a grid, if anything."""
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    if any((path / name).is_file() for name in ZARR):
        return True
    if path.suffix.lower() != ".npz" or not path.is_file():
        return False
    try:
        return len(Archive(path, MAX_BYTES, path.name).names) > 1 and not is_medmnist(path)
    except DataError:
        return False


def lists_scans(path: Path) -> bool:
    """Whether a text table names files of scans in its first rows."""
    if path.suffix.lower() not in TABLES:
        return False
    lines = _first_lines(path)[1:]
    cells = [cell.strip().strip('"') for line in lines for mark in ",;\t|" for cell in line.split(mark)]
    return any(is_scan(Path(cell)) for cell in cells if cell)


def lists_masks(path: Path) -> bool:
    """Whether a text table lists scans with their masks, and no classes of them."""
    heads = _first_lines(path)[:1] if path.suffix.lower() in TABLES else []
    names = {name.strip().strip('"').lower() for line in heads for name in re.split(r"[,;\t|]", line)}
    return {"path", "mask"} <= names and "label" not in names and lists_scans(path)


def _first_lines(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return [file.readline(100_000) for _ in range(3)]
    except OSError:
        return []


def _names_folders(columns: Iterable[str]) -> bool:
    """Whether there is a column `path` and others of labels or patients, as where series lie in folders."""
    names = {name.strip().strip('"').lower() for name in columns}
    return "path" in names and bool(names & {"label", "mask", *PATIENT_NAMES})


def check_scans(cases: Cases, findings: Findings) -> None:
    """Read each scan, one at a time: note those that cannot be read or say nothing, and what is known of all."""
    looks, failures = cases.inputs.looks
    findings.take_all("source", failures)
    zero = [index for index, look in looks.items() if look.low == look.high == 0]
    flat = [index for index, look in looks.items() if look.low == look.high != 0]
    for kind, rule, rows in (("zero", "every voxel is 0", zero), ("constant", "every voxel has one value", flat)):
        if rows:
            fix = "Leave these cases out if that is not meant."
            findings.add(kind, "warning", rule, fix, _places(cases, rows), len(rows))
    for value in sorted({value for look in looks.values() for value in look.fillers}):
        rows = [index for index, look in looks.items() if value in look.fillers]
        count = sum(looks[index].fillers[value] for index in rows)
        rule = f"{value:g} stands in {count:,} voxels, far from all others of their scans"
        findings.add("sentinel", "warning", rule, FILLED, _places(cases, rows), len(rows))
    rounded = [index for index, look in looks.items() if look.is_rounded]
    if rounded:
        rule = "labels of masks lie within 0.001 of whole numbers, and are rounded to them"
        findings.add("masks", "note", rule, "", _places(cases, rounded), len(rounded))
    for note in cases.notes:
        findings.add("note", "note", note.rstrip("."))
    _check_room(cases, findings)


def _check_room(cases: Cases, findings: Findings) -> None:
    """Note what a size cuts off, and a spacing and a size that hold every body where scans need them."""
    rooms = {row: look.room for row, look in cases.inputs.looks[0].items()}
    options, proposal = cases.inputs.options, propose_grid([*rooms.values()])
    if proposal is None or options.resample_to is not None or len(rooms[next(iter(rooms))].needed) != 3:
        return
    # what the proposal puts right is no reason not to use the data
    findings.found = [
        dataclasses.replace(found, severity="warning") if found.kind == "sizes" else found for found in findings.found
    ]
    fits = f"every body fits into {sizes_in_words(proposal[1])} voxels"
    settings = [part for fix in grid_fixes(proposal) for part in (" ", fix)]
    fix = ("Set what holds them (", *settings[1:], ").")
    if options.size is None:
        if proposal[0] is not None or len({room.whole.sizes for room in rooms.values()}) > 1:
            at = "" if proposal[0] is None else f" of {millimetres(proposal[0])}"
            findings.add("geometry", "note", f"{fits}{at}", fix)
        return
    cut = [row for row, room in rooms.items() if room.is_cut(options.size)]
    if cut:
        rule = f"size {sizes_in_words(options.size)} cuts the body in {len(cut)} of {len(rooms)} scans; {fits}"
        findings.add("cut", "warning", rule, fix, _places(cases, cut), len(cut))


def _places(cases: Cases, rows: Iterable[int]) -> list[Place]:
    return [Place(detail=cases.inputs.place(row)) for row in rows]


def settings_for(cases: Cases) -> tuple[Fix, ...]:
    """Orientation, spacing and size that bring scans to one grid that holds every body; none where they are on one."""
    scans = cases.inputs
    if scans.sizes is not None:
        return ()
    rooms = [look.room for look in scans.looks[0].values()]
    proposal = propose_grid(rooms)
    if proposal is not None:
        return grid_fixes(proposal)
    if any(room.whole.orientation is None or not room.whole.is_placed for room in rooms):
        return ()
    turned = dataclasses.replace(scans, options=scans.options.replace(orientation=ORIENTATION))
    return (Fix("read.orientation", ORIENTATION), *settings_for(cases.with_inputs(turned)))


def describe_scans(cases: Cases) -> dict[str, Any]:
    """Facts of scans, as they are and as options prepare them."""
    looks = [*cases.inputs.looks[0].values()]
    headers = [look.header for look in looks]
    sizes = [sizes_in_words(header.sizes) for header in headers]
    prepared = [sizes_in_words(look.prepared.sizes) for look in looks]
    masks = [look.mask for look in looks if look.mask is not None]
    values = (f"{value:g}" for value in sorted({value for mask in masks for value in mask}))
    empty = f", {count} empty" if (count := sum(set(mask) == {0} for mask in masks)) else ""
    axes = headers[0].axes if headers else BARE_AXES
    ends = (min((look.low for look in looks), default=0), max((look.high for look in looks), default=0))
    return {
        "cases": len(cases),
        "sizes": _distinct(sizes),
        "prepared sizes": _distinct(prepared) if set(prepared) != set(sizes) else None,
        "channels": _distinct(str(header.channels) for header in headers),
        "axes": ", ".join(cases.inputs.options.axes or axes),
        "spacing": _distinct(millimetres(header.spacing, 4) for header in headers),
        "orientation": _distinct(header.orientation or "none" for header in headers),
        "type": _distinct(header.dtype.name for header in headers),
        "kept by size": _describe_cuts(looks, cases.inputs.options.size),
        "intensities": f"{ends[0]:g} to {ends[1]:g}" if looks else None,
        "masks": f"{len(masks)}, values {list_some(values, 12)}{empty}" if cases.inputs.has_masks else None,
    }


def _describe_cuts(looks: list[ScanLook], size: tuple[int, ...] | None) -> str | None:
    """Share of the voxels, and of marked ones, that a size keeps of all scans, and of the one that it cuts most."""
    if size is None or not looks:
        return None
    shares = [look.room.share(size) for look in looks]
    words = f"{100 * sum(shares) / len(shares):.2f} % of the voxels, {100 * min(shares):.2f} % of one scan"
    cuts = [look.cut for look in looks if look.cut is not None and look.cut.marked]
    if cuts:
        left = sum(cut.kept for cut in cuts) / sum(cut.marked for cut in cuts)
        least = min(cut.kept / cut.marked for cut in cuts)
        words += f"; {100 * left:.2f} % of what masks mark, {100 * least:.2f} % of one mask"
    return words


def _distinct(values: Iterable[str]) -> str | None:
    counts = collections.Counter(values)
    if len(counts) < 2:
        return next(iter(counts), None)
    return list_some((f"{value} ({count})" for value, count in counts.most_common()), 4)
