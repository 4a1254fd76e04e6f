"""The task `segment`."""

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from multiway.auditing import AuditReport
from multiway.auditing.scans import BLOCK, ScanImages, read_shared_cases
from multiway.config import Plain
from multiway.data.findings import Findings, list_some
from multiway.data.options import VolumeOptions
from multiway.data.samples import Prepared, Rows, Samples, Splits
from multiway.data.sources.scans.cases import Cases, Scans, splits_named
from multiway.data.sources.scans.intensity import IntensityScale
from multiway.data.sources.scans.volume import Array
from multiway.data.sources.scenes import is_scene
from multiway.data.splitting import notes_on_draws
from multiway.tasks.answers import Answer
from multiway.tasks.candidate import discover
from multiway.tasks.choice import Evidence
from multiway.tasks.declarations import Encoding
from multiway.tasks.protocol import NETWORK, VALIDATION, Metric, Row, choose_by, score_later
from multiway.tasks.run import Run
from multiway.tasks.sample_task import SampleFacts, SplitPredictions, describe_splits, sample_task
from multiway.tasks.scans import mask_page as page
from multiway.tasks.scans.config import SEGMENT, SegmentConfig
from multiway.tasks.scans.encode import (
    Examples,
    SegmentState,
    find_mask_values,
)
from multiway.tasks.scans.explain import explain_masks
from multiway.tasks.scans.mask_page import save_slices
from multiway.tasks.scans.networks import predictor_of
from multiway.tasks.scans.predict import predict_masks
from multiway.tasks.scans.read import read_images
from multiway.tasks.scans.scores import ALL, MEAN, CasePredictions, headline, measure
from multiway.tasks.scans.task import scan_parts
from multiway.tasks.scores import best_baseline_remark, models_of, score_of, write_score
from multiway.tasks.stored import same_length
from multiway.training import RunFolder

MEAN_METRIC = functools.partial(Metric, where={"class": MEAN})
METRICS = (
    MEAN_METRIC(name="dice", title="Dice", spread=True),
    MEAN_METRIC(name="dice_on_file", title="Dice on the files' grid"),
    MEAN_METRIC(name="dice_pooled", title="Dice, pooled"),
    MEAN_METRIC(name="cl_dice", title="clDice"),
    MEAN_METRIC(name="hd95", title="HD95", higher=False),
    Metric(name="acc", title="Voxels right", where={"class": ALL}),
)


class SegmentFacts(SampleFacts):
    """Of images with masks: sizes of one, and the unit of distances."""

    sizes: list[int]
    distance: str


def learn_state(config: SegmentConfig, samples: Cases, train: Rows) -> SegmentState:
    """Classes of the training masks, intensities, and the sizes of a patch."""
    return SegmentState.learn(config, samples, train)


def encode_samples(
    config: SegmentConfig, samples: Cases, state: SegmentState, *, progress: bool = False
) -> Samples[Examples]:
    """Images whose masks are classes of the training, read when they are needed."""
    images = Examples.from_cases(samples, state.values, config.ignore)
    return samples.with_inputs(images, classes=state.classes, target=None)


def read_intensities(prepared: Prepared[Scans, SegmentState]) -> Iterable[Array]:
    """One at a time."""
    return (example.values for example in prepared.encoded.inputs)


def list_remarks(samples: Samples[Any], splits: Splits) -> Iterable[str]:
    """What was drawn, and classes of a scene that lie in too few blocks to be in each split."""
    yield from notes_on_draws(samples, splits)
    if samples.inputs.num_modes > 2:
        return
    for name, rows in splits.items():
        present = {int(label) for example in samples.inputs[rows] for label in np.unique(example.target)}
        missing = [title for label, title in enumerate(samples.classes or ()) if label not in present]
        if missing:
            yield f"{name} has no pixel of {list_some(missing)}: they lie in too few blocks to be split"


def audit_run(config: SegmentConfig, run: Run | None = None) -> AuditReport:
    """Whether images or patients are in two splits, an image has two masks, or scaling or the grid leaks."""
    source = TASK.locate(config.data or "")
    if not is_scene(source) and read_shared_cases(source, config.read) is not None:
        cases = read_images(source, config, Findings(source), is_training=False)
        splits = splits_named(cases)
        values = find_mask_values(cases, splits.get("train", np.arange(len(cases))), config)
        return audit_images(cases, splits, Examples.from_cases(cases, values, config.ignore), None, config.read)
    prepared = TASK.prepare(config, source)
    scale = (prepared.state if run is None else run.state).scale
    return audit_images(prepared.raw, prepared.splits, prepared.encoded.inputs, scale, config.read)


def check_stored(run: Run) -> None:
    """Every class has its value."""
    same_length({"classes": run.state.classes, "values": run.state.values})


