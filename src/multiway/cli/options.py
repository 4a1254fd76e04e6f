"""Options that several commands share, and how `--set` becomes a nested mapping."""

import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

RunFolder = Annotated[Path, typer.Argument(help="Folder written by `multiway train`.")]
DataFile = Annotated[
    str | None, typer.Option("--data", help="A CSV, CSV.gz or Parquet file, or a known data set's name.")
]
Out = Annotated[Path | None, typer.Option("--out", help="Where to write; the ending says the format.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", help="Override one field: --set training.epochs=5. May be repeated."),
]
Levels = Annotated[str | None, typer.Option(help="Interval levels in percent: 80,95.")]
Variates = Annotated[str | None, typer.Option(help="Columns to use, separated by commas.")]
Missing = Annotated[str | None, typer.Option(help="What to do with missing cells: error, mask or ffill.")]
Duplicates = Annotated[str | None, typer.Option(help="Repeated time stamps: error, first, last, mean or keep.")]
Gaps = Annotated[str | None, typer.Option(help="Absent time stamps: error, fill or ignore.")]


def nested(assignments: list[str]) -> dict[str, Any]:
    """Turn ["training.epochs=5"] into {"training": {"epochs": 5}}; values are read as YAML."""
    result: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not all(name.split(".")):
            raise typer.BadParameter(f"write part.field=value, got {assignment!r}", param_hint="--set")
        _assign(result, name.split("."), _plain(value, assignment))
    return result


def _plain(value: str, assignment: str) -> Any:
    try:
        read = yaml.safe_load(value)
        return value if isinstance(read, datetime.date) else read  # a config holds dates as text
    except yaml.YAMLError:
        if value == ",":
            return value  # a shell has taken the quotes from ','
        raise typer.BadParameter(f"the value of {assignment!r} is not plain YAML", param_hint="--set") from None


def _assign(target: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        target = target.setdefault(part, {})
        if not isinstance(target, dict):
            raise typer.BadParameter(f"{'.'.join(path)} goes through {part}, which has a value", param_hint="--set")
    target[path[-1]] = value


def reading(variates: str | None, missing: str | None, duplicates: str | None, gaps: str | None) -> dict[str, Any]:
    """Fields of the reading policy that were given."""
    given = {"variates": names(variates), "missing": missing, "duplicates": duplicates, "gaps": gaps}
    return {name: value for name, value in given.items() if value is not None}


def names(text: str | None) -> list[str] | None:
    """Split "a,b" into names; None stays None."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def levels(text: str | None) -> tuple[float, ...] | None:
    """Split "80,95" into percentages; None stays None."""
    try:
        return None if text is None else tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"give percentages such as 80,95, got {text!r}", param_hint="--levels") from None
