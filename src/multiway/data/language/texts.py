"""Documents: what a text is read into, and where one ends."""

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Self

HEADING = re.compile(r"(?m)^(?= ?= [^=\n](?:.*[^=\n])? = ?$)")
"""Before a line such as ` = Title = `, which begins an article of WikiText."""
FEWEST = 3
"""Headings from which on a text is taken for articles."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Texts:
    """Documents in their order.

    documents: The texts.
    places: Where each stands: "plays.txt", "stories.jsonl, line 3".
    official: Split of each, by the names of the files; None where they name none.
    source: Name of the file or folder.
    notes: What reading did.
    encoding: Of the bytes, where it is known.
    """

    documents: tuple[str, ...]
    places: tuple[str, ...]
    official: tuple[str, ...] | None = None
    source: str
    notes: tuple[str, ...] = ()
    encoding: str | None = None

    def __len__(self) -> int:
        return len(self.documents)

    def with_documents(self, documents: Sequence[str], places: Sequence[str]) -> Self:
        """Other documents of the same source."""
        return dataclasses.replace(self, documents=tuple(documents), places=tuple(places))


def documents_of(text: str, how: str) -> list[str]:
    """Cut a text into its documents, each with its line ends; blank ones are left out."""
    return [part for part in _CUTS[how](text) if part.strip()]


def words_of(text: str) -> int:
    """Words of a text: what blanks and line ends separate."""
    return len(text.split())


def text_bytes(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text.encode())


def _articles(text: str) -> list[str]:
    return HEADING.split(text)


def _auto(text: str) -> list[str]:
    parts = _articles(text)
    return parts if len(parts) > FEWEST else [text]


_CUTS: dict[str, Callable[[str], list[str]]] = {
    "auto": _auto,
    "file": lambda text: [text],
    "line": lambda text: text.splitlines(keepends=True),
    "paragraph": lambda text: re.split(r"(?<=\n)(?:[ \t]*\n)+", text),
    "heading": _articles,
}
