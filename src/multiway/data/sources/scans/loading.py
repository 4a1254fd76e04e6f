"""`read_cases`: a MedMNIST file, a table of files, a folder of scans or arrays as samples with scans."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Failures, Finding, Findings, keep_errors, list_some, quote
from multiway.data.matching import positions
from multiway.data.options import LabelKind, VolumeOptions
from multiway.data.samples import Samples
from multiway.data.sources.bytes import within
from multiway.data.sources.cells import parse_cells
from multiway.data.sources.scans.arrays import CASES_PER_CLASS, Arrays, is_medmnist, read_medmnist
from multiway.data.sources.scans.bodies import Room
from multiway.data.sources.scans.cases import SAME_SIZE, Cases, ScanFiles, Scans, scan_cases
from multiway.data.sources.scans.dicom_seg import read_dicom_seg
from multiway.data.sources.scans.grids import header_after_preparing, list_differences
from multiway.data.sources.scans.listing import ScanEntry, case_names, label_names, list_entries
from multiway.data.sources.scans.reading import read_header, read_volume
from multiway.data.sources.scans.volume import Volume, VolumeHeader, millimetres, sizes_in_words
from multiway.data.targets import are_classes, in_order, name_truths, note_spellings, read_labels
from multiway.errors import DataError, Fix, MultiwayError

Source = str | Path | Arrays | Cases
"""A path, arrays in memory, or cases that were read already."""


class FileScans(ScanFiles):
    """Volumes that are files of their own."""

    def __init__(self, entries: Sequence[ScanEntry], options: VolumeOptions) -> None:
        self.entries, self.options = entries, options

    def file(self, index: int) -> Path:
        """The file of a volume, or the folder of its slices."""
        return self.entries[index].file

    def header(self, index: int) -> VolumeHeader:
        """What is said of a volume before it is read."""
        file, options = self.entries[index].file, self.options
        with _name_row(self.place(index), file):
            return read_header(file, max_bytes=options.max_bytes, channels=options.channels, series=options.series)

    def volume(self, index: int) -> Volume:
        """The volume as it is in the file."""
        return self._read(index, self.entries[index].file, self.options.channels)

    def mask(self, index: int) -> Volume | None:
        """Its segmentation mask as it is in the file."""
        file = self.entries[index].mask
        if file is None:
            return None
        with _name_row(self.place(index), file):
            made = read_dicom_seg(file, self.header(index), self.options.max_bytes, quote(file.name, 80))
        return self._read(index, file, False) if made is None else made

    def place(self, index: int) -> str:
        """File, or table and row."""
        return self.entries[index].place

    def _read(self, index: int, file: Path, channels: bool) -> Volume:
        with _name_row(self.place(index), file):
            limit, series = self.options.max_bytes, self.options.series
            volume = read_volume(file, max_bytes=limit, channels=channels, series=series)
        place, name = self.place(index), quote(file.name, 80)
        return dataclasses.replace(volume, source=place if place.endswith(name) else f"{place}, {name}")


@contextlib.contextmanager
def _name_row(place: str, file: Path) -> Iterator[None]:
    """Put the row of the table before what is wrong with a file."""
    try:
        yield
    except DataError as error:
        if place.endswith(quote(file.name, 80)):
            raise
        first, *rest = error.args
        raise type(error)(f"{place}: {first}", *rest) from None


def read_cases(
    source: Source,
    options: VolumeOptions | None = None,
    *,
    opened: bool = True,
    labelled: bool = True,
    same_sizes: bool = True,
    findings: Findings | None = None,
) -> Cases:
    """Find the cases of a source: labels, patients and splits as the data name them, not yet the voxels.

    With `opened` the header of each file is read: cases are then known to agree in channels, and in sizes unless
    `same_sizes` is False. Without `labelled`, labels, masks and splits are not read, whatever they hold.
    `findings` takes what is wrong with single cases, which are left out; without it the first is raised.
    """
    options = options or VolumeOptions()
    if isinstance(source, Samples):
        return source
    if isinstance(source, Arrays):
        return source.cases(options)
    path = Path(source)
    if not path.exists():
        raise DataError(f"{quote(path, 200)} does not exist. Give a .npz, a table of files, or a folder of scans.")
    if path.suffix.lower() == ".npz" and path.is_file() and is_medmnist(path):
        return read_medmnist(path, options)
    failures: Failures | None = None if findings is None else []
    try:
        with within(options, path):
            cases = _list_cases(path, options, failures, labelled)
            return _open_headers(cases, same_sizes, findings, failures) if opened else cases
    finally:
        if findings is not None:
            findings.take_all("source", failures or ())


def _list_cases(path: Path, options: VolumeOptions, failures: Failures | None, labelled: bool) -> Cases:
    """Cases of what is listed: labels, patients and splits, by which no file is opened."""
    entries = list_entries(path, options, failures, labelled)
    where = quote(path.name, 80)
    names = labels = classes = patients = None
    with keep_errors(failures):
        names = label_names(path) if path.suffix.lower() == ".json" else None
        labels, classes = _read_labels(entries, where, options.kind if names is None else "classes")
    with keep_errors(failures):
        bare = [entry for entry in entries if entry.patient is None]
        if 0 < len(bare) < len(entries):
            raise DataError(f"{bare[0].place}: a patient is needed for every case, or for none. Fill it in.")
        patients = None if bare else tuple(str(entry.patient) for entry in entries)
    if names is not None and classes is not None:
        classes = tuple(
            names[int(name)] if name.isdecimal() and name == str(int(name)) and int(name) < len(names) else name
            for name in classes
        )
    scans = Scans(
        files=FileScans(entries, options),
        options=options,
        rows=np.arange(len(entries)),
        source=where,
        has_masks=any(entry.mask is not None for entry in entries),
        mask_names=names,
    )
    splits = tuple(entry.split or "" for entry in entries)
    return scan_cases(
        scans,
        case_names(entry.file for entry in entries),
        labels=labels,
        classes=classes,
        target_name=options.label,
        patients=patients,
        official=splits if any(splits) else None,
        subgroups={name: tuple(dict(entry.subgroups)[name] for entry in entries) for name, _ in entries[0].subgroups},
    )


def check_listed(cases: Cases, findings: Findings) -> None:
    """Note where a file is listed twice, rows have no split, or a patient is in two, as training may not have it."""
    failures = list[MultiwayError]()
    with keep_errors(failures):
        files, seen = cases.inputs.files, dict[Path, str]()
        for entry in files.entries if isinstance(files, FileScans) else ():
            if entry.file in seen:
                raise DataError(
                    f"{cases.source}: a file must be listed once. {quote(entry.file.name)} is in {seen[entry.file]} "
                    f"and {entry.place}. Drop one of them."
                )
            seen[entry.file] = entry.place
    with keep_errors(failures):
        _check_splits(cases)
    note_spellings("label", cases.classes or (), findings)
    findings.take_all("source", failures)


def _read_labels(
    entries: Sequence[ScanEntry], where: str, kind: LabelKind
) -> tuple[NDArray[Any] | None, tuple[str, ...] | None]:
    """Labels as numbers, or as positions in classes, as tables have them: 01 and 1 are two, truths have one name."""
    if all(entry.label is None for entry in entries):
        return None, None
    if kind == "labels":
        return read_labels([entry.label or "" for entry in entries], None, where, "cases")
    missing = next((entry for entry in entries if entry.label is None), None)
    if missing is not None:
        raise DataError(f"{missing.place}: a label is needed in every row, or in none. Fill it in, or drop the row.")
    given = name_truths(pd.Series([entry.label for entry in entries], dtype=object))
    values, bad, _ = parse_cells(given)
    if not are_classes(kind, None if bad.any() else values, CASES_PER_CLASS):
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise DataError(f"{entries[row].place}: a number is needed. Got '{quote(given[row])}'. Correct it.")
        return values, None
    classes = in_order(given.unique())
    if len(classes) > max(50, len(given) // 2):
        raise DataError(
            f"{where}: {len(classes)} different labels for {len(given)} cases are no classes: {list_some(classes, 4)}. "
            f"Name another column (",
            Fix("read.label", like="NAME"),
            "), or set kind if they are numbers (",
            Fix("read.kind", "number"),
            ").",
        )
    return positions(tuple(given), classes), classes


def _check_splits(cases: Cases) -> None:
    """Where the data name splits, each row has one, and each patient is in one."""
    official = cases.official
    if official is None:
        return
    without = [row for row, split in enumerate(official) if not split]
    if without:
        rule = f"a split is needed in every row, or in none ({len(without)} lack it). Fill it in."
        raise DataError(f"{cases.inputs.place(without[0])}: {rule}")
    splits: dict[str, set[str]] = {}
    for patient, name in zip(cases.groups or cases.names["case"], official, strict=True):
        splits.setdefault(patient, set()).add(name)
    torn = [patient for patient, own in splits.items() if len(own) > 1]
    if torn:
        both = " and ".join(sorted(splits[torn[0]]))
        raise DataError(
            f"{cases.source}: a patient must be in one split. Patient '{quote(torn[0])}' is in {both} ({len(torn)} "
            f"such). Correct the column of splits, or leave it out to split by patient."
        )


def _open_headers(cases: Cases, same_sizes: bool, findings: Findings | None, failures: Failures | None) -> Cases:
    """Open every header: sizes and channels after preparing, and what is to be said of those that differ."""
    before: dict[str, VolumeHeader] = {}
    after: dict[str, VolumeHeader] = {}
    options, source = cases.inputs.options, cases.source
    for index, name in enumerate(cases.names["case"]):
        with keep_errors(failures):
            header = cases.inputs.file_header(index)
            after[name] = header_after_preparing(header, options, cases.inputs.place(index))
            before[name] = header
    if not after:
        return cases
    channels = {name: str(header.channels) for name, header in after.items()}
    with keep_errors(failures):
        if len(set(channels.values())) > 1:
            raise DataError(
                f"{source}: {list_differences('cases differ in channels', channels)}. Use one kind of scan."
            )
    sizes = {name: sizes_in_words(header.sizes, "x") for name, header in after.items()}
    has_one_size = len(set(sizes.values())) == 1
    if same_sizes and not has_one_size and not (cases.inputs.has_masks and cases.target is None):
        rule = list_differences("cases differ in size", sizes)
        if findings is None:
            raise DataError(f"{source}: {rule}. ", *SAME_SIZE)
        findings.add("sizes", "error", rule, SAME_SIZE)
    if findings is not None:
        findings.found += [*_cut_findings(before, options, source), *_geometry_findings(before, options)]
    dtype = np.result_type(*{header.dtype for header in after.values()})
    form = dataclasses.replace(next(iter(after.values())), dtype=dtype)
    return cases.with_inputs(dataclasses.replace(cases.inputs, header=form, has_one_size=has_one_size))


def _cut_findings(headers: dict[str, VolumeHeader], options: VolumeOptions, source: str) -> Iterator[Finding]:
    """The share of voxels that a size keeps of the scan that it cuts most."""
    if options.size is None:
        return
    uncut = options.replace(size=None)
    whole = {name: header_after_preparing(header, uncut, source) for name, header in headers.items()}
    shares = {name: Room(whole=header, needed=()).share(options.size) for name, header in whole.items()}
    name = min(shares, key=shares.__getitem__)
    cut = sum(share < 1 for share in shares.values())
    if cut:
        rule = f"size {sizes_in_words(options.size)} cuts {cut} of {len(headers)} scans"
        least = f"keeps {100 * shares[name]:.2f} % of the voxels of {quote(name)}, the least"
        yield Finding(kind="size", severity="note", rule=f"{rule} and {least}")


def _geometry_findings(headers: dict[str, VolumeHeader], options: VolumeOptions) -> Iterator[Finding]:
    """What differs between scans and the option that fixes it, and voxels that are no cubes."""
    bare = [name for name, header in headers.items() if not header.is_placed]
    if bare:
        rule = (
            f"{len(bare)} of {len(headers)} scans do not say how they lie (qform and sform codes are 0), so they are "
            f"taken as LAS: {list_some(bare, 4)}"
        )
        yield Finding(
            kind="geometry", severity="warning", rule=rule, fix="Set their geometry if left and right matter."
        )
    lacking = [f"{quote(name)} has {header.lacking}" for name, header in headers.items() if header.lacking]
    if lacking:
        rule = f"slices may lack at the ends of {len(lacking)} of {len(headers)} scans: {list_some(lacking, 4)}"
        whole = "Add what is missing, or go on if these are all slices of the series."
        yield Finding(kind="geometry", severity="warning", rule=rule, fix=whole)
    spacings = {name: millimetres(header.spacing) for name, header in headers.items()}
    to_one = Fix("read.spacing", [1, 1, 1])
    if options.spacing is None and len(set(spacings.values())) > 1:
        fix = ("Set spacing to interpolate to one (", to_one, ").")
        rule = list_differences("spacings differ", spacings)
        yield Finding(kind="geometry", severity="warning", rule=rule, fix=fix)
    turned = {name: header.orientation or "none" for name, header in headers.items()}
    if options.orientation is None and len(set(turned.values())) > 1:
        fix = ("Set orientation to turn all (", Fix("read.orientation", "RAS"), ").")
        yield Finding(
            kind="geometry", severity="warning", rule=list_differences("orientations differ", turned), fix=fix
        )
    steps = {name: header.spacing for name, header in headers.items() if header.spacing is not None}
    long = {name: spacings[name] for name, step in steps.items() if max(step) > 1.05 * min(step)}
    if options.spacing is None and options.resample_to is None and long:
        fix = ("Set spacing if that matters (", to_one, ").")
        yield Finding(kind="geometry", severity="note", rule=list_differences("voxels are no cubes", long), fix=fix)
