"""Which files make up a data set: rows of a table, entries of a JSON datalist, or the scans of a folder."""

import collections
import dataclasses
import itertools
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from multiway.data.findings import Failures, keep_errors, list_some, quote, soundly
from multiway.data.options import ReadOptions, VolumeOptions
from multiway.data.samples import SPLIT_OF
from multiway.data.sources.cells import words
from multiway.data.sources.columns import usual_column
from multiway.data.sources.scans.dicom import slices_in
from multiway.data.sources.scans.reading import DICOM_ENDINGS, foreign_form, is_scan, refuse_foreign
from multiway.data.sources.tables import load_table
from multiway.errors import DataError, Fix, OverBudgetError
from multiway.files import add_input

MAX_DATALIST = 64_000_000
PATIENT_NAMES = ("patient", "patient_id", "patientid", "subject", "subject_id")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ScanEntry:
    """One case as it is listed; strings as they stand there.

    place: Row or entry, as messages call it.
    subgroups: What it belongs to by column, empty where nobody knows.
    """

    place: str
    file: Path
    label: str | None = None
    patient: str | None = None
    mask: Path | None = None
    split: str | None = None
    subgroups: tuple[tuple[str, str], ...] = ()


def list_entries(
    path: Path, options: VolumeOptions, failures: Failures | None = None, labelled: bool = True
) -> list[ScanEntry]:
    """All cases of a table, a datalist, a folder, or of one scan.

    `failures` takes what is wrong with single entries, which are left out; without it the first is raised.
    """
    refuse_foreign(path)
    if path.is_dir():
        entries = _list_folder(path)
    elif path.suffix.lower() == ".json":
        entries = _list_datalist(path, options, failures, labelled)
    elif is_scan(path):
        entries = [ScanEntry(place=quote(path.name, 80), file=path)]
    else:
        entries = _list_table(path, options, failures, labelled)
    if not entries and failures:
        raise failures.pop(0)
    add_input(*(each for entry in entries for each in (entry.file, entry.mask)))
    return entries


def _list_folder(folder: Path) -> list[ScanEntry]:
    """Scans below a folder, in the order of their names; a folder of slices is one scan, and hidden ones are none."""
    files: list[Path] = []
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        here = Path(path)
        scans = [here / name for name in sorted(names) if is_scan(here / name) and not name.startswith(".")]
        single = [file for file in scans if not file.name.lower().endswith(DICOM_ENDINGS)]
        files += single if single or not slices_in(here) else [here]
    if not files:
        other = next((file for file in sorted(folder.rglob("*")) if foreign_form(file)), folder)
        refuse_foreign(other)
        raise DataError(
            f"{quote(folder, 200)}: there is no scan in it. Give a folder with .nii, .nii.gz, .npy, .npz or DICOM "
            f"files."
        )
    shown = {file: file.name if file == folder else file.relative_to(folder) for file in sorted(files)}
    return [ScanEntry(place=quote(name, 120), file=file) for file, name in shown.items()]


def _list_table(path: Path, options: VolumeOptions, failures: Failures | None, labelled: bool) -> list[ScanEntry]:
    where, id_columns = quote(path.name, 80), (options.patient or "patient", options.label)
    reading = ReadOptions(id_column=id_columns, time_column=options.path)
    table = soundly(where, lambda findings: load_table(path, reading, findings))
    names = table.names
    if options.path not in names:
        raise DataError(
            f"{where}: there is no column '{quote(options.path)}' of files. Got {list_some(names)}. Name it (",
            Fix("read.path", like="NAME"),
            ").",
        )
    if options.patient is not None and options.patient not in names:
        raise DataError(f"{where}: there is no column '{quote(options.patient)}' of patients. Got {list_some(names)}.")
    if labelled and options.label != "label" and options.label not in names:
        raise DataError(f"{where}: there is no column '{quote(options.label)}' of labels. Got {list_some(names)}.")
    columns = {"file": options.path, "patient": options.patient or usual_column(names, PATIENT_NAMES)}
    if labelled:
        columns |= {"label": options.label, "mask": options.mask, "split": options.split}
    cells = {kind: table.columns[name].words for kind, name in columns.items() if name is not None and name in names}
    root = path.parent if options.root is None else Path(options.root)
    if options.mask in names:
        add_input(*(root / cell for cell in table.columns[options.mask].words if cell))
    if labelled:
        require_listed(options.subgroups, names, where)
    parts = {name: table.columns[name].words for name in options.subgroups if name in names}
    entries = []
    for row in range(len(table.rows)):
        own = {kind: column.iloc[row] or None for kind, column in cells.items()}
        with keep_errors(failures):
            entry = _read_entry(own, f"{where}, {table.place(row)}", root, options)
            subgroups = tuple((name, column.iloc[row]) for name, column in parts.items())
            entries.append(dataclasses.replace(entry, subgroups=subgroups))
    return entries


