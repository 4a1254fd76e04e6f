"""The task `segment`."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from torch import nn

from multiway.auditing import AuditReport
from multiway.auditing.scans import ScanImages, scan_title, torn_cases
from multiway.config import Plain
from multiway.data import CheckReport
from multiway.data.sources.scans.cases import Arrays
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scenes import is_scene
from multiway.data.sources.tables import pair_of
from multiway.errors import DataError
from multiway.tasks.answers import Answer
from multiway.tasks.protocol import OURS, VALIDATION, Metric, Option, Row
from multiway.tasks.run import Run
from multiway.tasks.scores import best_baseline_remark, models_of, score_of, shown
from multiway.tasks.segmentation import page
from multiway.tasks.segmentation.check import check_masks
from multiway.tasks.segmentation.config import SegmentConfig, SegmentFacts
from multiway.tasks.segmentation.encode import (
    PLAIN,
    PreparedImages,
    SegmentState,
    baselines_of,
    fit_scale,
    prepared,
)
from multiway.tasks.segmentation.explain import explain_run
from multiway.tasks.segmentation.network import Baseline, PatchLoss, build_model, network_predictor, predictor_of
from multiway.tasks.segmentation.patches import GridPatches, TrainingPatches
from multiway.tasks.segmentation.predict import predict_masks
from multiway.tasks.segmentation.scores import ALL, MEAN, CasePredictions, headline, mean_dice, measure
from multiway.tasks.segmentation.slices import save_slices
from multiway.tasks.segmentation.source import Images, read_examples
from multiway.tasks.split_task import SplitPredictions, SplitTask
from multiway.tasks.stored import same_length
from multiway.tasks.volumes.config import SCANS
from multiway.training import Objective, RunFolder, Source
from multiway.training.memory import settled

OF_MEAN = functools.partial(Metric, where={"class": MEAN})
OF_IMAGES = (OF_MEAN(name="dice", title="Dice", spread=True), OF_MEAN(name="dice_pooled", title="Dice, pooled"))
OF_SURFACES = (OF_MEAN(name="cl_dice", title="clDice"), OF_MEAN(name="hd95", title="HD95", higher=False))
OF_VOXELS = Metric(name="acc", title="Voxels right", where={"class": ALL})


class Segmentation(SplitTask[SegmentConfig, PreparedImages, SegmentState, GridPatches]):
    """A class for every voxel of a volume or pixel of a scene."""

    name = "segment"
    page = page.PAGE
    config = SegmentConfig
    state = SegmentState
    facts = SegmentFacts
    fields_of_validation = (*VALIDATION, "classes", "ignore", "block")
    scored = (*OF_IMAGES, *OF_SURFACES, OF_VOXELS)
    sampled = 8
    by_steps = (OURS, PLAIN)
    options = (Option(name="mask", field="read.mask", help="Column of the mask of each scan."), *SCANS)

    def recognises(self, source: object) -> bool:
        """Scenes, and volumes with masks."""
        if isinstance(source, str | Path):
            return is_scene(source)
        x, masks = pair_of(source)
        return np.ndim(x) > 3 and np.ndim(masks) > 2

    def prepare(
        self, config: SegmentConfig, source: object, state: SegmentState | None = None, *, progress: bool = False
    ) -> PreparedImages:
        """Images with masks; all of those of later data are one split."""
        values = None if state is None else state.values
        return prepared(config, read_examples(cast(Images, source), config, values, split=values is None), state)

    def check(self, config: SegmentConfig, source: object) -> CheckReport:
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
        """Whether images or patients are in two splits, an image has two masks, or scaling or the grid leaks."""
        source = self.locate(config.data or "")
        torn = cases = None
        if not is_scene(source):
            torn = torn_cases(source, config.read)
            cases = torn or read_cases(source, config.read, config.split, same_sizes=False)
        examples = read_examples(cases or source, config)
        images = ScanImages(examples.names, examples.patients, examples.splits, "image")
        used = {int(row) for rows in examples.splits.values() for row in rows}
        numbers: dict[bytes, int] = {}
        marked: list[str] = []
        for row in range(len(examples.names)):
            example = examples.read(row)
            mask = f"mask {numbers.setdefault(example.target.tobytes(), len(numbers))}"
            marks = example.target > 0
            images.add(example.values, mask, is_used=row in used, marked=marks if examples.background else None)
            marked.append("marked" if marks.any() else "empty")
        scale = None if torn is not None else run.state.scale if run is not None else fit_scale(examples, config.read)
        told, target = marked if examples.background else (), "whether a mask is empty"
        title = scan_title(examples.source, examples.splits, "blocks" if cases is None else "images")
        return AuditReport.of(title, images.verdicts(cases, scale, config.read, told, target))

    def learn(self, config: SegmentConfig, prepared: PreparedImages) -> SegmentState:
        """Intensities and sizes."""
        return prepared.state

    def settle(self, config: SegmentConfig, state: SegmentState, *, progress: bool = False) -> SegmentConfig:
        """Batches that fit into memory, where none were asked for."""
        names = [name for name in self.names(config, state) if name in self.by_steps]
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

    def objective(self, run: Run, training: GridPatches) -> Objective:
        """Cross-entropy and overlaps."""
        return PatchLoss(run.config, run.state.background)

    def learnt_from(self, run: Run, training: GridPatches) -> Source:
        """Random patches, many of them about what the masks mark."""
        config = run.config
        return TrainingPatches(
            examples=training.examples, rows=training.rows, scale=training.scale, patch=training.patch,
            per_case=config.patches_per_case, foreground=config.foreground, options=config.augment,
        )  # fmt: skip

    def validated_by(self, run: Run, validation: GridPatches) -> tuple[None, Callable[[nn.Module], float]]:
        """Mean Dice."""
        return None, lambda model: mean_dice(network_predictor(run, model), validation.examples, "validation")

    def fit_baseline(self, run: Run, name: str, training: GridPatches, validation: GridPatches) -> Plain | None:
        """By counting voxels, or in convex steps."""
        model = cast(Baseline, run.models[name])
        return model.fit(training.examples, training.scale, run.config.training.seed)

    def check_stored(self, run: Run) -> None:
        """Every class has its value.

        Raises:
            ValueError: They do not.
        """
        same_length({"classes": run.state.classes, "values": run.state.values})

    def predict(self, run: Run, prepared: PreparedImages, split: str) -> CasePredictions:
        """Every model on every image of a split."""
        rows = prepared.rows(split)
        return CasePredictions(frames={name: measure(predictor_of(run, name), prepared, rows) for name in run.models})

    def tables(self, run: Run, predictions: SplitPredictions, split: str) -> dict[str, pd.DataFrame]:
        """Metrics case by case."""
        return {"cases": predictions.frame(split)}

    def describe(self, run: Run, prepared: PreparedImages) -> Plain:
        """Splits, sizes and the unit of distances."""
        first = prepared.read(prepared.rows("train")[0])
        return {
            "splits": {split: len(rows) for split, rows in prepared.splits.items()},
            "sizes": list(first.target.shape),
            "distance": "voxels" if first.spacing is None else "mm",
        }

    def keep(self, run: Run, prepared: PreparedImages, folder: RunFolder) -> None:
        """A few slices for the report."""
        save_slices(folder, run.tables["cases"], predictor_of(run, OURS), prepared)

    def evaluate(self, run: Run, data: str, split: str) -> list[Row]:
        """Scores on all images of other data."""
        prepared = self.prepare(run.config, self.locate(data), run.state)
        return self.score(run, self.predict(run, prepared, ALL), ALL)

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

    def answer(self, run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
        """A mask for every image."""
        flags = {name: bool(options.get(name, False)) for name in ("keep_going", "progress")}
        return predict_masks(run, data, out, **flags)

    def explain(self, run: Run, out: Path | None, options: Plain) -> Answer:
        """Attention of test cases."""
        return explain_run(run, out, options.get("cases"))


TASK = Segmentation()
