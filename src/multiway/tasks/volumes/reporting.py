"""What runs of the task `volumes` have to say, as the content of a report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.volumes import Cases, check_volumes
from multiway.errors import ConfigError, MultiwayError
from multiway.explain import ModeMap, average_curves
from multiway.metrics.classes import confusion_matrix, reliability_table, roc_points
from multiway.report import classification_content as page
from multiway.report import render_classification_comparison, render_classification_report
from multiway.report.content import DataCheck, ModelCost
from multiway.tasks.protocol import OURS
from multiway.tasks.reporting import command, environment, findings_of, training_curve
from multiway.tasks.run import Run
from multiway.tasks.volumes.config import VolumeConfig
from multiway.tasks.volumes.evaluation import thresholds_of
from multiway.tasks.volumes.explanation import (
    AVERAGED_CASES,
    CaseExplanation,
    average_attention,
    explain_case,
    explain_cases,
)
from multiway.tasks.volumes.explanation_files import first_channel
from multiway.tasks.volumes.reload import COSTLY_VOXELS, Rows, interesting, reload_cases

METRICS = {
    "auc": "AUC",
    "acc": "ACC",
    "balanced_accuracy": "Balanced accuracy",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "ece": "ECE",
}
MODELS = {
    "logistic": "logistic regression",
    "cnn": "small CNN",
    "resnet18_3d": "ResNet-18 3D",
    "resnet50_3d": "ResNet-50 3D",
}
DELETION_CASES = 8


def report(runs: Sequence[Run]) -> str:
    """The HTML report of runs that differ in their seed; the first is shown in detail."""
    return render_classification_report(report_content(runs))


def compare(groups: Sequence[Sequence[Run]]) -> str:
    """Several runs, each with its seeds, on one page."""
    return render_classification_comparison([report_content(runs, details=False) for runs in groups])


def report_content(runs: Sequence[Run], *, details: bool = True) -> page.ClassificationReport:
    """Content of one report; parts that need the data are left out when its file is no longer there.

    Args:
        runs: Runs that differ in their seed only; the first is shown in detail.
        details: Read the data again, check it and explain cases.
    """
    run = runs[0]
    seeds = [each.config.training.seed for each in runs]
    manifest = run.folder.verify() if run.folder else {}
    test = Rows(run)
    cases = _cases_of(run) if details else None
    detail = _details(run, cases, test) if cases is not None and len(test) else {}
    return page.ClassificationReport(
        title=Path(str(run.config.data)).stem if run.config.data else "Volumes in memory",
        source=str(run.config.data or "arrays in memory"),
        created=str(manifest.get("finished", "")),
        setting=_setting(run),
        chosen=OURS,
        classes=run.state.classes,
        majority=_majority(test),
        threshold=thresholds_of(run.calibration, [OURS])[OURS],
        scores=[_score(row, seed) for each, seed in zip(runs, seeds, strict=True) for row in each.scores],
        costs=_costs(run),
        seeds=seeds,
        check=_check(run) if cases is not None else None,
        splits=_splits(run),
        roc=_roc(run),
        confusion=_confusion(run, test) if len(test) else None,
        reliability=_reliability(test),
        training=training_curve(runs),
        environment=environment(manifest, seeds),
        command=command("volumes", run.config, VolumeConfig.parse({"training": {}})),
        notes=run.facts.get("notes", ()),
        **detail,
    )


def _score(row: dict[str, Any], seed: int) -> page.ClassScore:
    return page.ClassScore(
        model=MODELS.get(row["model"], row["model"]),
        metric=METRICS.get(row["metric"], row["metric"]),
        value=row["value"],
        low=row.get("low"),
        high=row.get("high"),
        split=row["split"],
        seed=seed,
    )


def _setting(run: Run) -> dict[str, str]:
    return {
        "Volumes": " × ".join(str(size) for size in run.state.sizes),
        "Channels": str(run.state.channels),
        "Axes": ", ".join(run.state.axes),
        "Classes": str(len(run.state.classes)),
        "Model": run.config.model_name,
    }


def _majority(test: Rows) -> float | None:
    return float(np.bincount(test.labels).max() / len(test)) if len(test) else None


def _costs(run: Run) -> list[ModelCost]:
    parameters = run.facts.get("parameters", {})
    seconds = run.facts.get("seconds", {})
    return [
        ModelCost(model=MODELS.get(name, name), parameters=parameters.get(name), fit_seconds=seconds.get(name))
        for name in dict.fromkeys([*parameters, *seconds])
        if name in {row["model"] for row in run.scores}
    ]


def _splits(run: Run) -> list[page.SplitCases]:
    found = run.facts.get("splits", {})
    return [
        page.SplitCases(name=name, cases=part["cases"], patients=part.get("patients"), classes=part.get("classes", {}))
        for name, part in found.items()
    ]


def _roc(run: Run) -> list[page.RocCurve]:
    """A curve per model for two classes; for more, a curve of the run's own model per class."""
    if len(run.state.classes) == 2:
        models = list(dict.fromkeys(run.tables["predictions"]["model"]))
        rows = [(MODELS.get(name, name), Rows(run, name), 1) for name in models]
    else:
        rows = [(name, Rows(run), place) for place, name in enumerate(run.state.classes)]
    curves = [_curve(name, found, place) for name, found, place in rows if len(found)]
    return [curve for curve in curves if curve is not None]


