"""Whether text that is scored was there to be learnt from: documents, lines, and the vocabulary."""

import hashlib
import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.duplicates import by_split, check_duplicates
from multiway.auditing.near_texts import Shingles
from multiway.auditing.report import AuditReport, Verdict, finding, verdict_on
from multiway.auditing.samples import report_on_samples
from multiway.data.findings import quote
from multiway.data.samples import Rows
from multiway_papers.language.encode import PreparedText, Vocabulary, learn_vocabulary

WORD = re.compile(r"\w+")
LONG = 8
"""Words from which on a line is compared; shorter ones stand in many texts."""
SHARED = 0.03
"""Share of the shingles of a split that may stand in the training text; of unrelated papers it is below 0.01."""
TOLERATED = 0.01
"""Share of the words of a split that may stand in lines of the training text before it is called a leak."""


def audit_documents(prepared: PreparedText, used: Vocabulary | None = None) -> AuditReport:
    """Whether documents or lines are in two splits, and whether the vocabulary is that of the training text."""
    return report_on_samples(prepared, _verdicts(prepared, used))


def _verdicts(prepared: PreparedText, used: Vocabulary | None) -> Iterator[Verdict | None]:
    documents = prepared.encoded.inputs
    texts = {name: list(documents.texts[rows]) for name, rows in prepared.splits.items()}
    digests = by_split([*map(_digest, documents.texts)], prepared.splits)
    yield check_duplicates(digests, by_split(documents.places.tolist(), prepared.splits), "documents")
    known = {_digest(line) for text in texts["train"] for line in _lines(text)}
    for name in ("validation", "test"):
        yield _check_lines(name, texts[name], known)
        yield _check_shingles(name, documents.texts, prepared.splits["train"], prepared.splits[name])
    if used is not None and used.kind == "bpe":
        rule = "the run's vocabulary is not that of the training text, as where other text was read to learn it"
        is_same = learn_vocabulary(documents.options, texts["train"]) == used
        sound = f"the vocabulary of {used.size:,} tokens is that of the training text"
        yield sound if is_same else finding("vocabulary", "error", rule, "Train the run again.")


def _check_lines(name: str, texts: list[str], known: set[bytes]) -> Verdict:
    """Lines of a split that stand in the training text."""
    lines = [line for text in texts for line in _lines(text)]
    copies = [line for line in lines if _digest(line) in known]
    words = sum(len(text.split()) for text in texts)
    share = sum(len(line.split()) for line in copies) / max(words, 1)
    of_lines = f"of {len(lines):,} lines of {LONG} words or more of {name}"
    return verdict_on(
        [quote(line, 60) for line in copies],
        f"none {of_lines} stands in the training text",
        "lines",
        f"{len(copies):,} {of_lines} stand in the training text ({share:.1%} of its words)",
        "Keep each in one split.",
        severity="error" if share > TOLERATED else "warning",
    )


def _check_shingles(name: str, texts: Sequence[str], train: Rows, rows: Rows) -> Verdict:
    """Eight words in a row of a split that stand in the training text, wherever its lines end."""
    shares, share = share_in(texts, train, rows)
    said = f"{share:.1%} of all eight words in a row of {name} stand in the training text"
    if share <= SHARED:
        return said
    worst = rows[np.argsort(-shares)[:3]]
    cases = [f"{shares[rows == row][0]:.0%} of '{quote(texts[row], 60)}'" for row in worst]
    return finding("near", "error", said, "Keep each text in one split, with all its versions.", cases, len(cases))


def share_in(texts: Sequence[str], train: Rows, rows: Rows) -> tuple[NDArray[np.float64], float]:
    """Share of the shingles of each row, and of all rows, that stand in the training texts."""
    every = Shingles.of(texts)
    own = every.only(~every.widespread(train))
    held = own.only(np.isin(own.owners, rows))
    there = np.isin(held.hashes, own.hashes[np.isin(own.owners, train)])
    size = len(texts)
    hits, counts = np.bincount(held.owners[there], minlength=size), np.bincount(held.owners, minlength=size)
    return hits[rows] / np.maximum(counts[rows], 1), float(there.mean()) if len(there) else 0.0


def _lines(text: str) -> list[str]:
    """Lines long enough to say something; the marks of a heading are no words."""
    return [line for line in text.splitlines() if len(WORD.findall(line)) >= LONG]


def _digest(text: str) -> bytes:
    """Hash of a text, whatever its white space."""
    return hashlib.blake2b(" ".join(text.split()).encode(), digest_size=16).digest()
