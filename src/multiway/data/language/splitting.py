"""Training, validation and test documents: as the files say, else by shares of the text in its order."""

import numpy as np
from numpy.typing import NDArray

from multiway.data.language.options import TextSplit
from multiway.data.language.texts import Texts
from multiway.data.splitting import Splits
from multiway.errors import DataError

SPLITS = ("train", "validation", "test")


def split_texts(texts: Texts, split: TextSplit) -> tuple[Texts, Splits]:
    """Documents of each split; a text that is one document is cut at line ends, into one document per split.

    Splits that the files do not name are the last shares of what trains.

    Raises:
        DataError: A split would be empty.
    """
    if len(texts) == 1:
        texts = _cut(texts, split)
        return texts, {name: np.array([place]) for place, name in enumerate(SPLITS)}
    names = np.array(texts.official if texts.official is not None else ["train"] * len(texts))
    owed = {name: getattr(split, name) for name in SPLITS[1:] if name not in names}
    splits = {name: np.flatnonzero(names == name) for name in SPLITS if name in names}
    splits |= _by_share(texts, splits["train"], owed)
    empty = [name for name in SPLITS if not len(splits[name])]
    if empty:
        counts = ", ".join(f"{name} {len(splits[name])}" for name in SPLITS)
        fix = "Give more documents, or change the shares (--set split.test=0.3)."
        raise DataError(f"{texts.source}: each split needs documents. Got {counts}. {fix}")
    return texts, {name: splits[name] for name in SPLITS}


def _by_share(texts: Texts, rows: NDArray[np.int64], owed: dict[str, float]) -> Splits:
    """Take the last documents, one at least, for each named split until its share of the text is met."""
    left, found = rows.tolist(), {}
    total = sum(len(texts.documents[row]) for row in left)
    for name in reversed(owed):
        due, taken = owed[name] * total, list[int]()
        while left and (not taken or due >= len(texts.documents[left[-1]]) / 2):
            taken.append(left.pop())
            due -= len(texts.documents[taken[-1]])
        found[name] = np.array(sorted(taken), np.int64)
    return {"train": np.array(left, np.int64), **found}


def _cut(texts: Texts, split: TextSplit) -> Texts:
    """The three parts of one text."""
    (text,) = texts.documents
    shares = (1 - split.test - split.validation, 1 - split.test)
    first, last = (_line_end(text, round(share * len(text))) for share in shares)
    parts = [text[:first], text[first:last], text[last:]]
    if not all(part.strip() for part in parts):
        raise DataError(f"{texts.source}: each split needs text. Got {len(text):,} characters. Give a longer text.")
    return texts.with_documents(parts, [f"{texts.places[0]}, {name}" for name in SPLITS])


def _line_end(text: str, place: int) -> int:
    """After the next end of a line, or else of a word."""
    for mark in ("\n", " "):
        found = text.find(mark, place - 1)
        if 0 <= found < len(text) - 1:
            return found + 1
    return place
