"""Rows of text to columns: numbers where a whole column is numbers, and every irregular row named."""

import csv
import dataclasses
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place
from multiway.data.options import ReadOptions
from multiway.data.raw import EMPTY_CELLS, EXACT_INTEGERS, ID_NAMES, TIME_NAMES, Table
from multiway.data.text import EXPORT, Lines, refuse_open_quote, split_text


def read_text(raw: bytes, options: ReadOptions, findings: Findings) -> Table:
    """Read CSV bytes: columns that are numbers throughout as float64, all others as strings."""
    lines = split_text(raw, options.encoding, options.max_bytes, findings)
    try:
        if len(lines.names) > 1 and ("\n\n" in lines.body.rstrip("\n") or lines.body.startswith("\n")):
            raise _NotPlain  # blank lines: rows and lines no longer run in step
        if lines.body.count('"') % 2:
            raise _NotPlain  # a quotation mark without a partner
        frame = _parse(lines, options)
        if '"' in lines.body and lines.body.rstrip("\n").count("\n") + 1 != len(frame):
            raise _NotPlain  # quoted line breaks: the same
    except (pa.ArrowInvalid, _NotPlain):
        regular, rows, broken = _regular(lines, findings)
        return Table(frame=_parse(regular, options), rows=rows, unit="line", broken=broken)
    rows = np.arange(len(frame)) + lines.first
    return Table(frame=frame, rows=rows, unit="line", broken=np.zeros(len(frame), dtype=bool))


class _NotPlain(Exception):
    """The text needs the reader that counts fields."""


def _parse(lines: Lines, options: ReadOptions) -> pd.DataFrame:
    """Parse numbers where whole columns are finite numbers and their integers exact; the rest stays text."""
    keys = [f"f{position}" for position in range(len(lines.names))]
    texts = {key for key, name in zip(keys, lines.names, strict=True) if _is_label(name, options)}
    types = dict.fromkeys(texts, pa.string())
    source = lines.body.rstrip("\n").encode("utf-8", errors="replace") + b"\n"
    table = _read_inferred(source, keys, types, lines, options)
    suspects = [key for key in keys if not (key in texts or _is_sound(table[key]))]
    if suspects:
        raw = _read_arrow(source, keys, dict.fromkeys(suspects, pa.string()), lines, options, suspects)
    columns = {
        position: raw[key].to_pandas() if key in suspects
        else table[key].to_pandas() if key in texts
        else table[key].cast(pa.float64()).to_numpy()
        for position, key in enumerate(keys)
    }  # fmt: skip
    return pd.DataFrame(columns).set_axis(_named(lines.names), axis=1)


def _is_label(name: str, options: ReadOptions) -> bool:
    """Times and series names are text even where they look like numbers: 007 is not 7, and NA is a name."""
    return name in (options.time_column, options.id_column) or name.lower() in TIME_NAMES + ID_NAMES


def _read_inferred(
    source: bytes, keys: list[str], types: dict[str, pa.DataType], lines: Lines, options: ReadOptions
) -> pa.Table:
    """Let types be inferred from the first block; where a later block disagrees, read everything as text."""
    try:
        return _read_arrow(source, keys, types, lines, options, None)
    except pa.ArrowInvalid as error:
        if "conversion error" not in str(error):
            raise
    return _read_arrow(source, keys, dict.fromkeys(keys, pa.string()), lines, options, None)


def _read_arrow(
    source: bytes,
    keys: list[str],
    types: dict[str, pa.DataType],
    lines: Lines,
    options: ReadOptions,
    only: list[str] | None,
) -> pa.Table:
    return pyarrow.csv.read_csv(
        io.BytesIO(source),
        read_options=pyarrow.csv.ReadOptions(column_names=keys, block_size=min(len(source) + 1, 1 << 30)),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=lines.separator, newlines_in_values='"' in lines.body, ignore_empty_lines=False
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=types,
            include_columns=only,
            null_values=EMPTY_CELLS,
            strings_can_be_null=False,
            decimal_point=options.decimal,
        ),
    )


def _is_sound(column: pa.ChunkedArray) -> bool:
    """Whether inferred numbers are finite, and small enough for every integer among them to be exact."""
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return False
    values = column.cast(pa.float64(), safe=False).to_numpy()
    return bool(np.nanmax(np.abs(values), initial=0.0) < EXACT_INTEGERS)


def _named(names: list[str]) -> list[str]:
    return [name or f"unnamed {position}" for position, name in enumerate(names)]


def _regular(lines: Lines, findings: Findings) -> tuple[Lines, NDArray[np.int64], NDArray[np.bool_]]:
    """Read record by record; name those whose number of fields is wrong, and cut or pad them to go on."""
    refuse_open_quote(lines.body, lines.separator, lines.first, findings)
    width, last = len(lines.names), lines.first
    kept: list[list[str]] = []
    rows: list[int] = []
    broken: list[bool] = []
    wrong: list[Place] = []
    reader = csv.reader(io.StringIO(lines.body), delimiter=lines.separator)
    for record in _records(reader, findings):
        if record:
            broken.append(len(record) != width)
            if broken[-1]:
                value = lines.separator.join(record)
                wrong.append(Place(row=last, detail=f"{len(record)} fields", value=value))
            kept.append((record + [""] * width)[:width])
            rows.append(last)
        last = lines.first + reader.line_num
    if wrong:
        _add_field_counts(lines, wrong, len(kept), findings)
    body = io.StringIO()
    csv.writer(body, delimiter=lines.separator, lineterminator="\n").writerows(kept)
    return dataclasses.replace(lines, body=body.getvalue()), np.array(rows, dtype=np.int64), np.array(broken)


def _records(reader: Any, findings: Findings) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise findings.fatal("text", f"it is not a regular table ({error})", EXPORT) from None


def _add_field_counts(lines: Lines, wrong: list[Place], rows: int, findings: Findings) -> None:
    rule = f"{len(wrong)} of {rows} rows do not have the {len(lines.names)} fields of the header"
    if len(wrong) < rows:
        fix = "Fix these rows: a field too many or too few shifts every column after it."
        findings.add("fields", "error", rule, fix, wrong)
        return
    comma = lines.separator == "," and any(char.isdigit() for char in wrong[0].value or "")
    fix = "Numbers with a decimal comma need ';' between columns." if comma else "Fix the header or the rows."
    raise findings.fatal("fields", rule, fix, wrong)
