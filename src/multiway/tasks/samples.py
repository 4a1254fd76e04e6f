"""Classes or numbers of samples of any kind: fitted, chosen among on validation or out of folds, scored, answered."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.config import Plain
from multiway.data.samples import InputsT, Prepared, Rows, Samples
from multiway.data.scaling import Scaler
from multiway.data.splitting import check_splits, folds
from multiway.errors import MultiwayError
from multiway.models import target_baselines
from multiway.tasks import targets
from multiway.tasks.answers import Answer, join_own_columns, write_answer
from multiway.tasks.choice import Evidence
from multiway.tasks.encoded_task import EncodedTask
from multiway.tasks.options import RunConfig
from multiway.tasks.protocol import NETWORK, Context, Fitted, Row, State
from multiway.tasks.run import Models, Run
from multiway.tasks.scores import sentence_of
from multiway.training import Objective
from multiway.training.losses import TargetLoss
from multiway.training.processes import best_device, device_of
from multiway.training.validation import mean_loss

PREDICTED = 256
"""Samples that are predicted at once."""
FEW, FOLDS, LEAST = 500, 5, 2
"""Independent cases of validation below which models are fitted on folds too; the folds, and those of a network."""
MOST, STEPS, WORK = 5_000_000, 1_500, 5e10
"""Numbers of inputs up to which a fit counts as cheap; of a network, steps on all folds, and operations in them."""
AWFUL = 1e30
"""In place of an output that is no number."""


class SampleState(State, Protocol):
    """What a loaded run needs to rebuild its models and to encode later samples."""

    @property
    def classes(self) -> Sequence[str] | None:
        """Names of the classes, in the order of the outputs; None where the target is a number."""

    @property
    def target(self) -> Scaler | None:
        """Scale of a target that is a number."""


ConfigT = TypeVar("ConfigT", bound=RunConfig)
StateT = TypeVar("StateT", bound=SampleState)


class SampleTask(EncodedTask[ConfigT, InputsT, StateT], Generic[ConfigT, InputsT, StateT]):
    """Classes or numbers of samples, by a network on their encoded inputs; the state is a `SampleState`."""

    is_precise: bool = False
    """Whether answers are computed in float64 at once, where samples are few numbers each."""

    def own_columns(self, config: ConfigT, source: object, samples: Samples[InputsT]) -> pd.DataFrame:
        """Columns that stand before the answers to some samples."""
        return pd.DataFrame(dict(samples.names))

    def objective(self, run: Run, training: Samples[Tensor]) -> Objective:
        """Cross-entropy of classes, the loss of the config of numbers."""
        return TargetLoss(run.config.training, run.state.classes, training.truth)

    def fit_baseline(
        self, model: nn.Module, run: Run, training: Samples[Tensor], validation: Samples[Tensor]
    ) -> Fitted:
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
        return targets.decode_outputs(outputs_of(run.models[name], self.seen_by(run, name, samples)), run.state.target)

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
            samples=samples.names,
            names=run.state.classes,
            truth=samples.truth,
            groups=samples.groups,
            metrics=self.scored,
            outputs={**outputs, run.answer.name: run.answer.mixed(outputs)},
            thresholds=targets.thresholds_of(run.calibration, run.candidates),
        )

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
        answers = targets.answer_frame(answer_samples(run, later.encoded), run.state.classes, self.threshold(run))
        frame, notes = join_own_columns(self.own_columns(run.config, source, later.raw), answers)
        return write_answer(frame, out, (*later.notes, *far, *notes))


def answer_samples(run: Run, samples: Samples[Tensor]) -> NDArray[np.float64]:
    """Outputs of the model that answers for a run, or of the blend."""
    task = cast(AnySampleTask, run.task)
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
    return targets.decode_outputs(copy.deepcopy(model).cpu().double().eval()(inputs.double()), scaler)


AnySampleTask = SampleTask[Any, Any, Any]


def evidence_of(task: AnySampleTask, run: Run, prepared: Prepared[Any, Any], *, refit: bool) -> Evidence:
    """Losses of every model on validation, or out of folds where that is small.

    A network is fitted on as many folds as it can be soon, and compared on these; where they are too few, on the
    validation samples.
    """
    held = prepared.rows("validation")
    outputs = {name: finite(values) for name, values in task.outputs_on(run, prepared, "validation").items()}
    evidence = losses_of_squares(run, prepared.named("validation"), outputs)
    counts = fold_counts(task, run, prepared) if refit and _is_small(prepared.raw, held) else {}
    if not counts:
        return evidence
    known = np.sort(np.concatenate([prepared.rows("train"), held]))
    samples = prepared.raw.take(known)
    whole = {name: _spread(values, np.searchsorted(known, held), len(known)) for name, values in outputs.items()}
    whole |= {name: np.full_like(whole[name], np.nan) for name in counts}
    try:
        for fold, names in fit_folds(task, run, samples, counts, len(held) / len(known)):
            for name in names:
                whole[name][fold.prepared.rows("test")] = finite(task.outputs(fold, name, fold.prepared.part("test")))
    except MultiwayError as error:  # a fold of few samples may lack what a model needs
        run.facts["notes"] = [*run.facts["notes"], f"Validation alone chose the answer, as a fold failed: {error}"]
        return evidence
    word = "folds" if samples.times is None else "rolling folds"
    partly = f"{counts[NETWORK]} {word}" if NETWORK in counts else "validation"
    return losses_of_squares(run, samples, whole, measured=f"{FOLDS} {word}", partly=partly)


def finite(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Outputs of a model, all of them numbers."""
    return np.nan_to_num(outputs, nan=AWFUL, posinf=AWFUL, neginf=-AWFUL)


