"""Scores of runs as tables, a row per model, and the sentence on a run."""

import dataclasses
import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from multiway.tasks.answers import Answer
from multiway.tasks.protocol import NETWORK, Metric, Row
from multiway.tasks.run import Run

LOPSIDED = 10
"""Times that a model which counts words may err more on one of two splits that are alike."""
UNDEFINED: Row = {"value": None, "low": None, "high": None}


def score_of(run: Run, model: str, metric: str | Metric, split: str = "test") -> Row:
    """Value and interval of one score of a run; all None if it has none."""
    chosen = metric_of(run, metric) if isinstance(metric, str) else metric
    rows = (row for row in run.scores if (row["model"], row["split"]) == (model, split))
    return next((row for row in rows if chosen.measures(row)), UNDEFINED)


def metric_of(run: Run, name: str) -> Metric:
    """The declared metric of that name; a plain one of score rows if it is not declared."""
    declared = {metric.name: metric for metric in run.task.metrics(run.config)}
    return declared.get(name, Metric(name=name, title=name))


def models_of(run: Run, split: str = "test") -> list[str]:
    """Names of the models that are scored, the answer first."""
    known = dict.fromkeys(row["model"] for row in run.scores if row["split"] == split)
    return [name for name in dict.fromkeys([run.task.score_name(run), *known]) if name in known]


def score_table(runs: Sequence[Run], split: str) -> list[Row]:
    """One row per model: each metric's mean over the runs; what is undefined is None.

    A metric with a spread has its 95 % interval for one run, where the run has any, and its deviation over several.
    """
    metrics = metrics_with_scores(runs[0])
    return [{"model": model, **_figures(runs, model, split, metrics)} for model in models_of(runs[0], split)]


def metrics_with_scores(run: Run) -> list[Metric]:
    """The declared metrics that the run has scores of, whether defined or not."""
    known = {row["metric"] for row in run.scores}
    return [metric for metric in run.task.metrics(run.config) if (metric.of or metric.name) in known]


def details_of(runs: Sequence[Run]) -> frozenset[str]:
    """Columns of a table of scores that a reader is shown on request alone."""
    names = [metric.name for metric in metrics_with_scores(runs[0]) if metric.detail]
    return frozenset(f"{name}{part}" for name in names for part in ("", " sd", " low", " high"))


def _figures(runs: Sequence[Run], model: str, split: str, metrics: Sequence[Metric]) -> Row:
    found: Row = {}
    for metric in metrics:
        rows = [score_of(run, model, metric, split) for run in runs]
        found[metric.name] = mean([row["value"] for row in rows])
        if metric.spread and len(runs) > 1:
            found[f"{metric.name} sd"] = deviation([row["value"] for row in rows])
        elif metric.spread and any(row["low"] is not None for row in runs[0].scores):
            found |= {f"{metric.name} {side}": rows[0][side] for side in ("low", "high")}
    return found


def answer_line(runs: Sequence[Run]) -> str:
    """Which model answers, and why; of several seeds the first, with a word on those that differ."""
    others = sum(run.answer.name != runs[0].answer.name for run in runs)
    more = f" {others} of {len(runs)} seeds have another answer." if others else ""
    return f"{runs[0].line}{more}"


def words_of(runs: Sequence[Run]) -> dict[str, str]:
    """Names of the models of runs of one task, by what files call them, as the report has them."""
    scores = [run.task.page.SUBJECT.scores([run]) for run in runs]
    return {model: known.name(model) for known in scores for model in known.models()}


def in_words(run: Run, sentence: str) -> str:
    """A sentence of a run with the models in words, for a reader."""
    return run.task.page.SUBJECT.scores([run]).name_models(sentence)


def add_head(answer: Answer, run: Run, raw: bool) -> Answer:
    """An answer, its first line, and the same in words."""
    head = answer.head or run.line
    return dataclasses.replace(answer, head=head, told=in_words(run, head), words=words_of([run]), raw=raw)


