"""The task `segment`, as the workflows see it."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway.config import merge
from multiway.data import CheckReport
from multiway.data.scenes import INDIAN_PINES
from multiway.errors import ConfigError
from multiway.tasks.protocol import Row
from multiway.tasks.segmentation.auditing import audit as audit
from multiway.tasks.segmentation.checking import check_segmentation
from multiway.tasks.segmentation.config import TRAINING, SegmentConfig
from multiway.tasks.segmentation.explanation import explain_run
from multiway.tasks.segmentation.fitting import score_all
from multiway.tasks.segmentation.prediction import predict_masks
from multiway.tasks.segmentation.run import NAME as NAME
from multiway.tasks.segmentation.run import SegmentRun
from multiway.tasks.segmentation.run import load as load
from multiway.tasks.segmentation.run import resume as resume
from multiway.tasks.segmentation.run import start as start
from multiway.tasks.segmentation.sections import compare as compare
from multiway.tasks.segmentation.sections import report as report
from multiway.tasks.segmentation.sources import locate, read_examples
from multiway.tasks.segmentation.tables import cell_row as cell_row
from multiway.tasks.segmentation.tables import score_table as score_table
from multiway.tasks.segmentation.tables import sentence as sentence

KNOWN: dict[str, dict[str, Any]] = {INDIAN_PINES: {"ignore": 0, "split": {"validation": 0.15, "test": 0.35}}}
"""What a known name brings to a config."""


def make_config(settings: dict[str, Any], overrides: dict[str, Any]) -> SegmentConfig:
    """Settings over what a known name brings, overrides over both."""
    given = merge(settings, overrides)
    return SegmentConfig.parse(
        merge(merge({"training": TRAINING}, KNOWN.get(str(given.get("data")), {})), given), "settings"
    )


def evaluate(runs: Sequence[SegmentRun], data: str | None, split: str) -> list[Row]:
    """Stored scores of a split, or fresh ones on all images of a labelled table or scene."""
    if data is None:
        return score_table(runs, split)
    scored = [_scored(run, data) for run in runs]
    return score_table(scored, "all")


def _scored(run: SegmentRun, data: str) -> SegmentRun:
    examples = read_examples(locate(data), run.config, run.values, split=False)
    if (examples.channels, examples.num_modes) != (run.channels, run.num_modes):
        raise ConfigError(
            f"{data}: the run segments images of {run.num_modes} axes and {run.channels} channels. Got "
            f"{examples.num_modes} axes and {examples.channels} channels."
        )
    named = dataclasses.replace(examples, classes=run.classes)
    scores, _ = score_all(run.predictors, named, run.config, ("all",))
    return dataclasses.replace(run, scores=scores)


def predict(run: SegmentRun, data: str | None, out: Path | None, options: dict[str, Any]) -> list[str]:
    """Write a mask per image and a table of their sizes into a folder."""
    return predict_masks(run, data, out, keep_going=bool(options.get("keep_going", False)))


def explain(run: SegmentRun, out: Path | None, options: dict[str, Any]) -> list[str]:
    """Write the attention maps of test cases, one per mode and block."""
    return explain_run(run, out, options.get("cases"))


def check(path: str | Path, options: dict[str, Any]) -> CheckReport:
    """What is in a table of images and masks, or in a scene, under the settings of a run that concern reading."""
    return check_segmentation(str(path), make_config({**options, "data": str(path)}, {}))
