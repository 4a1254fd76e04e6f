"""The task `volumes`, as the workflows see it."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway.config import merge
from multiway.data import CheckReport
from multiway.data.volumes import (
    VOLUME_DATASETS,
    VolumeOptions,
    VolumeSplit,
    check_volumes,
    read_cases,
)
from multiway.errors import ConfigError
from multiway.tasks.protocol import Row
from multiway.tasks.volumes.config import VolumeConfig
from multiway.tasks.volumes.fitting import OURS
from multiway.tasks.volumes.prediction import evaluate_data, predict_scans
from multiway.tasks.volumes.prepared import locate
from multiway.tasks.volumes.run import NAME as NAME
from multiway.tasks.volumes.run import VolumeRun
from multiway.tasks.volumes.run import load as load
from multiway.tasks.volumes.run import resume as resume
from multiway.tasks.volumes.run import start as start
from multiway.tasks.volumes.tables import cell_row as cell_row
from multiway.tasks.volumes.tables import score_of
from multiway.tasks.volumes.tables import score_table as score_table

EXPLAINED = 4
"""Test cases that are explained if none is named: the most confident errors first."""


def make_config(settings: dict[str, Any], overrides: dict[str, Any]) -> VolumeConfig:
    """Settings over what a known data set brings (the shape transform of the mask sets), overrides over both."""
    given = merge(settings, overrides)
    known = VOLUME_DATASETS.get(str(given.get("data")))
    brought = {} if known is None or not known.shape_transform else {"read": {"shape_transform": True}}
    return VolumeConfig.parse(merge(brought, given), "settings")


def sentence(run: VolumeRun) -> str:
    """Test AUC with its interval and ACC, the baselines beside them."""
    row = score_of(run, OURS, "auc")
    interval = "" if row["low"] is None else f" (95 % interval {row['low']:.3f} to {row['high']:.3f})"
    others = [f"{model} {_pair(run, model)}" for model in run.config.baselines]
    beside = f"; {', '.join(others)}" if others else ""
    return f"test AUC {_shown(row['value'])}{interval}, ACC {_shown(score_of(run, OURS, 'acc')['value'])}{beside}."


def _pair(run: VolumeRun, model: str) -> str:
    return " / ".join(_shown(score_of(run, model, metric)["value"]) for metric in ("auc", "acc"))


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def evaluate(runs: Sequence[VolumeRun], data: str | None, split: str) -> list[Row]:
    """Stored scores of a split, or fresh ones on later data: its split of that name if it has splits, else all."""
    if data is None:
        return score_table(runs, split)
    return score_table([dataclasses.replace(run, scores=evaluate_data(run, data, split)) for run in runs], split)


def predict(run: VolumeRun, data: str | None, out: Path | None, options: dict[str, Any]) -> list[str]:
    """Class and probabilities of every scan; the rows themselves are returned where no path is given."""
    maps = options.get("maps")
    return predict_scans(
        run, data, out, maps=None if maps is None else Path(maps), keep_going=bool(options.get("keep_going", False))
    )


def explain(run: VolumeRun, out: Path | None, options: dict[str, Any]) -> list[str]:
    """Write maps of some test cases, or of the named ones; return what is strongest and where the files are."""
    from multiway.tasks.volumes.explanation import named_cases
    from multiway.tasks.volumes.explanation_files import write_explanations

    if run.config.data is None or run.folder is None:
        raise ConfigError("this run was fitted on arrays in memory. Use `VolumeClassifier.explain` with them.")
    cases = read_cases(locate(run.config.data), run.config.read, run.config.split)
    names = options.get("cases")
    chosen = list(names) if names else confident_errors(run)[:EXPLAINED]
    return write_explanations(run, cases, named_cases(cases, chosen), out or run.folder.path / "explanation")


def confident_errors(run: VolumeRun) -> list[str]:
    """Test cases by the probability that the network gave their class, the lowest first."""
    frame = run.predictions.query("model == @OURS and split == 'test'", local_dict={"OURS": OURS})
    own = [float(frame[f"p_{label}"].iloc[place]) for place, label in enumerate(frame["label"])]
    return [name for _, name in sorted(zip(own, frame["case"], strict=True))]


def report(runs: Sequence[VolumeRun]) -> str:
    """The HTML report of runs that differ in their seed; the first is shown in detail."""
    from multiway.report import render_classification_report
    from multiway.tasks.volumes.reporting import report_content

    return render_classification_report(report_content(runs))


def compare(groups: Sequence[Sequence[VolumeRun]]) -> str:
    """Several runs, each with its seeds, on one page."""
    from multiway.report import render_classification_comparison
    from multiway.tasks.volumes.reporting import report_content

    return render_classification_comparison([report_content(runs) for runs in groups])


def check(path: str | Path, options: dict[str, Any]) -> CheckReport:
    """What is in a set of scans, under the settings of a run that concern reading and splitting."""
    return check_volumes(
        path,
        VolumeOptions.parse(options.get("read", {}), "reading options"),
        VolumeSplit.parse(options.get("split", {}), "split options"),
    )
