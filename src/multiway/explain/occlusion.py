"""What hiding a part of an input does to an answer, whoever gives it: occlusion (Zeiler & Fergus, 2014, sec. 4).

And whether an explanation marks what matters: what was attended to most is hidden, compared with as much at random.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.errors import ShapeError
from multiway.explain.maps import ModeMap

Floats = NDArray[np.float64]
Score = Callable[[Tensor], Floats]
"""From inputs `(inputs, *sizes)` to class probabilities `(inputs, classes)`."""
SPANS, SIDE = 32, 14
"""Spans of a series or a text, and patches along the longer side of an image, that are hidden in turn at most."""
Positions = npt.NDArray[np.intp]


class Effects(NamedTuple):
    """The predicted class with its probability, and how far that falls without each part, `(parts,)`."""

    predicted: int
    probability: float
    falls: Floats


def effects_of(shares: Floats) -> Effects:
    """Effects by class probabilities of the whole, then without each part, `(1 + parts, classes)`."""
    predicted = int(shares[0].argmax())
    whole = float(shares[0, predicted])
    return Effects(predicted, whole, whole - shares[1:, predicted])


def occlude(score: Score, x: Tensor, parts: Tensor) -> Effects:
    """Effects of the parts of one input, each set to 0, the mean of the training; what is missing stays missing.

    Args:
        score: Of the answer.
        x: `(*sizes)`, scaled.
        parts: `(parts, *sizes)`, true where a part is; sizes of one broadcast.
    """
    hidden = torch.where(parts & ~x.isnan(), torch.zeros((), dtype=x.dtype), x)
    return effects_of(score(torch.cat([x[None], hidden])))


def spans(size: int, most: int = SPANS) -> Tensor:
    """Positions of an axis in neighbouring spans of like length, `(spans, size)`."""
    count = min(size, most)
    return torch.arange(count)[:, None] == torch.arange(size) * count // size


def occlude_series(score: Score, series: Tensor) -> tuple[Floats, Floats]:
    """Share of each step and of each variate in how far hiding moves the probability of the predicted class.

    Args:
        score: Of the answer.
        series: `(series, steps, variates)`, NaN where missing; every one of them weighs the same.
    """
    steps, variates = spans(series.shape[1])[:, :, None], torch.eye(series.shape[2], dtype=torch.bool)[:, None]
    of_steps = [_share_falls(occlude(score, x, steps).falls, steps.flatten(1)) for x in series]
    of_variates = [_share_falls(occlude(score, x, variates).falls, variates.flatten(1)) for x in series]
    return np.mean(of_steps, axis=0), np.mean(of_variates, axis=0)


def _share_falls(falls: Floats, parts: Tensor) -> Floats:
    """Share of each position in the absolute falls, where a part shares its own evenly; 0 where nothing falls."""
    moved, members = np.abs(falls), parts.double().numpy()
    return np.asarray(moved / members.sum(1) @ members / (moved.sum() or 1.0))


def occlude_image(score: Score, image: Tensor) -> Floats:
    """How far the probability of the predicted class falls without the patch of each pixel, `(height, width)`.

    Args:
        score: Of the answer.
        image: `(channels, height, width)`.
    """
    height, width = image.shape[1:]
    side = -(-max(height, width) // SIDE)
    rows, columns = spans(height, -(-height // side)), spans(width, -(-width // side))
    patches = (rows[:, None, :, None] & columns[None, :, None, :]).flatten(0, 1)
    falls = occlude(score, image, patches[:, None]).falls
    return np.asarray(falls.reshape(len(rows), len(columns))[rows.int().argmax(0)][:, columns.int().argmax(0)])


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


TextScore = Callable[[Sequence[str]], NDArray[np.float64]]
"""From texts to class probabilities `(texts, classes)`."""


class WordEffects(NamedTuple):
    """Words of a text, or spans of them, and what each does to its answer."""

    words: list[str]
    effects: Effects


def leave_one_out(texts: Sequence[str], score: TextScore, longest: int | None = None) -> list[WordEffects]:
    """Effects of the words of some texts, all of which are scored at once.

    Args:
        texts: At least one.
        score: Of the answer.
        longest: Words of a text up to which each is left out in turn; of a longer one at most 32 spans of neighbouring
            words are. Each word if not given.
    """
    parted = [text_spans(text, longest) for text in texts]
    variants = [[text, *(without for _, without in spans)] for text, spans in zip(texts, parted, strict=True)]
    shares = score(list(itertools.chain.from_iterable(variants)))
    parts = np.split(shares, np.cumsum([len(group) for group in variants])[:-1])
    return [
        WordEffects([words for words, _ in spans], effects_of(part)) for spans, part in zip(parted, parts, strict=True)
    ]


def text_spans(text: str, longest: int | None = None) -> list[tuple[str, str]]:
    """Each span of a text, a word where there are few, and the text without it; lines stay lines."""
    pieces = [piece for line in text.split("\n") for piece in (*line.split(), "\n")][:-1]
    words = [position for position, piece in enumerate(pieces) if piece != "\n"]
    count = len(words) if longest is None or len(words) <= longest else min(SPANS, len(words))
    apart = []
    for span in (set(part.tolist()) for part in np.array_split(words, count)) if words else ():
        lines: list[list[str]] = [[]]
        for position, piece in enumerate(pieces):
            if piece == "\n":
                lines.append([])
            elif position not in span:
                lines[-1].append(piece)
        apart.append((" ".join(pieces[position] for position in sorted(span)), "\n".join(map(" ".join, lines))))
    return apart
