"""Classes or numbers of samples of any kind: fitted, chosen among, scored and answered."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.config import Plain
from multiway.data.samples import InputsT, Prepared, Samples
from multiway.data.scaling import Scaler
from multiway.models import target_baselines
from multiway.tasks import targets
from multiway.tasks.answers import Answer, beside_own, written
from multiway.tasks.choice import Evidence
from multiway.tasks.encoded_task import EncodedTask, SampleConfig
from multiway.tasks.evidence import evidence_of
from multiway.tasks.protocol import Fitted, Row, State
from multiway.tasks.run import Run
from multiway.tasks.scores import sentence_of
from multiway.training import Objective
from multiway.training.devices import best_device, device_of
from multiway.training.losses import TargetLoss
from multiway.training.validation import mean_loss

PREDICTED = 256
"""Samples that are predicted at once."""


class SampleState(State, Protocol):
    """What a loaded run needs to rebuild its models and to encode later samples."""

    @property
    def classes(self) -> Sequence[str] | None:
        """Names of the classes, in the order of the outputs; None where the target is a number."""

    @property
    def target(self) -> Scaler | None:
        """Scale of a target that is a number."""


ConfigT = TypeVar("ConfigT", bound=SampleConfig)
StateT = TypeVar("StateT", bound=SampleState)


class SampleTask(EncodedTask[ConfigT, InputsT, StateT], Generic[ConfigT, InputsT, StateT]):
    """Classes or numbers of samples, by a network on their encoded inputs; the state is a `SampleState`."""

    is_precise: ClassVar[bool] = False
    """Whether answers are computed in float64 at once, where samples are few numbers each."""

    def beside(self, config: ConfigT, source: object, samples: Samples[InputsT]) -> pd.DataFrame:
        """Columns that stand before the answers to some samples."""
        return pd.DataFrame(dict(samples.names))

    def objective(self, run: Run, training: Samples[Tensor]) -> Objective:
        """Cross-entropy of classes, the loss of the config of numbers."""
        return TargetLoss(run.config.training, run.state.classes, training.truth)

    def fit_baseline(
        self, model: nn.Module, run: Run, training: Samples[Tensor], validation: Samples[Tensor]
    ) -> Fitted:  # fmt: skip
        """By counting, a closed form, a convex solver or trees."""
        rows, held = (training.inputs, training.target_tensor), (validation.inputs, validation.target_tensor)
        return target_baselines.fit_baseline(model, *rows, *held, run.config.training.seed)

    def loss_of(self, run: Run, name: str, validation: Samples[Tensor]) -> float | None:
        """By its logits, one of which stands for two classes."""
        model, seen = targets.WholeLogits(run.models[name], run.state.classes), self.seen_by(run, name, validation)
        objective, score = self.validated_by(run, seen)
        return 1 - score(model) if score else mean_loss(model, objective or self.objective(run, seen), seen)

    def outputs(self, run: Run, name: str, samples: Samples[Tensor]) -> NDArray[np.float64]:
        """Probabilities `(samples, classes)`, or numbers `(samples,)`; each depends on its sample alone."""
        classes = run.state.classes
        if self.is_precise:
            return precise_outputs(run.models[name], samples.inputs, run.state.target)
        if not len(samples):
            return np.empty((0, *(() if classes is None else (len(classes),))))
        return targets.decoded(outputs_of(run.models[name], self.seen_by(run, name, samples)), run.state.target)

    def outputs_on(self, run: Run, prepared: Prepared[InputsT, StateT], split: str) -> targets.Outputs:
        """Those of every model on a split."""

        def outputs() -> targets.Outputs:
            part = prepared.part(split)
            return {name: self.outputs(run, name, part) for name in run.models}

        return run.once(prepared, split, outputs)

    def evidence(self, run: Run, prepared: Prepared[InputsT, StateT], *, refit: bool = True) -> Evidence | None:
        """Brier scores of classes, squared errors of numbers."""
        return evidence_of(self, run, prepared, refit=refit)

    def refits(self, run: Run) -> bool:
        """Whether the network can be fitted anew on other samples."""
        return True

    def threshold(self, run: Run) -> float | None:
        """From which probability of the second of two classes on it is the answer; one half where none was chosen."""
        return None

    def predict(self, run: Run, prepared: Prepared[InputsT, StateT], split: str) -> targets.Predictions:
        """Samples, with the probabilities or numbers of every candidate."""
        samples, outputs = prepared.named(split), self.outputs_on(run, prepared, split)
        return targets.Predictions(
            samples=samples.names, names=run.state.classes, truth=samples.truth, groups=samples.groups,
            metrics=self.scored,
            outputs={**outputs, run.answer.name: run.answer.mixed(outputs)},
            thresholds=targets.thresholds_of(run.calibration, run.candidates),
        )  # fmt: skip

    def sentence(self, run: Run) -> str:
        """Two test scores."""
        return sentence_of(run, *(("mse", "mae") if run.state.classes is None else ("acc", "auc")))

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """How many test samples there are."""
        return {"test_samples": runs[0].facts["splits"]["test"]["samples"]}

    def answer(self, run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
        """Every sample of some data with its class and probabilities, or its number."""
        source = self.later(data, out)
        later = self.unlabelled(run.config, source, run.state)
        far = run.guarded(later.raw, later.raw.source, far=bool(options.get("far")))
        answers = targets.answer_frame(answered(run, later.encoded), run.state.classes, self.threshold(run))
        frame, notes = beside_own(self.beside(run.config, source, later.raw), answers)
        return written(frame, out, (*later.notes, *far, *notes))


def answered(run: Run, samples: Samples[Tensor]) -> NDArray[np.float64]:
    """Outputs of the model that answers for a run, or of the blend."""
    task = cast(SampleTask[Any, Any, Any], run.task)
    return run.answer.mixed({name: task.outputs(run, name, samples) for name in run.answer.shares})


@torch.no_grad()
def outputs_of(model: nn.Module, samples: Samples[Tensor], at_once: int = PREDICTED) -> Tensor:
    """What a model gives for every sample, in their order, in float64."""
    model.eval()
    with best_device(model):
        where = device_of(model)
        batches = (model(batch["inputs"].to(where)).cpu() for batch in samples.batches(at_once))
        return torch.cat(list(batches)).double()


@torch.no_grad()
def precise_outputs(model: nn.Module, inputs: Tensor, scaler: Scaler | None) -> NDArray[np.float64]:
    """What a model gives for small inputs, computed in float64 at once; probabilities, or numbers in their units."""
    return targets.decoded(copy.deepcopy(model).cpu().double().eval()(inputs.double()), scaler)
