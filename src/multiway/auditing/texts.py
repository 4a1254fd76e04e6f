"""Audit of labelled texts and their split."""

import collections
import dataclasses
import hashlib
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.duplicates import check_one_label
from multiway.auditing.lookup import LEAK
from multiway.auditing.near_texts import check_near_texts
from multiway.auditing.report import AuditReport, Verdict
from multiway.auditing.samples import check_codes, check_copies, report_on_samples
from multiway.data import Finding
from multiway.data.samples import Prepared

WORD, NUMBER = re.compile(r"\w+"), re.compile(r"\d+")
SURE_IF = (
    "Strength is no leak. It is one if this was written after the class was known: look where such texts come from."
)
TOLERATED = 0.01
"""Share of a split whose texts may be in another one and still be a warning."""
HELD_OUT = ("validation", "test")
TOKENS = 6
"""Words and marks, those that tell most in training, that are looked at on texts held out."""
TENTHS = 10
"""Of lengths, each with as many training texts."""
TELLING = 0.75
"""Share of errors that a weighted sum of all words must surely remove; honest news remove a tenth."""

Ints = NDArray[np.int64]
LETTER, DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
MOST_LEARNT = 20_000
"""Training texts that are counted."""


def audit_texts(prepared: Prepared[Any, Any]) -> AuditReport:
    """Whether texts or groups are in two splits, and whether the form of a text gives its class away.

    Of several labels it is the rarest that a text has.
    """
    prepared = dataclasses.replace(prepared, raw=prepared.raw.by_rarest())
    return report_on_samples(prepared, _verdicts(prepared))


def _verdicts(prepared: Prepared[Any, Any]) -> Iterator[Verdict | None]:
    samples, splits = prepared.raw, prepared.splits
    texts, names = samples.names["text"], samples.labels_of(prepared.rows("all"))
    digests = [hashlib.blake2b(text.casefold().encode(), digest_size=16).digest() for text in texts]
    yield from check_copies(prepared, digests, "texts", tolerated=TOLERATED)
    yield _mild(check_near_texts(texts, splits["train"], splits["validation"], "validation"))
    yield check_near_texts(texts, splits["train"], splits["test"], "test")
    yield _mild(check_one_label(digests, [(samples.classes or ())[label] for label in samples.truth], names, "text"))
    yield from _form(prepared, texts)
    yield _tokens(prepared, texts)


def _mild(verdict: Verdict) -> Verdict:
    """What no test score is better for: noise of the labels, and an epoch that is chosen on what was learnt."""
    return dataclasses.replace(verdict, severity="warning") if isinstance(verdict, Finding) else verdict


def _form(prepared: Prepared[Any, Any], texts: Sequence[str]) -> Iterator[Verdict | None]:
    """What length, last mark and numbers tell of the class, without a look at any word."""
    train = prepared.splits["train"]
    words, letters = np.array([len(text.split()) for text in texts]), np.array([len(text) for text in texts])
    lengths = {"words": _bin_lengths(words, train), "letters": _bin_lengths(letters, train)}
    yield _strong(check_codes(prepared, lengths, "the length of a text", "its class", least=TELLING))
    numbers = [NUMBER.findall(text) for text in texts]
    first, last = ([int(found[place][-9:]) if found else -1 for found in numbers] for place in (0, -1))
    facts = {
        "last mark": np.array([0 if text[-1:].isalnum() else ord(text[-1:] or " ") for text in texts]),
        "whether it has the commonest length": (letters == np.bincount(letters[train]).argmax()).astype(np.int64),
        "whether its first number is odd": np.array([each % 2 if each >= 0 else -1 for each in first]),
        "last digit of its first number": np.array([each % 10 if each >= 0 else -1 for each in first]),
        "whether its last number is odd": np.array([each % 2 if each >= 0 else -1 for each in last]),
    }
    varied = {name: codes for name, codes in facts.items() if len(np.unique(codes)) > 1}
    if varied:
        yield check_codes(prepared, varied, "the form of a text", "its class")
    value = _bin_lengths(np.array(first), train)
    if len(np.unique(value)) > 1:
        codes = {"its first number": value}
        yield _strong(check_codes(prepared, codes, "the first number of a text", "its class", least=TELLING))


def _strong(verdict: Verdict | None) -> Verdict | None:
    """A note in place of a warning: what tells may honestly do so."""
    if isinstance(verdict, Finding) and verdict.severity == "warning":
        return dataclasses.replace(verdict, kind="strong", severity="note", fix=SURE_IF)
    return verdict


def _tokens(prepared: Prepared[Any, Any], texts: Sequence[str]) -> Verdict | None:
    """What one word, pair of words, mark, capital or blank tells of the class alone, which honest words seldom do."""
    seen = []
    for token, codes in telling_tokens(texts, prepared.raw.truth, prepared.splits["train"], TOKENS):
        codes_of, least = {f"token {token}": codes}, LEAK if token.startswith('"') else TELLING
        seen.append(check_codes(prepared, codes_of, "one token of a text", "its class", judged=HELD_OUT, least=least))
    leaks = [verdict for verdict in seen if isinstance(verdict, Finding) and verdict.severity == "error"]
    return leaks[0] if leaks else "no word, mark, capital or blank alone tells the class of a text"


def _bin_lengths(values: Ints, train: Ints) -> Ints:
    """Which tenth of the training texts a length falls into."""
    borders = np.quantile(values[train], np.linspace(0, 1, TENTHS + 1)[1:-1])
    return np.asarray(np.searchsorted(borders, values, "right"), np.int64)


def list_words(text: str) -> Iterator[str]:
    """Words of a text, and pairs of neighbours."""
    single = WORD.findall(text.casefold())
    yield from single
    yield from (f"{first} {second}" for first, second in itertools.pairwise(single))


def tells_of(text: str) -> set[str]:
    """Words, pairs of them, and pairs of neighbouring signs where letters are A or a, digits 0, and ends ^ and $.

    A pair is in quotes, so that no word is like it: a capital at the start is "^A", a blank before a comma " ,".
    """
    signs = f"^{LETTER.sub(lambda letter: 'A' if letter[0].isupper() else 'a', DIGIT.sub('0', text))}$"
    return {f'"{one}{two}"' for one, two in itertools.pairwise(signs)} | set(list_words(text))


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
