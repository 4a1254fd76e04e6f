"""What tables give away beside a strong column: parts of cells, pairs, names of persons, ranks, what fills gaps.

A leak could not be known then, or names the row. So each probe asks whether something tells the target that an honest
cause cannot tell: a digit, the neighbour of a row in the file, cells that recur though their size says nothing.
"""

import itertools
from collections.abc import Iterator, Mapping, Sized

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.near import thin_rows
from multiway.auditing.parts import WHOLE, pairs_of_columns, parts_of_cells, within_levels
from multiway.auditing.probes import (
    Floats,
    Ints,
    ProbeErrors,
    is_cut,
    share_explained,
)
from multiway.auditing.report import Verdict, finding
from multiway.auditing.worth import NEAR, Question
from multiway.data.findings import quote
from multiway.errors import Fix, Message

OF_FORM, OF_TIME = 0.5, 0.75
"""Share of the commonest class's errors that a part must surely remove: a digit says nothing, a weekday may."""
OF_NUMBERS = 0.9
"""R² of a part with a target of numbers."""
AHEAD = 0.1
"""By how much a part must tell more than the whole cell."""
COARSER = 5
"""Different cells for each different part."""
EXACT, ALL = 0.01, 0.94
"""Share of rows that two columns may get wrong, and of the commonest class's errors that they must remove."""
NAMED, SMOOTH = 0.75, 0.25
"""Gain of rows with nearly the same cell, and by how much those around tell less, where a column names persons."""
WIDE = 8
"""One row in so many counts as around."""
FEWEST_NAMES, LEAST_ROWS, FEWEST_EQUAL = 20, 50, 60
BINS, MOST_COLUMNS, MOST_CELLS = 20, 24, 400
MOST_LEARNT, MOST_HELD, MOST_RANKED = 20_000, 300, 2000
IN_LEVEL, FEWEST_IN_LEVEL = 0.98, 10
"""Share of the steps within levels that go one way, less that of the others; and rows of a level on average."""
NEXT, MOSTLY, TELLING = 2, 0.5, 0.75
"""Rows of the file between neighbours; share of rows whose nearest one is such; share of the target it tells."""
FEWEST_FILLED, PURE, CENTRE, ERRORS, FINE = 10, 0.95, 0.05, 3.0, 0.3
"""Cells of one value, the share of one class among them, and its distance from the mean of that class: in deviations,
or in standard errors. Share of different cells from which on one that recurs at an end is cut.
"""
LEAVE = Fix("read.drop", like="NAME")
GROUP = Fix("read.group", like="NAME")
DROP: Message = ("Leave it out (", LEAVE, ").")
CUT = "is made of the target by cutting it into steps"
SORTED = "the neighbours of a row in the file are not its likes"


def check_parts(question: Question) -> Iterator[Verdict]:
    """Whether a part of a cell tells the target, such as a digit or a weekday, and more than the whole cell does."""
    cells, best = question.cells, dict[str, tuple[float, str, Floats, bool]]()
    whole = dict(zip(cells.of_numbers, cells.numbers.T, strict=True))
    near = {name: question.gain_near(np.nan_to_num(column), NEAR) for name, column in whole.items()}
    for name, part, is_date, values in parts_of_cells(cells):
        count = len(np.unique(values[np.isfinite(values)]))
        is_part = name not in whole or len(np.unique(whole[name])) >= COARSER * count
        if count < 2 or not is_part or (question.labels is None and is_date):
            continue
        is_whole = part == WHOLE
        sure, gain = (question.gain_near(values, NEAR),) * 2 if is_whole else question.gains(values)
        least = OF_NUMBERS if question.labels is None else OF_TIME if is_date or is_whole else OF_FORM
        if sure > max(least, best.get(name, (0.0,))[0]) and gain >= near.get(name, -1.0) + AHEAD:
            best[name] = (sure, part, values, not is_whole)
    for name, (sure, part, values, is_code) in best.items():
        rule = f"{part} of column {quote(name)} tells the target, and nothing of the thing itself"
        worth = question.worth(values, [name], is_code=is_code)
        fix: Message = ("Ask how it was given, and leave it out (", LEAVE, ").")
        yield finding("parts", "error", f"{rule}: it {_words(question, sure)}{worth}", fix)
    if not best:
        yield "no digit, day or sign of a cell tells the target"


def _words(question: Question, gain: float) -> str:
    if question.labels is None:
        return f"explains {gain:.1%} of the variance of its ranks on rows held out"
    return f"surely removes {gain:.0%} of the commonest class's errors on rows held out"


