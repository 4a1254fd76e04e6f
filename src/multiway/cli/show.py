"""Answers on stdout, as lines for a reader or as one JSON document; only the first of several processes prints."""

import dataclasses
import datetime
import errno
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import typer

Row = Mapping[str, object]
HUGE = 1e9
"""From here on a number is written by its power of ten."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Output:
    """What a command has to say.

    lines: For a reader; made as they are printed.
    head: A line before a table that other programs read; it goes to stderr.
    document: The same as plain values, made on demand.
    is_bad: Whether the command exits with 1, though it did its work.
    """

    lines: Iterable[str]
    document: Callable[[], Any]
    is_bad: bool = False
    head: str = ""

    def show(self, *, as_json: bool) -> None:
        """Print it."""
        if as_json:
            print_lines([json.dumps(plain_values(self.document()), indent=1, ensure_ascii=False, allow_nan=False)])
        else:
            if self.head:
                typer.echo(self.head, err=True)
            print_lines(self.lines)


def table(
    rows: Sequence[Row],
    head: Sequence[str] = (),
    words: Mapping[str, str] | None = None,
    details: Collection[str] = (),
) -> Output:
    """An answer that is a table, after some lines; a reader has models in words, and no columns of details."""
    return Output(lines=[*head, *align_rows(in_words(rows, words or {}), details)], document=lambda: uniform(rows))


def in_words(rows: Sequence[Row], words: Mapping[str, str]) -> list[Row]:
    """Rows whose models have their names in words."""
    return [{**row, "model": words.get(str(row["model"]), row["model"])} if "model" in row else row for row in rows]


def location(path: object, name: str = "path") -> Output:
    """An answer that is a file or folder."""
    return Output(lines=[str(path)], document=lambda: {name: path})


def print_lines(texts: Iterable[str]) -> None:
    """Print lines, unless this is a second process of a `torchrun`."""
    if os.environ.get("RANK", "0") == "0":
        for text in texts:
            if sys.stdout is None:
                raise OSError(errno.EBADF, "it is closed", "stdout")
            typer.echo(text)


def align_rows(rows: Sequence[Row], details: Collection[str] = ()) -> Iterator[str]:
    """Rows as columns: numbers to the right with four decimals, huge ones by their power of ten, words to the left.

    Columns of details are left out.
    """
    if rows:
        head = [name for name in _head(rows) if name not in details]
        body = [[_cell(row.get(name)) for name in head] for row in rows]
        numeric = [all(isinstance(row.get(name), int | float | None) for row in rows) for name in head]
        widths = [max(len(head[i]), *(len(cells[i]) for cells in body)) for i in range(len(head))]
        yield from (_line(cells, widths, numeric) for cells in [head, *body])


def uniform(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Rows with the same names in the same order; what a row lacks is None."""
    head = _head(rows)
    return [{name: row.get(name) for name in head} for row in rows]


def plain_values(value: Any) -> Any:
    """A value as JSON can hold it: numbers that are not finite are None, times and paths are text."""
    if isinstance(value, Mapping):
        return {str(name): plain_values(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        return plain_values(value.tolist())
    if isinstance(value, datetime.date | datetime.time) and value == value:  # what is no time is not itself
        return value.isoformat()
    return str(value) if value == value else None


def _head(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < HUGE else f"{value:.4e}"
    return str(value)


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    )
    return "  ".join(padded).rstrip()
