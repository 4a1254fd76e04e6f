"""Parts of any report on classes or numbers: which errors, and calibration."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.metrics import classes as metrics
from multiway.report.curves import RocCurve, confusion_table, reliability_chart, roc_chart
from multiway.report.sections import Part
from multiway.tasks import pages, regression
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run

Values = NDArray[np.float64]
Labels = NDArray[np.int64]


def target_parts(subject: pages.Subject, runs: Sequence[Run], names: Sequence[str] | None) -> Iterator[Part]:
    """What the table `predictions` of the first run says of its test rows; without names the target is a number."""
    test = runs[0].tables["predictions"].query("split == 'test'")
    of_model = {name: test[test["model"] == name] for name in runs[0].models}
    if names is None:
        yield regression.errors_part(of_model[OURS], subject.rows)
        return
    labels = pd.Index(names).get_indexer(pd.Index(of_model[OURS]["label"].astype(str)))
    shares = {name: rows[[f"p_{each}" for each in names]].to_numpy(float) for name, rows in of_model.items()}
    words = {name: subject.models.get(name, name) for name in shares}
    colours = {words[name]: place for name, place in pages.colours_of(subject.scores(runs)).items()}
    curves = class_curves(names, labels, {words[name]: each for name, each in shares.items()})
    yield errors_part(names, labels, metrics.predicted_classes(shares[OURS]), curves, colours)
    yield calibration_part(labels, shares[OURS], subject.rows)


def class_curves(names: Sequence[str], labels: Labels, shares: Mapping[str, Values]) -> list[RocCurve]:
    """A curve per model for two classes; for more, a curve of the run's own model per class."""
    if len(names) == 2:
        found = [curve(model, labels == 1, each[:, 1]) for model, each in shares.items()]
    else:
        found = [curve(name, labels == place, shares[OURS][:, place]) for place, name in enumerate(names)]
    return [each for each in found if each is not None]


def errors_part(
    classes: Sequence[str], labels: Labels, predicted: Labels, curves: Sequence[RocCurve], colours: Mapping[str, int]
) -> Part:
    """Confusion matrix and ROC curves of the test cases; `colours` are numbers by name of a curve."""
    counts = metrics.confusion_matrix(labels, predicted, len(classes))
    side = [f"On the test cases. A row of the matrix is a class, a column what {OURS} predicted."]
    content = [
        confusion_table(classes, counts) if len(labels) else None,
        roc_chart(curves, colours) if curves else None,
    ]
    return Part(id="errors", title="Which errors", side=side, content=content)


def curve(name: str, is_class: NDArray[np.bool_], scores: Values) -> RocCurve | None:
    """ROC curve of a score for a class; None where all cases are in it, or none."""
    points = metrics.roc_points(is_class, scores)
    if points is None:
        return None
    false, true = (np.array(points[f"{kind}_positive_rate"]) for kind in ("false", "true"))
    return RocCurve(name, false, true, float(((true[1:] + true[:-1]) / 2 * np.diff(false)).sum()))


def calibration_part(labels: Labels, probabilities: Values, rows: str = "cases", bins: int = metrics.BINS) -> Part:
    """How often the answer is right, by confidence; `rows` says what is counted."""
    table = metrics.reliability_table(labels, probabilities, bins=bins) if len(labels) else []
    side = [
        f"How often {OURS} is right among test {rows} of like confidence.",
        "On the dashed line confidence can be taken at its word; below it there is too much.",
        f"The larger a dot, the more {rows}; lines are the 95\u202f% interval of each share (Wilson).",
    ]
    return Part(id="calibration", title="Calibration", side=side, content=[reliability_chart(table, rows)])