def require_listed(subgroups: Iterable[str], names: Iterable[str], where: str) -> None:
    """Whether columns of subgroups are there."""
    known = list(names)
    for name in subgroups:
        if name not in known:
            raise DataError(f"{where}: there is no column '{quote(name)}' of subgroups. Got {list_some(known)}.")


def _as_text(value: Any) -> str | None:
    """A value of a datalist as text, as a table has it; None where it is empty."""
    return words(pd.Series([value])).iloc[0] or None


def _read_entry(cells: dict[str, Any], place: str, root: Path, options: VolumeOptions) -> ScanEntry:
    file, mask, split = cells.get("file"), cells.get("mask"), cells.get("split")
    if not isinstance(file, str):
        raise DataError(f"{place}: a file is needed in '{quote(options.path)}'. Got {quote(file)}. Give one per row.")
    if split is not None and str(split).lower() not in SPLIT_OF:
        raise DataError(f"{place}: a split is train, validation or test. Got '{quote(split)}'. Correct it.")
    if "patient" in cells and cells["patient"] is None:
        raise DataError(f"{place}: a patient is needed in every row, or in none. Fill it in.")
    return ScanEntry(
        place=place,
        file=_find_file(file, root, place),
        label=cells.get("label"),
        patient=cells.get("patient"),
        mask=None if mask is None else _find_file(str(mask), root, place),
        split=None if split is None else SPLIT_OF[str(split).lower()],
    )


def _find_file(text: str, root: Path, place: str) -> Path:
    """A path below the root, whatever it says and wherever links lead."""
    if "\x00" in text:
        raise DataError(f"{place}: a path holds no NUL character. Got '{quote(text)}'. Correct it.")
    base = Path(os.path.abspath(root))  # noqa: PTH100 - messages and paths name folders as the user does
    full = Path(os.path.normpath(base / text))
    outside = DataError(
        f"{place}: files must lie below {quote(base, 120)}, links followed. Got '{quote(text, 120)}'. Move them, or "
        f"name the folder that holds them all (",
        Fix("read.root", like="FOLDER"),
        ").",
    )
    if not full.is_relative_to(base):
        raise outside
    if not full.exists():
        raise DataError(f"{place}: there is no file '{quote(text, 120)}' in {quote(base, 120)}. Correct the path.")
    if not full.resolve().is_relative_to(base.resolve()):
        raise outside
    return full


def _list_datalist(path: Path, options: VolumeOptions, failures: Failures | None, labelled: bool) -> list[ScanEntry]:
    """A JSON list of `{"image": ..., "label": ...}`, or Decathlon's lists `training`, `validation` and `test`.

    A label that names a file is a segmentation mask. Decathlon's `test` has no labels; where others have them, it is
    left out.
    """
    where = quote(path.name, 80)
    content = _read_json(path, where)
    groups: dict[str, Any] = {"": content} if isinstance(content, list) else {}
    if isinstance(content, dict):
        groups = {
            name: items for name, items in content.items() if name.lower() in SPLIT_OF and isinstance(items, list)
        }
    if not any(groups.values()):
        raise DataError(
            f"{where}: a datalist is a list of entries, or a mapping with lists 'training', 'validation' and 'test'. "
            f"Got {type(content).__name__}. Write it so, or give a table."
        )
    if (count := sum(map(len, groups.values()))) > options.max_files:
        rule = f"{where}: it lists {count:,} cases, and {options.max_files:,} may be read. Raise max_files ("
        raise OverBudgetError(rule, Fix("read.max_files", count), ").")
    root = path.parent if options.root is None else Path(options.root)
    given = len([name for name, items in groups.items() if items]) > 1
    entries = []
    for name, index, item in ((name, *pair) for name, items in groups.items() for pair in enumerate(items)):
        with keep_errors(failures):
            split = SPLIT_OF[name.lower()] if given else None
            entries.append(_read_item(item, f"{where}, {name or 'entry'} {index}", split, root, options, labelled))
    return _drop_unlabelled_test(entries) if labelled else entries


def may_be_datalist(path: Path) -> bool:
    """Whether JSON lists files or maps splits to lists, or is broken: reading it as a datalist says what is wrong."""
    try:
        content = _read_json(path, "")
    except DataError:
        return True
    if isinstance(content, dict):
        lists = [name for name, items in content.items() if name.lower() in SPLIT_OF and isinstance(items, list)]
        return bool(lists) or not content
    first = next(iter(content), "") if isinstance(content, list) else None
    return isinstance(first, str) or (isinstance(first, dict) and "image" in first)