def check_pairs(question: Question) -> Iterator[Verdict]:
    """Whether two columns together tell the class without exception, where neither does."""
    if question.labels is None:
        return
    cells, labels, parts = question.cells, question.labels, question.parts
    numbers = dict(itertools.islice(zip(cells.of_numbers, cells.numbers.T, strict=True), MOST_COLUMNS))
    words = dict(itertools.islice(zip(cells.of_words, cells.words.T, strict=True), MOST_COLUMNS))
    codes = {name: bin_column(column) for name, column in numbers.items()}
    codes |= {name: pd.factorize(column)[0].astype(np.float64) for name, column in words.items()}
    alone = {name: ProbeErrors.of_codes(column, labels, parts).gain for name, column in codes.items()}
    hits = list[tuple[str, str, str, Floats, bool]]()
    pairs = pairs_of_columns(numbers, cells.dates), within_levels(numbers, levels_of(codes | numbers, labels))
    for one, other, what, values in itertools.chain(*pairs):
        is_new = max(alone[one], alone[other]) < OF_TIME
        if is_new and _tells_all(ProbeErrors.of_column(values, labels, parts)):
            hits.append((one, other, what, values, False))
        elif is_new and what.startswith("the difference") and _are_equal_by_class(values, question):
            hits.append((one, other, f"where {one} equals {other}", values == 0, True))
    for one, other in itertools.combinations(codes, 2):
        both, count = codes[one] * (codes[other].max() + 1) + codes[other], (codes[one].max() + 1) * codes[other].max()
        is_new = max(alone[one], alone[other]) < OF_TIME and count <= MOST_CELLS
        if is_new and _tells_all(ProbeErrors.of_codes(both, labels, parts)):
            hits.append((one, other, f"{one} and {other}", both, True))
    for one, other, what, values, is_code in hits[:3]:
        rule = f"{quote(what)} tells the class without exception, and neither of them alone"
        rule += question.worth(values, [one, other], is_code=is_code)
        yield finding("pairs", "error", rule, ("Leave one out (", LEAVE, "), or both."))
    if not hits:
        yield "no two columns tell the class together"


def levels_of(codes: Mapping[str, Floats], rows: Sized) -> dict[str, Floats]:
    """Columns of few levels, with many rows of each."""
    return {name: column for name, column in codes.items() if FEWEST_IN_LEVEL * len(np.unique(column)) <= len(rows)}


def _are_equal_by_class(difference: Floats, question: Question) -> bool:
    """Whether two columns of many values are equal in rows of one class alone, which are nearly all of it."""
    equal, labels = difference == 0, question.labels
    if labels is None or equal.sum() < FEWEST_EQUAL or len(np.unique(difference)) < FEWEST_NAMES:
        return False
    is_pure = len(np.unique(labels[equal])) == 1
    return is_pure and ProbeErrors.of_codes(equal * 1.0, labels, question.parts).sure_gain > OF_TIME


def _tells_all(errors: ProbeErrors) -> bool:
    return errors.sure_gain > OF_TIME and errors.gain > ALL and errors.count <= EXACT * errors.rows


def bin_column(column: Floats) -> Floats:
    """Codes of steps of as many rows; of few values these themselves."""
    is_fine = len(np.unique(column)) > BINS
    codes = pd.qcut(column, BINS, labels=False, duplicates="drop") if is_fine else column
    return pd.factorize(codes)[0].astype(np.float64)


