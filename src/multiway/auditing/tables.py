"""Audit of a table and its split: repeated rows, what gives the target away, what scaling saw.

One column alone gives it away, or a formula of several, or a column that knows the target of later rows.
"""

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing import probes
from multiway.auditing.duplicates import chance_of_repeats
from multiway.auditing.giveaways import (
    check_filled,
    check_names,
    check_neighbours,
    check_pairs,
    check_parts,
    check_ranks,
)
from multiway.auditing.look_ahead import check_later
from multiway.auditing.near import check_near_rows
from multiway.auditing.parts import numbers_in, ratios_of_counts
from multiway.auditing.probes import Floats, Ints, Parts, ProbeErrors, upper_bound
from multiway.auditing.report import AuditReport, Verdict, finding
from multiway.auditing.samples import as_note, check_codes, check_copies, check_scaling, report_on_samples
from multiway.auditing.worth import Question
from multiway.data import Finding
from multiway.data.findings import list_some, quote
from multiway.data.samples import Cells, Prepared, Samples
from multiway.data.scaling import Scaler
from multiway.errors import Fix

SAME = 0.9995
"""Rank correlation with the target from which on a column of numbers is called a copy of it."""
NEARLY = 0.05
"""Share of the commonest class's errors that a copy of classes may leave."""
BINS = 20
MOSTLY, ROUNDED = 0.5, 2e-3
"""Share of the rows whose words hold the target, and by what share of it these are rounded."""
TOLERATED = 0.01
"""Share of a split's rows that may repeat training rows; more where few values make it likely."""
SURE = 0.94
"""Share of the commonest class's errors that one column must surely remove; honest ones remove less."""
MARGIN = 0.06
"""By how much the share may be less, surely, as few rows leave room for doubt."""
EXACT = 0.02
"""Share of rows that a copy of the classes may get wrong: what is measured errs more often, however strong it is."""
SURELY = 0.05
"""The same, surely: of few rows an honest column may by luck get hardly any wrong."""
ROWS_PER_LEVEL = 5
"""Rows of each different cell on average, where a table of cells is judged by the rows that it was made from."""
STRONG, STRONG_R2 = 0.75, 0.95
"""The same of a column that is noted as strong, which is no leak."""
COPY = 0.999
"""R² of the ranks that one column of numbers must reach."""
ALIKE = 0.999
"""Correlation of two columns, such as two dates, from which on their difference is looked at for itself."""
FORMULA = 0.9999
"""R² that a weighted sum must reach; measured things never fit so well."""
MOST_NAMED = 40
"""Columns of which those are looked for that a formula needs."""
FEW = 2
"""Repeated rows of a split that chance makes in real tables of few digits."""
PARTLY = 0.05
"""Share of the cells that are missing, and that are there, from which on those there are looked at alone."""
FEWEST_RECORDS, FEWEST_VALUES = 60, 3
"""Rows, and different values, of what only rows of one class have; a yes and a no may be an honest sign."""
USUAL = 4.0
"""Repeats may be this much more frequent than chance makes them."""
LEAST_ROWS = 50
NAMED = Fix("read.drop", like="NAME")
DROP = ("Leave it out (", NAMED, "), unless it is known before the target is.")


def audit_table(prepared: Prepared[Cells, Any], used: Scaler | None = None) -> AuditReport:
    """Whether rows or groups are in two splits, and whether a column gives the target away."""
    return report_on_samples(prepared, _verdicts(prepared, used))


def _verdicts(prepared: Prepared[Cells, Any], used: Scaler | None) -> Iterator[Verdict | None]:
    table = prepared.raw
    yield from check_copies(prepared, row_digests(table), "rows", tolerated=tolerance(prepared))
    copies = copies_of_target(table)
    if copies:
        codes = dict(column_codes(table.inputs))
        worth = question_of(prepared).worth(codes[copies[0]].astype(np.float64), copies, is_code=True)
        rule = f"{len(copies)} columns are the target under another name"
        yield finding("copy", "error", rule, ("Leave them out (", NAMED, ")."), [*copies[:-1], copies[-1] + worth])
    else:
        yield "no column is the target"
    yield from check_giveaways(prepared, copies)
    if table.classes is not None:
        verdicts = (
            as_note(check_codes(prepared, {n: codes}, f"column {n}")) for n, codes in column_codes(table.inputs)
        )
        yield from (verdict for verdict in verdicts if isinstance(verdict, Finding))
    if table.inputs.of_numbers:
        yield check_scaling(prepared, used, table.inputs.of_numbers)


