"""Scores of runs as tables: a row per model, the row of a published cell, the sentence on a run."""

import itertools
import math
import os
import shutil
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from multiway.tasks.protocol import NETWORK, OURS, Cell, Metric, Row
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
    return [name for name in dict.fromkeys([run.task.scored_as(run), *known]) if name in known]


def score_table(runs: Sequence[Run], split: str) -> list[Row]:
    """One row per model: each metric's mean over the runs; what is undefined is None.

    A metric with a spread has its 95 % interval for one run, where the run has any, and its deviation over several.
    """
    metrics = scored_metrics(runs[0])
    return [{"model": model, **_figures(runs, model, split, metrics)} for model in models_of(runs[0], split)]


def scored_metrics(run: Run) -> list[Metric]:
    """The declared metrics that the run has scores of, whether defined or not."""
    known = {row["metric"] for row in run.scores}
    return [metric for metric in run.task.metrics(run.config) if (metric.of or metric.name) in known]


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
    return run.task.page.SUBJECT.scores([run]).told(sentence)


def cell_row(name: str, cell: Cell, runs: Sequence[Run], seeds: int) -> Row:
    """One row of results: published, measured with its deviation over seeds, and the baselines."""
    first, is_mean = runs[0], len(cell.horizons) > 1
    measured: Row = {}
    for model in models_of(first):
        measured |= _measured(runs, model, "" if model == first.task.own else f"{model}_", is_mean=is_mean)
    return {
        **_cell_head(name, cell, seeds),
        **measured,
        "parameters": first.facts["parameters"],
        "flops": first.facts.get("flops"),
        "step_bytes": step_bytes(first),
        "best_epochs": [run.facts["best"].get(run.task.own, {}).get("epoch") for run in runs],
        "seconds": round(math.fsum(value for run in runs for value in run.facts["seconds"].values()), 1),
        "each": [
            {each.name: score_of(run, run.task.own, each)["value"] for each in scored_metrics(run)} for run in runs
        ],
        **first.task.cell_facts(runs),
        **_cell_tail(first),
    }


def own_parameters(row: Row) -> int | None:
    """How many parameters a row of results has of the model that its runs are about; rows of old call it otherwise."""
    counts = row.get("parameters")
    if not isinstance(counts, dict):
        return counts
    return next((counts[name] for name in (NETWORK, OURS) if name in counts), None)


def step_bytes(run: Run) -> int | None:
    """Bytes of a training step in float32: weights, gradients, Adam's two moments, and what a batch keeps.

    The same on every device. Buffers that live within a layer are not counted, nor are libraries.
    """
    kept = run.facts.get("kept")
    if kept is None:
        return None
    weights = 4 * run.facts["parameters"].get(run.task.own, 0)
    return int(4 * weights + kept * run.config.training.batch_size)


def _measured(runs: Sequence[Run], model: str, prefix: str, *, is_mean: bool) -> Row:
    """Mean of every metric; the deviation of those with a spread, unless the runs are of several horizons."""
    found: Row = {}
    for metric in scored_metrics(runs[0]):
        values = [score_of(run, model, metric)["value"] for run in runs]
        found[prefix + metric.name] = mean(values)
        if metric.spread and not is_mean:
            found[f"{prefix}{metric.name}_sd"] = deviation(values)
    return found


def _cell_head(name: str, cell: Cell, seeds: int) -> Row:
    """Begin a row of results: which cell it is, and what was published."""
    horizons = {"horizons": ",".join(map(str, cell.horizons))} if cell.horizons else {}
    kind = {key: value for key, value in (("variant", cell.variant), ("form", cell.form)) if value}
    published = {f"published_{metric}": value for metric, value in cell.figures.items()}
    return {"recipe": name, "row": cell.row, **kind, **horizons, "seeds": seeds, **published}


def _cell_tail(run: Run) -> Row:
    """End a row of results: the settings and the machine that made it."""
    manifest = run.folder.verify() if run.folder else {}
    return {
        "settings": run.config.plain(),
        "environment": {key: manifest.get(key) for key in ("versions", "device", "threads", "data_sha256")},
        "commit": commit_of_source(),
    }


def commit_of_source() -> str | None:
    """The commit that this code is of, in a checkout; or what MULTIWAY_COMMIT says."""
    root = Path(__file__).parents[3]
    if "MULTIWAY_COMMIT" in os.environ or not (root / ".git").exists() or not shutil.which("git"):
        return os.environ.get("MULTIWAY_COMMIT")
    done = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


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


def lopsided(run: Run, models: Sequence[str], metric: str) -> list[str]:
    """Models that count words and err ten times less on one split held out than on the other, beyond its interval."""
    told, chosen = [], metric_of(run, metric)
    for model in models:
        errors = {split: _error(run, model, chosen, split) for split in ("validation", "test")}
        for (better, least), (worse, most) in itertools.permutations(errors.items()):
            if least is not None and most is not None and most.value >= LOPSIDED * least.upper:
                pair = " and ".join(shown(score_of(run, model, chosen, split)["value"]) for split in (better, worse))
                told.append(
                    f"{model} is more than {LOPSIDED} times better on {better} than on {worse}: {chosen.title} {pair}. "
                    f"Models that count words are, where texts of {better} stand in the training: `multiway audit` "
                    f"looks for them."
                )
    return told


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
    interval = "" if row["low"] is None else f" (95 % interval {shown(row['low'])} to {shown(row['high'])})"
    others = [f"{model} {_pair(run, model, (first, other))}" for model in models_of(run)[1:]]
    rest = f"; {', '.join(others)}" if others else ""
    figure = f"test {metric.upper()} {shown(row['value'])}{interval}"
    remark = best_baseline_remark(run, metric)
    return f"{figure}, {second.upper()} {shown(score_of(run, run.answer.name, other)['value'])}{rest}.{remark}"


def _pair(run: Run, model: str, metrics: Sequence[Metric]) -> str:
    return " / ".join(shown(score_of(run, model, metric)["value"]) for metric in metrics)


def shown(value: float | None) -> str:
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
