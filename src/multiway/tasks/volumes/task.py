"""The task `volumes`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor, nn

from multiway.auditing import AuditReport
from multiway.data import CheckReport
from multiway.data.loading import pair_of
from multiway.data.volumes import (
    Arrays,
    Cases,
    PreparedVolumes,
    VolumeState,
    check_volumes,
    looks_like_volumes,
    prepare_later,
    prepare_volumes,
)
from multiway.tasks.answers import Answer
from multiway.tasks.classes import thresholds_of, youden_thresholds
from multiway.tasks.protocol import OURS, SPLITS, Context, Metric, Option, Row, Task
from multiway.tasks.run import Run
from multiway.tasks.scores import sentence_of
from multiway.tasks.volumes import auditing, sections
from multiway.tasks.volumes.config import NETWORKS, VolumeConfig
from multiway.tasks.volumes.evaluation import Scored, predict_split, score_rows, some_volumes, table_of
from multiway.tasks.volumes.explanation import named_cases, write_explanations
from multiway.tasks.volumes.facts import VolumeFacts
from multiway.tasks.volumes.fitting import build_model, fit_model
from multiway.tasks.volumes.options import SCANS
from multiway.tasks.volumes.prediction import predict_scans
from multiway.tasks.volumes.reload import interesting, reload_cases
from multiway.training import History
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


class Volumes(Task[VolumeConfig, PreparedVolumes, VolumeState]):
    """Classes of scans."""

    name = "volumes"
    page = sections
    config = VolumeConfig
    state = VolumeState
    facts = VolumeFacts
    sections_of_reading = ("read", "split")
    options = (
        Option(name="label", field="read.label", help="Column of the class of each scan."),
        *SCANS,
        Option(
            name="maps", commands=("predict",), help="Folder for maps of what the model looked at, per scan."
        ),
    )  # fmt: skip

    def recognises(self, source: Any) -> bool:
        """Arrays, scans, and tables of them."""
        if isinstance(source, str | Path):
            return looks_like_volumes(source)
        x, y = pair_of(source)
        return np.ndim(x) > 3 and np.ndim(y) < 3

    def prepare(
        self, config: VolumeConfig, source: Any, state: VolumeState | None = None, *, progress: bool = False
    ) -> PreparedVolumes:
        """A source is a path, cases, or cases and the kind of their labels."""
        cases, kind = source if isinstance(source, tuple) else (source, "text")
        if state is None:
            return prepare_volumes(cases, config.read, config.split, kind)
        return prepare_later(cases, config.read, state)

    def check(self, config: VolumeConfig, source: Any) -> CheckReport:
        """What is in a set of scans, in an array, or in a pair of volumes and classes."""
        if not isinstance(source, str | Path):
            x, y = pair_of(source)
            source = Arrays(x=x, y=y)
        return check_volumes(source, config.read, config.split)

    def audit(self, config: VolumeConfig, run: Run | None = None) -> AuditReport:
        """See `multiway.tasks.volumes.auditing`."""
        return auditing.audit(config, run)

    def learn(self, config: VolumeConfig, prepared: PreparedVolumes) -> VolumeState:
        """Classes and sizes of the cases."""
        return VolumeState(
            classes=prepared.cases.classes, channels=int(prepared.values.shape[1]), scale=prepared.scale,
            sizes=tuple(prepared.values.shape[2:]), axes=prepared.cases.axes, label_kind=prepared.label_kind,
            spacings=prepared.spacings,
        )  # fmt: skip

    def settle(self, config: VolumeConfig, state: VolumeState, *, progress: bool = False) -> VolumeConfig:
        """Batches that fit into memory, where none were asked for."""
        names = [name for name in self.names(config, state) if name in (OURS, *NETWORKS)]
        shape = (state.channels, *state.sizes)
        return settled(
            config, lambda: [self.build(config, state, name) for name in names], shape, "volumes", progress=progress
        )

    def names(self, config: VolumeConfig, state: VolumeState) -> tuple[str, ...]:
        """The network and the baselines of the config."""
        return (OURS, *config.baselines)

    def build(self, config: VolumeConfig, state: VolumeState, name: str) -> nn.Module:
        """A classifier."""
        return build_model(config, state, name)

    def fit(self, run: Run, name: str, prepared: PreparedVolumes, context: Context) -> History | dict[str, Any] | None:
        """See `multiway.tasks.volumes.fitting`."""
        return fit_model(run, name, prepared, context)

    def calibrate(self, run: Run, prepared: PreparedVolumes) -> dict[str, Tensor]:
        """Thresholds of the second of two classes, by model."""
        scored = self.predict(run, prepared, "validation")
        return youden_thresholds(scored.labels, scored.probabilities)

    def check_stored(self, run: Run) -> None:
        """Thresholds are numbers.

        Raises:
            RuntimeError: One is none.
        """
        thresholds_of(run.calibration, list(run.models))

    def predict(self, run: Run, prepared: PreparedVolumes, split: str) -> Scored:
        """Probabilities of every model."""
        return predict_split(run, prepared, split)

    def score(self, run: Run, predictions: Scored, split: str) -> list[Row]:
        """MedMNIST's AUC and ACC, and more."""
        return score_rows(run, predictions, split)

    def tables(self, run: Run, predictions: Scored, split: str) -> dict[str, pd.DataFrame]:
        """Predictions case by case."""
        return {"predictions": table_of(run, predictions, split)}

    def describe(self, run: Run, prepared: PreparedVolumes) -> dict[str, Any]:
        """How many cases, patients and classes are in each split."""
        cases = prepared.cases
        return {"cases": cases.count, "splits": {split: _split_facts(cases, split) for split in SPLITS}}

    def metrics(self, config: VolumeConfig) -> tuple[Metric, ...]:
        """AUC decides."""
        return METRICS

    def sentence(self, run: Run) -> str:
        """Test AUC and ACC."""
        return sentence_of(run, "auc", "acc")

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """How many test cases there are."""
        return {"test_cases": runs[0].facts["splits"]["test"]["cases"]}

    def answer(self, run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
        """The class of every scan."""
        return predict_scans(run, data, out, options)

    def explain(self, run: Run, out: Path | None, options: dict[str, Any]) -> Answer:
        """Maps of some test cases, or of the named ones."""
        cases, names = reload_cases(run), options.get("cases")
        chosen = named_cases(cases, names) if names else [place for _, place in interesting(run, cases)][:EXPLAINED]
        return write_explanations(run, cases, chosen, run.explanation(out))

    def sample(self, run: Run, prepared: PreparedVolumes) -> tuple[Tensor | None, ...]:
        """Some validation volumes."""
        return (some_volumes(prepared.batches("validation")),)


def _split_facts(cases: Cases, split: str) -> Row:
    rows = cases.indices(split)
    patients = None if cases.patients is None else len({cases.patients[row] for row in rows})
    return {"cases": len(rows), "patients": patients, "classes": cases.class_counts()[split]}


TASK = Volumes()
