"""The page that compares runs of any task: scores side by side, each run's baselines, and what else differs."""

import itertools
import json
from collections.abc import Iterable, Sequence

from multiway.errors import DataError
from multiway.report import palette, text
from multiway.report.page import render
from multiway.report.score_tables import score_table
from multiway.report.scores import Scores
from multiway.report.sections import Page, Part, Table, Text
from multiway.tasks.page_parts import OURS, Reported, environment_facts, manifest_of
from multiway.tasks.pages import Subject, colours_of, directions, score_tables, title_of


def comparison(subject: Subject, groups: Sequence[Sequence[Reported]], parts: Iterable[Part] = ()) -> str:
    """Runs of one task side by side, each group with its seeds; `parts` come after the scores.

    Raises:
        DataError: There are fewer than two runs, or more than can be told apart.
    """
    if not 2 <= len(groups) <= palette.NUM_COLOURS:
        raise DataError(f"compare: give 2 to {palette.NUM_COLOURS} runs. Got {len(groups)}; name other runs.")
    names = names_of(groups)
    shown = [
        _scores(subject, groups, names),
        *parts,
        _each(subject, groups, names),
        _differences(subject, groups, names),
    ]
    return render(Page(title=f"{len(groups)} runs side by side", kicker="Comparison of runs", parts=shown))


def _scores(subject: Subject, groups: Sequence[Sequence[Reported]], names: Sequence[str]) -> Part:
    """The model that each run is about, under the run's name."""
    rows = [
        [{**row, "model": name} for row in subject.rows_of(run) if row["model"] == OURS]
        for name, runs in zip(names, groups, strict=True)
        for run in runs
    ]
    scores = Scores(rows, subject.metrics, names[0], {name: name for name in names})
    tables = score_tables(subject, scores, {name: index for index, name in enumerate(names)}, names[0], "Run")
    side = [f"Each run by the model it is about. {directions(scores)} The best is set in bold."]
    none = Text(words="No run has scores.", style="none")
    return Part(id="scores", title="Scores", side=side, content=[_warning(groups, subject), *(tables or [none])])


def names_of(groups: Sequence[Sequence[Reported]]) -> list[str]:
    """Titles, numbered where two runs have the same."""
    titles = [text.name(title_of(runs[0])) for runs in groups]
    return [name if titles.count(name) == 1 else f"{name} ({index + 1})" for index, name in enumerate(titles)]


def _warning(groups: Sequence[Sequence[Reported]], subject: Subject) -> Text | None:
    """Scores of other test sets cannot be compared, and the page says so."""
    runs = list(itertools.chain.from_iterable(groups))
    facts = [(run.facts.get("splits", {}).get("test"), getattr(run, "classes", None)) for run in runs]
    tests = {json.dumps(item, sort_keys=True, default=str) for item in facts}
    hashes = {manifest_of(run).get("data_sha256") for run in runs} - {None}
    if len(tests) > 1:
        words = f"These runs were scored on different test {subject.rows}: their scores cannot be compared."
    elif len(hashes) > 1:
        words = f"These runs read different data: compare their scores only if the test {subject.rows} are the same."
    else:
        return None
    return Text(words=words, style="warning")


def _each(subject: Subject, groups: Sequence[Sequence[Reported]], names: Sequence[str]) -> Part:
    """Every run with its own baselines."""
    found = [(name, subject.scores(runs)) for name, runs in zip(names, groups, strict=True)]
    tables = [
        score_table(scores, colours_of(scores), title=name, reference=subject.reference)
        for name, scores in found
        if len(scores.models()) > 1
    ]
    side = [f"Test {subject.rows}, each run with its own baselines."]
    return Part(id="baselines", title="Baselines", side=side, content=tables)


def _differences(subject: Subject, groups: Sequence[Sequence[Reported]], names: Sequence[str]) -> Part:
    facts = [
        {**subject.setting(runs[0]), **environment_facts(runs), "command": subject.command(runs[0])} for runs in groups
    ]
    rows = [
        [name, *(fact.get(name, "") or text.MISSING for fact in facts)]
        for name in dict.fromkeys(name for fact in facts for name in fact)
        if len({fact.get(name, "") for fact in facts}) > 1
    ]
    side = ["Settings and environment that are not the same in all runs."]
    table = Table(columns=["", *names], rows=rows, style="words")
    return Part(id="differences", title="What differs", side=side, content=[table if rows else None])
