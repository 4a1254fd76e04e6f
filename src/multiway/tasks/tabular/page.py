"""What the report of a run on a table says: errors, calibration, and which columns the answer went by."""

from collections.abc import Iterable, Iterator, Sequence

from multiway.report import text
from multiway.report.sections import Bar, Bars, PagePart
from multiway.tasks import pages, targets
from multiway.tasks.run import Run
from multiway.tasks.scores import scored_metrics
from multiway.tasks.tabular.explain import ROWS, measure_of
from multiway.tasks.target_page import SplitPage, target_headline, target_parts

SHOWN = 20
SIDE = [
    f"Each column is shuffled in turn, five times, on {ROWS:,} test rows at most: how much worse the answer is then.",
    "Columns that say the same each look unimportant. A bar shows what the model uses, not what is a cause.",
]


def threshold_notes(run: Run) -> tuple[str, ...]:
    """From where on the answer of a run predicts a rare class."""
    threshold = targets.thresholds_of(run.calibration, [run.answer.name])[run.answer.name]
    return () if threshold is None else (targets.threshold_note(run.state.classes, run.state.rare, threshold),)


def importance_part(run: Run) -> Iterator[PagePart]:
    """A bar for each of the columns that the answer of a run went by most."""
    falls: dict[str, float] | None = run.facts.get("importance")
    if falls:
        ranked = sorted(falls.items(), key=lambda item: -item[1])
        largest, shown = max(ranked[0][1], 0.0) or 1.0, ranked[:SHOWN]
        decimals = text.decimals_for([value for _, value in shown])
        bars = [
            Bar(name, text.number(value, decimals), round(100 * max(value, 0.0) / largest, 2)) for name, value in shown
        ]
        note = f"The first {SHOWN} of {len(ranked)} columns are shown." if len(ranked) > SHOWN else ""
        chart = Bars(title=f"How far the {measure_of(run).words}, by column", bars=bars, note=note)
        yield PagePart(id="importance", title="What the answer went by", side=SIDE, content=[chart])


def _parts(runs: Sequence[Run]) -> Iterable[PagePart]:
    parts = {part.id: part for part in (*importance_part(runs[0]), *target_parts(SUBJECT, runs, runs[0].state.classes))}
    yield from (parts.pop(name) for name in ("importance", "wrong") if name in parts)
    yield from parts.values()


SUBJECT = pages.Subject(
    kicker="Report on a table", rows="rows", selected_by=lambda run: "lowest validation loss", models=targets.WORDS,
    setting=lambda run: {
        "Target": run.state.target_name, "Columns": str(len(run.state.numbers + run.state.categories)),
        "Inputs": str(len(run.state.names)), "Model": run.config.model_name,
    },
    interval="over rows, or over groups where they are known (bootstrap)", order=scored_metrics,
)  # fmt: skip
PAGE = SplitPage(
    SUBJECT, _parts, titles={"samples": "Rows", "groups": "Groups", "classes": "Classes"}, total="samples",
    support=lambda runs: threshold_notes(runs[0]), headline=target_headline,
)  # fmt: skip