def measure_candidates(run: Run, prepared: Prepared[Scans, SegmentState], *, refit: bool = True) -> Evidence:
    """One less the Dice of each validation image, or the share of wrong pixels in each block of a scene."""
    return predict_split(run, prepared, "validation").evidence(headline(run.state.num_modes))


def predict_split(run: Run, prepared: Prepared[Scans, SegmentState], split: str) -> CasePredictions:
    """Every model on every image of a split."""

    def predict() -> CasePredictions:
        part = prepared.part(split)
        return CasePredictions(frames={name: measure(predictor_of(run, name), part) for name in run.models})

    return run.once(prepared, split, predict)


def tables_of_split(run: Run, predictions: SplitPredictions, split: str) -> dict[str, pd.DataFrame]:
    """Metrics case by case."""
    return {"cases": predictions.frame(split)}


def describe_run(run: Run, prepared: Prepared[Scans, SegmentState], predictions: CasePredictions) -> Plain:
    """Splits, sizes and the unit of distances."""
    first = prepared.part("train").inputs.read(0)
    unit = "voxels" if first.spacing is None else "mm"
    return {**describe_splits(run, prepared), "sizes": list(first.target.shape), "distance": unit}


def keep_files(run: Run, prepared: Prepared[Scans, SegmentState], folder: RunFolder) -> None:
    """A few slices for the report."""
    name = run.answer.name
    save_slices(folder, run.tables["cases"], name, predictor_of(run, name), prepared.part("test"))


def evaluate_run(run: Run, data: str, split: str) -> list[Row]:
    """Scores on all images of other data."""
    return score_later(run, data, ALL)


def summarise(run: Run) -> str:
    """The answer's test Dice and those of the other candidates."""
    answer, metric = run.answer.name, headline(run.state.num_modes)
    dice = {model: write_score(score_of(run, model, metric)["value"]) for model in models_of(run)}
    others = ", ".join(f"{model} {value}" for model, value in dice.items() if model != answer)
    kind = "mean over test cases" if metric == "dice" else "over all test pixels, mean of classes"
    remark = best_baseline_remark(run, metric)
    return f"Dice {dice[answer]}, {kind}" + (f" ({others})." if others else ".") + remark


def facts_of_cell(runs: Sequence[Run]) -> Row:
    """How many test cases there are, and the interval of the first run."""
    row = score_of(runs[0], NETWORK, "dice")
    count = runs[0].facts["splits"]["test"]["samples"]
    return {"dice_low": row["low"], "dice_high": row["high"], "test_cases": count}


def answer_data(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """A mask for every image."""
    flags = {name: bool(options.get(name, False)) for name in ("keep_going", "progress", "far", "dicom_seg")}
    return predict_masks(run, data, out, **flags)


def explain_run(run: Run, out: Path | None, options: Plain) -> Answer:
    """Attention of test cases."""
    answer = explain_masks(run, out, options.get("cases"))
    return dataclasses.replace(answer, head=run.answer.explained(NETWORK, "which alone has attention"))


def audit_images(
    cases: Cases, splits: Splits, images: Examples, scale: IntensityScale | None, options: VolumeOptions
) -> AuditReport:
    """What an audit says of images with masks; `scale` is None where training refuses the splits."""
    is_scene, has_background = images.num_modes == 2, images.values[0] == 0
    looked = ScanImages(cases, splits, BLOCK if is_scene else "image")
    used = {int(row) for rows in splits.values() for row in rows}
    numbers: dict[bytes, int] = {}
    marked: list[str] = []
    for row, example in enumerate(images):
        mask = f"mask {numbers.setdefault(example.target.tobytes(), len(numbers))}"
        marks = example.target > 0
        looked.add(example.values, mask, is_used=row in used, marked=marks if has_background else None)
        marked.append("marked" if marks.any() else "empty")
    return looked.report(scale, options, marked if has_background else (), "whether a mask is empty")


TASK = sample_task(
    Encoding(learn=learn_state, encode=encode_samples, remarks=list_remarks),
    **SEGMENT.parts,
    **scan_parts(
        functools.partial(discover, "multiway.tasks.scans.candidates.segment", "segment"),
        read_intensities,
        ("patches", "patch"),
    ),
    state=SegmentState,
    facts=SegmentFacts,
    fields_of_validation=(*VALIDATION, "classes", "ignore", "block"),
    page=page.PAGE,
    metrics=lambda config: METRICS,
    audit=audit_run,
    choose=functools.partial(choose_by, measure_candidates),
    check_stored=check_stored,
    predict=predict_split,
    tables=tables_of_split,
    describe=describe_run,
    keep=keep_files,
    evaluate=evaluate_run,
    sentence=summarise,
    cell_facts=facts_of_cell,
    answer=answer_data,
    explain=explain_run,
)
