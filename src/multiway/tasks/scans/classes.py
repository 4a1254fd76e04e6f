"""The task `volumes`."""

import dataclasses
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from multiway.auditing import AuditReport
from multiway.auditing.scans import ScanImages, read_shared_cases
from multiway.config import Plain
from multiway.data.findings import list_some
from multiway.data.samples import Prepared, Rows, Samples, Splits
from multiway.data.sources.scans.cases import Cases, Scans, splits_named
from multiway.data.sources.scans.intensity import IntensityScale
from multiway.data.sources.scans.volume import Array
from multiway.data.splitting import absent_classes, notes_on_draws
from multiway.tasks.answers import Answer
from multiway.tasks.candidate import discover
from multiway.tasks.declarations import Encoding
from multiway.tasks.protocol import NETWORK, Metric, Row
from multiway.tasks.run import Run
from multiway.tasks.sample_task import find_later
from multiway.tasks.scans import class_page as page
from multiway.tasks.scans.config import VOLUMES, VolumeConfig
from multiway.tasks.scans.encode import Stored, VolumeState
from multiway.tasks.scans.explain import explain_classes, find_cases, interesting, reload_cases
from multiway.tasks.scans.networks import Probabilities, all_probabilities
from multiway.tasks.scans.predict import predict_classes
from multiway.tasks.scans.task import scan_parts
from multiway.tasks.scores import sentence_of
from multiway.tasks.target_task import outputs_on, target_task
from multiway.tasks.targets import thresholds_of, youden_thresholds
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
    prepared = TASK.prepare(config, source)
    state = prepared.state if run is None else run.state
    return _audit_cases(prepared.raw, prepared.splits, prepared.raw.inputs.volumes, state.scale)


def calibrate_run(run: Run, prepared: Prepared[Scans, VolumeState]) -> dict[str, Tensor]:
    """Thresholds of the second of two classes, by model."""
    truth = prepared.named("validation").truth
    return youden_thresholds(truth, outputs_on(run, prepared, "validation"))


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
    return {"test_cases": runs[0].facts["splits"]["test"]["samples"]}


def answer_data(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """The class of every scan."""
    return predict_classes(run, find_later(TASK, data, out), out, options)


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


TASK = target_task(
    Encoding(
        learn=learn_state,
        encode=encode_samples,
        split_later=lambda config, cases: splits_named(cases),
        remarks=list_remarks,
    ),
    **VOLUMES.parts,
    **scan_parts(
        partial(discover, "multiway.tasks.scans.candidates.volumes", "volumes"),
        stored_intensities,
        ("volumes", "sizes"),
    ),
    needs="scans. Give a folder, a table or a file",
    state=VolumeState,
    page=page.PAGE,
    metrics=lambda config: METRICS,
    audit=audit_run,
    choose=None,  # the network answers: maps and tables of scans are of it alone
    outputs=compute_outputs,
    calibrate=calibrate_run,
    check_stored=check_stored,
    sentence=summarise,
    cell_facts=facts_of_cell,
    answer=answer_data,
    explain=explain_run,
)
