"""Audit of labelled series and their split: copies, near copies, groups, what lengths tell, and the scale."""

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.agreement import check_one_label
from multiway.auditing.duplicates import check_duplicates, digest_of
from multiway.auditing.groups import check_groups
from multiway.auditing.lookup import check_lookup
from multiway.auditing.near import check_near, far_above, unit_rows
from multiway.auditing.report import AuditReport, Verdict
from multiway.auditing.statistics import check_statistics
from multiway.data import Finding, Scaler
from multiway.data.sequences import PreparedSequences, Sequences, SequenceState

LEAST = 0.98
"""Correlation of what steps do not share with their neighbours, from which on series may be copies with noise."""
MOST_TRAIN, MOST_REST = 4000, 2000
FEWEST = 8

Rows = NDArray[np.int64]


def audit_sequences(
    sequences: Sequences, prepared: PreparedSequences, used: SequenceState | None = None
) -> AuditReport:
    """Whether series or groups are in two splits, and whether labels, lengths or the scale give a class away.

    Args:
        sequences: As they were read.
        prepared: The same with their splits.
        used: What a run trained with; the prepared state if not given.
    """
    counts = ", ".join(f"{name} {len(rows):,}" for name, rows in prepared.splits.items())
    verdicts = _verdicts(sequences, prepared, used or prepared.state)
    return AuditReport.of(f"{sequences.source}: {len(sequences):,} series; {counts}", verdicts)


def _verdicts(sequences: Sequences, prepared: PreparedSequences, used: SequenceState) -> Iterator[Verdict | None]:
    splits, names = prepared.splits, sequences.names
    digests = [digest_of(values) for values in sequences.values]
    called = {split: [names[row] for row in rows] for split, rows in splits.items()}
    yield check_duplicates({split: [digests[row] for row in rows] for split, rows in splits.items()}, called, "series")
    yield check_one_label(digests, sequences.labels or (), names, "series")
    if sequences.groups is not None:
        groups = sequences.groups
        yield check_groups({split: [groups[row] for row in rows] for split, rows in splits.items()}, "group")
    yield _near(sequences, splits, np.array(digests, object))
    yield _lengths(sequences, prepared)
    yield _scaling(sequences, splits["train"], used)


def _near(sequences: Sequences, splits: dict[str, Rows], digests: NDArray[np.object_]) -> Verdict | None:
    """Whether a series held out is nearly a training series, by what its steps do not share with their neighbours."""
    train = _some(splits["train"], MOST_TRAIN)
    if len(train) < FEWEST or sequences.values.shape[1] < FEWEST:
        return None
    known = _detail(sequences, train)
    among = np.abs(known @ known.T)
    np.fill_diagonal(among, 0)
    pairs, looked = {}, 0
    for split in ("validation", "test"):
        rows = _some(splits[split], MOST_REST)
        value = np.abs(_detail(sequences, rows) @ known.T)
        value[digests[rows][:, None] == digests[train]] = 0
        near, best = value.max(1), train[value.argmax(1)]
        places = np.flatnonzero(far_above(near, among.max(1), LEAST))
        pairs[split] = [(sequences.names[rows[at]], sequences.names[best[at]], float(near[at])) for at in places]
        looked += len(rows)
    return check_near(pairs, looked, "series")


def _detail(sequences: Sequences, rows: Rows) -> NDArray[np.float32]:
    """Second differences of each series, of length one; missing values leave none."""
    bends = np.diff(np.nan_to_num(sequences.values[rows]), 2, axis=1)
    return unit_rows(bends.reshape(len(rows), -1))


def _some(rows: Rows, most: int) -> Rows:
    return rows[:: max(-(-len(rows) // most), 1)]


def _lengths(sequences: Sequences, prepared: PreparedSequences) -> Verdict | None:
    """What the length and the missing values of a series tell of its class by themselves; a note, as they may."""
    facts = {"length": sequences.lengths, "missing": sequences.missing().sum(1)}
    facts = {name: codes for name, codes in facts.items() if len(np.unique(codes)) > 1}
    if not facts:
        return "all series have one length, and as many missing values"
    train, test, truth = prepared.rows("train"), prepared.rows("test"), prepared.samples.truth
    verdict = check_lookup(
        {name: codes[train] for name, codes in facts.items()}, truth[train],
        {name: codes[test] for name, codes in facts.items()}, truth[test],
        what="the length of a series and its missing values", target="the class", draws=200,
    )  # fmt: skip
    if isinstance(verdict, Finding):
        return dataclasses.replace(verdict, severity="note", fix="A network that is no better learnt no more.")
    return verdict


def _scaling(sequences: Sequences, train: Rows, used: SequenceState) -> Verdict:
    count = len(sequences.variates)
    training, every = (Scaler.fit(part.reshape(-1, count)) for part in (sequences.values[train], sequences.values))
    used_now, right, of_all = ({"mean": each.mean, "std": each.std} for each in (used.scaler, training, every))
    return check_statistics(used_now, right, of_all, sequences.variates, rows="training series")
