"""The claims of the papers and their verdicts, which follow from rows where rows decide."""

import bisect
import functools
import itertools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from typing import Any, NamedTuple

from docs.build.rows import RESULTS, ROOT, kind_of, read_rows

from multiway.config import load_yaml
from multiway.tasks.protocol import Row
from multiway.workflows.recipe import load_recipe
from multiway_papers.cells import printed_figure
from multiway_papers.printed import Printing
from multiway_papers.verdicts import COVERAGE, DIGITS, Difference, difference_of_means, seed_values

CLAIMS, COSTS = ROOT / "docs" / "papers" / "claims.yaml", RESULTS / "costs.jsonl"
HOLDS, REFUTED, UNDECIDED, UNTESTED = VERDICTS = ("holds", "refuted", "undecided", "untested")
LOWER_IS_BETTER = {"mse", "mae", "ppl", "smape"}
CONTROLS = {"ndlinear-places", "tga-controls"}
"""Tables of our own whose rows take a part of print's network away, or try a place that print names without a row."""
MOST_SEEDS = 1000


class Claim(NamedTuple):
    """A claim of a text, and what says so: rows, a test, or a printed table.

    row: A cell, or several with names of `over` in braces; `against` names the cell that it is compared with, or the
        printed figure is. A claim of several metrics or cells is about every one of them.
    better: Whether the claim is that the row is better, not as good as the other.
    margin: By how much what is as good may be worse.
    beats: A printed figure of another method.
    says: The verdict by the test or the command, `undecided` where print leaves open what it counts; None where rows
        decide.
    lacks: What else has not been run, or is not here.
    cells: Patterns of cells that would decide, for their hours; by default those of the rows.
    hours: Of one core, where results/costs.jsonl has none of them.
    """

    paper: str
    claim: str
    where: str
    words: str
    row: str | None = None
    against: str | None = None
    metric: str | Sequence[str] = ()
    over: Mapping[str, Sequence[Any]] = {}
    better: bool = True
    margin: float = 0.0
    beats: float | None = None
    says: str | None = None
    lacks: str | None = None
    cells: Sequence[str] = ()
    hours: float = 0.0
    command: str | None = None
    test: str | None = None


class Pair(NamedTuple):
    """What a claim compares at one place: a cell with another, or with a printed figure, by a metric."""

    row: str
    against: str | None
    metric: str


class Decision(NamedTuple):
    """A verdict, with the number of seeds at which an open one would be decided as the means stand."""

    verdict: str
    seeds: int | None = None


def claims() -> list[Claim]:
    """All of them, in the order of the texts."""
    given = load_yaml(CLAIMS)
    return [Claim(paper=paper, **fields) for paper, lines in given.items() for fields in lines]


def pairs_of(claim: Claim) -> list[Pair]:
    """Everything that a claim compares."""
    if claim.row is None:
        return []
    metrics = [claim.metric] if isinstance(claim.metric, str) else claim.metric
    places = [dict(zip(claim.over, values, strict=True)) for values in itertools.product(*claim.over.values())]
    named = [
        (claim.row.format_map(place), claim.against.format_map(place) if claim.against else None) for place in places
    ]
    return [Pair(row, against, metric) for row, against in named for metric in metrics]


class Sides(NamedTuple):
    """What a comparison sets against each other.

    sign: 1 where more is better, else -1.
    measured: Whether the other is a row.
    """

    ours: Printing
    theirs: Printing
    sign: int
    measured: bool

    def gain(self, coverage: float = COVERAGE, seeds: int | None = None) -> Difference:
        """By how much ours is better, with its interval, as measured or as if there were so many seeds of each row."""
        ours, theirs = self.ours, self.theirs
        if seeds is not None:
            ours, theirs = ours._replace(seeds=seeds), theirs._replace(seeds=seeds) if self.measured else theirs
        found = difference_of_means(ours, theirs, coverage)
        if found is None:
            raise ValueError("a comparison needs two seeds")
        low, high = sorted((self.sign * found.low, self.sign * found.high))
        return Difference(self.sign * found.value, low, high, found.has_printed_spread)


def decide(claim: Claim, rows: Mapping[str, Row]) -> Decision:
    """The verdict of a claim.

    Of several comparisons all must hold, each by its own interval; one refutes where an interval of all of them
    together (Bonferroni) excludes it.
    """
    if claim.says is not None:
        return Decision(claim.says)
    pairs = pairs_of(claim)
    whole = [sides for pair in pairs if is_decisive(pair, rows) and (sides := sides_of(claim, pair, rows))]
    if not whole:
        return Decision(UNTESTED)
    found, limit = verdict_of(whole, claim.better, claim.margin), len(pairs)
    if found == REFUTED or (found == HOLDS and len(whole) == limit and not claim.lacks):
        return Decision(found)
    if len(whole) < limit or claim.lacks:
        return Decision(UNTESTED)
    return Decision(UNDECIDED, _seeds_that_decide(whole, claim))


