"""The task `segment`."""

import collections
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
from multiway.data import CheckReport
from multiway.data.checking import Hook
from multiway.data.findings import Findings, Place, list_some, quote
from multiway.data.options import VolumeOptions
from multiway.data.samples import Prepared, Rows, Samples, Splits
from multiway.data.sources.scans.arrays import Arrays
from multiway.data.sources.scans.cases import Cases, Scans, splits_named
from multiway.data.sources.scans.checking import check_scans, lists_masks
from multiway.data.sources.scans.intensity import IntensityScale
from multiway.data.sources.scans.loading import Source as ScanSource
from multiway.data.sources.scans.loading import check_listed, read_cases
from multiway.data.sources.scans.volume import Array
from multiway.data.sources.scenes import is_scene, read_scene, scene_cases
from multiway.data.sources.tables import pair_of
from multiway.data.splitting import notes_on_draws, split
from multiway.errors import ConfigError, DataError, Fix
from multiway.tasks.answers import Answer
from multiway.tasks.candidate import discover
from multiway.tasks.choice import Evidence
from multiway.tasks.protocol import NETWORK, VALIDATION, Metric, Row, choose_by, score_later
from multiway.tasks.run import Run
from multiway.tasks.sample_task import SampleFacts, SplitPredictions, check_source, describe_splits, sample_task
from multiway.tasks.scans import mask_page as page
from multiway.tasks.scans.config import SEGMENT, SegmentConfig
from multiway.tasks.scans.encode import (
    Examples,
    SegmentState,
    check_cuts,
    class_names,
    find_mask_values,
    usable_values,
)
from multiway.tasks.scans.explain import explain_masks
from multiway.tasks.scans.mask_page import save_slices
from multiway.tasks.scans.networks import predictor_of
from multiway.tasks.scans.predict import predict_masks
from multiway.tasks.scans.scores import ALL, MEAN, CasePredictions, class_in_words, headline, measure
from multiway.tasks.scans.task import in_arrays, scan_kind, scan_parts, warn_of_other_voxels
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


def looks_right(source: object) -> bool:
    """Scenes, volumes with masks, and tables of scans and their masks."""
    if isinstance(source, str | Path):
        return is_scene(source) or lists_masks(Path(source))
    x, masks = pair_of(source)
    return np.ndim(x) > 3 and np.ndim(masks) > 2


def read_samples(
    config: SegmentConfig,
    source: object,
    findings: Findings,
    state: SegmentState | None = None,
    *,
    has_target: bool = True,
) -> Cases:
    """Images with masks, or blocks of a scene; later ones with the axes and channels of those of the training."""
    cases = read_images(_with_masks(source), config, findings, is_training=state is None)
    if state is not None:
        _check_alike(cases, state)
    return cases


def check_data(config: SegmentConfig, source: object) -> CheckReport:
    """What is in images with masks, and what is wrong with them."""
    return check_source(KIND, config, _with_masks(source))


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


def list_checks(config: SegmentConfig) -> Sequence[Hook]:
    """Images that cannot be read or say nothing, and masks that do not go together."""
    return (check_scans, functools.partial(check_masks, config=config))


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


def read_images(source: ScanSource, config: SegmentConfig, findings: Findings, *, is_training: bool) -> Cases:
    """Images with masks of a table or of arrays, or blocks of a scene."""
    if isinstance(source, str) and is_scene(source):
        scene = read_scene(source, config.read.max_bytes)
        cases = scene_cases(scene, config.block, config.split if is_training else None, config.ignore)
        return cases.with_inputs(cases.inputs, labelling=())
    cases = read_cases(source, config.read, same_sizes=False, findings=findings)
    if not cases.inputs.has_masks:
        raise DataError(
            f"{cases.source}: segmentation needs a mask for each image. There is no column "
            f"'{quote(config.read.mask)}'. Add it, or name it (",
            Fix("read.mask", like="COLUMN"),
            ").",
        )
    if is_training:
        check_listed(cases, findings)
    return cases.with_inputs(cases.inputs, labelling=())


def _with_masks(source: object) -> ScanSource:
    given = in_arrays(source, masks=True)
    if isinstance(given, Arrays) and given.masks is None:
        raise DataError("segment: volumes in memory need their masks. Give a pair (X, masks).")
    return given


def _check_alike(cases: Cases, state: SegmentState) -> None:
    """Hold later images to the axes, channels and spacings of the training."""
    header = cases.inputs.header
    assert header is not None
    if (header.channels, len(header.axes)) != (state.channels, state.num_modes):
        raise ConfigError(
            f"{cases.source}: the run segments images of {state.num_modes} axes and {state.channels} channels. "
            f"Got {len(header.axes)} axes and {header.channels} channels."
        )
    warn_of_other_voxels(cases, state.spacings)


def check_masks(cases: Cases, findings: Findings, config: SegmentConfig) -> Plain:
    """Note masks that mark nothing, and those with a value that training lacks; the share of each class by split."""
    looks, _ = cases.inputs.looks
    names, masks = cases.names["case"], {row: look.mask for row, look in looks.items() if look.mask is not None}
    try:
        splits = split(cases, config.split)
        training = [row for row in splits["train"].tolist() if row in masks]
        values = usable_values(((names[row], masks[row]) for row in training), config.ignore, cases.source)
        classes = class_names(cases, values, config)
        check_cuts(((look.cut, names[row]) for row, look in looks.items()), cases.inputs)
    except DataError as error:
        findings.take("masks", error)
        return {}
    empty = [Place(detail=names[row]) for row, mask in masks.items() if set(mask) == {0}]
    if empty and values[0] == 0:
        findings.add("empty_mask", "note", "a mask marks nothing; its Dice is undefined or 0", places=empty)
    shares: Plain = {}
    for name, rows in splits.items():
        counts = collections.Counter[float]()
        for row in rows.tolist():
            counts.update(masks.get(row, {}))
        other = sorted(set(counts) - {*values, config.ignore})
        if other:
            rule = f"{name} has masks with {list_some(other, 4)}, which no training mask has"
            findings.add("masks", "error", rule, "Correct them, or move a case that has them into training.")
        total = max(sum(counts[value] for value in values), 1)
        named = zip(map(class_in_words, classes), values, strict=True)
        shares[f"{name} voxels"] = ", ".join(f"{title} {counts[value] / total:.2%}" for title, value in named)
    return shares


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


KIND = scan_kind(read=read_samples, learn=learn_state, encode=encode_samples, checks=list_checks, remarks=list_remarks)
TASK = sample_task(
    KIND,
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
    recognises=looks_right,
    check=check_data,
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
