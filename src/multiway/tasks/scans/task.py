"""The tasks on scans: `volumes`, whose answers are classes, and `segment`, whose answers are masks."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from multiway.auditing import AuditReport
from multiway.auditing.scans import BLOCK, ScanImages, read_shared_cases
from multiway.config import Config, Plain
from multiway.data.findings import Findings, list_some
from multiway.data.matching import Far, far_levels
from multiway.data.samples import Prepared, Samples, Splits
from multiway.data.sources.scans.cases import Cases, Scans, splits_named
from multiway.data.sources.scans.intensity import find_far
from multiway.data.sources.scans.volume import Array
from multiway.data.sources.scenes import is_scene
from multiway.data.splitting import absent_classes, notes_on_draws
from multiway.data.targets import join_labels
from multiway.metrics.classes import calibration_error, youden_threshold
from multiway.tasks.candidate import discover
from multiway.tasks.choice import Evidence
from multiway.tasks.declarations import Encoding
from multiway.tasks.protocol import NETWORK, VALIDATION, Metric, Row, Settled, choose_by, score_later
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import Basis
from multiway.tasks.sample_task import (
    Candidates,
    SampleFacts,
    describe_splits,
    name_models,
    sample_task,
    settle_usual,
)
from multiway.tasks.scans import class_page, mask_page
from multiway.tasks.scans.config import SEGMENT, VOLUMES, SegmentConfig, VolumeConfig
from multiway.tasks.scans.encode import Examples, SegmentState, Stored, VolumeState, find_mask_values
from multiway.tasks.scans.explain import explain_classes, explain_masks
from multiway.tasks.scans.networks import Outputs, all_outputs, predictor_of
from multiway.tasks.scans.predict import predict_classes, predict_masks
from multiway.tasks.scans.read import read_images
from multiway.tasks.scans.scores import ALL, MEAN, CasePredictions, headline, measure
from multiway.tasks.scores import best_baseline_remark, models_of, score_of, sentence_of, write_score
from multiway.tasks.stored import same_length
from multiway.tasks.target_task import outputs_on, predict_targets, target_task
from multiway.tasks.targets import (
    OF_LABELS,
    OF_NUMBERS,
    Predictions,
    find_temperatures,
    find_thresholds,
    recalibrate,
    thresholds_of,
)
from multiway.training import RunFolder
from multiway.training.memory import fit_batches
from multiway.training.processes import best_device

CLASS_METRICS = (
    Metric(name="auc", title="AUC", spread=True),
    Metric(name="acc", title="Accuracy", spread=True),
    Metric(name="balanced_accuracy", title="Balanced accuracy"),
    Metric(name="sensitivity", title="Sensitivity"),
    Metric(name="specificity", title="Specificity"),
    Metric(name="ece", title="Calibration error", higher=False),
)
MEAN_METRIC = partial(Metric, where={"class": MEAN})
MASK_METRICS = (
    MEAN_METRIC(name="dice", title="Dice", spread=True),
    MEAN_METRIC(name="dice_on_file", title="Dice on the files' grid"),
    MEAN_METRIC(name="dice_pooled", title="Dice, pooled"),
    MEAN_METRIC(name="cl_dice", title="clDice"),
    MEAN_METRIC(name="hd95", title="HD95", higher=False),
    Metric(name="acc", title="Voxels right", where={"class": ALL}),
)


def scan_parts(
    candidates: Candidates, intensities: Callable[[Prepared[Scans, Any]], Iterable[Array]], seen: tuple[str, str]
) -> Plain:
    """Parts of a task on scans, of which few fit into memory at once.

    candidates: Of the task.
    intensities: Values of each prepared scan, as they are kept for the models.
    seen: What a network sees at once, as messages call it, and the field of the state with its sizes.
    """

    def find_far_scored(run: Run, prepared: Prepared[Scans, Any]) -> Sequence[Far]:
        """Intensities of another unit, counted over all scans; another spacing is said as they are read."""
        return far_levels(intensities(prepared), run.state.scale.level, prepared.raw.word)

    def fit_to_memory(config: Any, prepared: Prepared[Scans, Any], spent: float, *, progress: bool = False) -> Settled:
        """Batches that fit into memory, where no size is given."""
        (word, sizes), state, every = seen, prepared.state, candidates()
        names = [name for name in name_models(candidates, config, state) if every[name].by_steps]
        shape = (state.channels, *getattr(state, sizes))
        config = fit_batches(
            config, lambda: [every[name].build(Basis(config, state)) for name in names], shape, word, progress=progress
        )
        return Settled(config, state)

    return {
        "candidates": candidates,
        "cautions": lambda run: [note for note in run.facts.get("notes", ()) if note.startswith("size ")],
        "far": lambda run, scan: find_far(scan.values, scan.spacing, run.state.scale, run.state.spacings),
        "far_scored": find_far_scored,
        "settle": fit_to_memory,
    }


def encode_volumes(
    config: VolumeConfig, cases: Cases, state: VolumeState, *, progress: bool = False
) -> Samples[Stored]:
    """Volumes that are read once and normalised when they are gathered; numbers to predict are scaled."""
    target = cases.target
    if state.target is not None and target is not None:
        target = state.target.transform(target[:, None])[:, 0].astype(np.float32)
    return cases.with_inputs(Stored(cases.inputs, np.arange(len(cases))), target=target, decode=state.decode)


def remark_on_classes(samples: Samples[Any], splits: Splits) -> Iterable[str]:
    """What was drawn, and where AUC of classes is undefined."""
    yield from notes_on_draws(samples, splits)
    for name in ("validation", "test"):
        absent = absent_classes(samples, splits[name])
        if absent:
            yield f"{name} has no cases of {list_some(absent)}: AUC is undefined there"
        if absent and name == "validation":
            yield "The best epoch is that of the lowest validation loss, as validation has no AUC."


def audit_classes(config: VolumeConfig, run: Run | None = None) -> AuditReport:
    """Whether scans or patients are in two splits, labels contradict, and scaling or the grid tells the class."""
    source, scale = CLASSES.locate(config.data or ""), None
    cases = read_shared_cases(source, config.read)
    if cases is not None:
        splits, volumes = splits_named(cases), (cases.inputs.prepare(row).values for row in range(len(cases)))
    else:
        prepared = CLASSES.prepare(config, source)
        scale = (prepared.state if run is None else run.state).scale
        cases, splits, volumes = prepared.raw, prepared.splits, prepared.raw.inputs.volumes
    images = ScanImages(cases, splits, "volume")
    names, labels_of_cases, target = target_in_words(cases)
    for values, name in zip(volumes, names, strict=True):
        images.add(values, name)
    return images.report(scale, cases.inputs.options, labels_of_cases, target)


def target_in_words(cases: Cases) -> tuple[list[str], list[str], str]:
    """Label of each case, what its grid should not tell of it, and that in words: of a number, which half it is in."""
    truth, classes = cases.truth, cases.classes
    if classes is not None and cases.has_several:
        _, rarest, _ = target_in_words(cases.by_rarest())
        return join_labels(truth, classes), rarest, "the rarest label"
    if classes is not None:
        labels = [classes[label] for label in truth.tolist()]
        return labels, labels, "the class"
    halves = np.where(truth > np.median(truth), "above", "below").tolist()
    return [str(number) for number in truth.tolist()], halves, "the half of the number"


def settle_classes(
    config: VolumeConfig, prepared: Prepared[Scans, VolumeState], spent: float, *, progress: bool = False
) -> Settled:
    """The usual candidates by their names, where none were named, and batches that fit into memory."""
    named = settle_usual(class_candidates, config, prepared, spent)
    settled: Settled = CLASS_PARTS["settle"](named.config, prepared, spent, progress=progress)
    return settled


class Recalibration(Config):
    """What a temperature does to the calibration error of the answer on the test cases; None without a case."""

    temperature: float
    before: float | None
    after: float | None


class VolumeFacts(SampleFacts):
    """Of samples with classes, and what recalibration does to the answer."""

    recalibration: Recalibration | None = None


def calibrate_classes(run: Run, prepared: Prepared[Scans, VolumeState]) -> dict[str, Tensor]:
    """Temperatures by model, and thresholds of the second of two classes at these."""
    run.calibration = {}  # what another training decided does not count
    if run.state.kind != "classes":
        return {}
    plain = predict_targets(run, prepared, "validation")
    temperatures = find_temperatures(plain)
    youden = partial(youden_threshold, plain.truth)
    return {**temperatures, **find_thresholds(recalibrate(temperatures, plain.outputs), youden)}


def describe_classes(run: Run, prepared: Prepared[Scans, VolumeState], predictions: Predictions) -> Plain:
    """Splits, and the calibration error of the answer on the test cases without its temperature and with it."""
    found = run.calibration.get(f"{run.answer.name}.temperature")
    facts: Plain = describe_splits(run, prepared)
    if found is None:
        return facts
    plain = run.answer.mix(outputs_on(run, prepared, "test"))
    before, after = (
        calibration_error(predictions.truth, shares) for shares in (plain, predictions.outputs[run.answer.name])
    )
    return {**facts, "recalibration": {"temperature": float(found), "before": before, "after": after}}


def compute_outputs(run: Run, name: str, samples: Samples[Any]) -> Outputs:
    """Class probabilities or numbers, averaged over reflections where the config says so."""
    with best_device(run.models[name]):
        return all_outputs(run.models[name], samples, run.config, run.state)


class SegmentFacts(SampleFacts):
    """Of images with masks: sizes of one, and the unit of distances."""

    sizes: list[int]
    distance: str


def encode_images(
    config: SegmentConfig, cases: Cases, state: SegmentState, *, progress: bool = False
) -> Samples[Examples]:
    """Images whose masks are classes of the training, read when they are needed."""
    images = Examples.from_cases(cases, state.values, config.ignore)
    return cases.with_inputs(images, classes=state.classes, target=None)


def remark_on_masks(samples: Samples[Any], splits: Splits) -> Iterable[str]:
    """What was drawn, and classes of a scene that lie in too few blocks to be in each split."""
    yield from notes_on_draws(samples, splits)
    if samples.inputs.num_modes > 2:
        return
    for name, rows in splits.items():
        present = {int(label) for example in samples.inputs[rows] for label in np.unique(example.target)}
        missing = [title for label, title in enumerate(samples.classes or ()) if label not in present]
        if missing:
            yield f"{name} has no pixel of {list_some(missing)}: they lie in too few blocks to be split"


def audit_masks(config: SegmentConfig, run: Run | None = None) -> AuditReport:
    """Whether images or patients are in two splits, an image has two masks, or scaling or the grid leaks."""
    source, scale = MASKS.locate(config.data or ""), None
    if not is_scene(source) and read_shared_cases(source, config.read) is not None:
        cases = read_images(source, config, Findings(source), is_training=False)
        splits = splits_named(cases)
        values = find_mask_values(cases, splits.get("train", np.arange(len(cases))), config)
        images = Examples.from_cases(cases, values, config.ignore)
    else:
        prepared = MASKS.prepare(config, source)
        scale = (prepared.state if run is None else run.state).scale
        cases, splits, images = prepared.raw, prepared.splits, prepared.encoded.inputs
    has_background = images.values[0] == 0
    looked = ScanImages(cases, splits, BLOCK if images.num_modes == 2 else "image")
    used = {int(row) for rows in splits.values() for row in rows}
    numbers, marked = dict[bytes, int](), list[str]()
    for row, example in enumerate(images):
        mask = f"mask {numbers.setdefault(example.target.tobytes(), len(numbers))}"
        marks = example.target > 0
        looked.add(example.values, mask, is_used=row in used, marked=marks if has_background else None)
        marked.append("marked" if marks.any() else "empty")
    return looked.report(scale, config.read, marked if has_background else (), "whether a mask is empty")


def predict_split(run: Run, prepared: Prepared[Scans, SegmentState], split: str) -> CasePredictions:
    """Every model on every image of a split."""

    def predict() -> CasePredictions:
        part = prepared.part(split)
        return CasePredictions(frames={name: measure(predictor_of(run, name), part) for name in run.models})

    return run.once(prepared, split, predict)


def measure_candidates(run: Run, prepared: Prepared[Scans, SegmentState], *, refit: bool = True) -> Evidence:
    """One less the Dice of each validation image, or the share of wrong pixels in each block of a scene."""
    return predict_split(run, prepared, "validation").evidence(headline(run.state.num_modes))


def describe_masks(run: Run, prepared: Prepared[Scans, SegmentState], predictions: CasePredictions) -> Plain:
    """Splits, sizes and the unit of distances."""
    first = prepared.part("train").inputs.read(0)
    unit = "voxels" if first.spacing is None else "mm"
    return {**describe_splits(run, prepared), "sizes": list(first.target.shape), "distance": unit}


def keep_slices(run: Run, prepared: Prepared[Scans, SegmentState], folder: RunFolder) -> None:
    """A few slices for the report."""
    name = run.answer.name
    mask_page.save_slices(folder, run.tables["cases"], name, predictor_of(run, name), prepared.part("test"))


def summarise_masks(run: Run) -> str:
    """The answer's test Dice and those of the other candidates."""
    answer, metric = run.answer.name, headline(run.state.num_modes)
    dice = {model: write_score(score_of(run, model, metric)["value"]) for model in models_of(run)}
    others = ", ".join(f"{model} {value}" for model, value in dice.items() if model != answer)
    kind = "mean over test cases" if metric == "dice" else "over all test pixels, mean of classes"
    remark = best_baseline_remark(run, metric)
    return f"Dice {dice[answer]}, {kind}" + (f" ({others})." if others else ".") + remark


