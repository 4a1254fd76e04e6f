"""The task `tabular`, classes or numbers of the rows of a table, and its config."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.auditing import AuditReport
from multiway.auditing.tables import audit_table
from multiway.config import Plain
from multiway.data.looking import read_frame
from multiway.data.matching import Far, far_columns
from multiway.data.samples import Cells, Prepared, Samples, Splits
from multiway.models.target_baselines import build_baseline, usual_baselines
from multiway.tasks import targets
from multiway.tasks.answers import Answer
from multiway.tasks.lifecycle import reread
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run
from multiway.tasks.samples import SampleTask
from multiway.tasks.scores import sentence_of
from multiway.tasks.tabular.config import TABULAR, TabularConfig
from multiway.tasks.tabular.encode import TableState
from multiway.tasks.tabular.explain import TableFacts, importance_of_some, measure_of, write_importance
from multiway.tasks.tabular.page import PAGE, threshold_notes


def learn_state(config: TabularConfig, samples: Samples[Cells], train: NDArray[np.int64]) -> TableState:
    """Levels, medians and scales."""
    return TableState.fit(samples.take(train), config.read.max_levels)


def encode_splits(
    config: TabularConfig, samples: Samples[Cells], splits: Splits, *, progress: bool = False
) -> Prepared[Cells, TableState]:
    """Samples encoded by what the training rows say; these have means of other rows alone."""
    prepared = SampleTask.arranged(TASK, config, samples, splits, progress=progress)
    if not prepared.state.means:
        return prepared
    train, inputs = splits["train"], prepared.encoded.inputs.clone()
    inputs[train] = torch.from_numpy(prepared.state.training_inputs(samples.take(train)))
    return dataclasses.replace(prepared, encoded=prepared.encoded.with_inputs(inputs))


def audit_rows(config: TabularConfig, run: Run | None = None) -> AuditReport:
    """See `multiway.auditing.tables`."""
    prepared = TASK.prepare(config, TASK.locate(config.data or ""))
    return audit_table(prepared, None if run is None else run.state.scaler)


def choose_baselines(config: TabularConfig, state: TableState, *, progress: bool = False) -> TabularConfig:
    """Baselines of such a target, where none were named."""
    baselines = usual_baselines(config.baselines, is_class=state.classes is not None)
    return config.model_copy(update={"baselines": baselines})


def predict_rows(run: Run, prepared: Prepared[Cells, TableState], split: str) -> targets.Predictions:
    """Rows, with the probabilities or numbers of every candidate, and which class is rare."""
    return dataclasses.replace(SampleTask.predict(TASK, run, prepared, split), rare=run.state.rare)


def find_thresholds(run: Run, prepared: Prepared[Cells, TableState]) -> dict[str, Tensor]:
    """Thresholds by model, where a class is rare."""
    if run.state.rare is None:
        return {}
    predictions = predict_rows(run, prepared, "validation")
    return targets.rare_thresholds(predictions.truth, predictions.outputs, run.state.rare)


def check_thresholds(run: Run) -> None:
    """Thresholds are numbers."""
    targets.thresholds_of(run.calibration, run.candidates)


def threshold_of(run: Run) -> float | None:
    """That of the answer, where a class is rare."""
    return targets.thresholds_of(run.calibration, [run.answer.name])[run.answer.name]


def summarise(run: Run) -> str:
    """Two test scores, of a rare class its average precision."""
    return SampleTask.sentence(TASK, run) if run.state.rare is None else sentence_of(run, "ap", "auc")


def answer_rows(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """Every row with its class and probabilities, or its number; and from where on a rare class is predicted."""
    answer = SampleTask.answer(TASK, run, data, out, options)
    return dataclasses.replace(answer, notes=[*answer.notes, *threshold_notes(run)])


def build_model(config: TabularConfig, state: TableState, name: str) -> nn.Module:
    """A network, or a baseline."""
    inputs = len(state.names)
    if name != NETWORK:
        return build_baseline(name, inputs, state.num_outputs)
    return config.network(in_features=inputs, num_outputs=state.num_outputs)


def facts_of_test(run: Run, predictions: targets.Predictions) -> Plain:
    """How much worse the answer is with each column shuffled."""
    falls = importance_of_some(run, run.prepared.raw.take(run.prepared.rows("test")))
    return {"importance": falls, "importance_of": measure_of(run).words}


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


TASK: SampleTask[TabularConfig, Cells, TableState] = SampleTask(
    **TABULAR.parts,
    needs="rows. Give a table",
    state=TableState,
    facts=TableFacts,
    page=PAGE,
    scored=(*targets.OF_RARE, *targets.METRICS),
    sampled=256,
    is_precise=True,
    learnt=learn_state,
    arranged=encode_splits,
    audit=audit_rows,
    settle=choose_baselines,
    predict=predict_rows,
    calibrate=find_thresholds,
    check_stored=check_thresholds,
    threshold=threshold_of,
    sentence=summarise,
    answer=answer_rows,
    build=build_model,
    test_facts=facts_of_test,
    cell_facts=lambda runs: {"test_rows": runs[0].facts["splits"]["test"]["samples"]},
    own_columns=read_own_rows,
    far=find_far,
    explain=explain_columns,
)
