"""`check_texts`: what a table of texts holds, and what is wrong with it."""

import collections
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import CheckReport, Findings, Place, Unreadable, listed, quoted
from multiway.data.labelled_text.options import LabelledTextOptions, TextSplit
from multiway.data.labelled_text.reading import read_into
from multiway.data.labelled_text.splitting import split_texts
from multiway.data.labelled_text.table import TextTable
from multiway.data.labelled_text.vocabulary import words_of
from multiway.data.loading import source_name
from multiway.data.shares import Splits
from multiway.errors import DataError

ORDER = {"error": 0, "warning": 1, "note": 2}
ONE_SIDED = 0.9
"""Share of the largest class from which on the report speaks of balance."""


def check_texts(source: Any, options: LabelledTextOptions | None = None, split: TextSplit | None = None) -> CheckReport:
    """Say what is in a table of texts and all that is wrong with it under these options.

    Raises:
        DataError: There is no such file, or the source is no table.
    """
    findings = Findings(source_name(source))
    try:
        table = read_into(source, options or LabelledTextOptions(), None, findings)
    except Unreadable:
        return _report(findings, {"encoding": findings.encoding})
    splits = {} if findings.errors() else _split(table, split or TextSplit(), findings)
    _check_copies(table, findings)
    _check_balance(table, findings)
    return _report(findings, _summary(table, splits, findings))


def _report(findings: Findings, summary: dict[str, Any]) -> CheckReport:
    found = tuple(sorted(findings.found, key=lambda finding: ORDER[finding.severity]))
    return CheckReport(source=findings.source, summary=summary, findings=found)


def _split(table: TextTable, split: TextSplit, findings: Findings) -> Splits:
    if table.truth is None:
        rule = "no column of classes is named or found, so texts can be predicted and not trained on"
        findings.add("target", "note", rule, "Name it (--target NAME).")
        return {}
    try:
        return split_texts(table, split)
    except DataError as error:
        findings.add("split", "error", str(error).removeprefix(f"{table.source}: ").rstrip("."))
        return {}


def _check_copies(table: TextTable, findings: Findings) -> None:
    """Texts that are there before, and copies of one text with different classes."""
    keys = table.keys
    first: dict[str, int] = {}
    again = np.array([first.setdefault(key, row) != row for row, key in enumerate(keys)], dtype=bool)
    classes = collections.defaultdict(set)
    for key, label in zip(keys, [] if table.truth is None else table.truth.tolist(), strict=False):
        classes[key].add(label)
    torn = np.array([len(classes[key]) > 1 for key in keys], dtype=bool)
    _warn("duplicates", again, "rows repeat an earlier text", "Copies never fall into two splits.", table, findings)
    _warn(
        "labels", torn, "rows have equal texts and different classes", "No model can tell them apart.", table, findings
    )


def _warn(kind: str, rows: NDArray[np.bool_], rule: str, fix: str, table: TextTable, findings: Findings) -> None:
    if rows.any():
        places = [Place(row=int(table.rows[row]), unit=table.unit) for row in np.flatnonzero(rows)[:20]]
        findings.add(kind, "warning", f"{int(rows.sum())} {rule}", fix, places, int(rows.sum()))


def _check_balance(table: TextTable, findings: Findings) -> None:
    if table.truth is None:
        return
    counts = np.bincount(table.truth, minlength=len(table.columns.classes))
    if counts.max() >= ONE_SIDED * len(table):
        name = quoted(table.columns.classes[int(counts.argmax())])
        rule = f"{100 * counts.max() / len(table):.1f} % of rows are '{name}'"
        findings.add("balance", "warning", rule, "Accuracy says little here; look at the scores beside it.")


def _summary(table: TextTable, splits: Splits, findings: Findings) -> dict[str, Any]:
    columns, lengths = table.columns, [len(words_of(text)) for text in table.texts]
    counts = [] if table.truth is None else np.bincount(table.truth, minlength=len(columns.classes)).tolist()
    return {
        "rows": len(table),
        "text": " and ".join(columns.texts),
        "words": f"{np.median(lengths):.0f} in the middle, {max(lengths)} at most",
        "target": columns.target,
        "classes": listed((f"{name} {count}" for name, count in zip(columns.classes, counts, strict=False)), 12)
        or None,
        "different texts": len(set(table.keys)),
        "groups": None if table.groups is None else len(set(table.groups)),
        "splits": ", ".join(f"{name} {len(rows)}" for name, rows in splits.items()) or None,
        "encoding": findings.encoding,
    }
