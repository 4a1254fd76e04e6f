"""Scores of any task: the mean over seeds with its interval, and where a model stands.

A row is a mapping with "model", "split", "metric", "value", and, where known, "low" and "high", the ends of its
95 % interval, and "scale". One list of rows is one seed.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from multiway.report import text
from multiway.report.scales import title
from multiway.report.sections import Bar, Bars, Table, TableCell

Row = Mapping[str, Any]
Seeds = Sequence[Sequence[Row]]
Column = tuple[str, str]
"""Metric and scale."""
UNDEFINED = "undefined"


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """What a score measures, and how it is printed.

    name: Of its column on the command line, and in the rows of scores.
    title: In a report.
    higher: Whether more is better; None where no value is the best.
    decimals: Digits after the point; None for about four digits of the largest value of a column.
    spread: Whether the command line prints its interval, or over several seeds its deviation.
    detail: Whether the command line prints it only on request.
    of: Its name in the rows of scores, where that is another.
    where: What else the rows hold: {"scale": "scaled"}.
    """

    name: str
    title: str
    higher: bool | None = True
    decimals: int | None = 3
    spread: bool = False
    detail: bool = False
    of: str | None = None
    where: Mapping[str, str] = field(default_factory=dict)

    def measures(self, row: Row) -> bool:
        """Whether a row of scores is of this metric."""
        return row["metric"] == (self.of or self.name) and all(row.get(key) == self.where[key] for key in self.where)


class Score(NamedTuple):
    """A score with its 95 % interval: the stored one for one seed, that of the mean over several."""

    value: float | None
    low: float | None = None
    high: float | None = None
    num_seeds: int = 1

    @property
    def number(self) -> float:
        """The value, NaN where it is undefined."""
        return math.nan if self.value is None else float(self.value)

    def spread(self, decimals: int) -> str:
        """Its interval in words: both ends for one seed, half of it for a mean over several."""
        if self.low is None or self.high is None or not math.isfinite(self.number):
            return ""
        if self.num_seeds > 1:
            return f"±\u202f{text.number(self.high - self.number, decimals)}"
        between = "–" if self.low >= 0 else " to "
        return f"{text.number(self.low, decimals)}{between}{text.number(self.high, decimals)}"

    def in_words(self, decimals: int) -> str:
        """Value and interval."""
        spread = self.spread(decimals)
        return text.number(self.value, decimals) + (f" ({spread})" if spread else "")


def over_seeds(rows: Sequence[Row]) -> Score:
    """One score of several seeds.

    One seed keeps its stored interval. Several give the mean, and half of its 95 % interval by Student's t on each
    side; a score that is the same for every seed has no interval then. It is undefined where it is for one seed.
    """
    values = [row["value"] for row in rows]
    if any(value is None or not math.isfinite(value) for value in values):
        return Score(None, num_seeds=len(rows))
    if len(rows) == 1:
        return Score(float(values[0]), rows[0].get("low"), rows[0].get("high"))
    if len(set(values)) == 1:
        return Score(float(values[0]), num_seeds=len(rows))
    mean, half = float(np.mean(values)), half_width(values)
    return Score(mean, mean - half, mean + half, len(rows))


def half_width(values: Sequence[float]) -> float:
    """Half the 95 % interval of the mean of two values or more: t s / sqrt(n)."""
    from scipy.special import stdtrit  # takes longer to import than most of what is here

    count = len(values)
    return float(stdtrit(count - 1, 0.975) * np.std(values, ddof=1) / math.sqrt(count))


class Scores:
    """Scores over seeds, found by model, split, metric and scale.

    Args:
        seeds: Rows of each seed; every task's rows alike.
        metrics: What they measure, in the order of the columns; the first that is defined decides.
        chosen: The model that this is about; others are its baselines.
        models: Names of models in words.
    """

    def __init__(
        self, seeds: Seeds, metrics: Sequence[Metric], chosen: str, models: Mapping[str, str] | None = None
    ) -> None:
        self.metrics = {metric.name: metric for metric in metrics}
        self.chosen, self.titles = chosen, models or {}
        rows_by_key: dict[tuple[str, str, str, str], list[Row]] = {}
        for row in (row for rows in seeds for row in rows if row["metric"] in self.metrics):
            key = (str(row["model"]), str(row["split"]), str(row["metric"]), str(row.get("scale", "")))
            rows_by_key.setdefault(key, []).append(row)
        self.all = {key: over_seeds(rows) for key, rows in rows_by_key.items()}

    def name(self, model: str) -> str:
        """A model in words."""
        return self.titles.get(model, title(model))

    def name_within(self, model: str) -> str:
        """A model within a sentence."""
        return "the network" if model == "network" else self.name(model)

    def name_models(self, sentence: str) -> str:
        """A sentence of a run, which names models as its files do, with all of them in words."""
        words = {model: self.name(model) for model in {model for model, _, _, _ in self.all}}
        other = sorted((model for model, word in words.items() if word != model), key=len, reverse=True)
        pattern = rf"\b({'|'.join(map(re.escape, other))})\b(?! regression)"
        return re.sub(pattern, lambda found: words[found[0]], sentence) if other else sentence

    def splits(self) -> list[str]:
        """Splits that are scored, the test first."""
        return sorted(dict.fromkeys(split for _, split, _, _ in self.all), key=lambda split: split != "test")

    def models(self, split: str = "test") -> list[str]:
        """Models that are scored."""
        return list(dict.fromkeys(model for model, of, _, _ in self.all if of == split))

    def columns(self, split: str = "test") -> list[Column]:
        """Metrics with their scales, those of one scale side by side."""
        columns = dict.fromkeys((name, scale) for _, of, name, scale in self.all if of == split)
        scales, names = list(dict.fromkeys(scale for _, scale in columns)), list(self.metrics)
        return sorted(columns, key=lambda column: (scales.index(column[1]), names.index(column[0])))

    def columns_with_values(self, split: str = "test") -> list[Column]:
        """Columns that some model has a value in; all where none has."""
        models, columns = self.models(split), self.columns(split)
        known = [name for name in columns if any(self.of(model, name, split).value is not None for model in models)]
        return known or columns

    def get(self, model: str, metric: str, split: str = "test", scale: str = "") -> Score:
        """One score; an undefined one where there is none."""
        return self.all.get((model, split, metric, scale), Score(None))

    def of(self, model: str, column: Column, split: str = "test") -> Score:
        """The score of a column."""
        return self.get(model, column[0], split, column[1])

    def primary(self) -> Column | None:
        """Metric and scale that decide: the first that is defined for the chosen model on the test split."""
        return next((column for column in self.columns() if self.of(self.chosen, column).value is not None), None)

    def ranking(self, split: str = "test") -> list[tuple[str, Score]]:
        """Models by the deciding metric, the best first."""
        decides = self.primary() or next(iter(self.columns(split)), None)
        if decides is None:
            return []
        known = [(model, self.of(model, decides, split)) for model in self.models(split)]
        sign = -1.0 if self.higher(decides[0]) else 1.0
        return sorted(known, key=lambda item: sign * item[1].number if item[1].value is not None else math.inf)

    def decimals(self, column: Column, split: str = "test") -> int:
        """Digits after the point that a column takes."""
        given = self.metrics[column[0]].decimals
        values = (self.of(model, column, split).number for model in self.models(split))
        return text.decimals_for(values) if given is None else given

    def heading(self, name: str) -> str:
        """A metric in words."""
        return self.metrics[name].title

    def higher(self, name: str) -> bool | None:
        """Whether more of a metric is better."""
        return self.metrics[name].higher


def best_rival(scores: Scores) -> tuple[str, Score] | None:
    """The best baseline by the deciding metric."""
    known = (item for item in scores.ranking() if item[1].value is not None)
    return next((item for item in known if item[0] != scores.chosen), None)


def verdict(scores: Scores) -> str:
    """One sentence: the deciding score on the test split against that of the best other candidate."""
    decides = scores.primary()
    if decides is None:
        return ""
    metric, decimals = text.within(scores.heading(decides[0])), scores.decimals(decides)
    own, rival = scores.of(scores.chosen, decides), best_rival(scores)
    start = f"{text.sentence_case(scores.name_within(scores.chosen))} has a test {metric} of {own.in_words(decimals)}"
    if rival is None:
        return f"{start}."
    rank = standing(own, rival[1], higher=bool(scores.higher(decides[0])))
    return (
        f"{start}; {rank} the best other candidate, {scores.name_within(rival[0])}, with {rival[1].in_words(decimals)}."
    )


def standing(own: Score, rival: Score, *, higher: bool = True) -> str:
    """Whether a score is better than another in words; a difference that the intervals cover is said to be one."""
    if own.number == rival.number or (own.number > rival.number) != higher:
        return "that is no better than"
    if own.low is None or own.high is None:
        return "that is better than"
    low, high = (rival.number if end is None else end for end in (rival.low, rival.high))
    apart = own.low > high if higher else own.high < low
    return "that is better than" if apart else "its interval meets that of"


def models_table(
    scores: Scores,
    colours: Mapping[str, int],
    split: str = "test",
    *,
    title: str = "",
    first: str = "Model",
    reference: str = "",
    differences: bool = False,
    is_ranked: bool = True,
) -> Table:
    """One row per model, the best of the deciding metric first, and the best of each column marked.

    Args:
        scores: What is known.
        colours: Number of each model's colour.
        split: Whose scores.
        title: Over the table.
        first: Head of the models.
        reference: Model that a last column compares with, by the deciding metric.
        differences: Whether each score without an interval shows its difference to the reference's.
        is_ranked: Whether scores can be compared: else models keep their order, and none is best or near another.
    """
    models, columns = [model for model, _ in scores.ranking(split)], scores.columns_with_values(split)
    if not is_ranked:
        models, differences, reference = [name for name in scores.models() if name in models], False, ""
    compared = reference if differences else ""
    cells = [_column(scores, models, column, split, compared, is_ranked=is_ranked) for column in columns]
    heads = [TableCell(scores.name(model), swatch=f"s{colours.get(model, 0)}") for model in models]
    last = _against(scores, models, reference, split)
    return Table(
        columns=[
            first,
            *(scores.heading(metric) for metric, _ in columns),
            *([f"against {scores.name(reference)}"] if last else []),
        ],
        rows=[list(row) for row in zip(heads, *cells, *([last] if last else []), strict=True)],
        title=title,
        groups=_groups(columns, bool(last)),
        strong=[row for row, model in enumerate(models) if model == scores.chosen],
        style="numbers scores",
    )


def _groups(columns: Sequence[Column], has_last: bool) -> list[tuple[str, int]]:
    """Scales over the columns, where there are any."""
    scales = [scale for _, scale in columns]
    if not any(scales):
        return []
    named = [(f"{scale} values" if scale else "", scales.count(scale)) for scale in dict.fromkeys(scales)]
    return [("", 1), *named, *([("", 1)] if has_last else [])]


def _column(
    scores: Scores, models: Sequence[str], column: Column, split: str, reference: str, *, is_ranked: bool
) -> list[TableCell]:
    decimals, higher = scores.decimals(column, split), scores.higher(column[0])
    scored = {model: score for model in models if (score := scores.all.get((model, split, *column))) is not None}
    finite = [score.number for score in scored.values() if math.isfinite(score.number)]
    has_best = is_ranked and higher is not None and len(finite) > 1
    best = text.number((max if higher else min)(finite), decimals) if has_best else None
    base = scored[reference].number if reference in scored else math.nan
    cells = {}
    for model, score in scored.items():
        words = UNDEFINED if score.value is None else text.number(score.value, decimals)
        small = score.spread(decimals) or ("" if model == reference else text.relative(score.number, base))
        cells[model] = TableCell(words, small, is_best=words == best)
    return [cells.get(model, TableCell()) for model in models]


def _against(scores: Scores, models: Sequence[str], reference: str, split: str) -> list[TableCell]:
    """How far each model is from the reference, by the deciding metric."""
    decides = scores.primary()
    if decides is None or reference not in models:
        return []
    values = {model: scores.of(model, decides, split).number for model in models}
    return [
        TableCell("" if model == reference else text.relative(value, values[reference]))
        for model, value in values.items()
    ]


def score_bars(scores: Scores, colours: Mapping[str, int], rows: str) -> Bars | None:
    """The deciding score of every model as bars, best first; None for a single model or scores below zero.

    rows: What is scored, in words: "test cases".
    """
    decides = scores.primary()
    known = [(model, score) for model, score in scores.ranking() if score.value is not None]
    if decides is None or len(known) < 2 or min(score.number for _, score in known) < 0:
        return None
    higher, decimals = scores.higher(decides[0]), scores.decimals(decides)
    tops = [score.number if score.high is None else score.high for _, score in known]
    largest = 1.0 if higher and max(tops) <= 1 else max(tops) or 1.0
    bars = []
    for model, score in known:
        ends = (score.number if end is None else end for end in (score.number, score.low, score.high))
        width, low, high = (round(100 * min(max(end / largest, 0.0), 1.0), 2) for end in ends)
        bar = Bar(
            scores.name(model),
            text.number(score.value, decimals),
            width,
            colours.get(model, 0),
            model == scores.chosen,
            low=low,
            span=round(high - low, 2) if high - low >= 1 else 0.0,  # else narrower than the strokes that would mark it
        )
        bars.append(bar)
    return Bars(
        title=" ".join([decides[1], scores.heading(decides[0])]).strip(),
        remark=f"on the {rows}" + ("" if higher is None else f", {'higher' if higher else 'lower'} is better"),
        bars=bars,
    )
