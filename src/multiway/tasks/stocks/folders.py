"""Published folders of prices and texts that are read as they are; rooms above add theirs to `PUBLISHED`."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from multiway.data.findings import Findings
from multiway.lazy import load_extensions


class DatedText(NamedTuple):
    """A text of such a folder: `row` is its line in `file`, and `day` what the file says of it."""

    ticker: str
    stamp: str
    day: str
    text: object
    row: int
    file: str


class PublishedFolder(Protocol):
    """How one lays out prices and texts."""

    def recognises(self, folder: Path) -> bool:
        """Whether it is such a folder."""

    def prices(self, folder: Path) -> tuple[Path, ...]:
        """Files of prices, named by their tickers."""

    def movements(self, file: Path, findings: Findings) -> dict[str, float]:
        """Movements by day that stand beside a file of prices; empty where there are none."""

    def texts(self, folder: Path) -> Path | None:
        """The folder of texts at or below a folder."""

    def read_texts(self, folder: Path, max_bytes: int, findings: Findings) -> Iterator[DatedText]:
        """Every text of it."""


PUBLISHED: list[PublishedFolder] = []


def published_folder() -> list[PublishedFolder]:
    """Every kind of folder that is known."""
    load_extensions("stock protocols")
    return PUBLISHED
