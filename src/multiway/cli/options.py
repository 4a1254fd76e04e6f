"""Options that several commands share, and how `--set` becomes a nested mapping."""

import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from multiway.errors import ConfigError


class Task(StrEnum):
    """What can be trained."""

    forecast = "forecast"
    volumes = "volumes"
    segment = "segment"
    stocks = "stocks"


class StockProtocol(StrEnum):
    """How stock samples are cut, labelled and split."""

    chronological = "chronological"
    stocknet = "stocknet"
    published_code = "published-code"


class Modality(StrEnum):
    """What a network of stocks sees."""

    multimodal = "multimodal"
    price = "price"
    text = "text"


RunFolder = Annotated[Path, typer.Argument(help="Folder written by `multiway train`.")]
DataFile = Annotated[str | None, typer.Option("--data", help="A file, a folder, or a known data set's name.")]
Out = Annotated[Path | None, typer.Option("--out", help="Where to write; the ending says the format.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", help="Override one field: --set training.epochs=5. May be repeated."),
]
SERIES, SCANS, STOCKS = "Series", "Scans", "Stocks"
"""Headings of the help, under which options of one kind of data stand."""

Levels = Annotated[str | None, typer.Option(help="Interval levels in percent: 80,95.", rich_help_panel=SERIES)]
Texts = Annotated[
    str | None,
    typer.Option(
        help="Texts of each ticker, or ready vectors: a file or folder. 'none': none.", rich_help_panel=STOCKS
    ),
]
Encoder = Annotated[
    str | None,
    typer.Option(help="Turns texts into vectors: auto, minilm, finbert, hashed, a folder.", rich_help_panel=STOCKS),
]
Seen = Annotated[Modality | None, typer.Option("--modality", help="What the network sees.", rich_help_panel=STOCKS)]

TASKS_OF_OPTION: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("horizon", "lookback", "variates", "missing", "duplicates", "gaps", "layout", "levels"), ("forecast",)
    ),
    **dict.fromkeys(
        ("patient", "size", "spacing", "resample_to", "orientation", "window", "axes", "keep_going", "cases"),
        ("volumes", "segment"),
    ),
    "label": ("volumes",),
    "maps": ("volumes",),
    "mask": ("segment",),
    **dict.fromkeys(
        ("texts", "time_zone", "exchange_zone", "close", "encoder", "protocol", "modality", "date", "tickers"),
        ("stocks",),
    ),
    **dict.fromkeys(("cutoffs", "step"), ("forecast",)),
    **dict.fromkeys(("top", "cost_bps"), ("stocks",)),
}
"""Tasks that an option is for; one that is not here is for every task."""


def belonging(task: str, given: dict[str, Any]) -> dict[str, Any]:
    """Options that were given.

    Raises:
        ConfigError: One of them is not for this task.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        tasks = TASKS_OF_OPTION.get(name, (task,))
        if task not in tasks:
            option = "--" + name.replace("_", "-")
            raise ConfigError(f"{option} is for {' and '.join(tasks)}, not for {task}. Leave it out.")
    return chosen


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
        return value if isinstance(read, datetime.date) else _with_dates_as_text(read)
    except yaml.YAMLError:
        if value == ",":
            return value  # a shell has taken the quotes from ','
        raise typer.BadParameter(f"the value of {assignment!r} is not plain YAML", param_hint="--set") from None


def _with_dates_as_text(read: Any) -> Any:
    """Dates inside lists as they are written; a config holds them so."""
    if isinstance(read, list):
        return [_with_dates_as_text(each) for each in read]
    return read.isoformat() if isinstance(read, datetime.date) else read


def _assign(target: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        target = target.setdefault(part, {})
        if not isinstance(target, dict):
            raise typer.BadParameter(f"{'.'.join(path)} goes through {part}, which has a value", param_hint="--set")
    target[path[-1]] = value


NUMBERS = {"size": (int, 3), "resample_to": (int, 3), "spacing": (float, 3), "window": (float, 2)}


def reading(task: str, given: dict[str, Any]) -> dict[str, Any]:
    """Fields of the section `read` of a run, from the options that were given; lists are split."""
    chosen = belonging(task, given)
    for name in chosen:
        if name in NUMBERS:
            kind, count = NUMBERS[name]
            chosen[name] = numbers(chosen[name], kind, count, "--" + name.replace("_", "-"))
        elif name in ("variates", "axes"):
            chosen[name] = names(chosen[name])
    return chosen


SECTION_OF_OPTION = {
    "encoder": ("text", "encoder"),
    "protocol": ("protocol", "name"),
    "modality": ("model", "modality"),
}
"""Options of a field outside the section `read`."""


def sections(task: str, given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Sections of a run's config, from the options that were given; most options are fields of `read`."""
    read = reading(task, given)
    chosen: dict[str, dict[str, Any]] = {}
    for name in [name for name in read if name in SECTION_OF_OPTION]:
        section, field = SECTION_OF_OPTION[name]
        chosen[section] = {field: str(read.pop(name))}
    return ({"read": read} if read else {}) | chosen


def numbers(text: str, kind: type[int] | type[float], count: int, option: str) -> list[float]:
    """Split "64,64,64" into so many numbers."""
    try:
        values = [kind(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count:
        what = "whole numbers" if kind is int else "numbers"
        raise typer.BadParameter(f"give {count} {what}, separated by commas, got {text!r}", param_hint=option)
    return values


def names(text: str | None) -> list[str] | None:
    """Split "a,b" into names; None stays None."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def levels(text: str | None) -> tuple[float, ...] | None:
    """Split "80,95" into percentages; None stays None."""
    try:
        return None if text is None else tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"give percentages such as 80,95, got {text!r}", param_hint="--levels") from None