def tolerance(prepared: Prepared[Cells, Any]) -> float:
    """Share of a split that may repeat training rows: more where few values make it likely, or where rows are few."""
    smallest = min(len(prepared.rows(name)) for name in ("validation", "test"))
    table, train = prepared.raw, prepared.rows("train")
    columns, kinds = [*table.inputs.numbers.T, *table.inputs.words.T], table.labels
    if kinds is None:
        columns, kinds = [*columns, table.truth], np.zeros(len(table), int)
    by_chance = chance_of_repeats(columns, train, _rest(prepared), kinds)
    return max(TOLERATED, USUAL * by_chance, FEW / max(smallest, 1))


def row_digests(table: Samples[Cells]) -> list[bytes]:
    """A hash of each row, target included."""
    names, frame = table.classes, table.inputs.frame()
    target = table.truth if names is None else np.array(names, object)[table.truth]
    hashes = pd.util.hash_pandas_object(frame.assign(**{table.target_name or "": target}), index=False)
    return [value.tobytes() for value in hashes.to_numpy()]


def column_codes(cells: Cells) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """A whole number for each cell of every input; numbers of many values fall into 20 bins of as many rows."""
    for name, column in zip(cells.of_numbers, cells.numbers.T, strict=True):
        is_fine = len(np.unique(column)) > BINS
        codes = pd.qcut(column, BINS, labels=False, duplicates="drop") if is_fine else column
        yield name, pd.factorize(codes)[0].astype(np.int64)
    for name, words in zip(cells.of_words, cells.words.T, strict=True):
        yield name, pd.factorize(words)[0].astype(np.int64)


def copies_of_target(table: Samples[Cells]) -> list[str]:
    """Inputs that are the target under another name, as words or in other units, as far as one column shows it."""
    target, cells = pd.Series(table.truth), table.inputs
    if table.classes is not None:
        return [name for name, codes in column_codes(cells) if _tells(pd.Series(codes), target)]
    columns = zip(cells.of_numbers, cells.numbers.T, strict=True)
    return [name for name, column in columns if abs(pd.Series(column).rank().corr(target.rank())) > SAME]


def _tells(codes: pd.Series, target: pd.Series) -> bool:
    """Whether the commonest class of each value is that of nearly all rows, and rows share values."""
    classes = int(target.max()) + 1
    table = np.bincount((codes.to_numpy() + 1) * classes + target.to_numpy())
    counts = np.pad(table, (0, -len(table) % classes)).reshape(-1, classes)
    counts = counts[counts.any(1)]
    errors, usual = len(target) - counts.max(1).sum(), len(target) - counts.sum(0).max()
    is_exact = errors <= EXACT * len(target) and upper_bound(errors) <= SURELY * len(target)
    return bool(len(counts) <= len(target) / ROWS_PER_LEVEL and errors <= NEARLY * usual and is_exact)


def check_giveaways(prepared: Prepared[Cells, Any], known: Collection[str] = ()) -> Iterator[Verdict | None]:
    """What one column, a formula, noise on a doubled row, a later row or the order of the rows gives away.

    known: Columns that are said to be the target already.
    """
    table, train, rest = prepared.raw, prepared.rows("train"), _rest(prepared)
    question = question_of(prepared)
    target, _, parts, cells = question
    numbers = dict(zip(cells.of_numbers, cells.numbers.T, strict=True))
    for name, column in numbers.items():
        if name not in known:
            found = check_column(name, column, target, parts, classes=table.labels is not None)
            found = found or check_mean(name, column, target, table.labels)
            if isinstance(found, Finding) and found.severity == "error":
                found = dataclasses.replace(found, rule=found.rule + question.worth(column, [name]))
            yield found
    yield from check_cells(question, known)
    if table.labels is not None:
        yield from check_filled(numbers, table.labels)
        yield from check_counts(numbers, table.labels)
        yield from check_records(cells, table.labels, known)
    else:
        yield from check_ranks(question.thin())
    if len(table) >= LEAST_ROWS:
        some = question._replace(cells=drop_columns(cells, known)).thin()
        yield from itertools.chain(check_parts(some), check_pairs(some), check_names(some))
        yield check_neighbours(cells.numbers, question, train, rest)
    yield check_near_rows(cells.numbers, train, rest)
    if table.labels is None:
        words = dict(zip(cells.of_words, cells.words.T, strict=True))
        yield check_formula(numbers, words, target, train, rest)
    if table.times is not None and numbers and len(table) >= LEAST_ROWS:
        yield from check_later(numbers, target, np.argsort(table.times, kind="stable"), DROP)
    elif table.labels is not None:
        yield check_row_order(table.labels, parts, prepared.rows(""))


def drop_columns(cells: Cells, names: Collection[str]) -> Cells:
    """Cells without some columns."""
    numbers, words = (
        [place for place, name in enumerate(every) if name not in names] for every in (cells.of_numbers, cells.of_words)
    )
    return dataclasses.replace(
        cells,
        numbers=cells.numbers[:, numbers],
        words=cells.words[:, words],
        of_numbers=tuple(cells.of_numbers[place] for place in numbers),
        of_words=tuple(cells.of_words[place] for place in words),
    )


