"""Do explanations mark what matters? Hide positions or words, and see what becomes of the answer."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from multiway.errors import ShapeError
from multiway.explain.maps import ModeMap
from multiway.explain.occlusion import Effects, effects_of

Positions = npt.NDArray[np.intp]


class Deletion(NamedTuple):
    """Errors with nothing hidden, with the positions attended most hidden, and the mean over random ones."""

    num_hidden: int
    error_intact: float
    error_attended: float
    error_random: float


def deletion_test(
    item: ModeMap,
    error_without: Callable[[Positions], float],
    *,
    share: float = 0.2,
    draws: int = 8,
    seed: int = 0,
) -> Deletion:
    """Compare the error after hiding the keys attended to most with that after hiding as many at random.

    Where attention marks what matters, `error_attended` is clearly the larger of the two.

    Args:
        item: Map of one mode; a key's attention is its mean over heads and queries.
        error_without: Error of the model with the given positions of that mode hidden (set to the training
            mean, say); an empty array hides nothing.
        share: Part of the positions to hide, at least one and never all.
        draws: How many random sets to average over.
        seed: Of the random sets.

    Raises:
        ShapeError: The mode has fewer than two positions, so none can be hidden.
    """
    size = len(item.key_labels)
    if size < 2:
        raise ShapeError(f"deletion_test: the mode must have two positions or more. Got {size} of {item.mode!r}.")
    num_hidden = min(max(round(share * size), 1), size - 1)
    received = item.head_mean().mean(axis=0)
    chance = np.random.default_rng(seed)
    random_sets = [np.sort(chance.permutation(size)[:num_hidden]) for _ in range(draws)]
    return Deletion(
        num_hidden=num_hidden,
        error_intact=error_without(np.arange(0)),
        error_attended=error_without(np.sort(np.argsort(-received, kind="stable")[:num_hidden])),
        error_random=float(np.mean([error_without(positions) for positions in random_sets])),
    )


Score = Callable[[Sequence[str]], NDArray[np.float64]]
"""From texts to class probabilities `(texts, classes)`."""


class WordEffects(NamedTuple):
    """Words of a text, and what each does to its answer."""

    words: list[str]
    effects: Effects


def leave_one_out(texts: Sequence[str], score: Score) -> list[WordEffects]:
    """Effects of the words of some texts, all of which are scored at once."""
    variants = [[text, *without_each(text)] for text in texts]
    shares = score(list(itertools.chain.from_iterable(variants)))
    parts = np.split(shares, np.cumsum([len(group) for group in variants])[:-1])
    return [WordEffects(text.split(), effects_of(part)) for text, part in zip(texts, parts, strict=True)]


def without_each(text: str) -> list[str]:
    """The text without its first word, without its second, and so on; lines stay lines."""
    pieces = [piece for line in text.split("\n") for piece in (*line.split(" "), "\n")][:-1]
    positions = [position for position, piece in enumerate(pieces) if piece != "\n"]
    return [_joined(pieces[:position] + pieces[position + 1 :]) for position in positions]


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
