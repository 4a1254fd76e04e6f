"""What the report of a run on series says: errors, calibration, which steps and variates moved the answer."""

from collections.abc import Iterator, Sequence

import numpy as np

from multiway.report import text
from multiway.report.diagnostics import step_lines
from multiway.report.sections import Bar, Bars, Chart, PagePart
from multiway.tasks import pages
from multiway.tasks.run import Run
from multiway.tasks.series.explain import how
from multiway.tasks.target_page import class_page
from multiway.tasks.targets import WORDS


def importance_part(runs: Sequence[Run]) -> Iterator[PagePart]:
    """Share of each step and each variate in what moved the answer, of the first run."""
    shares = runs[0].facts["importance"]
    steps, variates = np.array(list(shares["step"].values())), shares["variate"]
    drawing = step_lines({shares["model"]: ("s0", steps)}, "share", from_zero=True, x_title="step")
    ranked = sorted(variates.items(), key=lambda item: -item[1])
    bars = [Bar(name, text.percent(share), 100 * share) for name, share in ranked]
    content = [
        Chart(title="Share of each step", drawing=drawing),
        Bars(title="Share of each variate", bars=bars) if len(bars) > 1 else None,
    ]
    side = [
        f"Shares of {how(shares['model'])}.", "Every test series weighs the same.",
        "It is what the model uses, not what causes.",
    ]  # fmt: skip
    yield PagePart(id="importance", title="What the answer went by", side=side, content=content)


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
