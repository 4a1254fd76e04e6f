"""The task `series`, its config, and `SeriesClassifier`: it in scikit-learn's manners."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from multiway.auditing import AuditReport
from multiway.auditing.samples import audit_sequences
from multiway.config import Plain
from multiway.data.matching import Far, far_columns
from multiway.data.samples import Prepared, Samples
from multiway.data.sources.series import Values
from multiway.tasks import targets
from multiway.tasks.answers import Answer, in_folder
from multiway.tasks.candidate import discover
from multiway.tasks.declarations import Encoding
from multiway.tasks.lifecycle import reread
from multiway.tasks.run import Run
from multiway.tasks.sample_estimator import SampleClassifier
from multiway.tasks.sample_task import describe_splits, settle_usual
from multiway.tasks.series.config import SERIES, SeriesConfig
from multiway.tasks.series.encode import SeriesState
from multiway.tasks.series.explain import EXPLAINED, SeriesFacts, how, importance, importance_frame
from multiway.tasks.target_task import target_task


def audit_series(config: SeriesConfig, run: Run | None = None) -> AuditReport:
    """See `multiway.auditing.samples`."""
    prepared = TASK.prepare(config, TASK.locate(config.data or ""))
    return audit_sequences(prepared, None if run is None else run.state.scaler)


def describe_run(run: Run, prepared: Prepared[Values, SeriesState], predictions: targets.Predictions) -> Plain:
    """Splits, and what moved the answer to test series."""
    return {**describe_splits(run, prepared), "importance": importance(run, prepared.part("test"))}


def find_far(run: Run, samples: Samples[Values]) -> Sequence[Far]:
    """Values far from those of the training."""
    values = samples.inputs.reshape(-1, samples.inputs.shape[2])
    return far_columns(values, run.state.variates, run.state.scaler, "the values")


def explain_series(run: Run, out: Path | None, options: Plain) -> Answer:
    """Share of each step and each variate in what moved the answer to test series."""
    shares = run.facts["importance"]
    if shares["model"] != run.answer.name:
        shares = importance(run, reread(run).part("test"))
    notes = [
        f"Shares of {how(run.answer.name)}, over {EXPLAINED} test series; those of a mode sum to 1.",
        "It is what the model uses, not what causes.",
    ]
    return in_folder(importance_frame(shares), out, "importance.csv", notes)


candidates = partial(discover, "multiway.tasks.series.candidates", "series")
TASK = target_task(
    Encoding(learn=lambda config, samples, train: SeriesState.fit(samples.take(train))),
    **SERIES.parts,
    needs="series. Give some",
    state=SeriesState,
    facts=SeriesFacts,
    page="multiway.tasks.series.page:PAGE",
    metrics=lambda config: (*targets.CLASSES, targets.MORE["f1"], targets.MORE["weighted_f1"]),
    candidates=candidates,
    settle=partial(settle_usual, candidates),
    audit=audit_series,
    describe=describe_run,
    far=find_far,
    explain=explain_series,
)


class SeriesClassifier(SampleClassifier):
    """Classify series with a transformer of NdLinear layers, scored on held-out series with baselines.

    X is an array `(series, steps)` or `(series, steps, variates)`, NaN where a value is missing, or a list of arrays
    `(steps,)` or `(steps, variates)` of unlike lengths.

    `fit` sets `run_`, `scores_` (a frame) and `classes_`.
    """

    task = "series"

    def explain(self, X: object, model: str | None = None) -> pd.DataFrame:
        """Share of each step and each variate in the answers to up to 16 series, or in those of a model of the run."""
        return importance_frame(importance(self._run().with_answer(model), self._unlabelled(X)))
