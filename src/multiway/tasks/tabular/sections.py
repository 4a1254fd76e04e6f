"""What the report of a run on a table says: errors, calibration, splits."""

from multiway.tasks import pages
from multiway.tasks.class_parts import target_parts
from multiway.tasks.scores import scored_metrics
from multiway.tasks.split_page import SplitPage
from multiway.tasks.targets import WORDS

SUBJECT = pages.Subject(
    kicker="Report on a table", rows="rows", selected_by=lambda run: "lowest validation loss", models=WORDS,
    setting=lambda run: {
        "Target": run.state.columns.target, "Columns": str(len(run.state.columns.inputs)),
        "Inputs": str(len(run.state.names)), "Model": run.config.model_name,
    },
    interval="over rows, or over groups where they are known (bootstrap)", order=scored_metrics,
)  # fmt: skip
PAGE = SplitPage(
    SUBJECT,
    lambda runs: target_parts(SUBJECT, runs, runs[0].state.columns.classes),
    titles={"rows": "Rows", "groups": "Groups", "classes": "Classes"},
    total="rows",
)