def facts_of_cell(runs: Sequence[Run]) -> Row:
    """How many test cases there are, and the interval of the Dice of the first run."""
    row = score_of(runs[0], NETWORK, "dice")
    return {"dice_low": row["low"], "dice_high": row["high"], **count_tested(runs)}


def count_tested(runs: Sequence[Run]) -> Row:
    """How many test cases there are."""
    return {"test_cases": runs[0].facts["splits"]["test"]["samples"]}


class_candidates = partial(discover, "multiway.tasks.scans.candidates.volumes", "volumes")
CLASS_PARTS = scan_parts(class_candidates, lambda prepared: prepared.raw.inputs.volumes, ("volumes", "sizes"))
CLASSES = target_task(
    Encoding(
        learn=VolumeState.learn,
        encode=encode_volumes,
        split_later=lambda config, cases: splits_named(cases),
        remarks=remark_on_classes,
    ),
    **VOLUMES.parts,
    **{**CLASS_PARTS, "settle": settle_classes},
    needs="scans. Give a folder, a table or a file",
    state=VolumeState,
    page=class_page.PAGE,
    metrics=lambda config: (*CLASS_METRICS, *OF_LABELS, *OF_NUMBERS),
    audit=audit_classes,
    outputs=compute_outputs,
    facts=VolumeFacts,
    calibrate=calibrate_classes,
    describe=describe_classes,
    check_stored=lambda run: thresholds_of(run.calibration, run.candidates),
    sentence=lambda run: sentence_of(run, *(("mae", "rmse") if run.state.classes is None else ("auc", "acc"))),
    cell_facts=count_tested,
    answer=predict_classes,
    explain=explain_classes,
)
MASKS = sample_task(
    Encoding(learn=SegmentState.learn, encode=encode_images, remarks=remark_on_masks),
    **SEGMENT.parts,
    **scan_parts(
        partial(discover, "multiway.tasks.scans.candidates.segment", "segment"),
        lambda prepared: (example.values for example in prepared.encoded.inputs),
        ("patches", "patch"),
    ),
    state=SegmentState,
    facts=SegmentFacts,
    fields_of_validation=(*VALIDATION, "classes", "ignore", "block"),
    page=mask_page.PAGE,
    metrics=lambda config: MASK_METRICS,
    audit=audit_masks,
    choose=partial(choose_by, measure_candidates),
    check_stored=lambda run: same_length({"classes": run.state.classes, "values": run.state.values}),
    predict=predict_split,
    tables=lambda run, predictions, split: {"cases": predictions.frame(split)},
    describe=describe_masks,
    keep=keep_slices,
    evaluate=lambda run, data, split: score_later(run, data, ALL),
    sentence=summarise_masks,
    cell_facts=facts_of_cell,
    answer=predict_masks,
    explain=explain_masks,
)
