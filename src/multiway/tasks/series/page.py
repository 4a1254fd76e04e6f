"""What the report of a run on series says: errors, calibration, which steps and variates moved the answer."""

from collections.abc import Iterator, Sequence

import numpy as np

from multiway.report import text
from multiway.report.diagnostics import step_lines
from multiway.report.sections import Bar, Bars, Chart, PagePart
from multiway.tasks import pages
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.target_page import class_page
from multiway.tasks.targets import WORDS

SIDE = [
    "Integrated gradients of the predicted class over test series, from the mean of the training on.",
    "A share is that of the absolute attribution; every series weighs the same.",
    "It is what the network uses, not what causes.",
]


def importance_part(runs: Sequence[Run]) -> Iterator[PagePart]:
    """Share of each step and each variate in what moved the logit, of the first run."""
    shares = runs[0].facts["importance"]
    steps, variates = np.array(list(shares["step"].values())), shares["variate"]
    drawing = step_lines({OURS: ("s0", steps)}, "share of the attribution", from_zero=True, x_title="step")
    ranked = sorted(variates.items(), key=lambda item: -item[1])
    bars = [Bar(name, text.percent(share), 100 * share) for name, share in ranked]
    content = [
        Chart(title="Share of the attribution, by step", drawing=drawing),
        Bars(title="Share of the attribution, by variate", bars=bars) if len(bars) > 1 else None,
    ]
    yield PagePart(id="importance", title="What the network looked at", side=SIDE, content=content)


PAGE = class_page(
    pages.Subject(
        kicker="Report on labelled series", rows="series", selected_by=lambda run: "lowest validation loss",
        models=WORDS, interval="over series, or over groups where they are known (bootstrap)",
        setting=lambda run: {
            "Classes": str(len(run.state.classes)), "Variates": str(len(run.state.variates)),
            "Steps": str(run.state.length), "Model": run.config.model_name,
        },
    ),
    importance_part,
)  # fmt: skip
