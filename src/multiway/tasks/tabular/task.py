"""The task `tabular`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from multiway.auditing import AuditReport
from multiway.auditing.tables import audit_table
from multiway.data import CheckReport
from multiway.data.loading import pair_of
from multiway.data.tabular import (
    Encoding,
    PreparedTable,
    check_table,
    joined_table,
    looks_like_rows,
    match_table,
    prepare_table,
    read_frame,
)
from multiway.data.writing import check_target
from multiway.errors import ConfigError
from multiway.models import create_model
from multiway.models.target_baselines import baseline_names, build_baseline
from multiway.tasks import targets
from multiway.tasks.answers import Answer, in_folder, written
from multiway.tasks.lifecycle import reread
from multiway.tasks.options import names
from multiway.tasks.protocol import OURS, SPLITS, Context, Metric, Option, Row, Task
from multiway.tasks.run import Run
from multiway.tasks.scores import sentence_of
from multiway.tasks.stored import same_length
from multiway.tasks.tabular import sections
from multiway.tasks.tabular.config import TabularConfig
from multiway.tasks.tabular.explaining import importance
from multiway.tasks.tabular.facts import TabularFacts
from multiway.tasks.tabular.fitting import fit_model, outputs_of
from multiway.training import History


class Tabular(Task[TabularConfig, PreparedTable, Encoding]):
    """Classes or numbers of the rows of a table."""

    name = "tabular"
    page = sections.PAGE
    config = TabularConfig
    state = Encoding
    facts = TabularFacts
    unit = "row"
    sections_of_reading = ("read", "split")
    options = (
        Option(name="target", field="read.target", help="Column to predict."),
        Option(name="columns", field="read.columns", read=names, help="Input columns to keep: age,weight."),
        Option(name="drop", field="read.drop", read=names, help="Columns to leave out: id,name."),
        Option(name="kind", field="read.kind", choices=("auto", "classes", "number"), help="What the target is."),
        Option(name="group", field="read.group", help="Column whose rows stay in one split, such as a patient."),
        Option(name="time", field="read.time", help="Column of times: test on the latest rows."),
    )

    def recognises(self, source: Any) -> bool:
        """Tables with words and without times, and rows with targets."""
        return isinstance(source, tuple) or looks_like_rows(source)

    def prepare(
        self, config: TabularConfig, source: Any, state: Encoding | None = None, *, progress: bool = False
    ) -> PreparedTable:
        """Rows, split and encoded; later ones matched by name."""
        if state is not None:
            return match_table(source, config.read, state)
        return prepare_table(source, config.read, config.split)

    def check(self, config: TabularConfig, source: Any) -> CheckReport:
        """What is in a table, or in a pair of rows and targets."""
        rows, targets = pair_of(source)
        if targets is None:
            return check_table(rows, config.read, config.split)
        table, target = joined_table(rows, targets)
        return check_table(table, config.read.replace(target=target), config.split)

    def audit(self, config: TabularConfig, run: Run | None = None) -> AuditReport:
        """See `multiway.auditing.tables`."""
        return audit_table(self.prepare(config, self.locate(config.data or "")), None if run is None else run.state)

    def learn(self, config: TabularConfig, prepared: PreparedTable) -> Encoding:
        """Levels, medians and scales of the training rows."""
        return prepared.encoding

    def names(self, config: TabularConfig, state: Encoding) -> tuple[str, ...]:
        """The network and the baselines of the config."""
        return (OURS, *baseline_names(config.baselines, state.columns.classes))

    def build(self, config: TabularConfig, state: Encoding, name: str) -> nn.Module:
        """A network, or a baseline."""
        inputs, outputs = len(state.names), state.columns.num_outputs
        if name != OURS:
            return build_baseline(name, inputs, outputs)
        return create_model(config.model_name, **config.network_fields(inputs, outputs))

    def fit(self, run: Run, name: str, prepared: PreparedTable, context: Context) -> History | dict[str, Any] | None:
        """See `multiway.tasks.tabular.fitting`."""
        return fit_model(run.models[name], name, prepared, run.config, context)

    def check_stored(self, run: Run) -> None:
        """Every input has its scale and its levels.

        Raises:
            ValueError: They do not.
        """
        state, columns = run.state, run.state.columns
        numbers = {"medians": state.medians, "mean": state.scaler.mean, "std": state.scaler.std}
        same_length({"numbers": columns.numbers, **numbers})
        same_length({"categories": columns.categories, "levels": state.levels})

    def predict(self, run: Run, prepared: PreparedTable, split: str) -> targets.Predictions:
        """Rows, with the probabilities or numbers of every model."""
        table = prepared.part(split)
        return targets.Predictions(
            samples={"row": table.rows.tolist()}, names=table.columns.classes, truth=table.truth, groups=table.groups,
            outputs={name: outputs_of(model, table, run.state) for name, model in run.models.items()},
        )  # fmt: skip

    def score(self, run: Run, predictions: targets.Predictions, split: str) -> list[Row]:
        """Accuracy and AUC, or errors, and more."""
        return predictions.scores(split, run.config.draws)

    def tables(self, run: Run, predictions: targets.Predictions, split: str) -> dict[str, pd.DataFrame]:
        """Predictions row by row."""
        return {"predictions": predictions.frame(split)}

    def describe(self, run: Run, prepared: PreparedTable) -> dict[str, Any]:
        """How many rows are in each split, and of which class."""
        return {"splits": {split: prepared.counts(split) for split in SPLITS}}

    def metrics(self, config: TabularConfig) -> tuple[Metric, ...]:
        """Accuracy decides, or the squared error."""
        return targets.METRICS

    def sentence(self, run: Run) -> str:
        """Two test scores."""
        return sentence_of(run, *(("mse", "mae") if run.state.columns.classes is None else ("acc", "auc")))

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """How many test rows there are."""
        return {"test_rows": runs[0].facts["splits"]["test"]["rows"]}

    def answer(self, run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
        """The rows of a file with their class or number beside them."""
        if data is None:
            raise ConfigError("predict: a run of tabular needs rows. Give a table with --data.")
        check_target(out)
        source = self.locate(data)
        later = match_table(source, run.config.read, run.state, has_target=False)
        found = targets.answers(outputs_of(run.model, later.table, run.state), run.state.columns.classes)
        frame = read_frame(source, run.config.read).drop(columns=found.columns, errors="ignore")
        return written(pd.concat([frame, found], axis=1), out, later.notes)

    def explain(self, run: Run, out: Path | None, options: dict[str, Any]) -> Answer:
        """How much each column matters, by shuffling it over the test rows."""
        found = importance(run, reread(run).part("test"))
        change = "ACC falls" if run.state.target is None else "MSE rises"
        notes = [
            f"test {change} by `importance` where the column is shuffled over the rows; shuffling `all` leaves chance.",
            "Of columns that say the same, each looks unimportant. It is what the network uses, not what causes.",
        ]
        return in_folder(found, out, "importance.csv", notes)

    def sample(self, run: Run, prepared: PreparedTable) -> tuple[Tensor | None, ...]:
        """Some validation rows."""
        rows = prepared.samples("validation").inputs
        return (rows[torch.linspace(0, len(rows) - 1, min(256, len(rows))).round().long()],)


TASK = Tabular()
