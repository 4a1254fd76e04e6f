"""The options that say how data is read and cut: the same for `train`, `check` and `audit`, of whatever task."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from multiway.cli.options import SCANS, SERIES, STOCKS, StockProtocol, Texts


def _option(heading: str, text: str) -> Any:
    return Annotated[str | None, typer.Option(help=text, rich_help_panel=heading)]


READING: dict[str, Any] = {
    "variates": _option(SERIES, "Columns to use, separated by commas."),
    "missing": _option(SERIES, "What to do with missing cells: error, mask or ffill."),
    "duplicates": _option(SERIES, "Repeated time stamps: error, first, last, mean or keep."),
    "gaps": _option(SERIES, "Absent time stamps: error, fill or ignore."),
    "label": _option(SCANS, "Column of the class of each scan."),
    "mask": _option(SCANS, "Column of the mask of each scan."),
    "patient": _option(SCANS, "Column of the patient; splits keep a patient's scans together."),
    "size": _option(SCANS, "Voxels to crop or pad to, about the centre: 64,64,64."),
    "spacing": _option(SCANS, "Millimetres per voxel to resample to: 1,1,1."),
    "resample_to": _option(SCANS, "Voxels to stretch or shrink to: 28,28,28."),
    "orientation": _option(SCANS, "Order and direction of the axes to turn to: RAS."),
    "window": _option(SCANS, "Lowest and highest intensity that are told apart: -100,300."),
    "axes": _option(SCANS, "Names of the three axes of arrays without an affine."),
    "texts": Texts,
    "time_zone": _option(STOCKS, "Zone of time stamps that state none: UTC, Europe/London."),
    "exchange_zone": _option(STOCKS, "Zone of the exchange; New York if not given."),
    "close": _option(STOCKS, "When the exchange closes, 16:00; later texts count as the next day's."),
    "protocol": Annotated[
        StockProtocol | None, typer.Option(help="How samples are labelled and split.", rich_help_panel=STOCKS)
    ],
}
"""Type of each option by the name of its field."""


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command every option of `READING`; it takes them together, as a mapping called `reading`."""
    own = [each for name, each in inspect.signature(command).parameters.items() if name != "reading"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in READING.items()
    ]

    @functools.wraps(command)
    def gathered(**given: Any) -> None:
        reading = {name: given.pop(name) for name in READING}
        command(**given, reading=reading)

    gathered.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]  # what typer looks at
    gathered.__annotations__ = {each.name: each.annotation for each in [*own, *added]}
    return gathered