def _curve(name: str, rows: Rows, place: int) -> page.RocCurve | None:
    points = roc_points(rows.labels == place, rows.probabilities[:, place])
    if points is None:
        return None
    false, true = (np.array(points[f"{kind}_positive_rate"]) for kind in ("false", "true"))
    area = float(((true[1:] + true[:-1]) / 2 * np.diff(false)).sum())
    return page.RocCurve(name=name, false_positive=false, true_positive=true, auc=area)


def _confusion(run: Run, test: Rows) -> page.Confusion:
    counts = confusion_matrix(test.labels, test.predicted, len(run.state.classes))
    return page.Confusion(classes=run.state.classes, counts=counts)


def _reliability(test: Rows) -> list[page.ReliabilityBin]:
    return [
        page.ReliabilityBin(confidence=row["confidence"], accuracy=row["accuracy"], count=row["count"])
        for row in reliability_table(test.labels, test.probabilities)
    ]


def _cases_of(run: Run) -> Cases | None:
    try:
        return reload_cases(run)
    except (MultiwayError, OSError):
        return None


def _check(run: Run) -> DataCheck | None:
    try:
        found = check_volumes(run.task.locate(run.config.data or ""), run.config.read, run.config.split)
    except (MultiwayError, OSError):
        return None
    return DataCheck(
        facts={name.capitalize(): str(value) for name, value in found.summary.items() if value is not None},
        findings=findings_of(found),
    )


def _details(run: Run, cases: Cases, test: Rows) -> dict[str, Any]:
    """Cases, attention and the deletion test; without captum there are no gradients, and the page says so."""
    shown = interesting(run, cases)
    places = {name: index for index, name in enumerate(cases.names)}
    tested = [places[name] for name in test.cases if name in places]
    options, note = {"gradients": True}, ""
    try:
        explained = [explain_case(run, cases, index, deletion=False) for _, index in shown]
    except ConfigError as error:
        options, note = {"gradients": False}, str(error)
        explained = [explain_case(run, cases, index, deletion=False, gradients=False) for _, index in shown]
    some = _spread(run, tested, DELETION_CASES)
    curves = [item.deletion for item in explain_cases(run, cases, some, **options) if item.deletion is not None]
    return {
        "cases": [_view(run, cases, item, heading) for item, (heading, _) in zip(explained, shown, strict=True)],
        "case_note": note,
        "maps": _average(run, cases, tested),
        "deletion": average_curves(curves) if curves else None,
        "deletion_cases": len(curves),
    }


def _spread(run: Run, indices: Sequence[int], most: int) -> list[int]:
    """Some of the cases, evenly over all; fewer of large volumes."""
    count = min(most // 4 if int(np.prod(run.state.sizes)) > COSTLY_VOXELS else most, len(indices))
    return [indices[int(place)] for place in np.linspace(0, len(indices) - 1, count).round()]


def _average(run: Run, cases: Cases, indices: Sequence[int]) -> list[ModeMap]:
    chosen = _spread(run, indices, AVERAGED_CASES)
    return average_attention(run, cases, chosen, sample=f"mean over {len(chosen)} test cases")


def _view(run: Run, cases: Cases, item: CaseExplanation, heading: str) -> page.CaseView:
    shown: NDArray[Any] = first_channel(item.volume)
    return page.CaseView(
        name=item.name,
        group=heading,
        predicted=run.state.classes[item.predicted],
        probability=float(item.probabilities[item.predicted]),
        actual=None if item.label is None else run.state.classes[item.label],
        actual_probability=None if item.label is None else float(item.probabilities[item.label]),
        patient=item.patient,
        volume=shown,
        axes=cases.axes,
        spacing=item.volume.spacing,
        orientation=item.volume.orientation,
        attention=item.attention,
        gradients=item.gradients,
        sums=item.sums,
    )
