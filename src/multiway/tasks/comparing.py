"""The page that compares runs of any task: scores side by side, each run's baselines, and what else differs."""

import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any

from multiway.errors import DataError
from multiway.report import palette, text
from multiway.report.diagnostics import epoch_chart
from multiway.report.page import render
from multiway.report.score_tables import score_table
from multiway.report.scores import Scores
from multiway.report.sections import Page, Part, Table, Text
from multiway.tasks.page_parts import command, environment_facts, manifest_of
from multiway.tasks.pages import Subject, colours_of, directions, score_tables, title_of
from multiway.tasks.protocol import OURS
from multiway.tasks.run_names import Groups, names_of
from multiway.training.watching import ACCURACY


def comparison(subject: Subject, groups: Groups, parts: Iterable[Part] = ()) -> str:
    """Runs of one task side by side, each group with its seeds; `parts` come after the scores.

    Raises:
        DataError: There are fewer than two runs, or more than can be told apart.
    """
    if not 2 <= len(groups) <= palette.NUM_LINES:
        raise DataError(f"compare: give 2 to {palette.NUM_LINES} runs. Got {len(groups)}; name other runs.")
    page = _Comparison(subject, groups)
    shown = [page.scores(), *parts, page.training(), page.baselines(), page.differences()]
    title, data = f"{len(groups)} runs side by side", dict.fromkeys(title_of(runs[0]) for runs in groups)
    return render(Page(title=title, kicker="Comparison of runs", source=", ".join(data), parts=shown))


def _validated(row: Mapping[str, Any], has_accuracy: bool) -> float:
    return float(row["watched"][ACCURACY][0] if has_accuracy else row["validation_loss"])


class _Comparison:
    """Groups of runs with their names and machines; each method is one part."""

    def __init__(self, subject: Subject, groups: Groups) -> None:
        self.subject, self.groups, self.names = subject, groups, names_of(groups)
        self.machines = [environment_facts(runs, manifest_of(runs[0])) for runs in groups]

    def scores(self) -> Part:
        """The model that each run is about, under the run's name."""
        rows = [
            [{**row, "model": name} for row in self.subject.rows_of(run) if row["model"] == OURS]
            for name, runs in zip(self.names, self.groups, strict=True)
            for run in runs
        ]
        scores = Scores(
            rows, self.subject.metrics(self.groups[0][0]), self.names[0], {name: name for name in self.names}
        )
        colours = {name: index for index, name in enumerate(self.names)}
        tables = score_tables(self.subject, scores, colours, self.names[0], "Run")
        side = [f"Each run by the model it is about. {directions(scores)} The best is set in bold."]
        none = Text(words="No run has scores.", style="none")
        return Part(id="scores", title="Scores", side=side, content=[self._warning(), *(tables or [none])])

    def _warning(self) -> Text | None:
        """Scores of other test sets cannot be compared, and the page says so."""
        runs = itertools.chain.from_iterable(self.groups)
        facts = [(run.facts.get("splits", {}).get("test"), getattr(run.state, "classes", None)) for run in runs]
        rows = f"test {self.subject.rows}"
        if len({json.dumps(item, sort_keys=True, default=str) for item in facts}) > 1:
            words = f"These runs were scored on different {rows}: their scores cannot be compared."
        elif len({machine.get("data sha256") for machine in self.machines} - {None}) > 1:
            words = f"These runs read different data: compare their scores only if the {rows} are the same."
        else:
            return None
        return Text(words=words, style="warning")

    def training(self) -> Part:
        """Accuracy on validation by epoch where every run has it, else the loss; empty for runs without a log."""
        logs = [runs[0].folder.read_log() if runs[0].folder else [] for runs in self.groups]
        found = dict(zip(self.names, logs, strict=True))
        has_accuracy = all(ACCURACY in (row.get("watched") or {}) for log in logs for row in log)
        title = "Validation accuracy by epoch" if has_accuracy else "Validation loss by epoch"
        lines = {name: {row["epoch"]: _validated(row, has_accuracy) for row in log} for name, log in found.items()}
        side = [f"On the validation {self.subject.rows}; of several seeds, the first."]
        content = [epoch_chart(title, lines) if all(logs) else None]
        return Part(id="training", title="Training", side=side, content=content)

    def baselines(self) -> Part:
        """Every run with its own baselines."""
        found = [(name, self.subject.scores(runs)) for name, runs in zip(self.names, self.groups, strict=True)]
        tables = [
            score_table(scores, colours_of(scores), title=name, reference=self.subject.reference)
            for name, scores in found
            if len(scores.models()) > 1
        ]
        side = [f"Test {self.subject.rows}, each run with its own baselines."]
        return Part(id="baselines", title="Baselines", side=side, content=tables)

    def differences(self) -> Part:
        """Settings and environment that are not the same in all runs."""
        firsts = [runs[0] for runs in self.groups]
        facts = [
            {**self.subject.setting(run), **machine, "command": command(run)}
            for run, machine in zip(firsts, self.machines, strict=True)
        ]
        rows = [
            [name, *(fact.get(name, "") or text.MISSING for fact in facts)]
            for name in dict.fromkeys(itertools.chain.from_iterable(facts))
            if len({fact.get(name, "") for fact in facts}) > 1
        ]
        side = ["Settings and environment that are not the same in all runs."]
        table = Table(columns=["", *self.names], rows=rows, style="words")
        return Part(id="differences", title="What differs", side=side, content=[table if rows else None])
