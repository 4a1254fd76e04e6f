"""`check_sequences`: what labelled series hold, and what is wrong with them."""

import collections
from typing import Any

import numpy as np

from multiway.data.findings import CheckReport, Findings, Place, Unreadable, listed, quoted
from multiway.data.sequences.classes import checked_classes, positions
from multiway.data.sequences.options import SequenceOptions, SequenceSplit
from multiway.data.sequences.reading import name_of, read_into
from multiway.data.sequences.sequences import Sequences
from multiway.data.sequences.splitting import split_sequences
from multiway.data.shares import Splits
from multiway.errors import DataError

ORDER = {"error": 0, "warning": 1, "note": 2}
ONE_SIDED = 0.9
"""Share of the largest class from which on the report speaks of balance."""


def check_sequences(
    source: Any, options: SequenceOptions | None = None, split: SequenceSplit | None = None
) -> CheckReport:
    """Say what is in a set of series and all that is wrong with it under these options."""
    findings = Findings(name_of(source))
    try:
        sequences = read_into(source, options or SequenceOptions(), findings)
    except (Unreadable, DataError) as error:
        if isinstance(error, DataError):
            findings.add("source", "error", _rule(error, findings))
        return _report(findings, {"encoding": findings.encoding}, {})
    splits = _splits(sequences, split or SequenceSplit(), findings)
    _check_repeats(sequences, findings)
    _check_constant(sequences, findings)
    _check_balance(sequences, splits, findings)
    missing = dict(zip(sequences.variates, sequences.missing().sum(0).tolist(), strict=True))
    return _report(findings, _summary(sequences, splits), {name: count for name, count in missing.items() if count})


def _report(findings: Findings, summary: dict[str, Any], missing: dict[str, int]) -> CheckReport:
    found = tuple(sorted(findings.found, key=lambda finding: ORDER[finding.severity]))
    return CheckReport(source=findings.source, summary=summary, findings=found, missing=missing)


def _rule(error: DataError, findings: Findings) -> str:
    return str(error).removeprefix(f"{findings.source}: ").rstrip(".")


def _splits(sequences: Sequences, split: SequenceSplit, findings: Findings) -> Splits:
    if sequences.labels is None:
        findings.add("target", "note", "there are no classes, so series can be predicted and not trained on")
        return {}
    try:
        classes = checked_classes(sequences.labels, findings.source)
        return split_sequences(sequences, positions(sequences.labels, classes), classes, split)
    except DataError as error:
        findings.add("split", "error", _rule(error, findings))
        return {}


def _check_repeats(sequences: Sequences, findings: Findings) -> None:
    """Equal series, and equal ones of different classes."""
    rows: dict[bytes, list[int]] = collections.defaultdict(list)
    for row, values in enumerate(sequences.values):
        rows[values.tobytes()].append(row)
    equal = [group for group in rows.values() if len(group) > 1]
    labels = sequences.labels or ("",) * len(sequences)
    mixed = [group for group in equal if len({labels[row] for row in group}) > 1]
    for kind, rule, fix, chosen in (
        ("duplicates", "series are there more than once", "Keep one of each, or name their group.", equal),
        ("labels", "equal series have different classes", "Correct the classes.", mixed),
    ):  # fmt: skip
        if chosen:
            places = [Place(detail=" = ".join(sequences.names[row] for row in group[:4])) for group in chosen]
            findings.add(kind, "warning", rule, fix, places, len(chosen))


def _check_constant(sequences: Sequences, findings: Findings) -> None:
    low, high = (edge(sequences.values, axis=1) for edge in (np.fmin.reduce, np.fmax.reduce))
    rows = np.flatnonzero((low == high).all(1))
    if len(rows):
        places = [Place(detail=sequences.names[row]) for row in rows]
        findings.add("constant", "warning", "series never change", "Leave them out if that is not meant.", places)


def _check_balance(sequences: Sequences, splits: Splits, findings: Findings) -> None:
    counts = collections.Counter(sequences.labels or ())
    name, most = (counts.most_common(1) or [("", 0)])[0]
    if most >= ONE_SIDED * len(sequences):
        rule = f"{100 * most / len(sequences):.1f} % of series are '{quoted(name)}'"
        findings.add("balance", "warning", rule, "Accuracy says little here; look at the scores beside it.")
    for split, rows in splits.items():
        absent = sorted(set(counts) - {(sequences.labels or ())[row] for row in rows})
        if absent:
            rule = f"{split} has no series of {listed(absent)}"
            findings.add("classes", "warning", rule, "Give more series of it, or leave it out.")


def _summary(sequences: Sequences, splits: Splits) -> dict[str, Any]:
    lengths = sequences.lengths
    counts = collections.Counter(sequences.labels or ())
    return {
        "series": len(sequences),
        "steps": str(lengths.max()) if lengths.min() == lengths.max() else f"{lengths.min()} to {lengths.max()}",
        "variates": listed(sequences.variates, 12),
        "classes": listed((f"{name} {count}" for name, count in sorted(counts.items())), 12) or None,
        "missing values": int(sequences.missing().sum()),
        "groups": None if sequences.groups is None else len(set(sequences.groups)),
        "official split": None if sequences.parts is None else "train and test",
        "splits": ", ".join(f"{name} {len(rows)}" for name, rows in splits.items()) or None,
    }
