"""The task `volumes`."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from multiway.auditing import AuditReport
from multiway.auditing.scans import ScanImages, scan_title, torn_cases
from multiway.config import Plain
from multiway.data import CheckReport
from multiway.data.sources.scans.cases import Arrays, Cases
from multiway.data.sources.scans.checking import check_volumes, looks_like_volumes
from multiway.data.sources.scans.encoding import IntensityScale
from multiway.data.sources.scans.loading import Source
from multiway.data.sources.scans.volume import Array
from multiway.data.sources.tables import pair_of
from multiway.models.baselines import Majority, PooledLogistic
from multiway.tasks.answers import Answer
from multiway.tasks.protocol import OURS, Metric, Option, Row
from multiway.tasks.run import Run
from multiway.tasks.split_task import SplitTask
from multiway.tasks.targets import thresholds_of, youden_thresholds
from multiway.tasks.volumes import page
from multiway.tasks.volumes.config import NETWORKS, SCANS, VolumeConfig, VolumeFacts
from multiway.tasks.volumes.encode import (
    PreparedVolumes,
    VolumeBatches,
    VolumeState,
    no_labels,
    prepare_later,
    prepare_volumes,
)
from multiway.tasks.volumes.explain import interesting, named_cases, reload_cases, write_explanations
from multiway.tasks.volumes.network import VolumeLoss, auc_of, build_model, fit_pooled
from multiway.tasks.volumes.predict import VolumePredictions, predict_scans, predict_split
from multiway.training import Objective, TrainingConfig
from multiway.training.losses import class_weights
from multiway.training.memory import settled

EXPLAINED = 4
"""Test cases that are explained if none is named: the most confident errors first."""
METRICS = (
    Metric(name="auc", title="AUC", spread=True),
    Metric(name="acc", title="ACC", spread=True),
    Metric(name="balanced_accuracy", title="Balanced accuracy"),
    Metric(name="sensitivity", title="Sensitivity"),
    Metric(name="specificity", title="Specificity"),
    Metric(name="ece", title="ECE", higher=False),
)


class Volumes(SplitTask[VolumeConfig, PreparedVolumes, VolumeState, VolumeBatches]):
    """Classes of scans."""

    name = "volumes"
    page = page.PAGE
    config = VolumeConfig
    state = VolumeState
    facts = VolumeFacts
    needs = "scans. Give a folder, a table or a file"
    scored = METRICS
    told = ("auc", "acc")
    sampled = 8
    by_steps = (OURS, *NETWORKS)
    options = (
        Option(name="label", field="read.label", help="Column of the class of each scan."),
        *SCANS,
        Option(
            name="maps", commands=("predict",), help="Folder for maps of what the model looked at, per scan."
        ),
    )  # fmt: skip

    def recognises(self, source: object) -> bool:
        """Arrays, scans, and tables of them."""
        if isinstance(source, str | Path):
            return looks_like_volumes(source)
        x, y = pair_of(source)
        return np.ndim(x) > 3 and np.ndim(y) < 3

    def prepare(
        self, config: VolumeConfig, source: object, state: VolumeState | None = None, *, progress: bool = False
    ) -> PreparedVolumes:
        """A source is a path, arrays in memory, or cases."""
        if state is None:
            return prepare_volumes(cast(Source, source), config.read, config.split)
        return prepare_later(cast(Source, source), config.read, state)

    def check(self, config: VolumeConfig, source: object) -> CheckReport:
        """What is in a set of scans, in an array, or in a pair of volumes and classes."""
        if not isinstance(source, str | Path):
            x, y = pair_of(source)
            source = Arrays(x=x, y=y)
        return check_volumes(source, config.read, config.split)

    def audit(self, config: VolumeConfig, run: Run | None = None) -> AuditReport:
        """Whether scans or patients are in two splits, labels contradict, and scaling or the grid tells the class."""
        source = self.locate(config.data or "")
        torn = torn_cases(source, config.read)
        if torn is not None:
            return _audited(torn, (torn.prepared(index).values for index in range(torn.count)), None)
        prepared = self.prepare(config, source)
        return _audited(prepared.cases, prepared.values, prepared.scale if run is None else run.state.scale)

    def learn(self, config: VolumeConfig, prepared: PreparedVolumes) -> VolumeState:
        """Classes and sizes of the cases."""
        return prepared.state

    def settle(self, config: VolumeConfig, state: VolumeState, *, progress: bool = False) -> VolumeConfig:
        """Batches that fit into memory, where none were asked for."""
        names = [name for name in self.names(config, state) if name in self.by_steps]
        shape = (state.channels, *state.sizes)
        return settled(
            config, lambda: [self.build(config, state, name) for name in names], shape, "volumes", progress=progress
        )

    def build(self, config: VolumeConfig, state: VolumeState, name: str) -> nn.Module:
        """A classifier."""
        return build_model(config, state, name)

    def objective(self, run: Run, training: VolumeBatches) -> Objective:
        """Cross-entropy, of volumes that are changed at random."""
        return self.objective_of(run, OURS, training)

    def objective_of(self, run: Run, name: str, training: VolumeBatches) -> Objective:
        """The same under the model's own training."""
        how = self.training_of(run.config, name)
        return VolumeLoss(run.config, class_weights(training.labels, len(run.state.classes), how), how.label_smoothing)

    def training_of(self, config: VolumeConfig, name: str) -> TrainingConfig:
        """Networks among the baselines may be trained otherwise."""
        return config.training if name == OURS else config.network_training

    def validated_by(self, run: Run, validation: VolumeBatches) -> tuple[None, Callable[[nn.Module], float] | None]:
        """AUC, where validation has every class."""
        return None, auc_of(validation, len(run.state.classes), run.config)

    def fit_baseline(self, run: Run, name: str, training: VolumeBatches, validation: VolumeBatches) -> Plain | None:
        """Count classes, or fit a logistic regression on means of blocks."""
        model = run.models[name]
        if isinstance(model, PooledLogistic):
            return fit_pooled(model, training, validation, run.config)
        cast(Majority, model).fit(torch.from_numpy(training.labels))
        return None

    def calibrate(self, run: Run, prepared: PreparedVolumes) -> dict[str, Tensor]:
        """Thresholds of the second of two classes, by model."""
        predictions = self.predict(run, prepared, "validation")
        return youden_thresholds(predictions.truth, predictions.outputs)

    def check_stored(self, run: Run) -> None:
        """Thresholds are numbers.

        Raises:
            RuntimeError: One is none.
        """
        thresholds_of(run.calibration, list(run.models))

    def predict(self, run: Run, prepared: PreparedVolumes, split: str) -> VolumePredictions:
        """Probabilities of every model."""
        return predict_split(run, prepared, split)

    def describe(self, run: Run, prepared: PreparedVolumes) -> Plain:
        """How many cases there are, and patients and classes in each split."""
        return {"cases": prepared.cases.count, **super().describe(run, prepared)}

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """How many test cases there are."""
        return {"test_cases": runs[0].facts["splits"]["test"]["cases"]}

    def answer(self, run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
        """The class of every scan."""
        return predict_scans(run, self.later(data, out), out, options)

    def explain(self, run: Run, out: Path | None, options: Plain) -> Answer:
        """Maps of some test cases, or of the named ones."""
        cases, names = reload_cases(run), options.get("cases")
        chosen = named_cases(cases, names) if names else [index for _, index in interesting(run, cases)][:EXPLAINED]
        return write_explanations(run, cases, chosen, run.explanation(out))


def _audited(cases: Cases, volumes: Iterable[Array], scale: IntensityScale | None) -> AuditReport:
    if cases.labels is None:
        raise no_labels(cases)
    images = ScanImages(cases.names, cases.patients, cases.splits, "volume")
    for values, label in zip(volumes, cases.labels, strict=True):
        images.add(values, cases.classes[label])
    verdicts = images.verdicts(cases, scale, cases.options, images.labels)
    return AuditReport.of(scan_title(cases.source, cases.splits), verdicts)


TASK = Volumes()
