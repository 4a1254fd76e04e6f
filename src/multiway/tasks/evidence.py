"""Losses of the models of samples that choose the answer: on validation, and of few samples out of folds."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.samples import Prepared, Rows, Samples
from multiway.data.splitting import Splits, check_splits, folds
from multiway.errors import MultiwayError
from multiway.tasks.choice import Evidence
from multiway.tasks.protocol import NETWORK, Context, Fitted
from multiway.tasks.run import Models, Run

FEW, FOLDS, LEAST = 500, 5, 2
"""Independent cases of validation below which models are fitted on folds too; the folds, and those of a network."""
MOST, STEPS, WORK = 5_000_000, 1_500, 5e10
"""Numbers of inputs up to which a fit counts as cheap; of a network, steps on all folds, and operations in them."""
AWFUL = 1e30
"""In place of an output that is no number."""


class Fitting(Protocol):
    """What fits models of samples and asks them: a `SampleTask`."""

    by_steps: ClassVar[tuple[str, ...]]

    def arranged(self, config: Any, samples: Samples[Any], splits: Splits) -> Prepared[Any, Any]:
        """Samples encoded by what the training ones among them say."""

    def fit(self, run: Run, name: str, prepared: Any, context: Context) -> Fitted:
        """Fit a model of the run."""

    def outputs_on(self, run: Run, prepared: Any, split: str) -> Mapping[str, NDArray[np.float64]]:
        """Probabilities of classes, or numbers, of every model on a split."""

    def outputs(self, run: Run, name: str, samples: Samples[Any]) -> NDArray[np.float64]:
        """Those of one model on some samples."""

    def refits(self, run: Run) -> bool:
        """Whether the network can be fitted anew on other samples."""


def evidence_of(task: Fitting, run: Run, prepared: Prepared[Any, Any], *, refit: bool) -> Evidence:
    """Losses of every model on validation, or out of folds where that is small.

    A network is fitted on as many folds as it can be soon, and compared on these; where they are too few, on the
    validation samples.
    """
    held = prepared.rows("validation")
    outputs = {name: finite(values) for name, values in task.outputs_on(run, prepared, "validation").items()}
    evidence = squared_losses(run, prepared.named("validation"), outputs)
    counts = fold_counts(task, run, prepared) if refit and _is_small(prepared.raw, held) else {}
    if not counts:
        return evidence
    known = np.sort(np.concatenate([prepared.rows("train"), held]))
    samples = prepared.raw.take(known)
    whole = {name: _spread(values, np.searchsorted(known, held), len(known)) for name, values in outputs.items()}
    whole |= {name: np.full_like(whole[name], np.nan) for name in counts}
    try:
        for fold, names in fitted_folds(task, run, samples, counts, len(held) / len(known)):
            for name in names:
                whole[name][fold.prepared.rows("test")] = finite(task.outputs(fold, name, fold.prepared.part("test")))
    except MultiwayError as error:  # a fold of few samples may lack what a model needs
        run.facts["notes"] = [*run.facts["notes"], f"Validation alone chose the answer, as a fold failed: {error}"]
        return evidence
    word = "folds" if samples.times is None else "rolling folds"
    partly = f"{counts[NETWORK]} {word}" if NETWORK in counts else "validation"
    return squared_losses(run, samples, whole, measured=f"{FOLDS} {word}", partly=partly)


def finite(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Outputs of a model, all of them numbers."""
    return np.nan_to_num(outputs, nan=AWFUL, posinf=AWFUL, neginf=-AWFUL)


def squared_losses(
    run: Run, samples: Samples[Any], outputs: Mapping[str, NDArray[np.float64]], **more: Any
) -> Evidence:
    """Brier scores of classes, squared errors of scaled numbers, over samples or over groups of them."""
    state, units = run.state, None if samples.groups is None else np.array(samples.groups, dtype=str)
    is_rare = getattr(state, "rare", None) is not None
    of = {"units": units, "unit": samples.word if units is None else "groups", "is_rare": is_rare, **more}
    if state.classes is not None:
        return Evidence.squared(outputs, np.eye(len(state.classes))[samples.truth], loss="Brier", **of)
    scaled = {name: state.target.transform(values[:, None]) for name, values in outputs.items()}
    return Evidence.squared(scaled, state.target.transform(samples.truth[:, None]), loss="scaled MSE", **of)


def fold_counts(task: Fitting, run: Run, prepared: Prepared[Any, Any]) -> dict[str, int]:
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


def fitted_folds(
    task: Fitting, run: Run, samples: Samples[Any], counts: Mapping[str, int], validation: float
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
