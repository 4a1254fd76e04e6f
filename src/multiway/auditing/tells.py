"""What a single word, mark, capital or blank tells of the class of a text."""

import collections
import itertools
import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
WORD, LETTER, DIGIT = re.compile(r"\w+"), re.compile(r"[^\W\d_]"), re.compile(r"\d")
MOST_LEARNT = 20_000
"""Training texts that are counted."""


def tells_of(text: str) -> set[str]:
    """Words, and pairs of neighbouring signs where letters are A or a, digits 0, and ends ^ and $.

    A pair is in quotes, so that no word is like it: a capital at the start is "^A", a blank before a comma " ,".
    """
    signs = f"^{LETTER.sub(_case, DIGIT.sub('0', text))}$"
    return {f'"{one}{two}"' for one, two in itertools.pairwise(signs)} | set(WORD.findall(text.casefold()))


def _case(letter: re.Match[str]) -> str:
    return "A" if letter.group().isupper() else "a"


def telling_tokens(texts: Sequence[str], labels: Ints, train: Ints, count: int) -> Iterator[tuple[str, Ints]]:
    """The tokens whose presence tells most of the class of training texts, and which texts have them."""
    learnt = train[:: max(-(-len(train) // MOST_LEARNT), 1)]
    classes = int(labels.max()) + 1
    table: dict[str, list[int]] = collections.defaultdict(lambda: [0] * classes)
    for row in learnt.tolist():
        for token in tells_of(texts[row]):
            table[token][labels[row]] += 1
    names, present = list(table), np.array([*table.values()], np.int64).reshape(-1, classes)
    absent = np.bincount(labels[learnt], minlength=classes) - present
    best = np.argsort(-(present.max(1) + absent.max(1)), kind="stable")[:count]
    for token in (names[at] for at in best.tolist()):
        yield token, np.array([token in tells_of(text) for text in texts], np.int64)
