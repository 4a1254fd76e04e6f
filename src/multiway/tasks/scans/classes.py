"""The task `volumes`."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from multiway.auditing import AuditReport
from multiway.auditing.scans import ScanImages, read_shared_cases
from multiway.config import Plain
from multiway.data.findings import list_some
from multiway.data.samples import Prepared, Rows, Samples, Splits
from multiway.data.sources.scans.cases import Cases, Scans, splits_named
from multiway.data.sources.scans.intensity import IntensityScale
from multiway.data.sources.scans.volume import Array
from multiway.data.splitting import absent_classes, notes_on_draws
from multiway.models.baselines import fit_pooled
from multiway.tasks.answers import Answer
from multiway.tasks.protocol import NETWORK, Metric, Row
from multiway.tasks.run import Run
from multiway.tasks.samples import SampleTask
from multiway.tasks.scans import class_page as page
from multiway.tasks.scans.config import CLASSIFIERS, VOLUMES, VolumeConfig
from multiway.tasks.scans.encode import Stored, VolumeState
from multiway.tasks.scans.explain import explain_classes, find_cases, interesting, reload_cases
from multiway.tasks.scans.networks import (
    Probabilities,
    VolumeLoss,
    all_probabilities,
    auc_score,
    batches_to_evaluate,
    build_classifier,
)
from multiway.tasks.scans.predict import predict_classes
from multiway.tasks.scans.task import scan_parts
from multiway.tasks.scores import sentence_of
from multiway.tasks.targets import thresholds_of, youden_thresholds
from multiway.training import Objective, TrainingConfig
from multiway.training.losses import class_weights
from multiway.training.processes import best_device

EXPLAINED = 4
"""Test cases that are explained if none is named: the most confident errors first."""
METRICS = (
    Metric(name="auc", title="AUC", spread=True),
    Metric(name="acc", title="Accuracy", spread=True),
    Metric(name="balanced_accuracy", title="Balanced accuracy"),
    Metric(name="sensitivity", title="Sensitivity"),
    Metric(name="specificity", title="Specificity"),
    Metric(name="ece", title="Calibration error", higher=False),
)


def prepare_data(
    config: VolumeConfig, source: object, state: VolumeState | None = None, *, progress: bool = False
) -> Prepared[Scans, VolumeState]:
    """Later data keep the splits that they name."""
    prepared = SampleTask.prepare(TASK, config, source, state, progress=progress)
    return prepared if state is None else dataclasses.replace(prepared, splits=splits_named(prepared.raw))


def learn_state(config: VolumeConfig, samples: Cases, train: Rows) -> VolumeState:
    """Classes, sizes, and the scale of the training volumes."""
    return VolumeState.learn(samples, train, config.read)


def encode_samples(
    config: VolumeConfig, samples: Cases, state: VolumeState, *, progress: bool = False
) -> Samples[Stored]:
    """Volumes that are read once and normalised when they are gathered."""
    return samples.with_inputs(Stored(samples.inputs, np.arange(len(samples))), decode=state.decode)


def stored_intensities(prepared: Prepared[Scans, VolumeState]) -> Iterable[Array]:
    """All of them, which scoring reads too."""
    return prepared.raw.inputs.volumes


def list_remarks(samples: Samples[Any], splits: Splits) -> Iterable[str]:
    """What was drawn, and where AUC is undefined."""
    yield from notes_on_draws(samples, splits)
    for name in ("validation", "test"):
        absent = absent_classes(samples, splits[name])
        if absent:
            yield f"{name} has no cases of {list_some(absent)}: AUC is undefined there"
        if absent and name == "validation":
            yield "The best epoch is that of the lowest validation loss, as validation has no AUC."


def audit_run(config: VolumeConfig, run: Run | None = None) -> AuditReport:
    """Whether scans or patients are in two splits, labels contradict, and scaling or the grid tells the class."""
    source = TASK.locate(config.data or "")
    torn = read_shared_cases(source, config.read)
    if torn is not None:
        values = (torn.inputs.prepare(index).values for index in range(len(torn)))
        return _audit_cases(torn, splits_named(torn), values, None)
    prepared = prepare_data(config, source)
    state = prepared.state if run is None else run.state
    return _audit_cases(prepared.raw, prepared.splits, prepared.raw.inputs.volumes, state.scale)


def objective_of_model(run: Run, name: str, training: Samples[Stored]) -> Objective:
    """Cross-entropy under the model's own training, of volumes that are changed at random."""
    how = training_of_model(run.config, name)
    return VolumeLoss(run.config, class_weights(training.truth, len(run.state.classes), how), how.label_smoothing)