def losses_of_squares(
    run: Run, samples: Samples[Any], outputs: Mapping[str, NDArray[np.float64]], **more: Any
) -> Evidence:
    """Brier scores of classes, squared errors of scaled numbers, over samples or over groups of them."""
    state, units = run.state, None if samples.groups is None else np.array(samples.groups, dtype=str)
    is_rare = getattr(state, "rare", None) is not None
    of = {"units": units, "unit": samples.word if units is None else "groups", "is_rare": is_rare, **more}
    if state.classes is not None:
        return Evidence.from_squares(outputs, np.eye(len(state.classes))[samples.truth], loss="Brier", **of)
    scaled = {name: state.target.transform(values[:, None]) for name, values in outputs.items()}
    return Evidence.from_squares(scaled, state.target.transform(samples.truth[:, None]), loss="scaled MSE", **of)


def fold_counts(task: AnySampleTask, run: Run, prepared: Prepared[Any, Any]) -> dict[str, int]:
    """On how many folds each model can be fitted soon, those on none left out; by its work, not by a clock."""
    inputs = prepared.encoded.inputs
    if not isinstance(inputs, Tensor) or inputs.numel() > MOST:
        return {}
    counts = {name: FOLDS for name in run.models if name not in task.by_steps}
    networks = _quick_folds(run) if task.refits(run) else 0
    return counts | ({NETWORK: networks} if networks >= LEAST else {})


def _quick_folds(run: Run) -> int:
    """Folds that the network can be fitted on, by steps and operations of its training; none if it is far behind."""
    best, flops = run.facts["best"][NETWORK], run.facts["flops"]
    if flops is None or best["stopped"]:
        return 0
    steps = best["steps"]
    work = 3 * steps * run.config.training.batch_size * flops
    return int(min(FOLDS, STEPS // max(steps, 1), WORK // max(work, 1)))


def fit_folds(
    task: AnySampleTask, run: Run, samples: Samples[Any], counts: Mapping[str, int], validation: float
) -> Iterator[tuple[Run, list[str]]]:
    """Runs that were fitted as this one, each without a part of some samples, its test split; and their models."""
    for number, splits in enumerate(folds(samples, FOLDS, validation, run.config.training.seed)):
        check_splits(samples, splits)
        part = task.arranged(run.config, samples, splits)
        models = Models(run.task, run.config, part.state)
        fold = Run(task=run.task, config=run.config, state=part.state, models=models, prepared=part)
        names = [name for name, count in counts.items() if number < count]
        for name in names:
            task.fit(fold, name, part, Context())
            models[name].to("cpu").eval()
        fold.models = {name: models[name] for name in names}
        yield fold, names


def _is_small(samples: Samples[Any], held: Rows) -> bool:
    groups = None if samples.groups is None else {samples.groups[row] for row in held.tolist()}
    return len(held if groups is None else groups) < FEW


def _spread(values: NDArray[np.float64], places: Rows, count: int) -> NDArray[np.float64]:
    """Values at their places among so many; NaN elsewhere."""
    spread = np.full((count, *values.shape[1:]), np.nan)
    spread[places] = values
    return spread