def question_of(prepared: Prepared[Cells, Any]) -> Question:
    """Targets of a table, each half of its training rows judged by the other, and all other rows by both."""
    table, groups = prepared.raw, prepared.raw.groups
    labels = np.zeros(len(table), np.int64) if table.labels is None else table.labels
    own = None if groups is None else probes.class_numbers(groups)
    parts = probes.split_halves(prepared.rows("train"), _rest(prepared), labels, own)
    return Question(table.truth.astype(np.float64), table.labels, parts, table.inputs)


def _rest(prepared: Prepared[Cells, Any]) -> Ints:
    return np.concatenate([prepared.rows(name) for name in ("validation", "test")])


def check_column(name: str, column: Floats, target: Floats, parts: Parts, *, classes: bool) -> Verdict | None:
    """Whether one column alone tells nearly everything; None where it does not."""
    if len(target) < LEAST_ROWS or np.isnan(column).all():
        return None
    if classes:
        return _verdict(f"column {quote(name)}", column, target.astype(np.int64), parts)
    explained = probes.r2_of_column(column, target, parts)
    said = f"{explained:.3%} of the variance of its ranks on rows held out"
    if explained > COPY:
        return finding("copy", "error", f"column {quote(name)} alone tells the target: {said}", DROP)
    return strong(f"column {quote(name)}", said) if explained > STRONG_R2 else None


def check_mean(name: str, column: Floats, target: Floats, labels: Ints | None) -> Verdict | None:
    """Whether a column is the target's mean over the rows that share a cell; None where it is not."""
    is_mean = probes.is_mean_of_numbers(column, target) if labels is None else probes.is_share_of_class(column, labels)
    if len(target) < LEAST_ROWS or not is_mean:
        return None
    rule = f"column {quote(name)} is the target's mean over few rows, those rows themselves included"
    return finding("copy", "error", rule, ("Make such means from training rows alone, or leave it out (", NAMED, ")."))


def check_counts(numbers: Mapping[str, Floats], labels: Ints) -> Iterator[Verdict]:
    """Whether a column counts the rows of a class among those that another one counts, the row itself included."""
    for part, total, ratio in ratios_of_counts(numbers) if len(labels) >= LEAST_ROWS else ():
        if probes.is_share_of_class(ratio, labels):
            rule = f"columns {quote(part)} and {quote(total)} count the rows of a class, those rows themselves included"
            yield finding("copy", "error", rule, ("Count other rows alone, or leave them out (", NAMED, ")."))


def check_cells(question: Question, known: Collection[str]) -> Iterator[Verdict | None]:
    """Whether the cells that are there tell the target, in columns that are empty for others, and how many are empty.

    Of a target of numbers also the numbers that are written in words.
    """
    target, labels, parts, cells = question
    columns = dict(zip(cells.of_numbers, cells.numbers.T, strict=True))
    for name, words in zip(cells.of_words, cells.words.T, strict=True):
        columns[name] = np.where(words == "", np.nan, probes.class_numbers(words))
        for place, numbers in numbers_in(words).items() if labels is None and name not in known else ():
            share = float((np.abs(numbers - target) <= ROUNDED * np.abs(target)).mean())
            if share > MOSTLY:
                rule = f"the {place} number in column {quote(name)} is the target in {share:.0%} of the rows"
                yield finding("copy", "error", rule, DROP)
    empty = np.zeros(len(target))
    for name, column in columns.items():
        there, what = np.isfinite(column), f"column {quote(name)}, where it is not empty,"
        empty += ~there
        if name in known or not PARTLY < there.mean() < 1 - PARTLY:
            continue
        among = [(learnt[there[learnt]], judged[there[judged]]) for learnt, judged in parts]
        if labels is not None:
            yield _verdict(what, column, labels, among)
        elif name in cells.of_numbers and min(len(rows) for part in among for rows in part) >= LEAST_ROWS:
            explained = probes.r2_of_column(column, target, among)
            if explained > COPY:
                yield finding("copy", "error", f"{what} alone tells the target: {explained:.3%} of its ranks", DROP)
    if labels is not None and empty.any() and ProbeErrors.of_codes(empty, labels, parts).sure_gain > STRONG:
        rule = "the number of empty cells of a row tells the class, as where some were asked less"
        yield finding("filled", "error", rule, "Keep what is asked of all, and fill gaps alike.")


