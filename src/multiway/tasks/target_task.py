"""Classes or numbers of samples of any kind: candidates compared on validation or out of folds, scored, answered."""

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.config import Plain
from multiway.data.samples import Prepared, Rows, Samples
from multiway.data.scaling import Scaler
from multiway.data.splitting import check_splits, folds
from multiway.errors import MultiwayError
from multiway.tasks import targets
from multiway.tasks.answers import Answer, join_own_columns, words_on_units, write_answer
from multiway.tasks.choice import Evidence, far_behind
from multiway.tasks.declarations import Encoding
from multiway.tasks.protocol import NETWORK, SPLITS, Context, State, Task, choose_by
from multiway.tasks.run import Models, Run
from multiway.tasks.sample_candidate import FOLDS, Lesson
from multiway.tasks.sample_task import arrange, find_later, sample_task
from multiway.tasks.scores import sentence_of
from multiway.training.processes import best_device, device_of

PREDICTED = 256
"""Samples that are predicted at once."""
FEW, MOST = 500, 5_000_000
"""Independent cases of validation below which models are fitted on folds too, and numbers of inputs up to which."""
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


def target_task(encoding: Encoding, **parts: Any) -> Task:
    """A task on samples with a class or a number each, whose state is a `SampleState`; see `sample_task`."""
    usual: Plain = {
        "choose": partial(choose_by, measure_targets),
        "refit": refit_answer,
        "prepare_compression": drop_refitted_network,
        "answer_line": answer_line,
        "outputs": compute_outputs,
        "predict": predict_targets,
        "sentence": summarise,
        "cell_facts": lambda runs: {"test_samples": runs[0].facts["splits"]["test"]["samples"]},
        "answer": answer_targets,
    }
    return sample_task(encoding, **{**usual, **parts})


def refit_answer(run: Run, prepared: Prepared[Any, Any], context: Context) -> None:
    """Refit what the answer is made of on all rows but those that the data themselves call test.

    What training learnt of the data, such as scales and levels, stays; so do scores, which are of the models before.
    """
    every, official = run.task.candidates(), prepared.raw.official or ()
    wanted = getattr(run.config, "refit", "none")  # configs of other packages need not have it
    names = [name for name in run.answer.shares if wanted == "all" or not every[name].by_steps]
    if wanted == "none" or not names:
        return
    known = np.sort(np.concatenate([prepared.rows(split) for split in SPLITS]))
    rows = np.array([row for row in known.tolist() if not official or official[row] != "test"])
    samples, learnt = prepared.encoded.take(rows), run.facts["learnt"]
    run.refits = Models(run.task, run.config, run.state, refitted=names)
    for name, model in run.refits.items():
        own = dataclasses.replace(context, model=f"refit-{name}")
        data = Lesson(every[name].inputs(run, samples), run, own, learnt.get(name, {}))
        every[name].refit(model, run.models[name], data)
        model.to("cpu").eval()
    run.facts["refitted"] = {"models": names, "rows": len(rows), "fitted": len(prepared.rows("train"))}


def drop_refitted_network(run: Run) -> None:
    """Leave the network of the training rows alone in a run: the smaller one takes its place."""
    run.refits = {name: model for name, model in run.refits.items() if name != NETWORK}
    if run.facts.get("refitted"):
        run.facts["refitted"] |= {"models": [*run.refits]}


def answer_line(run: Run) -> str:
    """Which model answers, why, and on how many rows it rests."""
    facts = run.facts.get("refitted")
    if not facts or not run.answer.shares.keys() & {*facts["models"]}:
        return run.answer.line()
    alone = "" if run.answer.shares.keys() <= {*facts["models"]} else "; the network saw the training rows alone"
    return (
        f"{run.answer.line()} Scored as fitted on {facts['fitted']:,} training rows, refitted on {facts['rows']:,} "
        f"to predict{alone}."
    )


def compute_outputs(run: Run, name: str, samples: Samples[Tensor]) -> NDArray[np.float64]:
    """Probabilities `(samples, classes)`, or numbers `(samples,)`; each depends on its sample alone."""
    classes = run.state.classes
    if not len(samples):
        return np.empty((0, *(() if classes is None else (len(classes),))))
    seen = run.task.candidates()[name].inputs(run, samples)
    return targets.decode_outputs(outputs_of(run.models[name], seen), run.state)


@torch.no_grad()
def compute_precisely(run: Run, name: str, samples: Samples[Tensor]) -> NDArray[np.float64]:
    """The same of samples of few numbers each, computed in float64 at once."""
    model = copy.deepcopy(run.models[name]).cpu().double().eval()
    return targets.decode_outputs(model(samples.inputs.double()), run.state)