def label_names(path: Path) -> tuple[str, ...] | None:
    """Names of the labels 0, 1, 2 ... as a datalist gives them, in Decathlon's way or nnU-Net's; None without any.

    Decathlon maps values to names, nnU-Net names to values.
    """
    content = _read_json(path, quote(path.name, 80))
    given = content.get("labels") if isinstance(content, dict) else None
    if not isinstance(given, dict):
        return None
    pairs = [(key, name) if str(key).isdecimal() else (name, key) for key, name in given.items()]
    names = {int(value): str(name) for value, name in pairs if str(value).isdecimal() and len(str(value)) < 4}
    return tuple(names.get(value, str(value)) for value in range(max(names) + 1)) if names else None


def _drop_unlabelled_test(entries: list[ScanEntry]) -> list[ScanEntry]:
    """Leave out a test list without labels and masks where all others have them."""
    is_test = [entry.split == "test" for entry in entries]
    is_labelled = [entry.label is not None or entry.mask is not None for entry in entries]
    if not any(is_test) or all(is_test) or any(test == known for test, known in zip(is_test, is_labelled, strict=True)):
        return entries
    others = [entry for entry in entries if entry.split != "test"]
    only_training = {entry.split for entry in others} == {"train"}
    return [dataclasses.replace(entry, split=None) for entry in others] if only_training else others


def _read_json(path: Path, where: str) -> Any:
    try:
        if path.stat().st_size > MAX_DATALIST:
            raise DataError(f"{where}: a datalist has at most {MAX_DATALIST:,} bytes. Got {path.stat().st_size:,}.")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{where}: it cannot be opened ({error.strerror}). Check its permissions.") from None
    except RecursionError:
        raise DataError(f"{where}: it is nested too deeply to be a datalist. Write it again.") from None
    except DataError:
        raise
    except ValueError as error:  # among them JSONDecodeError and UnicodeDecodeError
        raise DataError(f"{where}: it is no JSON ({quote(error, 80)}). Write it again.") from None


def _read_item(
    item: Any, place: str, split: str | None, root: Path, options: VolumeOptions, labelled: bool
) -> ScanEntry:
    if isinstance(item, str):
        item = {"image": item}
    if not isinstance(item, dict):
        raise DataError(f"{place}: an entry maps 'image' and 'label' to a file and its label. Got {quote(item)}.")
    file = item.get("image", item.get(options.path))
    label, mask = item.get(options.label), item.get(options.mask)
    add_input(*(root / each for each in (label, mask) if isinstance(each, str)))
    label, mask = (label, mask) if labelled else (None, None)
    if isinstance(label, str) and is_scan(Path(label)):
        label, mask = None, label
    if isinstance(file, list) or isinstance(label, list | dict) or isinstance(mask, list | dict):
        raise DataError(f"{place}: a case has one file and one label. Got {quote(item, 80)}. Merge channels first.")
    patient = options.patient or next((name for name in item if str(name).lower() in PATIENT_NAMES), None)
    cells = {
        "file": file,
        "label": _as_text(label),
        "mask": mask,
        "split": item.get(options.split, split) if labelled else None,
    }
    if patient in item:
        cells["patient"] = _as_text(item[patient])
    return _read_entry(cells, place, root, options)


def case_names(files: Iterable[Path]) -> tuple[str, ...]:
    """A name per file, all different and safe in a file name: its own, with as many folders as tell it apart."""
    parts = []
    for file in files:
        bare = file.with_name(re.sub(r"(?i)\.(nii\.gz|nii|npy|npz|dcm|dicom|ima)$", "", file.name) or "case")
        safe = (re.sub(r"[^A-Za-z0-9._-]", "_", part)[:80].lstrip(".") for part in bare.parts if part != "/")
        parts.append([part or "_" for part in safe])
    names = [item[-1] for item in parts]
    depth = 1
    while len(set(names)) < len(names) and depth < max(map(len, parts)):
        depth += 1
        repeated = {name for name, count in collections.Counter(names).items() if count > 1}
        names = ["-".join(item[-depth:]) if name in repeated else name for name, item in zip(names, parts, strict=True)]
    seen: dict[str, None] = {}
    for name in names:
        free = (f"{name}-{count}" for count in itertools.count(2))
        seen[name if name not in seen else next(other for other in free if other not in seen)] = None
    return tuple(seen)
