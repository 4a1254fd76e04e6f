"""The task `tabular`, classes or numbers of the rows of a table, and its config."""

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.auditing import AuditReport
from multiway.auditing.tables import audit_table
from multiway.config import Plain
from multiway.data.findings import list_some, quote
from multiway.data.looking import read_frame
from multiway.data.matching import Far, far_columns
from multiway.data.samples import Cells, Prepared, Rows, Samples, Splits
from multiway.errors import ConfigError, closest
from multiway.metrics.classes import f1_threshold
from multiway.tasks import targets
from multiway.tasks.answers import Answer
from multiway.tasks.candidate import discover
from multiway.tasks.declarations import Encoding
from multiway.tasks.lifecycle import reread
from multiway.tasks.protocol import NETWORK, Settled
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import Basis
from multiway.tasks.sample_task import describe_splits, learn_and_encode, settle_usual
from multiway.tasks.scores import sentence_of
from multiway.tasks.tabular.config import TABULAR, TabularConfig
from multiway.tasks.tabular.encode import TableState
from multiway.tasks.tabular.explain import TableFacts, importance_of_some, measure_of, write_importance
from multiway.tasks.tabular.page import PAGE, threshold_notes
from multiway.tasks.target_task import answer_targets, compute_precisely, predict_targets, summarise, target_task


def encode_splits(
    config: TabularConfig, samples: Samples[Cells], splits: Splits, *, progress: bool = False
) -> Prepared[Cells, TableState]:
    """Samples encoded by what the training rows say; these have means of other rows alone."""
    prepared = learn_and_encode(ENCODING, config, samples, splits, progress=progress)
    train, inputs = splits["train"], prepared.encoded.inputs
    if prepared.state.means:
        inputs = inputs.clone()
        inputs[train] = torch.from_numpy(prepared.state.training_inputs(samples.take(train)))
    encoded = prepared.encoded.with_inputs(inputs, weights=weights_to_fit(config, samples, train))
    return dataclasses.replace(prepared, encoded=encoded)


def weights_to_fit(config: TabularConfig, samples: Samples[Cells], train: Rows) -> NDArray[np.float64] | None:
    """How much rows count in fitting, 1 on average over the training rows: as they say, times what their class does.

    Balanced classes have the same sum of weights each over the training rows.
    """
    is_balanced = samples.classes is not None and config.training.class_weights == "balanced"
    if samples.weights is None and not is_balanced:
        return None
    weights = np.ones(len(samples)) if samples.weights is None else samples.weights
    if is_balanced:
        sums = np.bincount(samples.truth[train], weights[train], minlength=len(samples.classes or ()))
        weights = weights / np.where(sums > 0, sums, sums.max())[samples.truth]
    return np.asarray(weights / weights[train].mean())


def audit_rows(config: TabularConfig, run: Run | None = None) -> AuditReport:
    """See `multiway.auditing.tables`."""
    prepared = TASK.prepare(config, TASK.locate(config.data or ""))
    return audit_table(prepared, None if run is None else run.state.scaler)


def choose_baselines(
    config: TabularConfig, prepared: Prepared[Cells, TableState], spent: float, *, progress: bool = False
) -> Settled:
    """Baselines of such a target, where none were named; the trees only with scikit-learn."""
    check_signs(config, prepared)
    state, every = prepared.state, TASK.candidates()
    known = [name for name, each in every.items() if name != NETWORK and each.can_answer(Basis(config, state))]
    for name in config.baselines or ():
        if name not in known:
            what = "numbers" if state.classes is None else "classes"
            raise ConfigError(f"baselines of {what} are {', '.join(known)}. Got {name}. Leave it out.")
    settled = settle_usual(TASK.candidates, config, prepared, spent)
    free = [name for name in known if not every[name].keeps_signs]
    note = f"The answer rises or falls as the settings say, which {', '.join(free)} and the network cannot promise: "
    note += "none of them answers, and the network is scored for comparison."
    return settled if config.signs(()) is None else settled._replace(notes=(*settled.notes, note))