def check_names(question: Question) -> Iterator[Verdict]:
    """Whether rows of nearly the same cell share the target though cells around do not: the column names persons."""
    cells, question, hits = question.cells, question._replace(parts=question.parts[-1:]), list[str]()
    wide = max(len(question.parts[-1][0]) // WIDE, 10)
    for name, column in zip(cells.of_numbers, cells.numbers.T, strict=True):
        column = np.where(np.isfinite(column), column, -1e300)
        if len(np.unique(column)) >= FEWEST_NAMES:
            near = question.gain_near(column, 1)
            if near > NAMED and question.gain_near(column, wide) < near - SMOOTH:
                hits.append(name)
    for name in hits:
        rule = (
            f"column {quote(name)} names what rows belong to, such as a person: rows of the same cell share the target"
        )
        fix: Message = ("Keep such rows in one split (", GROUP, "), and leave the column out (", LEAVE, ").")
        column = cells.numbers[:, cells.of_numbers.index(name)]
        yield finding("names", "error", f"{rule}, and rows around do not{question.worth(column, [name])}", fix)
    if not hits:
        yield "no column names what rows belong to"


def check_ranks(question: Question) -> Iterator[Verdict]:
    """Whether a column is a rank or a class of a target of numbers, over all rows or within levels of another one."""
    cells, target, hits = question.cells, question.target, dict[str, tuple[str, Floats]]()
    levels = {name: pd.factorize(column)[0] for name, column in zip(cells.of_words, cells.words.T, strict=True)}
    numbers = {name: pd.factorize(column)[0] for name, column in zip(cells.of_numbers, cells.numbers.T, strict=True)}
    levels |= levels_of(numbers, target)
    for name, column in zip(cells.of_numbers, cells.numbers.T, strict=True):
        if is_cut(column, target):
            hits[name] = CUT, column
        for level, codes in levels.items():
            if name not in hits and _is_rank_within(column, target, codes):
                hits[name] = f"is a rank of the target within each {quote(level)}", bin_column(column) + BINS * codes
    for level, codes in levels.items():
        if is_cut(_by_mean(codes, target), target):
            hits[level] = CUT, codes.astype(np.float64)
    for name, (said, values) in hits.items():
        worth = question.worth(values, [name], is_code=True)
        yield finding("rank", "error", f"column {quote(name)} {said}{worth}", DROP)
    if not hits:
        yield "no column is a rank of the target"


def _by_mean(codes: Ints, target: Floats) -> Floats:
    return np.asarray(pd.Series(target).groupby(codes).transform("mean"))


def _is_rank_within(column: Floats, target: Floats, codes: Ints) -> bool:
    """Whether the target rises or falls with a column from row to row of every level."""
    some = thin_rows(np.flatnonzero(np.isfinite(column)), MOST_RANKED)
    if len(np.unique(column[some])) < FEWEST_NAMES:
        return False
    order = some[np.lexsort((column[some], codes[some]))]
    moved = (np.diff(codes[order]) == 0) & (np.diff(column[order]) > 0)
    ways = np.sign(np.diff(target[order])[moved])
    is_large = moved.sum() >= FEWEST_IN_LEVEL * len(np.unique(codes[some]))
    return bool(is_large and abs(ways.mean()) > IN_LEVEL)


def check_neighbours(
    columns: NDArray[np.float64], question: Question, train: Ints, rest: Ints, rows: str = "rows"
) -> Verdict | None:
    """Whether the training row that is most like a row held out is its neighbour in the file, and tells its target.

    So it is where a process was measured often and its rows were drawn into splits at random.
    """
    varied = columns[:, [len(np.unique(column)) >= FEWEST_NAMES for column in columns.T]]
    if varied.shape[1] < 2 or len(train) < LEAST_ROWS or not len(rest):
        return None
    spread = varied[train].std(0)
    scaled = np.nan_to_num(varied - varied[train].mean(0)) / np.where(spread > 0, spread, 1)
    held, known = thin_rows(rest, MOST_HELD), thin_rows(train, MOST_LEARNT)
    square = np.square(scaled[known]).sum(1) - 2 * scaled[held] @ scaled[known].T
    nearest = known[square.argmin(1)]
    is_next = np.abs(nearest - held) <= NEXT * max(len(train) // len(known), 1)
    if is_next.mean() <= MOSTLY:
        return SORTED
    share = (
        share_explained(question.target[nearest], question.target[held])
        if question.labels is None
        else ProbeErrors.of_said([question.labels[nearest]], question.labels, [(train, held)]).gain
    )
    if share <= TELLING:
        return SORTED
    rule = f"{is_next.mean():.0%} of the {rows} held out are most like a training row next to them in the file"
    fix: Message = ("Split by time or by stretches (", Fix("read.time", like="NAME"), "), or by groups (", GROUP, ").")
    return finding("neighbours", "error", f"{rule}, which tells {share:.0%} of the target", fix)


def check_filled(numbers: Mapping[str, Floats], labels: Ints) -> Iterator[Verdict]:
    """Whether gaps of a column were filled with the mean of the row's own class, or it was cut by class at its ends."""
    hits = dict[str, str]()
    for name, column in numbers.items():
        values, count = np.unique(column[np.isfinite(column)], return_counts=True)
        often = values[count >= max(FEWEST_FILLED, 0.02 * len(column))]
        is_fine, classes = len(values) > FINE * len(column), len(np.unique(labels))
        if len(values) < FEWEST_NAMES or len(often) > (1 + is_fine) * classes:
            continue
        rest, spread = ~np.isin(column, often) & np.isfinite(column), np.nanstd(column)
        filled, is_cut_off = set[int](), False
        for value in often:
            own = np.bincount(labels[column == value])
            of_class = column[rest & (labels == own.argmax())]
            room = max(CENTRE, ERRORS / np.sqrt(max(len(of_class), 1))) * spread
            is_pure = own.max() >= PURE * own.sum() and len(of_class)
            is_end = is_pure and is_fine and not of_class.min() < value < of_class.max()
            if is_pure and (is_end or abs(of_class.mean() - value) < room):
                filled.add(int(own.argmax()))
                is_cut_off = is_cut_off or bool(is_end)
        if len(filled) > 1:
            filling = f"gaps of column {quote(name)} are filled with the mean of each class, so the filling"
            hits[name] = f"column {quote(name)} is cut at the ends of each class, so its end" if is_cut_off else filling
    for said in hits.values():
        fix = "Fill gaps, and cut ends, by what training rows of all classes say."
        yield finding("filled", "error", f"{said} tells the class", fix)
    if not hits:
        yield "no gap is filled by the class"
