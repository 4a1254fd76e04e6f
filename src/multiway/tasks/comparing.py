"""Runs of any task side by side: what each is called, their scores and baselines, and what else differs."""

import itertools
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import yaml

from multiway.config import leaves
from multiway.errors import DataError
from multiway.report import scales, text
from multiway.report.diagnostics import epoch_chart
from multiway.report.page import render
from multiway.report.scores import Scores, models_table
from multiway.report.sections import Page, PagePart, Table, Text
from multiway.tasks.page_parts import MISSING, environment_facts, manifest_of, train_command
from multiway.tasks.pages import Subject, colours_of, directions, score_tables, title_of
from multiway.tasks.run import Run
from multiway.training.validation import ACCURACY

Groups = Sequence[Sequence[Run]]
Leaves = Sequence[Mapping[str, object]]
"""Settings of each run by their place in the config."""
DATA, SEED = ("data",), ("training.seed",)
"""Settings that a title says, and that seeds of one group differ in."""
MOST, LONGEST = 3, 40
"""Settings in a name where fewer tell the runs apart too, and characters of one value."""


def names_of(groups: Groups) -> list[str]:
    """A name for each group of seeds: its data where they differ, and the settings that differ; numbered if equal."""
    firsts = [runs[0] for runs in groups]
    titles = [text.name(title_of(run)) for run in firsts]
    known = [*DATA, *(SEED if any(len(runs) > 1 for runs in groups) else ())]
    settings = apart([run.config.plain() for run in firsts], known)
    data = titles if len(set(titles)) > 1 else [""] * len(titles)
    names = [", ".join(filter(None, pair)) for pair in zip(data, settings, strict=True)]
    names = [name or title for name, title in zip(names, titles, strict=True)]
    return [name if names.count(name) == 1 else f"{name} ({place})" for place, name in enumerate(names, start=1)]


def apart(configs: Sequence[Mapping[str, object]], known: Collection[str] = ()) -> list[str]:
    """The settings of each config that differ, all of few, else those that tell the configs apart, the outermost first.

    known: Places that are left out.
    """
    found = [leaves(config) for config in configs]
    places = [place for place in dict.fromkeys(itertools.chain.from_iterable(found)) if place not in known]
    differing = sorted((place for place in places if _kinds(found, [place]) > 1), key=lambda place: place.count("."))
    shown, short = _choose_places(found, differing), _short(places)
    return [", ".join(_write_setting(short(place), one[place]) for place in shown if place in one) for one in found]


def _choose_places(found: Leaves, differing: Sequence[str]) -> list[str]:
    """All of a few places, else one after the other each that tells more configs apart than those before it."""
    if len(differing) <= MOST:
        return list(differing)
    kept = list[str]()
    for place in differing:
        if _kinds(found, [*kept, place]) > _kinds(found, kept):
            kept.append(place)
    return kept


def _kinds(found: Leaves, places: Sequence[str]) -> int:
    """How many configs differ at some of the places."""
    return len({repr([one.get(place, MISSING) for place in places]) for one in found})


def _short(places: Sequence[str]) -> Callable[[str], str]:
    """What makes a place as short as it can be, of its last words."""

    def shortened(place: str) -> str:
        words = place.split(".")
        ends = (".".join(words[-count:]) for count in range(1, len(words)))
        return next((end for end in ends if sum(f".{each}".endswith(f".{end}") for each in places) == 1), place)

    return shortened


def _write_setting(name: str, value: object) -> str:
    """A setting as it is written, cut where it is long."""
    words = value if isinstance(value, str) else yaml.safe_dump(value, default_flow_style=True, width=10**6)
    words = text.name(words.removesuffix("\n").removesuffix("\n..."))
    return f"{name}={words if len(words) <= LONGEST else words[: LONGEST - 1] + '…'}"


def comparison(subject: Subject, groups: Groups, parts: Iterable[PagePart] = ()) -> str:
    """Runs of one task side by side, each group with its seeds; `parts` come after the scores."""
    if not 2 <= len(groups) <= scales.NUM_LINES:
        raise DataError(f"compare: give 2 to {scales.NUM_LINES} runs. Got {len(groups)}; name other runs.")
    page = _Comparison(subject, groups)
    shown = [page.scores(), *parts, page.training(), page.baselines(), page.differences()]
    title, data = f"{len(groups)} runs side by side", dict.fromkeys(title_of(runs[0]) for runs in groups)
    return render(Page(title=title, kicker="Comparison of runs", source=", ".join(data), parts=shown))