def check_signs(config: TabularConfig, prepared: Prepared[Cells, TableState]) -> None:
    """Refuse columns that are no numbers, more than two classes, and an answer that cannot be held to a sign."""
    signs, state = config.signs(()), prepared.state
    if signs is None:
        return
    numbers = state.numbers[: len(state.numbers) - len(state.dates)]
    for option in ("increasing", "decreasing"):
        for name in getattr(config, option):
            if name not in numbers:
                raise ConfigError(
                    f"{option} names input columns of numbers: {list_some(numbers)}. Got {quote(name)}"
                    f"{closest(name, numbers)}"
                )
    if state.classes is not None and len(state.classes) > 2:
        raise ConfigError(
            f"increasing and decreasing are for a number or two classes. Got {len(state.classes)} classes. "
            f"Leave them out."
        )
    every = TASK.candidates()
    if config.answer in every and not every[config.answer].keeps_signs:
        raise ConfigError(f"answer: {config.answer} cannot be held to rise or to fall. Name trees, or leave it out.")


def predict_rows(run: Run, prepared: Prepared[Cells, TableState], split: str) -> targets.Predictions:
    """Rows, with the probabilities or numbers of every candidate, and which class is rare."""
    return dataclasses.replace(predict_targets(run, prepared, split), rare=run.state.rare)


def find_thresholds(run: Run, prepared: Prepared[Cells, TableState]) -> dict[str, Tensor]:
    """Thresholds by model, where a class is rare."""
    if run.state.rare is None:
        return {}
    predictions = predict_rows(run, prepared, "validation")
    f1 = partial(f1_threshold, predictions.truth, position=run.state.rare, weights=predictions.weights)
    return targets.find_thresholds(predictions.outputs, f1)


def check_thresholds(run: Run) -> None:
    """Thresholds are numbers."""
    targets.thresholds_of(run.calibration, run.candidates)


def answer_rows(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """Every row with its class and probabilities, or its number; and from where on a rare class is predicted."""
    answer = answer_targets(run, data, out, options, own_columns=read_own_rows)
    return dataclasses.replace(answer, notes=[*answer.notes, *threshold_notes(run)])


def describe_run(run: Run, prepared: Prepared[Cells, TableState], predictions: targets.Predictions) -> Plain:
    """Splits, and how much worse the answer to the test rows is with each column shuffled."""
    falls = importance_of_some(run, prepared.raw.take(prepared.rows("test")))
    return {**describe_splits(run, prepared), "importance": falls, "importance_of": measure_of(run).words}


def read_own_rows(config: TabularConfig, source: object, samples: Samples[Cells]) -> pd.DataFrame:
    """The rows of the file."""
    return read_frame(source, config.read)


def find_far(run: Run, samples: Samples[Cells]) -> Sequence[Far]:
    """Numbers far from those of the training; dates go on."""
    state, values = run.state, samples.inputs.numbers.copy()
    values[:, len(state.numbers) - len(state.dates) :] = np.nan
    return far_columns(values, state.numbers, state.scaler, samples.word)


def explain_columns(run: Run, out: Path | None, options: Plain) -> Answer:
    """How much each column matters, by shuffling it over the test rows."""
    prepared = reread(run)
    return write_importance(run, prepared.raw.take(prepared.rows("test")), out)


ENCODING = Encoding(
    learn=lambda config, samples, train: TableState.fit(samples.take(train), config.read.max_levels),
    arrange=encode_splits,
)
TASK = target_task(
    ENCODING,
    **TABULAR.parts,
    needs="rows. Give a table",
    state=TableState,
    facts=TableFacts,
    page=PAGE,
    metrics=lambda config: (*targets.OF_RARE, *targets.METRICS),
    candidates=partial(discover, "multiway.tasks.tabular.candidates", "tabular"),
    audit=audit_rows,
    settle=choose_baselines,
    outputs=compute_precisely,
    predict=predict_rows,
    calibrate=find_thresholds,
    check_stored=check_thresholds,
    sentence=lambda run: summarise(run) if run.state.rare is None else sentence_of(run, "ap", "auc"),
    describe=describe_run,
    cell_facts=lambda runs: {"test_rows": runs[0].facts["splits"]["test"]["samples"]},
    far=find_far,
    answer=answer_rows,
    explain=explain_columns,
)
