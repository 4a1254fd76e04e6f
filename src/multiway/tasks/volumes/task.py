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
)
from multiway.tasks.protocol import Row
from multiway.tasks.tables import not_earned, score_of
from multiway.tasks.volumes.again import interesting, read_again
from multiway.tasks.volumes.auditing import audit as audit
from multiway.tasks.volumes.config import VolumeConfig
from multiway.tasks.volumes.explanation import named_cases
from multiway.tasks.volumes.explanation_files import write_explanations
from multiway.tasks.volumes.fitting import OURS
from multiway.tasks.volumes.prediction import evaluate_data, predict_scans
from multiway.tasks.volumes.prepared import locate
from multiway.tasks.volumes.run import NAME as NAME
from multiway.tasks.volumes.run import VolumeRun
from multiway.tasks.volumes.run import load as load
from multiway.tasks.volumes.run import resume as resume
from multiway.tasks.volumes.run import start as start
from multiway.tasks.volumes.sections import compare as compare
from multiway.tasks.volumes.sections import report as report
from multiway.tasks.volumes.tables import cell_row as cell_row
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
    """Test AUC with its interval and ACC, the baselines beside them, and whether one of them is as good."""
    row = score_of(run, OURS, "auc")
    interval = "" if row["low"] is None else f" (95 % interval {row['low']:.3f} to {row['high']:.3f})"
    others = [f"{model} {_pair(run, model)}" for model in run.config.baselines]
    beside = f"; {', '.join(others)}" if others else ""
    remark = not_earned(row["value"], {model: score_of(run, model, "auc")["value"] for model in run.config.baselines})
    accuracy = _shown(score_of(run, OURS, "acc")["value"])
    return f"test AUC {_shown(row['value'])}{interval}, ACC {accuracy}{beside}.{remark}"


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
    folder = run.folder
    assert folder is not None
    cases = read_again(run)
    names = options.get("cases")
    chosen = named_cases(cases, names) if names else [place for _, place in interesting(run, cases)][:EXPLAINED]
    return write_explanations(run, cases, chosen, out or folder.path / "explanation")


def check(path: str | Path, options: dict[str, Any]) -> CheckReport:
    """What is in a set of scans, under the settings of a run that concern reading and splitting."""
    return check_volumes(
        locate(str(path)),
        VolumeOptions.parse(options.get("read", {}), "reading options"),
        VolumeSplit.parse(options.get("split", {}), "split options"),
    )
