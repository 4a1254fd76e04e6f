"""Files of JSON: an object on each line, or one document, as services answer, with a table in it."""

import contextlib
import gzip
import itertools
import json
import sys
import zlib
from collections.abc import Generator, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import pandas as pd

from multiway.data.findings import Findings, Place, Unreadable, list_some, once, quote
from multiway.data.sources.bytes import (
    MAX_BYTES,
    OBJECTS,
    check_columns,
    check_memory,
    free_memory,
    read_bytes,
    too_large,
    unfolded,
    unpack_bytes,
)
from multiway.data.sources.cells import sound_text
from multiway.data.sources.columns import RawTable
from multiway.data.sources.forms import looks_like_time

MAX_LINE = 16_000_000
NO_OBJECT = "lines hold no sound JSON object"
ENDINGS = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz")
IN_MEMORY = 4
"""Bytes that one byte of JSON may take once read."""
FIRST = 100
"""Objects whose keys are looked at before a file is read."""
NUMBERS = ("boolean", "integer", "floating", "mixed-integer-float")
DEEPEST = 4
"""Names that lead to a table."""
SCALARS = {str, int, float, bool, type(None)}


def is_line_file(path: Path) -> bool:
    """Whether a file holds JSON by its name."""
    return path.name.lower().endswith(ENDINGS)


def load_lines(path: Path, limit: int, findings: Findings) -> RawTable:
    """Objects as rows of a table: columns of numbers as such, others as they came."""
    size = path.stat().st_size
    if size * IN_MEMORY > free_memory():
        rule = f"its {size / 1e9:.2g} GB of text may need {IN_MEMORY} times that memory"
        raise findings.fatal("memory", rule, "Write it as Parquet, or keep fewer texts.")
    if (document := read_document(path, limit, findings)) is not None:
        check_columns(document.shape[1], findings)
        return RawTable.whole(document)
    rows = dict(read_lines(path, limit, findings))
    columns = {key for each in rows.values() for key in each}
    if not columns:
        raise findings.fatal("empty", "it holds no objects", "Give one JSON object on each line.")
    check_columns(len(columns), findings)
    check_memory(len(rows), len(columns), 0, findings)
    names = _names_by_key(columns)
    named = [
        {names[key]: json.dumps(value) if _is_nested(value) else value for key, value in each}
        for each in map(dict.items, rows.values())
    ]
    frame = pd.DataFrame(named, dtype=object)
    numbers = [name for name in frame.columns if pd.api.types.infer_dtype(frame[name], skipna=False) in NUMBERS]
    frame[numbers] = frame[numbers].infer_objects()
    return RawTable.whole(frame, list(rows))


def _names_by_key(keys: Iterable[str]) -> dict[str, str]:
    """Names of columns, without blanks around them as in other tables, unless two would be one."""
    names = {key: sound_text(key) for key in keys}
    bare = {key: name.strip() for key, name in names.items()}
    return bare if len(set(bare.values())) == len(set(names.values())) else names


def _is_nested(value: object) -> bool:
    """Whether a cell is an object, or a list of other things than numbers and texts."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict | list) for one in value))


def names_of_json(path: Path) -> list[str]:
    """Names of a document's columns, or keys of the first objects; what is no sound file is judged where it is read."""
    with contextlib.suppress(Unreadable), contextlib.closing(read_lines(path, MAX_LINE, Findings(""))) as rows:
        if (document := read_document(path, MAX_BYTES, Findings(""))) is not None:
            return [str(name) for name in document.columns]
        keys = (key for _, item in itertools.islice(rows, FIRST) for key in item)
        return list(dict.fromkeys(_names_by_key(keys).values()))
    return []


def read_lines(path: Path, limit: int, findings: Findings) -> Generator[tuple[int, dict[str, Any]]]:
    """Number and object of each line; lines that hold none are a finding, and reading goes on.

    A packed file may unfold to no more bytes than the limit.
    """
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            lines: Any = gzip.open(file) if is_packed else file
            size = path.stat().st_size
            most = max(OBJECTS, size) if is_packed and limit == MAX_BYTES else sys.maxsize
            with lines:
                for count, each in enumerate(objects_of(lines, unfolded(limit, size) if is_packed else size, findings)):
                    if count == most:
                        raise too_large(f"its {size:,} bytes unpack to more than {most:,} objects", 2 * limit, findings)
                    yield each
    except (OSError, EOFError, zlib.error) as error:
        raise findings.fatal("unreadable", f"it cannot be read ({error})", "Write or copy it again.") from None


