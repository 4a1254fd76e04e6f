"""What the report of a run on a table says: errors, calibration, splits."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from multiway.metrics.classes import predicted_classes
from multiway.report import text
from multiway.report.scores import verdict
from multiway.report.sections import Part, Table
from multiway.tasks import pages
from multiway.tasks.class_parts import calibration_part, curve, errors_part
from multiway.tasks.comparing import comparison
from multiway.tasks.page_parts import split_table
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.scores import scored_metrics

MODELS = {"logistic": "logistic regression", "ridge": "ridge regression", "trees": "boosted trees"}
GROUPS = 10
SUBJECT = pages.Subject(
    kicker="Report on a table", rows="rows", selected_by=lambda run: "lowest validation loss", models=MODELS,
    setting=lambda run: {
        "Target": run.state.columns.target, "Columns": str(len(run.state.columns.inputs)),
        "Inputs": str(len(run.state.names)), "Model": run.config.model_name,
    },
    interval="over rows, or over groups where they are known (bootstrap)", order=scored_metrics,
)  # fmt: skip


def report(runs: Sequence[Run]) -> str:
    """The HTML report of runs that differ in their seed; the first is shown in detail."""
    splits = split_table(
        runs[0].facts["splits"], {"rows": "Rows", "groups": "Groups", "classes": "Classes"}, total="rows"
    )
    side = ["Fitted on the first, chosen on the second, scored once on the last."]
    summary = pages.Summary(
        verdict=verdict(SUBJECT.scores(runs)), splits=Part(id="splits", title="Splits", side=side, content=[splits])
    )
    return pages.report(SUBJECT, runs, summary, _parts(runs))


def compare(groups: Sequence[Sequence[Run]]) -> str:
    """Several runs, each with its seeds, on one page."""
    return comparison(SUBJECT, groups)


def _parts(runs: Sequence[Run]) -> Iterator[Part]:
    run = runs[0]
    test = run.tables["predictions"].query("split == 'test'")
    names = run.state.columns.classes
    if names is None:
        yield _numbers(test[test["model"] == OURS])
        return
    shares = {model: rows[[f"p_{name}" for name in names]].to_numpy(float) for model, rows in test.groupby("model")}
    labels = pd.Index(names).get_indexer(pd.Index(test[test["model"] == OURS]["label"].astype(str)))
    found = [curve(MODELS.get(name, name), labels == 1, shares[name][:, 1]) for name in run.models if len(names) == 2]
    found += [
        curve(name, labels == place, shares[OURS][:, place]) for place, name in enumerate(names) if len(names) > 2
    ]
    colours = {MODELS.get(name, name): place for name, place in pages.colours_of(SUBJECT.scores(runs)).items()}
    curves = [each for each in found if each is not None]
    yield errors_part(names, labels, predicted_classes(shares[OURS]), curves, colours)
    yield calibration_part(labels, shares[OURS], "rows")


def _numbers(test: pd.DataFrame) -> Part:
    """Truth beside prediction, over tenths of the test rows by what is predicted."""
    ranked = test.sort_values("predicted", kind="stable")
    decimals = text.decimals_for(test["label"])
    tenth = np.arange(len(ranked)) * min(GROUPS, len(ranked)) // len(ranked)
    means = ranked.groupby(tenth).agg(predicted=("predicted", "mean"), true=("label", "mean"), spread=("label", "std"))
    rows = [[text.number(float(value), decimals) for value in row] for row in means.fillna(0.0).to_numpy()]
    table = Table(columns=["Predicted", "True", "Deviation of the true"], rows=rows)
    side = ["Test rows in tenths, from the lowest to the highest prediction: means, and how far the truth spreads."]
    return Part(id="errors", title="Truth by prediction", side=side, content=[table])