def step_bytes(run: Run) -> int | None:
    """Bytes of a training step in float32: weights, gradients, Adam's two moments, and what a batch keeps.

    The same on every device. Buffers that live within a layer are not counted, nor are libraries.
    """
    kept = run.facts.get("kept")
    if kept is None:
        return None
    weights = 4 * run.facts["parameters"].get(run.task.own, 0)
    return int(4 * weights + kept * run.config.training.batch_size)


def best_baseline_remark(run: Run, metric: str) -> str:
    """Say it where the network answers and a baseline does as well or better on the test rows; else nothing."""
    chosen = metric_of(run, metric)
    sign = -1.0 if chosen.higher is False else 1.0
    values: Mapping[str, float | None] = {model: score_of(run, model, chosen)["value"] for model in models_of(run)}
    known = {model: sign * value for model, value in values.items() if value is not None}
    ours = known.pop(NETWORK, None)
    best = max(known, key=lambda model: known[model], default=None)
    if run.answer.name != NETWORK or ours is None or best is None or known[best] < ours:
        return ""
    return f" The network is no better than the baselines: {best} does as well or better."


def warn_of_lopsided(run: Run) -> list[str]:
    """Models that count words and err ten times less on one split held out than on the other, beyond its interval."""
    notes = []
    for model, candidate in run.task.candidates().items():
        if not candidate.counts_words:
            continue
        chosen = metric_of(run, candidate.counts_words)
        errors = {split: _error(run, model, chosen, split) for split in ("validation", "test")}
        for (better, least), (worse, most) in itertools.permutations(errors.items()):
            if least is not None and most is not None and most.value >= LOPSIDED * least.upper:
                pair = " and ".join(
                    write_score(score_of(run, model, chosen, split)["value"]) for split in (better, worse)
                )
                notes.append(
                    f"{model} is more than {LOPSIDED} times better on {better} than on {worse}: {chosen.title} {pair}. "
                    f"Models that count words are, where texts of {better} stand in the training: `multiway audit` "
                    f"looks for them."
                )
    return notes


class _Error(NamedTuple):
    """How often a model errs on a split, or how perplexed it is, and the upper end of what that may be by chance."""

    value: float
    upper: float


def _error(run: Run, model: str, metric: Metric, split: str) -> _Error | None:
    row = score_of(run, model, metric, split)
    value, low, high = row["value"], row["low"], row["high"]
    if value is None:
        return None
    if not metric.higher:
        return _Error(value, value if high is None else high)
    counted = run.facts["splits"][split]
    by_chance = 3 / max(1, counted.get("samples") or counted.get("count") or 1)  # of as many without an error
    return _Error(1 - value, max(1 - (value if low is None else low), by_chance))


def sentence_of(run: Run, metric: str, second: str) -> str:
    """Test scores of the answer in two metrics, with the interval of the first, and those of the other candidates."""
    first, other = metric_of(run, metric), metric_of(run, second)
    row = score_of(run, run.answer.name, first)
    interval = "" if row["low"] is None else f" (95 % interval {write_score(row['low'])} to {write_score(row['high'])})"
    others = []
    for model in models_of(run)[1:]:
        pair = (write_score(score_of(run, model, each)["value"]) for each in (first, other))
        others.append(f"{model} {' / '.join(pair)}")
    rest = f"; {', '.join(others)}" if others else ""
    figure = f"test {metric.upper()} {write_score(row['value'])}{interval}"
    remark = best_baseline_remark(run, metric)
    return f"{figure}, {second.upper()} {write_score(score_of(run, run.answer.name, other)['value'])}{rest}.{remark}"


def write_score(value: float | None) -> str:
    """A score in words; small ones with four digits."""
    return "undefined" if value is None else f"{value:.4g}" if abs(value) < 0.01 else f"{value:.3f}"


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of what is defined."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def deviation(values: Sequence[float | None]) -> float | None:
    """Standard deviation (n - 1) of what is defined, None for fewer than two."""
    known = [value for value in values if value is not None]
    return statistics.stdev(known) if len(known) > 1 else None
