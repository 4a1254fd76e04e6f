"""Audit of labelled series and their split: copies, near copies, groups, what lengths tell, and the scale."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from multiway.auditing.agreement import check_statistics
from multiway.auditing.duplicates import by_split, check_duplicates, check_groups, check_one_label, sample_digest
from multiway.auditing.lookup import check_lookup
from multiway.auditing.near import check_near_series
from multiway.auditing.report import AuditReport, Verdict
from multiway.data import Finding
from multiway.data.samples import Prepared
from multiway.data.scaling import Scaler
from multiway.data.sources.series import Values, lengths_of, missing_of


def audit_sequences(prepared: Prepared[Values, Any], used: Scaler | None = None) -> AuditReport:
    """Whether series or groups are in two splits, and whether labels, lengths or the scale give a class away.

    Args:
        prepared: Series with their splits.
        used: The scale that a run trained with; their own if not given.
    """
    counts = ", ".join(f"{name} {len(rows):,}" for name, rows in prepared.splits.items())
    verdicts = _verdicts(prepared, used or prepared.state.scaler)
    return AuditReport.of(f"{prepared.source}: {len(prepared.raw):,} series; {counts}", verdicts)


def _verdicts(prepared: Prepared[Values, Any], used: Scaler) -> Iterator[Verdict | None]:
    series, splits = prepared.raw, prepared.splits
    names = series.names["series"]
    digests = [sample_digest(values) for values in series.inputs]
    yield check_duplicates(by_split(digests, splits), by_split(names, splits), "series")
    yield check_one_label(digests, series.truth.tolist(), names, "series")
    if series.groups is not None:
        yield check_groups(by_split(series.groups, splits), "group")
    yield check_near_series(series.inputs, splits, names, digests)
    yield _lengths(prepared)
    yield _scaling(prepared, used)


def _lengths(prepared: Prepared[Values, Any]) -> Verdict | None:
    """What the length and the missing values of a series tell of its class by themselves; a note, as they may."""
    values, truth = prepared.raw.inputs, prepared.raw.truth
    facts = {"length": lengths_of(values), "missing": missing_of(values).sum(1)}
    facts = {name: codes for name, codes in facts.items() if len(np.unique(codes)) > 1}
    if not facts:
        return "all series have one length, and as many missing values"
    train, test = prepared.rows("train"), prepared.rows("test")
    verdict = check_lookup(
        {name: codes[train] for name, codes in facts.items()}, truth[train],
        {name: codes[test] for name, codes in facts.items()}, truth[test],
        what="the length of a series and its missing values", target="the class", draws=200,
    )  # fmt: skip
    if isinstance(verdict, Finding):
        return dataclasses.replace(verdict, severity="note", fix="A network that is no better learnt no more.")
    return verdict


def _scaling(prepared: Prepared[Values, Any], used: Scaler) -> Verdict:
    series, count = prepared.raw, len(prepared.raw.columns)
    parts = (series.inputs[prepared.rows("train")], series.inputs)
    scales = (used, *(Scaler.fit(part.reshape(-1, count)) for part in parts))
    used_now, right, of_all = ({"mean": each.mean, "std": each.std} for each in scales)
    return check_statistics(used_now, right, of_all, series.columns, rows="training series")