def objects_of(lines: IO[bytes], most: int, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same of lines that are open already, and of so many bytes at most."""
    broken: list[Place] = []
    count = number = read = 0
    while line := lines.readline(MAX_LINE + 1):
        number, read = number + 1, read + len(line)
        if len(line) > MAX_LINE:
            rule = f"a line has more than {MAX_LINE:,} bytes"
            raise findings.fatal("memory", rule, "Write one object on each line.", [Place(row=number, unit="line")])
        if read > most:
            raise too_large(f"it unpacks to more than {most:,} bytes", 4 * most, findings)
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):  # bad JSON or UTF-8, nested without end, numbers without end
            item = None
        if not isinstance(item, dict):
            count += 1
            if len(broken) < 20:
                broken.append(Place(row=number, unit="line", value=line[:60].decode("utf-8", "replace").strip()))
        else:
            yield number, item
    if count:
        findings.add("json", "error", f"{count} {NO_OBJECT}", "Correct them, or take them out.", broken, count)


def read_document(path: Path, limit: int, findings: Findings) -> pd.DataFrame | None:
    """The largest table in a document; None of a file with an object on each of several lines, or that is no JSON."""
    return once(("document", path, limit), findings, partial(_read_document, path, limit))


def _read_document(path: Path, limit: int, findings: Findings) -> pd.DataFrame | None:
    raw = unpack_bytes(read_bytes(path, findings), limit, findings)
    first, _, others = raw.strip().partition(b"\n")
    if others.strip() and _parse(first) is not None:
        return None
    found = dict(itertools.islice(_tables(_parse(raw), ()), FIRST))
    largest = max(map(len, found.values()), default=0)
    names = [name for name, table in found.items() if len(table) == largest]
    if len(names) > 1:
        rule = f"it holds {len(names)} tables of {largest} rows, {list_some(names)}"
        raise findings.fatal("json", rule, "Write one of them, an object on each line.")
    if names and names[0]:
        findings.add("json", "note", f"the table below '{quote(names[0])}' is read")
    return found[names[0]] if names else None


def _parse(raw: bytes) -> Any:
    """What a text says; None of what is no sound JSON."""
    with contextlib.suppress(ValueError, RecursionError):  # bad JSON or UTF-8, nested without end
        return json.loads(raw.decode("utf-8-sig"))
    return None


def _tables(item: Any, path: tuple[str, ...]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each table and the names that lead to it; what is inside one is none."""
    is_list = isinstance(item, list)
    for way in (_of_objects, _of_lists) if is_list else (_of_prometheus, _of_columns, _of_pairs, _of_names, _of_split):
        with contextlib.suppress(LookupError, TypeError, ValueError, OverflowError, AttributeError):
            if (table := way(item)) is not None and len(table) > 1:
                yield "/".join(path), table
                return
    if isinstance(item, dict) and len(path) < DEEPEST:
        for name, value in item.items():
            yield from _tables(value, (*path, name))


def _of_prometheus(item: Any) -> pd.DataFrame | None:
    """A row for each series and time of what Prometheus answers to a query of a range."""
    data = item["data"]
    if data["resultType"] != "matrix":
        return None
    rows = [
        (_name_of_metric(dict(each["metric"])), pd.Timestamp(float(time), unit="s"), float(value))
        for each in data["result"]
        for time, value in each["values"]
    ]
    return pd.DataFrame(rows, columns=["series", "time", "value"])


def _name_of_metric(labels: dict[str, Any]) -> str:
    """A series as Prometheus writes it, `up{job="a"}`."""
    others = ",".join(f'{name}="{value}"' for name, value in labels.items() if name != "__name__")
    return f"{labels.get('__name__', '')}{{{others}}}" if others else str(labels.get("__name__", ""))


def _are_scalars(items: Any) -> bool:
    return {*map(type, items)} <= SCALARS


def _of_columns(item: Any) -> pd.DataFrame | None:
    """Lists of as many cells, one for each column."""
    lists = list(item.values())
    is_table = len(lists) > 1 and all(isinstance(each, list) and _are_scalars(each) for each in lists)
    return pd.DataFrame(item) if is_table and len(set(map(len, lists))) == 1 else None


def _of_pairs(item: Any) -> pd.DataFrame | None:
    """Lists of pairs, a time and a value, one for each column."""
    lists = list(item.values())
    if not (lists and all(isinstance(each, list) and each for each in lists)):
        return None
    if not all(isinstance(pair, list) and len(pair) == 2 and _are_scalars(pair) for each in lists for pair in each):
        return None
    columns = [pd.Series(dict(pairs), name=name) for name, pairs in item.items()]
    return pd.concat(columns, axis=1).sort_index().rename_axis("time").reset_index()


def _of_names(item: Any) -> pd.DataFrame | None:
    """Objects of the same names, each below a time or the name of its row; or columns by those of their rows."""
    rows = list(item.values())
    if len(rows) < 2 or not all(isinstance(row, dict) and row.keys() == rows[0].keys() for row in rows):
        return None
    if not all(map(_are_scalars, map(dict.values, rows))):
        return None
    is_across = rows[0] and all(name.isdecimal() or looks_like_time([name]) for name in rows[0])
    table = pd.DataFrame(item) if is_across else pd.DataFrame(rows, index=list(item))
    if all(str(name).isdecimal() for name in table.index):  # rows that are counted, or times since 1970
        is_counted = list(table.index) == [*map(str, range(len(table)))]
        return table.set_axis(table.index.astype("int64")).rename_axis("time").reset_index(drop=is_counted)
    return table.rename_axis("time" if looks_like_time(table.index) else "name").reset_index()


def _of_split(item: Any) -> pd.DataFrame | None:
    """Rows of cells beside the names of their columns, as pandas writes them."""
    return pd.DataFrame(item["data"], columns=item["columns"]) if set(item) <= {"data", "columns", "index"} else None


def _of_objects(item: Any) -> pd.DataFrame | None:
    """A list of objects; those in them are columns of their own."""
    return pd.json_normalize(item, sep=" ") if item and all(isinstance(row, dict) for row in item) else None


def _of_lists(item: Any) -> pd.DataFrame | None:
    """A list of rows of as many cells without names."""
    is_table = all(isinstance(row, list) and len(row) == len(item[0]) > 1 and _are_scalars(row) for row in item)
    return pd.DataFrame(item, columns=[*map(str, range(len(item[0])))]) if is_table and item else None