@torch.no_grad()
def outputs_of(model: nn.Module, samples: Samples[Tensor], at_once: int = PREDICTED) -> Tensor:
    """What a model gives for every sample, in their order, in float64."""
    model.eval()
    with best_device(model):
        where = device_of(model)
        batches = (model(batch["inputs"].to(where)).cpu() for batch in samples.batches(at_once))
        return torch.cat(list(batches)).double()


def outputs_on(run: Run, prepared: Prepared[Any, Any], split: str) -> targets.Outputs:
    """Outputs of every model on a split."""

    def outputs() -> targets.Outputs:
        part = prepared.part(split)
        return {name: run.task.outputs(run, name, part) for name in run.models}

    return run.once(prepared, split, outputs)


def predict_targets(run: Run, prepared: Prepared[Any, Any], split: str) -> targets.Predictions:
    """Samples, with the probabilities or numbers of every candidate."""
    samples, outputs = prepared.without_inputs(split), outputs_on(run, prepared, split)
    return targets.Predictions(
        samples=samples.names,
        names=run.state.classes,
        truth=samples.truth,
        weights=samples.weights,
        groups=samples.groups,
        metrics=run.task.metrics(run.config),
        outputs=targets.recalibrate(run.calibration, {**outputs, run.answer.name: run.answer.mix(outputs)}),
        thresholds=targets.thresholds_of(run.calibration, run.candidates),
    )


def summarise(run: Run) -> str:
    """Two test scores."""
    return sentence_of(run, *(("mse", "mae") if run.state.classes is None else ("acc", "auc")))


def threshold_of(run: Run) -> float | None:
    """From which probability of the second of two classes on it is the answer; None, one half, where none is rare."""
    if getattr(run.state, "rare", None) is None:
        return None
    return targets.thresholds_of(run.calibration, [run.answer.name])[run.answer.name]


def name_samples(config: Any, source: object, samples: Samples[Any]) -> pd.DataFrame:
    """Names of samples, which stand before their answers."""
    return pd.DataFrame(dict(samples.names))


def answer_targets(
    run: Run,
    data: str | None,
    out: Path | None,
    options: Plain,
    *,
    own_columns: Callable[[Any, object, Samples[Any]], pd.DataFrame] = name_samples,
) -> Answer:
    """Every sample of some data with its class and probabilities, or its number.

    own_columns: Gives the columns that stand before the answers.
    """
    source = find_later(run.task, data, out)
    later = run.task.prepare(run.config, source, run.state, labelled=False)
    far = run.check_far(later.raw, later.raw.source, far=bool(options.get("far")))
    several, outputs = targets.has_several(run.state), answer_samples(run.for_prediction, later.encoded)
    answers = targets.answer_frame(outputs, run.state.classes, threshold_of(run), several=several)
    frame, notes = join_own_columns(own_columns(run.config, source, later.raw), answers)
    units = words_on_units({getattr(run.state, "target_name", ""): getattr(run.state, "target_sign", "")})
    return write_answer(frame, out, (*later.notes, *far, *notes, *units))


def answer_samples(run: Run, samples: Samples[Tensor]) -> NDArray[np.float64]:
    """Outputs of the model that answers for a run, or of the blend, as they were scored or as they are refitted."""
    return mix_answer(run, {name: run.task.outputs(run, name, samples) for name in run.answer.shares})


def mix_answer(run: Run, outputs: targets.Outputs) -> NDArray[np.float64]:
    """The answer by the outputs of its members, as validation recalibrated it."""
    answer = run.answer.name
    return targets.recalibrate(run.calibration, {answer: run.answer.mix(outputs)})[answer]


