"""The task `series`."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from multiway.auditing import AuditReport
from multiway.auditing.sequences import audit_sequences
from multiway.data import CheckReport
from multiway.data.labelled import Labelled, PreparedSamples
from multiway.data.sequences import (
    PreparedSequences,
    SequenceState,
    check_sequences,
    looks_like_sequences,
    match_sequences,
    prepare_sequences,
    read_sequences,
)
from multiway.models import create_model
from multiway.models.series_baselines import build_series_baseline, fit_series_baseline
from multiway.tasks import targets
from multiway.tasks.answers import Answer, in_folder
from multiway.tasks.class_task import ClassTask
from multiway.tasks.options import names
from multiway.tasks.protocol import OURS, Option
from multiway.tasks.run import Run
from multiway.tasks.series import sections
from multiway.tasks.series.config import SeriesConfig
from multiway.tasks.series.explaining import EXPLAINED, importance, importance_frame
from multiway.tasks.series.facts import SeriesFacts
from multiway.tasks.stored import same_length


class Series(ClassTask[SeriesConfig, SequenceState]):
    """Classes of series."""

    name = "series"
    needs = "series. Give some"
    page = sections.PAGE
    config = SeriesConfig
    state = SequenceState
    facts = SeriesFacts
    scored = (*targets.CLASSES, targets.MORE["f1"], targets.MORE["weighted_f1"])
    options = (
        Option(name="target", field="read.target", help="Column of classes in a long table."),
        Option(name="id", field="read.id", help="Column that names the series of each row of a long table."),
        Option(name="time", field="read.time", help="Column of times of a long table."),
        Option(name="group", field="read.group", help="Column whose series stay in one split, such as a patient."),
        Option(name="columns", field="read.columns", read=names, help="Columns of values to keep: x,y,z."),
    )

    def recognises(self, source: Any) -> bool:
        """Files and folders of the UCR and UEA archives, and long tables with classes."""
        return looks_like_sequences(source)

    def prepare(
        self, config: SeriesConfig, source: Any, state: SequenceState | None = None, *, progress: bool = False
    ) -> PreparedSamples:
        """Series, split and scaled; later ones matched to the training."""
        if state is not None:
            return match_sequences(source, config.read, state)
        return prepare_sequences(source, config.read, config.split)

    def unlabelled(self, config: SeriesConfig, source: Any, state: SequenceState) -> PreparedSamples:
        """Later series, whose classes are not looked at."""
        return match_sequences(source, config.read, state, has_target=False)

    def check(self, config: SeriesConfig, source: Any) -> CheckReport:
        """What is in a file, a folder or arrays of series."""
        return check_sequences(source, config.read, config.split)

    def audit(self, config: SeriesConfig, run: Run | None = None) -> AuditReport:
        """See `multiway.auditing.sequences`."""
        source = self.locate(config.data or "")
        prepared = prepare_sequences(source, config.read, config.split)
        return audit_sequences(read_sequences(source, config.read), prepared, None if run is None else run.state)

    def learn(self, config: SeriesConfig, prepared: PreparedSamples) -> SequenceState:
        """Classes, variates, length, and the scale of the training series."""
        assert isinstance(prepared, PreparedSequences)
        return prepared.state

    def build(self, config: SeriesConfig, state: SequenceState, name: str) -> nn.Module:
        """A network, or a baseline."""
        variates, classes = len(state.variates), len(state.classes)
        if name != OURS:
            return build_series_baseline(name, state.length, variates, classes)
        return create_model(config.model_name, **config.network_fields(variates, classes))

    def fit_baseline(self, run: Run, name: str, training: Labelled, validation: Labelled) -> dict[str, Any] | None:
        """By a closed form or a convex solver."""
        truth, held = (torch.from_numpy(part.truth) for part in (training, validation))
        return fit_series_baseline(run.models[name], training.inputs, truth, validation.inputs, held)

    def check_stored(self, run: Run) -> None:
        """Every variate has its scale.

        Raises:
            ValueError: One has none.
        """
        state = run.state
        same_length({"variates": state.variates, "mean": state.mean, "std": state.std})

    def describe(self, run: Run, prepared: PreparedSamples) -> dict[str, Any]:
        """Splits, and what moved the logits of test series."""
        return {**super().describe(run, prepared), "importance": importance(run, prepared.part("test"))}

    def explain(self, run: Run, out: Path | None, options: dict[str, Any]) -> Answer:
        """Share of each step and each variate in what moved the logits of test series."""
        notes = [
            f"Shares of the absolute integrated gradients of {EXPLAINED} test series; those of a mode sum to 1.",
            "It is what the network uses, not what causes.",
        ]
        return in_folder(importance_frame(run.facts["importance"]), out, "importance.csv", notes)


TASK = Series()
