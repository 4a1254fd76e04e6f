"""What texts tell of an outcome by one word, or by all together, and whether their encoder knew it."""

import collections
import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.lookup import interval_removed
from multiway.auditing.near import thin_rows
from multiway.auditing.probes import ridge
from multiway.auditing.report import Verdict, finding, verdict_on
from multiway.auditing.texts import TELLING, Ints, list_words
from multiway.data.encoders.choice import TRAINED
from multiway.data.findings import quote
from multiway.errors import Fix

FEWEST, FEWEST_DAYS, FEWEST_REPEATS = 20, 8, 3
"""Training texts, their days, and test texts that must hold a word before it is judged."""
PURE = 0.85
"""Share of one outcome that a word must surely reach; words of honest news stay below two thirds."""
PULL = 0.05
"""Of the ridge, as a share of the mean square: texts have as many words as there are texts."""
MOST = 6000
DRAWS = 300
LEARNS_NOTHING = ("hashed",)
HASHED = Fix("text.encoder", "hashed")

Flags = NDArray[np.bool_]


def check_words(texts: Sequence[str], labels: Ints, days: Ints, training: Flags, tested: Flags) -> Verdict:
    """Whether a word, or two neighbours, occurs with one outcome only, in training and in test.

    Args:
        texts: What is shown before each outcome; empty without a text.
        labels: Outcomes, 0 or 1.
        days: Day of each.
        training: Which are learnt from.
        tested: Which judge what was learnt.
    """
    words = [frozenset(list_words(text)) for text in texts]
    learnt, judged = (_counts(words, labels, chosen) for chosen in (training, tested))
    pure = [
        word for word, counts in learnt.items() if sum(counts) >= FEWEST and _at_least(max(counts), sum(counts)) > PURE
    ]
    telling = [
        f"{quote(word)}: {max(learnt[word]):,} of {sum(learnt[word]):,}"
        for word in sorted(pure)
        for counts, way in [(judged.get(word, (0, 0)), int(np.argmax(learnt[word])))]
        if sum(counts) >= FEWEST_REPEATS
        and counts[way] > PURE * sum(counts)
        and len({int(days[row]) for row in np.flatnonzero(training).tolist() if word in words[row]}) >= FEWEST_DAYS
    ]
    return verdict_on(
        telling,
        f"no word of {int(training.sum()):,} training texts tells the outcome",
        "texts",
        "words occur with one outcome nearly always, as where texts were written after it",
        "Look at these texts, and at when they were written.",
    )


def _counts(words: Sequence[frozenset[str]], labels: Ints, chosen: Flags) -> dict[str, tuple[int, int]]:
    """Texts of either outcome that hold each word."""
    falls, rises = (
        collections.Counter(
            itertools.chain.from_iterable(words[row] for row in np.flatnonzero(chosen & (labels == way)).tolist())
        )
        for way in (0, 1)
    )
    return {word: (falls[word], rises[word]) for word in falls | rises}


def _at_least(hits: int, count: int, deviations: float = 2.6) -> float:
    """Wilson's lower bound of a share."""
    share, square = hits / count, deviations**2
    middle = share + square / (2 * count)
    reach = deviations * math.sqrt(share * (1 - share) / count + square / (4 * count**2))
    return (middle - reach) / (1 + square / count)


def check_vectors(vectors: NDArray[np.float32], labels: Ints, days: Ints, training: Flags, tested: Flags) -> Verdict:
    """Whether a weighted sum of what texts became tells the outcome; arguments as those of `check_words`."""
    learnt, judged = (thin_rows(np.flatnonzero(chosen), MOST) for chosen in (training, tested))
    what = "a weighted sum of all words"
    if len(learnt) < 2 * FEWEST or len(judged) < FEWEST or len(np.unique(labels[learnt])) < 2:
        return f"{what} was not fitted, as there are few texts ({len(learnt):,} before training days)"
    columns = vectors.astype(np.float64)
    signs = np.where(labels > 0, 1.0, -1.0)
    centre, level = columns[learnt].mean(0), signs[learnt].mean()
    weights = ridge(columns[learnt] - centre, signs[learnt] - level, PULL)
    said = (columns[judged] - centre) @ weights + level > 0
    hits, usual = said == (labels[judged] > 0), labels[judged] == np.bincount(labels[judged]).argmax()
    low, high = interval_removed(hits, usual, days[judged], 5, DRAWS, 0)
    scores = f"{what} gives ACC {hits.mean():.4f} on {len(judged):,} test labels with texts, the commonest class "
    scores += f"{usual.mean():.4f}"
    if low <= TELLING:
        return scores
    return finding(
        "texts",
        "error",
        f"texts tell the outcome: {scores}; of its errors {100 * low:.0f} to {100 * high:.0f} % are "
        "removed, far more than news can",
        "Look at when these texts were written, and what made their vectors.",
    )


def check_encoder(name: str, first: np.datetime64, last: np.datetime64) -> Verdict:
    """Whether an encoder was trained after the test days began."""
    days = f"the test days, {first} to {last}"
    if name in LEARNS_NOTHING:
        return f"the encoder {name} has learnt from no text"
    month = TRAINED.get(name)
    if month is None:
        return finding(
            "encoder",
            "note",
            f"until when the encoder {quote(name, 80)} was trained is not known; if that was after "
            f"{first}, it may have read how {days}, ended",
            ("Compare with ", HASHED, "."),
        )
    if np.datetime64(month) < first.astype("datetime64[M]"):
        return f"the encoder {name} was trained until {month}, before {days}"
    return finding(
        "encoder",
        "warning",
        f"the encoder {name} was trained until {month}, after {days}, began: it may know how they ended",
        ("Compare with ", HASHED, ", or take an encoder from before."),
    )
