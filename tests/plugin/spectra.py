"""A task of one's own: classes of spectra, each a line of a `.spectra` file: its class, then its values."""

from pathlib import Path

import numpy as np
import torch

from multiway.auditing.duplicates import sample_digest
from multiway.auditing.samples import check_copies, report_on_samples
from multiway.config import Config
from multiway.data.findings import Place
from multiway.data.options import Budget, SplitShares
from multiway.data.samples import Samples
from multiway.data.scaling import Scaler
from multiway.data.targets import classes_of
from multiway.errors import DataError
from multiway.tasks import pages, targets
from multiway.tasks.declarations import Encoding
from multiway.tasks.kind import SampleKind
from multiway.tasks.options import NetworkConfig
from multiway.tasks.sample_candidate import Logistic, Majority, TargetNetwork
from multiway.tasks.target_page import class_page
from multiway.tasks.target_task import target_task
from multiway.training import TrainingConfig


class SpectraConfig(NetworkConfig):
    NETWORK, BY_DATA = "tabular_mlp", {"in_features": 1, "num_outputs": 2}

    read: Budget = Budget()
    split: SplitShares = SplitShares()
    baselines: tuple[str, ...] = ("majority", "logistic")
    training: TrainingConfig = TrainingConfig(loss="cross_entropy", epochs=20)


class SpectraState(Config):
    classes: tuple[str, ...]
    scaler: Scaler
    target: None = None

    @property
    def num_inputs(self):
        return len(self.scaler.mean)

    def encode(self, samples):
        values = self.scaler.transform(samples.inputs)
        return samples.with_inputs(torch.from_numpy(values.astype(np.float32)))


def read_spectra(config, source, findings, state=None, *, has_target=True):
    try:
        labels, *values = zip(*(line.split() for line in Path(source).read_text().splitlines()), strict=True)
        inputs = np.array(values, dtype=float).T
    except ValueError:
        raise DataError(f"{source}: a line is a class and as many numbers as the lines above it.") from None
    if state is not None and inputs.shape[1] != state.num_inputs:
        raise DataError(f"{source}: training had {state.num_inputs} numbers a line, not {inputs.shape[1]}.")
    lacking = [Place(row=row + 1) for row in np.flatnonzero(~np.isfinite(inputs).all(1))]
    if lacking:
        findings.add("missing", "error", "a spectrum lacks a value", "Leave it out.", lacking)
    classes = state.classes if state else classes_of(labels, source, "spectra")
    target = np.array([classes.index(label) for label in labels]) if has_target else None
    names = {"spectrum": [f"line {number}" for number in range(1, len(inputs) + 1)]}
    return Samples(inputs=inputs, source=str(source), word="spectra", names=names, target=target, classes=classes)


def learn_spectra(config, samples, train):
    return SpectraState(classes=samples.classes, scaler=Scaler.fit(samples.inputs[train]))


class SpectraNetwork(TargetNetwork):
    def build(self, basis):
        return basis.config.network(in_features=basis.state.num_inputs, num_outputs=len(basis.state.classes))


def audit_spectra(config, run=None):
    prepared = TASK.prepare(config, TASK.locate(config.data))
    digests = [sample_digest(values) for values in prepared.raw.inputs]
    return report_on_samples(prepared, check_copies(prepared, digests, "spectra"), "spectra")


SUBJECT = pages.Subject(
    kicker="Report on spectra",
    rows="spectra",
    interval="over spectra (bootstrap)",
    setting=lambda run: {"Classes": str(len(run.state.classes))},
)
CANDIDATES = {each.name: each for each in (Majority(), Logistic(), SpectraNetwork())}
TASK = target_task(
    Encoding(learn=learn_spectra),
    name="spectra",
    purpose="Classes of spectra.",
    example="--data some.spectra",
    needs="spectra",
    config=SpectraConfig,
    state=SpectraState,
    candidates=lambda: CANDIDATES,
    page=class_page(SUBJECT),
    metrics=lambda config: targets.CLASSES,
    kind=SampleKind(recognises=lambda source: str(source).endswith(".spectra"), read=read_spectra),
    audit=audit_spectra,
)
