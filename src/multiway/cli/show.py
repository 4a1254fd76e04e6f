"""Answers on stdout: aligned tables and plain lines; only the first of several processes prints."""

import os
from collections.abc import Iterable, Mapping, Sequence

import typer


def lines(texts: Iterable[str]) -> None:
    """Print lines, unless this is a second process of a `torchrun`."""
    if os.environ.get("RANK", "0") == "0":
        for text in texts:
            typer.echo(text)


def table(rows: Sequence[Mapping[str, object]]) -> None:
    """Print mappings as columns: numbers to the right with four decimals, words to the left."""
    if rows:
        head = list(dict.fromkeys(name for row in rows for name in row))
        body = [[_cell(row.get(name)) for name in head] for row in rows]
        numeric = [all(isinstance(row.get(name), int | float | None) for row in rows) for name in head]
        widths = [max(len(head[i]), *(len(cells[i]) for cells in body)) for i in range(len(head))]
        lines(_line(cells, widths, numeric) for cells in [head, *body])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    )
    return "  ".join(padded).rstrip()