def verdict_of(compared: Sequence[Sides], better: bool, margin: float, seeds: int | None = None) -> str:
    """What intervals say of these comparisons, as measured or as if there were so many seeds of each row."""
    wide, limit = 1 - (1 - COVERAGE) / len(compared), 0.0 if better else -margin
    if any(sides.gain(wide, seeds).high < limit for sides in compared):
        return REFUTED
    return HOLDS if all(sides.gain(COVERAGE, seeds).low > limit for sides in compared) else UNDECIDED


def _seeds_that_decide(compared: Sequence[Sides], claim: Claim) -> int | None:
    """The smallest number at which the verdict is another one, with means and deviations as they are."""

    def is_open(seeds: int) -> bool:
        return verdict_of(compared, claim.better, claim.margin, seeds) == UNDECIDED

    few = max(sides.ours.seeds or 0 for sides in compared)
    return (
        None if is_open(MOST_SEEDS) else bisect.bisect_left(range(MOST_SEEDS), True, few, key=lambda n: not is_open(n))
    )


def sides_of(claim: Claim, pair: Pair, rows: Mapping[str, Row]) -> Sides | None:
    """What a comparison is of; None without two seeds, or without what the row is compared with."""
    ours, theirs = _figure(rows.get(pair.row), pair.metric), None
    if claim.beats is not None:
        theirs = Printing(claim.beats, None, None, DIGITS)
    elif pair.against is not None:
        theirs = _figure(rows.get(pair.against), pair.metric)
    else:
        theirs = printed_figure(pair.row, pair.metric)
    sign = -1 if pair.metric in LOWER_IS_BETTER else 1
    return Sides(ours, theirs, sign, pair.against is not None) if ours and theirs else None


def _figure(row: Row | None, metric: str) -> Printing | None:
    """Mean and deviation of a row over its seeds."""
    if row is None or row.get(metric) is None or row["seeds"] < 2:
        return None
    values = seed_values(row, metric)
    if values:
        return Printing(statistics.fmean(values), statistics.stdev(values), len(values), DIGITS)
    return Printing(row[metric], row[f"{metric}_sd"], row["seeds"], DIGITS) if f"{metric}_sd" in row else None


def is_decisive(pair: Pair, rows: Mapping[str, Row]) -> bool:
    """Whether both rows are there, whole, of print's form, and of two seeds."""
    names = [pair.row, *([pair.against] if pair.against else [])]
    return all(name in rows and rows[name]["seeds"] > 1 and decides(rows[name]) for name in names)


def decides(row: Row) -> bool:
    """Whether a row ran what print names, or what a control of it takes away."""
    recipe = load_recipe(row["recipe"])
    kind = kind_of(recipe, row)
    return kind == "paper" or (kind == "own" and recipe.table in CONTROLS)


class Standing(NamedTuple):
    """How many comparisons are ahead, level and behind by their own intervals."""

    ahead: int
    level: int
    behind: int


def standing_of(compared: Sequence[Sides]) -> Standing:
    """The count over some comparisons."""
    gains = [sides.gain() for sides in compared]
    ahead, behind = (sum(each.low > 0 for each in gains), sum(each.high < 0 for each in gains))
    return Standing(ahead, len(gains) - ahead - behind, behind)


class Cost(NamedTuple):
    """What decides a claim and has not been run: hours of one core, and what of it is not here."""

    hours: float
    missing: tuple[str, ...]


def cost_of(claim: Claim, rows: Mapping[str, Row]) -> Cost:
    """Of the cells that would decide and have no whole row, by results/costs.jsonl."""
    patterns = {*_undecided(claim, rows)}
    found = [row for name, row in costs().items() if any(fnmatch(name, each) for each in patterns)]
    missing = dict.fromkeys(row["missing"] for row in found if "missing" in row)
    return Cost(claim.hours + math.fsum(row.get("hours_of_1_core", 0.0) for row in found), tuple(missing))


def _undecided(claim: Claim, rows: Mapping[str, Row]) -> Iterator[str]:
    if claim.cells:
        yield from claim.cells
        return
    for pair in pairs_of(claim):
        for name in (pair.row, pair.against):
            if name and not (name in rows and decides(rows[name])):
                yield name


@functools.cache
def costs() -> dict[str, Row]:
    """Rows of costs by their cells."""
    return {row["cell"]: row for row in read_rows(COSTS)}