def check_records(cells: Cells, labels: Ints, known: Collection[str]) -> Iterator[Verdict]:
    """Whether what is empty or 0 for most rows is anything else for rows of one class alone.

    So is what was written down because of the outcome, such as a sum that was collected. A sign of several values that
    honestly tells a class has exceptions.
    """
    columns = dict(zip(cells.of_numbers, cells.numbers.T, strict=True))
    for name, words in zip(cells.of_words, cells.words.T, strict=True):
        columns[name] = np.where(words == "", 0.0, probes.class_numbers(words) + 1)
    commonest = np.bincount(labels).argmax()
    for name, column in columns.items():
        there = np.nan_to_num(column) != 0
        own = np.unique(labels[there])
        is_record = len(own) == 1 and own[0] != commonest and there.sum() >= FEWEST_RECORDS
        if name not in known and is_record and len(np.unique(column[there])) >= FEWEST_VALUES:
            rule = f"column {quote(name)} is neither empty nor 0 in {there.sum():,} rows, and all are of one class"
            yield finding("copy", "error", f"{rule}, as what is written after the outcome", DROP)


def _verdict(what: str, column: Floats, labels: Ints, parts: Parts) -> Verdict | None:
    if any(len(learnt) < probes.NEIGHBOURS for learnt, _ in parts) or sum(len(rows) for _, rows in parts) < LEAST_ROWS:
        return None
    errors = ProbeErrors.of_column(column, labels, parts)
    said = f"{errors.count} errors on rows held out, where the commonest class makes {errors.usual}"
    is_exact = errors.count <= EXACT * errors.rows and errors.share <= SURELY
    if errors.gain > SURE and errors.sure_gain > SURE - MARGIN and is_exact:
        return finding("copy", "error", f"{what} alone tells the target: {said}", DROP)
    return strong(what, said) if errors.sure_gain > STRONG else None


def strong(what: str, said: str) -> Finding:
    """A note on a column that tells much, which is what columns are for."""
    rule = f"{what} is strong: {said}. That is a leak only if it is written after the target is known"
    return finding("strong", "note", rule, ("Look when it is written, and train once without it (", NAMED, ")."))


def check_formula(
    numbers: Mapping[str, Floats], levels: Mapping[str, NDArray[np.object_]], target: Floats, learnt: Ints, judged: Ints
) -> Verdict | None:
    """Whether a weighted sum of columns, or of their logarithms, gives a target of numbers to four digits."""
    coded = [values[:, None] == np.unique(values[learnt].astype(str)) for values in levels.values()]
    hot = np.hstack(coded).astype(np.float64) if coded else np.empty((len(target), 0))
    plain = {name: np.nan_to_num(column, nan=float(np.nanmean(column))) for name, column in numbers.items()}
    plain |= {
        f"{name} less {other}": plain[name] - plain[other]
        for name, other in itertools.combinations(plain, 2)
        if abs(np.corrcoef(plain[name], plain[other])[0, 1]) > ALIKE
    }
    positive = {name: np.log(column) for name, column in plain.items() if (column > 0).all()}
    lowered = {name: column for name, column in plain.items() if 0 <= column.min() < column.max() < 100}
    positive |= {f"100 % less {name}": np.log(1 - column / 100) for name, column in lowered.items()}
    kinds = [("weighted sum", plain, target)]
    kinds += [("product of powers", positive, np.log(target))] if positive and (target > 0).all() else []
    for kind, columns, truth in kinds:
        matrix = np.column_stack([*columns.values(), hot])
        if len(learnt) < max(LEAST_ROWS, 3 * matrix.shape[1]):
            continue
        explained = probes.r2_of_sum(matrix, truth, learnt, judged)
        if explained > FORMULA:
            terms = _terms(columns, hot, truth, learnt, judged)
            return finding(
                "formula",
                "error",
                f"a {kind} of {terms} gives the target: R² {explained:.6f} on rows held out",
                ("Leave out what the target is computed from (", NAMED, ")."),
            )
    return "no formula of the columns gives the target"


def _terms(columns: Mapping[str, Floats], hot: Floats, truth: Floats, learnt: Ints, judged: Ints) -> str:
    """The columns without which a formula does not hold, in words."""
    kept = dict(columns)
    for name in columns if len(columns) <= MOST_NAMED else ():
        fewer = {other: column for other, column in kept.items() if other != name}
        matrix = np.column_stack([*fewer.values(), hot])
        if matrix.shape[1] and probes.r2_of_sum(matrix, truth, learnt, judged) > FORMULA:
            kept = fewer
    return "the columns" if len(columns) > MOST_NAMED else f"the columns {list_some([*map(quote, kept)])}"


def check_row_order(labels: Ints, parts: Parts, rows: Ints) -> Verdict:
    """Whether the place of a row in the file tells its class; no model reads it, but an identifier may follow it."""
    errors = ProbeErrors.of_column(rows.astype(np.float64), labels, parts)
    if errors.sure_gain <= SURE:
        return "the order of the rows does not tell the class"
    return finding(
        "order",
        "note",
        "rows stand class by class, so whatever counts them tells the class",
        "Keep identifiers and times out of the inputs.",
    )