def measure_targets(run: Run, prepared: Prepared[Any, Any], *, refit: bool = True) -> Evidence:
    """Losses of every model on validation, or out of folds where that is small.

    A network is fitted on as many folds as it can be soon, and compared on these; where they are too few, on the
    validation samples. A candidate that falls far behind is fitted on no further fold.
    """
    held, weights = prepared.rows("validation"), prepared.encoded.weights
    names = names_that_may_answer(run)
    outputs = {name: finite(outputs_on(run, prepared, "validation")[name]) for name in names}
    evidence = losses_of_squares(run, prepared.without_inputs("validation"), outputs, _some(weights, held))
    groups = prepared.raw.groups
    cases = len(held) if groups is None else len({groups[row] for row in held.tolist()})
    counts = count_folds(run, prepared) if refit and cases < FEW else {}
    if not counts:
        return evidence
    known = np.sort(np.concatenate([prepared.rows("train"), held]))
    samples = prepared.raw.take(known)
    whole = {name: _spread(values, np.searchsorted(known, held), len(known)) for name, values in outputs.items()}
    whole |= {name: np.full_like(whole[name], np.nan) for name in counts}
    word = "folds" if samples.times is None else "rolling folds"
    partly = f"{counts[NETWORK]} {word}" if NETWORK in counts else "validation"
    done = np.zeros(0, np.int64)
    try:
        for fold, names in fit_folds(run, samples, counts, len(held) / len(known)):
            part, rows = fold.prepared.part("test"), fold.prepared.rows("test")
            for name in names:
                whole[name][rows] = finite(run.task.outputs(fold, name, part))
            done = np.append(done, rows)
            seen = {name: whole[name][done] for name in names}
            so_far = losses_of_squares(run, samples.take(done), seen, _some(weights, known[done]))
            counts |= dict.fromkeys(far_behind(so_far), 0)
    except MultiwayError as error:  # a fold of few samples may lack what a model needs
        run.facts["notes"] = [*run.facts["notes"], f"Validation alone chose the answer, as a fold failed: {error}"]
        return evidence
    named = {"measured": f"{FOLDS} {word}", "partly": partly}
    return losses_of_squares(run, samples, whole, _some(weights, known), **named)


def names_that_may_answer(run: Run) -> list[str]:
    """Models of a run but those that are not held to what its settings promise."""
    promised = getattr(run.config, "signs", lambda names: None)(())
    return [name for name in run.models if promised is None or run.task.candidates()[name].keeps_signs]


def count_folds(run: Run, prepared: Prepared[Any, Any]) -> dict[str, int]:
    """On how many folds each model can be fitted soon, those on none left out; by its work, not by a clock."""
    inputs = prepared.encoded.inputs
    if not hasattr(inputs, "numel") or inputs.numel() > MOST:
        return {}
    every = run.task.candidates()
    counts = {name: every[name].count_folds(run) for name in names_that_may_answer(run)}
    return {name: count for name, count in counts.items() if count}


def fit_folds(
    run: Run, samples: Samples[Any], counts: Mapping[str, int], validation: float
) -> Iterator[tuple[Run, list[str]]]:
    """Runs that were fitted as this one, each without a part of some samples, its test split; and their models."""
    task = run.task
    assert task.encoding is not None
    for number, splits in enumerate(folds(samples, FOLDS, validation, run.config.training.seed)):
        check_splits(samples, splits)
        part = arrange(task.encoding, run.config, samples, splits)
        models = Models(task, run.config, part.state)
        fold = Run(task=task, config=run.config, state=part.state, models=models, prepared=part)
        names = [name for name, count in counts.items() if number < count]
        for name in names:
            task.fit(fold, name, part, Context())
            models[name].to("cpu").eval()
        fold.models = {name: models[name] for name in names}
        yield fold, names


def finite(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Outputs of a model, all of them numbers."""
    return np.nan_to_num(outputs, nan=AWFUL, posinf=AWFUL, neginf=-AWFUL)


def losses_of_squares(
    run: Run,
    samples: Samples[Any],
    outputs: Mapping[str, NDArray[np.float64]],
    weights: NDArray[np.float64] | None = None,
    **more: Any,
) -> Evidence:
    """Brier scores of classes, squared errors of scaled numbers, over samples or over groups of them.

    weights: How much each sample counts; alike if not given.
    """
    roots = np.ones((len(samples), 1)) if weights is None else np.sqrt(weights / weights.mean())[:, None]
    state, units = run.state, None if samples.groups is None else np.array(samples.groups, dtype=str)
    is_rare = getattr(state, "rare", None) is not None
    of = {"units": units, "unit": samples.word if units is None else "groups", "is_rare": is_rare, **more}
    if state.classes is not None:
        shares = {name: roots * values for name, values in outputs.items()}
        truth = samples.truth if samples.has_several else np.eye(len(state.classes))[samples.truth]
        return Evidence.from_squares(shares, roots * truth, loss="Brier", **of)
    scaled = {name: roots * state.target.transform(values[:, None]) for name, values in outputs.items()}
    truth = roots * state.target.transform(samples.truth[:, None])
    return Evidence.from_squares(scaled, truth, loss="scaled MSE", **of)


def _some(weights: NDArray[np.float64] | None, rows: Rows) -> NDArray[np.float64] | None:
    """Weights of some samples."""
    return None if weights is None else weights[rows]


def _spread(values: NDArray[np.float64], places: Rows, count: int) -> NDArray[np.float64]:
    """Values at their places among so many; NaN elsewhere."""
    spread = np.full((count, *values.shape[1:]), np.nan)
    spread[places] = values
    return spread