def training_of_model(config: VolumeConfig, name: str) -> TrainingConfig:
    """Networks among the baselines may be trained otherwise."""
    return config.training if name == NETWORK else config.network_training


def validation_measure(run: Run, validation: Samples[Stored]) -> tuple[None, Callable[[nn.Module], float] | None]:
    """AUC, where validation has every class."""
    return None, auc_score(validation, len(run.state.classes), run.config)


def fit_baseline(model: nn.Module, run: Run, training: Samples[Any], validation: Samples[Any]) -> Plain | None:
    """Count classes, or fit a logistic regression on means of blocks."""
    batches, held = (batches_to_evaluate(part, run.config) for part in (training, validation))
    return fit_pooled(model, training.target_tensor, batches, held)


def calibrate_run(run: Run, prepared: Prepared[Scans, VolumeState]) -> dict[str, Tensor]:
    """Thresholds of the second of two classes, by model."""
    truth = prepared.named("validation").truth
    return youden_thresholds(truth, TASK.outputs_on(run, prepared, "validation"))


def check_stored(run: Run) -> None:
    """Thresholds are numbers."""
    thresholds_of(run.calibration, run.candidates)


def compute_outputs(run: Run, name: str, samples: Samples[Any]) -> Probabilities:
    """Class probabilities, averaged over reflections where the config says so."""
    with best_device(run.models[name]):
        return all_probabilities(run.models[name], samples, run.config)


def summarise(run: Run) -> str:
    """AUC, which chooses, before accuracy."""
    return sentence_of(run, "auc", "acc")


def facts_of_cell(runs: Sequence[Run]) -> Row:
    """How many test cases there are."""
    return {"test_cases": SampleTask.cell_facts(TASK, runs)["test_samples"]}


def answer_data(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """The class of every scan."""
    return predict_classes(run, TASK.later(data, out), out, options)


def explain_run(run: Run, out: Path | None, options: Plain) -> Answer:
    """Maps of some test cases, or of the named ones."""
    cases, names = reload_cases(run), options.get("cases")
    chosen = find_cases(cases, names) if names else [index for _, index in interesting(run, cases)][:EXPLAINED]
    answer = explain_classes(run, cases, chosen, run.explanation(out))
    return dataclasses.replace(answer, head=run.answer.explained(NETWORK, "which alone has maps"))


def _audit_cases(cases: Cases, splits: Splits, volumes: Iterable[Array], scale: IntensityScale | None) -> AuditReport:
    images = ScanImages(cases, splits, "volume")
    for values, label in zip(volumes, cases.truth.tolist(), strict=True):
        images.add(values, (cases.classes or ())[label])
    return images.report(scale, cases.inputs.options, images.labels)


TASK: SampleTask[VolumeConfig, Scans, VolumeState] = SampleTask(
    **VOLUMES.parts,
    page=page.PAGE,
    state=VolumeState,
    needs="scans. Give a folder, a table or a file",
    scored=METRICS,
    **scan_parts(build_classifier, (NETWORK, *CLASSIFIERS), stored_intensities, ("volumes", "sizes")),
    evidence=None,  # the network answers: maps and tables of scans are of it alone
    prepare=prepare_data,
    learnt=learn_state,
    encode=encode_samples,
    remarks=list_remarks,
    audit=audit_run,
    objective_of=objective_of_model,
    training_of=training_of_model,
    validated_by=validation_measure,
    fit_baseline=fit_baseline,
    calibrate=calibrate_run,
    check_stored=check_stored,
    outputs=compute_outputs,
    sentence=summarise,
    cell_facts=facts_of_cell,
    answer=answer_data,
    explain=explain_run,
)
