"""Audit of labelled series and their split: copies, near copies, groups, what lengths tell, and the scale."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from multiway.auditing.duplicates import check_one_label, sample_digest
from multiway.auditing.marks import Faces
from multiway.auditing.near_series import check_near_series, check_pieces
from multiway.auditing.probes import class_numbers, held_out
from multiway.auditing.report import AuditReport, Verdict
from multiway.auditing.samples import audited, check_codes, check_copies, check_scaling
from multiway.data.samples import Prepared
from multiway.data.scaling import Scaler
from multiway.data.sources.series import Values, lengths_of, missing_of


def audit_sequences(prepared: Prepared[Values, Any], used: Scaler | None = None) -> AuditReport:
    """Whether series or groups are in two splits, and whether labels, lengths or the scale give a class away."""
    return audited(prepared, _verdicts(prepared, used), "series")


def _verdicts(prepared: Prepared[Values, Any], used: Scaler | None) -> Iterator[Verdict | None]:
    series, names = prepared.raw, prepared.raw.names["series"]
    digests = [sample_digest(values) for values in series.inputs]
    yield from check_copies(prepared, digests, "series")
    yield check_one_label(digests, series.truth.tolist(), names, "series")
    yield check_near_series(series.inputs, prepared.splits, names, digests)
    yield check_pieces(series.inputs, prepared.splits, names, series.truth, digests)
    yield _lengths(prepared)
    yield _ends(prepared)
    yield check_scaling(prepared, used, series.columns, rows="training series")


def _lengths(prepared: Prepared[Values, Any]) -> Verdict | None:
    """What the length and the missing values of a series tell of its class by themselves."""
    values = prepared.raw.inputs
    facts = {"length": lengths_of(values), "missing": missing_of(values).sum(1)}
    facts = {name: codes for name, codes in facts.items() if len(np.unique(codes)) > 1}
    if not facts:
        return "all series have one length, and as many missing values"
    return check_codes(prepared, facts, "the length of a series and its missing values", each=True)


def _ends(prepared: Prepared[Values, Any]) -> Verdict | None:
    """Whether the first or last step of a variate tells the class as none inside does, as a trigger left in does."""
    faces, series = Faces(), prepared.raw
    for values in series.inputs:
        faces.add(values.T)
    groups = class_numbers(prepared.raw.names["series"] if series.groups is None else series.groups)
    rest = np.concatenate([prepared.rows(split) for split in ("validation", "test")])
    return faces.check(series.truth, held_out(prepared.rows("train"), rest, series.truth, groups), what="series")
