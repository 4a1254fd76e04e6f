"""What the report of a run on series says: errors, calibration, which steps and variates moved the answer."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.report import text
from multiway.report.diagnostics import step_lines
from multiway.report.sections import Bar, Bars, Chart, PagePart
from multiway.tasks import pages
from multiway.tasks.lifecycle import if_there, reread
from multiway.tasks.misses import LOOK, misses_of
from multiway.tasks.run import Run
from multiway.tasks.series.explain import how
from multiway.tasks.target_page import class_page

DRAWN, VARIATES = 6, 4
"""Misclassified series of a report, and variates of each."""


def importance_part(runs: Sequence[Run]) -> Iterator[PagePart]:
    """Share of each step and each variate in what moved the answer, of the first run."""
    shares = runs[0].facts["importance"]
    steps, variates = np.array(list(shares["step"].values())), shares["variate"]
    drawing = step_lines({shares["model"]: ("s0", steps)}, "share", from_zero=True, x_title="step")
    ranked = sorted(variates.items(), key=lambda item: -item[1])
    bars = [Bar(name, text.percent(100 * share), 100 * share) for name, share in ranked]
    content = [
        Chart(title="Share of each step", drawing=drawing),
        Bars(title="Share of each variate", bars=bars) if len(bars) > 1 else None,
    ]
    side = [
        f"Shares of {how(shares['model'])}.",
        "Every test series weighs the same.",
        "It is what the model uses, not what causes.",
    ]
    yield PagePart(id="importance", title="What the answer went by", side=side, content=content)


def wrong_series(runs: Sequence[Run]) -> Iterator[PagePart]:
    """What the answer of the first run says first, drawn; nothing where the data are gone."""
    run = runs[0]
    _, found, remark = misses_of(run, "series", DRAWN)
    samples = if_there(lambda: reread(run).raw)
    if samples is None:
        return
    places = {str(name): row for row, name in enumerate(samples.names["series"])}
    charts = [
        _draw(run, row, samples.inputs[places[str(row["series"])]])
        for _, row in found.iterrows()
        if str(row["series"]) in places
    ]
    title, side = "Misclassified series", ["The test series that the answer is most surely wrong about.", LOOK]
    if remark:
        title, side = "Least sure series", ["The test series that the answer is right about, but least sure of."]
    if charts:
        support = [f"{remark} Drawn are those named least surely."] if remark else []
        yield PagePart(id="series", title=title, side=side, content=charts, support=support)


def _draw(run: Run, row: pd.Series, values: NDArray[np.float64]) -> Chart:
    """One series with its first variates."""
    lines = {name: (f"s{place}", values[:, place]) for place, name in enumerate(run.state.variates[:VARIATES])}
    sure = text.percent(100 * float(row["probability"]), 0)
    truth = "rightly" if row["true"] == row["predicted"] else f"it is {row['true']}"
    title = f"{row['series']}: named {row['predicted']} with {sure}; {truth}"
    legend = [(name, style) for name, (style, _) in lines.items()] if len(lines) > 1 else []
    return Chart(title=title, drawing=step_lines(lines, title, x_title="step"), legend=legend)


PAGE = class_page(
    pages.Subject(
        kicker="Report on labelled series",
        rows="series",
        selected_by=lambda run: "lowest validation loss",
        interval="over series, or over groups where they are known (bootstrap)",
        setting=lambda run: {
            "Classes": str(len(run.state.classes)),
            "Variates": str(len(run.state.variates)),
            "Steps": str(run.state.length),
            "Model": run.config.model_name,
        },
    ),
    wrong_series,
    importance_part,
)
