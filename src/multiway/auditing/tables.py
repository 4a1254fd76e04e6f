"""Audit of a table and its split: repeated rows, copies of the target, what single columns and scaling tell."""

import dataclasses
from collections.abc import Iterator

from multiway.auditing.columns import check_columns, usual_repeats
from multiway.auditing.duplicates import check_duplicates
from multiway.auditing.groups import check_groups
from multiway.auditing.lookup import check_lookup
from multiway.auditing.report import AuditReport, Verdict, found
from multiway.auditing.statistics import check_statistics
from multiway.data import Finding
from multiway.data.tabular import Encoding, PreparedTable, column_codes, copies_of_target, row_digests

TOLERATED = 0.01
"""Share of a split's rows that may repeat training rows; more where few values make it likely."""


def audit_table(prepared: PreparedTable, used: Encoding | None = None) -> AuditReport:
    """Whether rows or groups are in two splits, and whether a column gives the target away.

    Args:
        prepared: The table with its splits.
        used: The encoding that a run trained with; its own if not given.
    """
    counts = ", ".join(f"{name} {len(rows):,}" for name, rows in prepared.splits.items())
    return AuditReport.of(f"{prepared.source}: {counts}", _verdicts(prepared, used or prepared.encoding))


def _verdicts(prepared: PreparedTable, used: Encoding) -> Iterator[Verdict | None]:
    table, splits = prepared.table, prepared.splits
    digests, names = row_digests(table), [f"{table.unit} {row}" for row in table.rows]
    of_split = {name: [digests[row] for row in rows] for name, rows in splits.items()}
    called = {name: [names[row] for row in rows] for name, rows in splits.items()}
    yield check_duplicates(of_split, called, "rows", tolerated=max(TOLERATED, usual_repeats(prepared)))
    if table.groups is not None:
        yield check_groups({name: [table.groups[row] for row in rows] for name, rows in splits.items()}, "group")
    copies = copies_of_target(table)
    rule = f"{len(copies)} columns are the target under another name"
    yield (
        found("copy", "error", rule, "Leave them out (--drop NAME).", copies) if copies else "no column is the target"
    )
    yield from check_columns(prepared, copies)
    yield from _lookups(prepared)
    yield _scaling(prepared, used)


def _lookups(prepared: PreparedTable) -> Iterator[Verdict | None]:
    """What each column tells by itself, of classes; it is a note, as columns are there to tell something."""
    table, train, test = prepared.table, prepared.rows("train"), prepared.rows("test")
    for name, codes in column_codes(table) if table.columns.classes is not None else ():
        verdict = check_lookup(
            {name: codes[train]}, table.truth[train], {name: codes[test]}, table.truth[test],
            what=f"column {name}", target="the class", draws=200,
        )  # fmt: skip
        if isinstance(verdict, Finding):
            yield dataclasses.replace(verdict, severity="note", fix="A network that is no better learnt no more.")


def _scaling(prepared: PreparedTable, used: Encoding) -> Verdict | None:
    if not used.columns.numbers:
        return None
    training, every = (Encoding.fit(rows).scaler for rows in (prepared.part("train"), prepared.table))
    used_now, right, of_all = ({"mean": each.mean, "std": each.std} for each in (used.scaler, training, every))
    return check_statistics(used_now, right, of_all, used.columns.numbers)
