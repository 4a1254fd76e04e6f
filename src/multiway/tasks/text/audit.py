"""Audit of labelled texts and their split: copies, near copies, torn labels, and what the form of a text tells."""

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.duplicates import check_one_label
from multiway.auditing.near_texts import check_near_texts
from multiway.auditing.report import AuditReport, Verdict
from multiway.auditing.samples import check_codes, check_copies, report_on_samples
from multiway.auditing.texts import telling_tokens
from multiway.data import Finding
from multiway.data.samples import Prepared
from multiway.tasks.text.encode import TextState
from multiway.tasks.text.source import Strings

TOLERATED = 0.01
"""Share of a split whose texts may be in another one and still be a warning."""
HELD = ("validation", "test")
TOKENS = 6
"""Words and marks, those that tell most in training, that are looked at on texts held out."""
BINS = 10
"""Of lengths, each with as many training texts."""


def audit_texts(prepared: Prepared[Strings, TextState]) -> AuditReport:
    """Whether texts or groups are in two splits, and whether the form of a text gives its class away."""
    return report_on_samples(prepared, _verdicts(prepared))


def _verdicts(prepared: Prepared[Strings, TextState]) -> Iterator[Verdict | None]:
    samples, splits = prepared.raw, prepared.splits
    texts, names = samples.names["text"], samples.called(prepared.rows("all"))
    digests = [hashlib.blake2b(text.casefold().encode(), digest_size=16).digest() for text in texts]
    yield from check_copies(prepared, digests, "texts", tolerated=TOLERATED)
    yield _mild(check_near_texts(texts, splits["train"], splits["validation"], "validation"))
    yield check_near_texts(texts, splits["train"], splits["test"], "test")
    yield _mild(check_one_label(digests, [prepared.state.classes[label] for label in samples.truth], names, "text"))
    yield _form(prepared, texts)
    yield _tokens(prepared, texts)


def _mild(verdict: Verdict) -> Verdict:
    """What no test score is better for: noise of the labels, and an epoch that is chosen on what was learnt."""
    return dataclasses.replace(verdict, severity="warning") if isinstance(verdict, Finding) else verdict


def _form(prepared: Prepared[Strings, TextState], texts: Sequence[str]) -> Verdict | None:
    """What length and last mark tell of the class, without a look at any word."""
    train = prepared.splits["train"]
    facts = {
        "words": np.array([len(text.split()) for text in texts]),
        "letters": np.array([len(text) for text in texts]),
        "last mark": np.array([0 if text[-1:].isalnum() else ord(text[-1:] or " ") for text in texts]),
    }
    codes = {name: _bin_lengths(values, train) if name != "last mark" else values for name, values in facts.items()}
    return check_codes(prepared, codes, "the form of a text", "its class")


def _tokens(prepared: Prepared[Strings, TextState], texts: Sequence[str]) -> Verdict | None:
    """What one word, mark, capital or blank tells of the class alone, which honest words seldom do."""
    told = [
        check_codes(prepared, {f"token {token}": codes}, "one token of a text", "its class", judged=HELD)
        for token, codes in telling_tokens(texts, prepared.raw.truth, prepared.splits["train"], TOKENS)
    ]
    leaks = [verdict for verdict in told if isinstance(verdict, Finding) and verdict.severity == "error"]
    return leaks[0] if leaks else "no word, mark, capital or blank alone tells the class of a text"


def _bin_lengths(values: NDArray[np.int64], train: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which tenth of the training texts a length falls into."""
    borders = np.quantile(values[train], np.linspace(0, 1, BINS + 1)[1:-1])
    return np.asarray(np.searchsorted(borders, values, "right"), np.int64)
