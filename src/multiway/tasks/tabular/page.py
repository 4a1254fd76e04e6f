"""What the report of a run on a table says: errors, calibration, and which columns the answer went by."""

from collections.abc import Iterable, Sequence

from multiway.report import text
from multiway.report.sections import Bar, Bars, PagePart
from multiway.tasks import pages, targets
from multiway.tasks.misses import LOOK, miss_tables, misses_of, model_in_words
from multiway.tasks.run import Run
from multiway.tasks.scores import metrics_with_scores
from multiway.tasks.tabular.explain import ROWS, measure_in_words
from multiway.tasks.target_page import SplitPage, target_headline, target_parts
from multiway.tasks.target_task import threshold_of

SHOWN, FIRST = 20, 8
"""Columns at most, and those of them that are not folded."""
SIDE = [
    f"Each column is shuffled in turn, five times, on {ROWS:,} test rows at most: how much worse the answer is then.",
    "Columns that say the same each look unimportant. A bar shows what the model uses, not what is a cause.",
]


def threshold_notes(run: Run) -> tuple[str, ...]:
    """From where on the answer of a run predicts a rare class."""
    threshold = threshold_of(run)
    return () if threshold is None else (targets.threshold_note(run.state.classes, run.state.rare, threshold),)


def weights_note(run: Run) -> tuple[str, ...]:
    """What the scores of a run count."""
    name = run.config.read.weights
    return () if name is None else (f"Scores weigh rows by {text.name(name)}; counts and charts take them alike.",)


def importance_part(run: Run) -> PagePart | None:
    """A bar for each of the columns that the answer of a run went by most."""
    falls: dict[str, float] | None = run.facts.get("importance")
    if not falls:
        return None
    ranked = sorted(falls.items(), key=lambda item: -item[1])[:SHOWN]
    largest, decimals = max(ranked[0][1], 0.0) or 1.0, text.decimals_for(falls.values())
    bars = []
    for name, value in ranked:  # shares of classes in points, errors of numbers to the digits that tell them apart
        is_share = run.state.classes is not None
        shown = f"{text.number(100 * value, 1)} points" if is_share else text.number(value, decimals)
        bars.append(Bar(name, shown, round(100 * max(value, 0.0) / largest, 2)))
    note = f"The first {SHOWN} of {len(falls)} columns are shown." if len(falls) > SHOWN else ""
    chart = Bars(title=f"How far the {measure_in_words(run)}, by column", bars=bars, note=note, first=FIRST)
    return PagePart(id="importance", title="What the answer went by", side=SIDE, content=[chart])


def _parts(runs: Sequence[Run]) -> Iterable[PagePart]:
    """The columns and the rows to look at together, then the others."""
    first, parts = importance_part(runs[0]), list(target_parts(SUBJECT, runs, runs[0].state.classes))
    wrong = next((part for part in parts if part.id == "wrong"), None)
    if first is None or wrong is None:
        return [*filter(None, (first, wrong)), *(part for part in parts if part is not wrong)]
    kind = misses_of(runs[0], SUBJECT.rows)
    title = kind.remark or f"The {kind.kind} of {model_in_words(SUBJECT, runs)} on test rows"
    more = miss_tables(SUBJECT, runs, title=title, note="Listed are those named least surely." if kind.remark else LOOK)
    return [first._replace(content=[*first.content, *more]), *(part for part in parts if part is not wrong)]


SUBJECT = pages.Subject(
    kicker="Report on a table",
    rows="rows",
    setting=lambda run: {
        "Target": run.state.target_name,
        "Columns": str(len(run.state.numbers + run.state.categories)),
        "Inputs": str(len(run.state.names)),
        "Model": run.config.model_name,
    },
    interval="over rows, or over groups where they are known (bootstrap)",
    order=lambda run: sorted(metrics_with_scores(run), key=lambda metric: metric.name != "mae"),  # in its own units
)
PAGE = SplitPage(
    SUBJECT,
    _parts,
    titles={"samples": "Rows", "groups": "Groups", "classes": "Classes"},
    total="samples",
    support=lambda runs: (*threshold_notes(runs[0]), *weights_note(runs[0])),
    headline=target_headline,
)
