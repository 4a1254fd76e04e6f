"""How a measured figure stands against the printed one: the rule, once.

The difference is the mean over our seeds minus the printed figure. Its 95 % interval is Student's over seeds: with the
deviation s of n seeds, and s' of print's n' where it prints one (Welch's degrees of freedom), it reaches
t sqrt(s² / n + s'² / n') and half a unit of print's last digit to either side. `better` and `worse` are intervals that
leave out zero, `level` is one that holds it. Fewer than two seeds have no interval, and no verdict.

The interval is of other seeds on the same test rows; which rows were drawn is not in it.
"""

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from multiway.workflows.recipe import Recipe
from multiway_papers.cells import printed_figure
from multiway_papers.printed import HIGHER_IS_BETTER, Printing

if TYPE_CHECKING:
    from multiway.tasks.protocol import Row

COVERAGE = 0.95
DIGITS = 16
"""After the point, of a figure that was not rounded."""
BETTER, WORSE, LEVEL = "better", "worse", "level"


class Difference(NamedTuple):
    """Ours minus the printed figure, and its 95 % interval over seeds.

    has_printed_spread: Whether print's own deviation is in the interval; else it is as if print were exact.
    """

    value: float
    low: float
    high: float
    has_printed_spread: bool


def difference_from_print(values: Sequence[float], printed: Printing) -> Difference | None:
    """The difference of a mean over seeds from a printed figure; None for fewer than two seeds."""
    if len(values) < 2:
        return None
    return _difference(statistics.fmean(values), statistics.variance(values), len(values), printed)


def difference_of_means(ours: Printing, theirs: Printing, coverage: float = COVERAGE) -> Difference | None:
    """The same of two means with deviations over seeds, where the scores of seeds are not kept; None without them."""
    if ours.deviation is None or not ours.seeds or ours.seeds < 2:
        return None
    return _difference(ours.value, ours.deviation**2, ours.seeds, theirs, coverage)


def _difference(mean: float, variance: float, count: int, printed: Printing, coverage: float = COVERAGE) -> Difference:
    own = variance / count
    theirs = printed.deviation**2 / printed.seeds if printed.deviation is not None and printed.seeds else None
    freedom = count - 1.0  # degrees of freedom: those of our seeds, or Welch's
    if theirs is not None and printed.seeds is not None and own + theirs:
        freedom = (own + theirs) ** 2 / (own**2 / (count - 1) + theirs**2 / (printed.seeds - 1))
    half = _quantile(freedom, coverage) * math.sqrt(own + (theirs or 0.0)) + 0.5 * 10.0**-printed.decimals
    centre = mean - printed.value
    return Difference(centre, centre - half, centre + half, theirs is not None)


def verdict_of(given: Difference, *, higher: bool) -> str:
    """`better`, `worse` or `level`.

    higher: Whether a larger value is the better one.
    """
    if given.low <= 0.0 <= given.high:
        return LEVEL
    return BETTER if (given.value > 0.0) == higher else WORSE


def verdicts(row: "Row", recipe: Recipe) -> "Row":
    """What `reproduce` writes of a measured row: difference, interval and verdict of every printed metric."""
    stated: Row = {}
    for metric in recipe.of_row(row).figures:
        printed = printed_figure(row["recipe"], metric)
        found = difference_from_print(seed_values(row, metric), printed) if printed else None
        if found is not None:
            stated |= {
                f"{metric}_difference": found.value,
                f"{metric}_difference_low": found.low,
                f"{metric}_difference_high": found.high,
                f"{metric}_printed_spread": found.has_printed_spread,
                f"{metric}_verdict": verdict_of(found, higher=HIGHER_IS_BETTER[metric]),
            }
    return stated


def seed_values(row: "Row", metric: str) -> list[float]:
    """A score of each seed, the mean over horizons where the cell has several; none where one is undefined."""
    runs, seeds = [run.get(metric) for run in row.get("each", ())], row.get("seeds", 0)
    if not runs or not seeds or len(runs) % seeds or any(value is None for value in runs):
        return []
    return [statistics.fmean(runs[seed::seeds]) for seed in range(seeds)]


def _quantile(freedom: float, coverage: float) -> float:
    from scipy.special import stdtrit  # takes longer to import than most of what is here

    return float(stdtrit(freedom, 0.5 + coverage / 2))
