"""The report of any task: what every run says, around the parts of its task."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from multiway.data import CheckReport
from multiway.metrics.meanings import meaning
from multiway.report import scales, text
from multiway.report.page import render
from multiway.report.scores import Metric, Row, Scores, models_table, score_bars
from multiway.report.sections import Fact, FactList, Page, PagePart, Section, Table, Text
from multiway.tasks import page_parts
from multiway.tasks.candidate import words_of
from multiway.tasks.run import Run
from multiway.tasks.scores import answer_line

LEAST, MOST_NAMED = 0.05, 4
"""Share of a blend from which on a member is named, and how many are at most; the others are counted."""
MOST_NAMES = 3
"""Names that a title has at most; more are counted."""
USUAL = {"class", "label", "target", "value", "y"}
"""Names of columns that say nothing of what they hold."""
OVER_SEEDS = (
    "± is half the 95\u202f% interval of the mean over seeds (Student’s t).",
    "A model without ± does not depend on the seed.",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Subject:
    """What the pages have to know of a task.

    kicker: Over the title.
    rows: What is scored, in words: "cases".
    setting: Short facts of a run under the title.
    selected_by: What chose the epoch of a run, in words.
    models: Names of models in words, beside those of the task's candidates.
    interval: What the intervals of one seed are over.
    about: Sentences on the scores.
    reference: Baseline that a column of the score table compares with.
    order: Metrics of a run in the order of its columns; those of its task if not given.
    """

    kicker: str
    rows: str
    setting: Callable[[Run], Mapping[str, str]]
    selected_by: Callable[[Run], str] = lambda run: "lowest validation loss"
    models: Mapping[str, str] = dataclasses.field(default_factory=dict)
    interval: str = ""
    about: Sequence[str] = ()
    reference: str = ""
    order: Callable[[Run], Sequence[Metric]] | None = None

    def metrics(self, run: Run) -> list[Metric]:
        """Metrics in the order of the columns; those of another scale stand under the same name."""
        declared = self.order(run) if self.order is not None else run.task.metrics(run.config)
        return [metric for metric in declared if metric.of is None]

    def rows_of(self, run: Run, metrics: Sequence[Metric]) -> list[Row]:
        """Rows of a run that are of some metrics, on whatever scale."""
        return [row for row in run.scores if any(m.measures({**row, "scale": m.where.get("scale")}) for m in metrics)]

    def scores(self, runs: Sequence[Run]) -> Scores:
        """Scores over runs that differ in their seed."""
        first, task, metrics = runs[0], runs[0].task, self.metrics(runs[0])
        words = {**words_of(task.candidates()), **self.models}
        return Scores([self.rows_of(run, metrics) for run in runs], metrics, task.score_name(first), words)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Summary:
    """What a task says of its runs in addition to its parts.

    headline: What the reader came for, in one sentence, over the first part.
    verdict: How the answer was chosen and what came of it, in one sentence; `support` is what it should be read with.
    check: What the data check saw, where the task arranges it.
    splits: The parts of the data, and what stands at their side.
    tables: Sections between the scores and the costs.
    """

    headline: str
    verdict: str
    support: Sequence[str] = ()
    check: CheckReport | None = None
    splits: PagePart | None = None
    tables: Sequence[Section] = ()


def report(subject: Subject, runs: Sequence[Run], summary: Summary, parts: Iterable[PagePart]) -> str:
    """One page of runs that differ in their seed: what the reader came for, how it was chosen, then the method.

    parts: Those of the task; the first is what the reader came for.
    """
    run, scores, manifest = runs[0], subject.scores(runs), page_parts.manifest_of(runs[0])
    colours, (first, *others) = colours_of(scores), parts
    costs = page_parts.cost_table(run, scores, colours)
    said = (text.sentence_case(scores.name_models(words)) for words in run.facts.get("notes", ()))
    notes = [Text(words=f"{words.rstrip('.')}.") for words in said]
    machine = page_parts.environment(page_parts.environment_facts(runs, manifest), page_parts.train_command(run))
    settings = [Fact(*item) for item in subject.setting(run).items()]
    parameters = run.facts.get("parameters", {})
    counts = [parameters[name] for name in run.answer.shares if name in parameters]
    if counts:  # of all members of a blend
        settings.append(Fact("Parameters", text.magnitude(sum(counts))))
    seeds = ", ".join(str(seed) for seed in page_parts.seeds_of(runs))
    settings.append(Fact("Seed" if len(runs) == 1 else "Seeds", seeds))
    method = [
        summary.splits,
        page_parts.training(runs, subject.rows, subject.selected_by(run)),
        machine._replace(content=[FactList(items=settings), *machine.content, *costs]),
    ]
    page = Page(
        title=": ".join([text.title_of_stem(title_of(run)), *describe_target(run)]),
        kicker=subject.kicker,
        source=Path(str(run.config.data)).name if run.config.data else "data in memory",
        created=str(manifest.get("finished", ""))[:10],
        parts=[
            first._replace(
                lead=summary.headline, support=[_answering(run, scores), *run.task.cautions(run), *first.support]
            ),
            _score_part(subject, runs, scores, summary, notes),
            *others,
            page_parts.data_check(summary.check or page_parts.check_of(run)),
            *(part._replace(is_method=True) for part in method if part is not None),
        ],
    )
    return render(page)


def describe_target(run: Run) -> list[str]:
    """What a run learnt to say, as it is called or by its classes, where that says more than the data's name."""
    names = [getattr(run.state, "target_name", None), *getattr(run.state, "targets", ())]
    known = [str(name) for name in names if name]
    if len(known) > MOST_NAMES:
        return [f"{len(known):,} series"]
    if known and {*map(str.lower, known)} - USUAL:
        return [text.listing(known)]
    classes = list(getattr(run.state, "classes", None) or ())
    if len(classes) > MOST_NAMES or any(name.isdecimal() for name in classes):
        return [f"{len(classes):,} classes"]
    return [" or ".join(classes)] if classes else []