def are_comparable(groups: Groups) -> bool:
    """Whether all runs were scored on the same stretch or number of test rows, of the same classes or series."""
    facts = [
        (run.facts.get("splits", {}).get("test"), *(getattr(run.state, name, None) for name in ("classes", "targets")))
        for run in itertools.chain.from_iterable(groups)
    ]
    return len({json.dumps(item, sort_keys=True, default=str) for item in facts}) == 1


def caution_of(groups: Groups, rows: str = "test rows") -> str | None:
    """Why scores of runs cannot be compared, or only with care; `rows` are what they were scored on, in words."""
    if not are_comparable(groups):
        return f"These runs were scored on different {rows}: their scores cannot be compared."
    if len({run.facts.get("data_sha256") for run in itertools.chain.from_iterable(groups)} - {None}) > 1:
        return f"These runs read different data: compare their scores only if the {rows} are the same."
    return None


class _Comparison:
    """Groups of runs with their names and machines; each method is one part."""

    def __init__(self, subject: Subject, groups: Groups) -> None:
        self.subject, self.groups, self.names = subject, groups, names_of(groups)
        self.machines = [environment_facts(runs, manifest_of(runs[0])) for runs in groups]

    def scores(self) -> PagePart:
        """The model that answers for each run, under the run's name."""
        rows = [
            [
                {**row, "model": name}
                for row in self.subject.rows_of(run, self.subject.metrics(run))
                if row["model"] == run.task.score_name(run)
            ]
            for name, runs in zip(self.names, self.groups, strict=True)
            for run in runs
        ]
        scores = Scores(
            rows, self.subject.metrics(self.groups[0][0]), self.names[0], {name: name for name in self.names}
        )
        colours = {name: index for index, name in enumerate(self.names)}
        words = caution_of(self.groups, f"test {self.subject.rows}")
        is_ranked = are_comparable(self.groups)
        tables = score_tables(self.subject, scores, colours, self.names[0], "Run", is_ranked=is_ranked)
        lines = [f"{name}: {runs[0].line}" for name, runs in zip(self.names, self.groups, strict=True)]
        best = " The best is set in bold." if is_ranked else ""
        side = [f"Each run by the model that answers. {directions(scores)}{best}"]
        none = Text(words="No run has scores.", style="none")
        return PagePart(
            id="scores",
            title="Scores",
            side=side,
            content=[
                Text(words=words, style="warning") if words else None,
                *(tables or [none]),
                *(Text(words=line) for line in lines),
            ],
        )

    def training(self) -> PagePart:
        """Accuracy on validation by epoch where every run has it, else the loss; empty for runs without a log."""
        logs = [runs[0].folder.read_log() if runs[0].folder else [] for runs in self.groups]
        found = dict(zip(self.names, logs, strict=True))
        has_accuracy = all(ACCURACY in (row.get("watched") or {}) for log in logs for row in log)
        title = "Validation accuracy by epoch" if has_accuracy else "Validation loss by epoch"
        lines = {}
        for name, log in found.items():
            values = (row["watched"][ACCURACY][0] if has_accuracy else row["validation_loss"] for row in log)
            lines[name] = {row["epoch"]: float(value) for row, value in zip(log, values, strict=True)}
        side = [f"On the validation {self.subject.rows}; of several seeds, the first."]
        content = [epoch_chart(title, lines) if all(logs) else None]
        return PagePart(id="training", title="Training", side=side, content=content)

    def baselines(self) -> PagePart:
        """Every run with its own baselines."""
        found = [(name, self.subject.scores(runs)) for name, runs in zip(self.names, self.groups, strict=True)]
        tables = [
            models_table(scores, colours_of(scores), title=name, reference=self.subject.reference)
            for name, scores in found
            if len(scores.models()) > 1
        ]
        side = [f"Test {self.subject.rows}, each run with its own baselines."]
        return PagePart(id="baselines", title="Baselines", side=side, content=tables)

    def differences(self) -> PagePart:
        """Settings and environment that are not the same in all runs."""
        firsts = [runs[0] for runs in self.groups]
        facts = [
            {**self.subject.setting(run), **machine, "command": train_command(run)}
            for run, machine in zip(firsts, self.machines, strict=True)
        ]
        rows = [
            [name, *(fact.get(name, "") or text.MISSING for fact in facts)]
            for name in dict.fromkeys(itertools.chain.from_iterable(facts))
            if len({fact.get(name, "") for fact in facts}) > 1
        ]
        side = ["Settings and environment that are not the same in all runs."]
        table = Table(columns=["", *self.names], rows=rows, style="words")
        return PagePart(id="differences", title="What differs", side=side, content=[table if rows else None])
