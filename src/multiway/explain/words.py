"""What single words of a text do to its answer: leave each out, and look how far the probability falls."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Score = Callable[[Sequence[str]], NDArray[np.float64]]
"""From texts to class probabilities `(texts, classes)`."""


class WordEffects(NamedTuple):
    """Words of a text, the predicted class with its probability, and how far that falls without each word."""

    words: list[str]
    predicted: int
    probability: float
    falls: NDArray[np.float64]


def leave_one_out(texts: Sequence[str], score: Score) -> list[WordEffects]:
    """Effects of the words of some texts, all of which are scored at once."""
    variants = [[text, *without_each(text)] for text in texts]
    shares = score(list(itertools.chain.from_iterable(variants)))
    parts = np.split(shares, np.cumsum([len(each) for each in variants])[:-1])
    return [_effects(text, part) for text, part in zip(texts, parts, strict=True)]


def without_each(text: str) -> list[str]:
    """The text without its first word, without its second, and so on; lines stay lines."""
    pieces = [piece for line in text.split("\n") for piece in (*line.split(" "), "\n")][:-1]
    places = [place for place, piece in enumerate(pieces) if piece != "\n"]
    return [_joined(pieces[:place] + pieces[place + 1 :]) for place in places]


def _joined(pieces: Sequence[str]) -> str:
    return "\n".join(" ".join(line) for line in _lines(pieces))


def _lines(pieces: Sequence[str]) -> list[list[str]]:
    lines: list[list[str]] = [[]]
    for piece in pieces:
        if piece == "\n":
            lines.append([])
        else:
            lines[-1].append(piece)
    return lines


def _effects(text: str, shares: NDArray[np.float64]) -> WordEffects:
    predicted = int(shares[0].argmax())
    whole = float(shares[0, predicted])
    return WordEffects(text.split(), predicted, whole, whole - shares[1:, predicted])