def _answering(run: Run, scores: Scores) -> str:
    """Which model answers, in words."""
    word = blend_in_words(run.answer.shares, scores)
    count = len(scores.models())
    compared = f", compared with {count - 1} other{'s' if count > 2 else ''}"
    others = f", chosen among {count} models" if run.answer.candidates else compared
    return f"The answer comes from {word}{others if count > 1 else ''}."


def blend_in_words(shares: Mapping[str, float], scores: Scores) -> str:
    """One model; of a blend the models that have most of it, and how many more it has."""
    members = [name for name, share in sorted(shares.items(), key=lambda item: -item[1]) if share > 0]
    if len(members) < 2:
        return scores.name_within(members[0])
    first, *others = members[:MOST_NAMED]
    named = [first, *(name for name in others if shares[name] >= LEAST)]
    more = [f"{len(members) - len(named)} more"] if len(members) > len(named) else []
    return f"a blend of {text.listing([*map(scores.name_within, named), *more])}"


def colours_of(scores: Scores) -> dict[str, int]:
    """Number of each model's colour."""
    return scales.colour_numbers([scores.chosen, *scores.models()], scores.chosen)


def title_of(run: Run) -> str:
    """Name of the data."""
    source = run.config.data or run.facts.get("source")
    return Path(str(source)).stem if source else "Data in memory"


def score_tables(
    subject: Subject,
    scores: Scores,
    colours: Mapping[str, int],
    reference: str,
    first: str = "Model",
    *,
    is_ranked: bool = True,
) -> list[Section]:
    """A table per split; `first` is the head of the models, "Run" where they are runs to compare, if they can be."""
    return [
        models_table(
            scores,
            colours,
            split,
            title=f"{text.sentence_case(split)} {subject.rows}",
            first=first,
            reference=reference,
            differences=first == "Run",
            is_ranked=is_ranked,
        )
        for split in scores.splits()
    ]


def _score_part(
    subject: Subject, runs: Sequence[Run], scores: Scores, summary: Summary, notes: Sequence[Section]
) -> PagePart:
    colours = colours_of(scores)
    over_seeds = any(score.num_seeds > 1 and score.low is not None for score in scores.all.values())
    over_cases = any(score.num_seeds == 1 and score.low is not None for score in scores.all.values())
    side = [
        f"Each model with its baselines. {directions(scores)} The best of each column is set in bold.",
        *subject.about,
        *([f"Below a score, its 95\u202f% interval {subject.interval}."] if over_cases else []),
        *(OVER_SEEDS if over_seeds else []),
    ]
    bars = score_bars(scores, colours, f"test {subject.rows}")
    tables = score_tables(subject, scores, colours, subject.reference)
    names = dict.fromkeys(name for split in scores.splits() for name, _ in scores.columns_with_values(split))
    meanings = Table(
        columns=["Score", "What it says"],
        rows=[[scores.heading(name), meaning(name)] for name in names],
        fold="What the scores mean",
        style="words",
    )
    return PagePart(
        id="scores",
        title="How it was chosen",
        side=side,
        lead=summary.verdict,
        support=[scores.name_models(answer_line(runs)), *summary.support],
        content=[bars, *tables, meanings, *summary.tables, *notes],
    )


def directions(scores: Scores) -> str:
    """Which way is better."""
    shown = {scores.heading(metric): scores.higher(metric) for metric, _ in scores.columns()}
    lower = [name for name, higher in shown.items() if higher is False]
    if len(lower) == len(shown):
        return "Lower is better."
    level = [name for name, higher in shown.items() if higher is None]
    meets = [f"{text.listing(level)} should meet the level named"] if level else []
    if not any(shown.values()):
        return "; ".join([*(["Lower is better"] if lower else []), *meets]) + "."
    return (
        "; ".join(
            ["Higher is better", *([f"for {text.listing([*map(text.within, lower)])} lower"] if lower else []), *meets]
        )
        + "."
    )
