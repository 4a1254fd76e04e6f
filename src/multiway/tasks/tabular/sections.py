"""What the report of a run on a table says: errors, calibration, splits."""

import functools
from collections.abc import Sequence

from multiway.report.scores import verdict
from multiway.report.sections import Part
from multiway.tasks import pages
from multiway.tasks.class_parts import target_parts
from multiway.tasks.comparing import comparison
from multiway.tasks.page_parts import split_table
from multiway.tasks.run import Run
from multiway.tasks.scores import scored_metrics
from multiway.tasks.targets import WORDS

SUBJECT = pages.Subject(
    kicker="Report on a table", rows="rows", selected_by=lambda run: "lowest validation loss", models=WORDS,
    setting=lambda run: {
        "Target": run.state.columns.target, "Columns": str(len(run.state.columns.inputs)),
        "Inputs": str(len(run.state.names)), "Model": run.config.model_name,
    },
    interval="over rows, or over groups where they are known (bootstrap)", order=scored_metrics,
)  # fmt: skip
compare = functools.partial(comparison, SUBJECT)


def report(runs: Sequence[Run]) -> str:
    """The HTML report of runs that differ in their seed; the first is shown in detail."""
    splits = split_table(
        runs[0].facts["splits"], {"rows": "Rows", "groups": "Groups", "classes": "Classes"}, total="rows"
    )
    side = ["Fitted on the first, chosen on the second, scored once on the last."]
    summary = pages.Summary(
        verdict=verdict(SUBJECT.scores(runs)), splits=Part(id="splits", title="Splits", side=side, content=[splits])
    )
    return pages.report(SUBJECT, runs, summary, target_parts(SUBJECT, runs, runs[0].state.columns.classes))
