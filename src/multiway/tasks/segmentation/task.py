"""The task `segment`."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor, nn

from multiway.auditing import AuditReport
from multiway.data import CheckReport
from multiway.data.loading import pair_of
from multiway.data.masks.checking import check_masks
from multiway.data.masks.examples import Examples, read_examples
from multiway.data.masks.patches import GridPatches, fit_scale
from multiway.data.masks.state import SegmentState
from multiway.data.scenes import is_scene
from multiway.data.volumes import Arrays
from multiway.data.volumes.spacing import warn_of_spacings
from multiway.errors import ConfigError, DataError
from multiway.tasks.answers import Answer
from multiway.tasks.protocol import OURS, VALIDATION, Context, Metric, Option, Row, Task
from multiway.tasks.run import Run
from multiway.tasks.scores import best_baseline_remark, models_of, score_of, shown
from multiway.tasks.segmentation import auditing, sections
from multiway.tasks.segmentation.config import SegmentConfig
from multiway.tasks.segmentation.evaluation import ALL, MEAN, headline, measure, score_rows
from multiway.tasks.segmentation.explanation import explain_run
from multiway.tasks.segmentation.facts import SegmentFacts
from multiway.tasks.segmentation.fitting import (
    PLAIN,
    baselines_of,
    build_model,
    check_fits,
    fit_model,
    patch_of,
)
from multiway.tasks.segmentation.prediction import predict_masks
from multiway.tasks.segmentation.predictors import predictor_of
from multiway.tasks.segmentation.showing import save_slices
from multiway.tasks.stored import same_length
from multiway.tasks.volumes.evaluation import some_volumes
from multiway.tasks.volumes.options import SCANS
from multiway.training import History, RunFolder
from multiway.training.memory import settled

OF_MEAN = functools.partial(Metric, where={"class": MEAN})
OF_IMAGES = (OF_MEAN(name="dice", title="Dice", spread=True), OF_MEAN(name="dice_pooled", title="Dice, pooled"))
OF_SURFACES = (OF_MEAN(name="cl_dice", title="clDice"), OF_MEAN(name="hd95", title="HD95", higher=False))
OF_VOXELS = Metric(name="acc", title="Voxels right", where={"class": ALL})


class Segmentation(Task[SegmentConfig, Examples, SegmentState]):
    """A class for every voxel of a volume or pixel of a scene."""

    name = "segment"
    page = sections
    config = SegmentConfig
    state = SegmentState
    facts = SegmentFacts
    sections_of_reading = ("read", "split")
    fields_of_validation = (*VALIDATION, "classes", "ignore", "block")
    options = (Option(name="mask", field="read.mask", help="Column of the mask of each scan."), *SCANS)

    def recognises(self, source: Any) -> bool:
        """Scenes, and volumes with masks."""
        if isinstance(source, str | Path):
            return is_scene(source)
        x, masks = pair_of(source)
        return np.ndim(x) > 3 and np.ndim(masks) > 2

    def prepare(
        self, config: SegmentConfig, source: Any, state: SegmentState | None = None, *, progress: bool = False
    ) -> Examples:
        """Images with masks; all of those of later data are one split."""
        values = None if state is None else state.values
        examples = source if isinstance(source, Examples) else read_examples(source, config, values, split=not values)
        if state is None:
            check_fits(config, examples)
            return examples
        if (examples.channels, examples.num_modes) != (state.channels, state.num_modes):
            raise ConfigError(
                f"{examples.source}: the run segments images of {state.num_modes} axes and {state.channels} channels. "
                f"Got {examples.num_modes} axes and {examples.channels} channels."
            )
        warn_of_spacings({name: examples.spacing(row) for row, name in enumerate(examples.names)}, state.spacings)
        return dataclasses.replace(examples, classes=state.classes)

    def check(self, config: SegmentConfig, source: Any) -> CheckReport:
        """What is in a set of images with masks, in a scene, or in a pair of volumes and masks.

        Raises:
            DataError: There are no masks in memory.
        """
        if not isinstance(source, str | Path):
            x, masks = pair_of(source)
            if masks is None:
                raise DataError("segment: volumes in memory need their masks. Give a pair (X, masks).")
            source = Arrays(x=x, masks=masks)
        return check_masks(source, config)

    def audit(self, config: SegmentConfig, run: Run | None = None) -> AuditReport:
        """See `multiway.tasks.segmentation.auditing`."""
        return auditing.audit(config, run)

    def learn(self, config: SegmentConfig, prepared: Examples) -> SegmentState:
        """Intensities and sizes."""
        return SegmentState(
            classes=prepared.classes, values=prepared.values, channels=prepared.channels, axes=prepared.axes,
            scale=fit_scale(prepared, config.read), patch=patch_of(config, prepared), background=prepared.background,
            spacings=prepared.spacings,
        )  # fmt: skip

    def settle(self, config: SegmentConfig, state: SegmentState, *, progress: bool = False) -> SegmentConfig:
        """Batches that fit into memory, where none were asked for."""
        names = [name for name in self.names(config, state) if name in (OURS, PLAIN)]
        shape = (state.channels, *state.patch)
        return settled(
            config, lambda: [self.build(config, state, name) for name in names], shape, "patches", progress=progress
        )

    def names(self, config: SegmentConfig, state: SegmentState) -> tuple[str, ...]:
        """The network, and the baselines that fit the data."""
        return (OURS, *baselines_of(config, state))

    def build(self, config: SegmentConfig, state: SegmentState, name: str) -> nn.Module:
        """A network or a baseline."""
        return build_model(config, state, name)

    def fit(self, run: Run, name: str, prepared: Examples, context: Context) -> History | dict[str, Any] | None:
        """See `multiway.tasks.segmentation.fitting`."""
        return fit_model(run, name, prepared, context)

    def check_stored(self, run: Run) -> None:
        """Every class has its value.

        Raises:
            ValueError: They do not.
        """
        same_length({"classes": run.state.classes, "values": run.state.values})

    def predict(self, run: Run, prepared: Examples, split: str) -> dict[str, pd.DataFrame]:
        """Counts and metrics of every case and class, by model; the masks themselves are not kept."""
        rows = prepared.rows(split)
        return {name: measure(predictor_of(run, name), prepared, rows) for name in run.models}

    def score(self, run: Run, predictions: dict[str, pd.DataFrame], split: str) -> list[Row]:
        """Means over cases, with intervals over patients."""
        return [row for name, frame in predictions.items() for row in score_rows(frame, name, split, run.config.draws)]

    def tables(self, run: Run, predictions: dict[str, pd.DataFrame], split: str) -> dict[str, pd.DataFrame]:
        """Metrics case by case."""
        frames = [frame.assign(split=split, model=name) for name, frame in predictions.items()]
        return {"cases": pd.concat(frames, ignore_index=True)}

    def describe(self, run: Run, prepared: Examples) -> dict[str, Any]:
        """Splits, sizes and the unit of distances."""
        first = prepared.read(prepared.rows("train")[0])
        return {
            "splits": {split: len(rows) for split, rows in prepared.splits.items()},
            "sizes": list(first.target.shape),
            "distance": "voxels" if first.spacing is None else "mm",
        }

    def keep(self, run: Run, prepared: Examples, folder: RunFolder) -> None:
        """A few slices for the report."""
        save_slices(folder, run.tables["cases"], predictor_of(run, OURS), prepared)

    def evaluate(self, run: Run, data: str, split: str) -> list[Row]:
        """Scores on all images of other data."""
        prepared = self.prepare(run.config, self.locate(data), run.state)
        return self.score(run, self.predict(run, prepared, ALL), ALL)

    def metrics(self, config: SegmentConfig) -> tuple[Metric, ...]:
        """Overlaps; surfaces only of volumes."""
        return (*OF_IMAGES, *OF_SURFACES, OF_VOXELS)

    def sentence(self, run: Run) -> str:
        """The network's test Dice beside those of the baselines, and whether one of them is as good."""
        metric = headline(run.state.num_modes)
        dice = {model: shown(score_of(run, model, metric)["value"]) for model in models_of(run)}
        others = ", ".join(f"{model} {value}" for model, value in dice.items() if model != OURS)
        kind = "mean over test cases" if metric == "dice" else "over all test pixels, mean of classes"
        remark = best_baseline_remark(run, metric)
        return f"Dice {dice[OURS]}, {kind}" + (f" ({others})." if others else ".") + remark

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """How many test cases there are, and the interval of the first run."""
        row = score_of(runs[0], OURS, "dice")
        return {
            "dice_low": row["low"], "dice_high": row["high"], "test_cases": runs[0].facts["splits"]["test"],
        }  # fmt: skip

    def answer(self, run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
        """A mask for every image."""
        wanted = {name: bool(options.get(name, False)) for name in ("keep_going", "progress")}
        return predict_masks(run, data, out, **wanted)

    def explain(self, run: Run, out: Path | None, options: dict[str, Any]) -> Answer:
        """Attention of test cases."""
        return explain_run(run, out, options.get("cases"))

    def sample(self, run: Run, prepared: Examples) -> tuple[Tensor | None, ...]:
        """Some validation patches."""
        return (some_volumes(GridPatches(prepared, prepared.rows("validation"), run.state.scale, run.state.patch)),)


TASK = Segmentation()
