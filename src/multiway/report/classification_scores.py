"""Scores of a classification: a row per model with its interval, the best marked, the verdict in sentences."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from multiway.report import text
from multiway.report.classification_content import ClassificationReport, ClassScore
from multiway.report.palette import title
from multiway.report.scores import seed_mean
from multiway.report.stocks_content import StockReport
from multiway.report.summary import seed_facts

LOWER_IS_BETTER = {"ECE", "Pinball", "MAE"}
NONE_IS_BEST = {"Coverage"}
"""First words of metrics that should meet a level, so that no cell is the best."""
SMALL = {"Pinball", "MAE"}
"""Metrics in the units of the data, which three decimals may not show."""
UNDEFINED = "undefined"
DECIMALS = 3


class Mean(NamedTuple):
    """A score with its 95 % interval: over cases for one seed, of the mean over several."""

    value: float | None
    low: float | None
    high: float | None
    num_seeds: int

    @property
    def is_known(self) -> bool:
        """Whether the metric is defined here."""
        return self.value is not None and math.isfinite(self.value)


class Cell(NamedTuple):
    """One cell as it is set."""

    value: str
    spread: str
    is_best: bool


class Row(NamedTuple):
    """One model."""

    model: str
    colour: int
    is_chosen: bool
    cells: list[Cell]


class Table(NamedTuple):
    """Scores of one split."""

    split: str
    metrics: list[str]
    rows: list[Row]
    over_seeds: bool
    over_cases: bool


def means(scores: Sequence[ClassScore], split: str) -> dict[tuple[str, str], Mean]:
    """Score per (model, metric): a mean over seeds where there are several."""
    found: dict[tuple[str, str], list[ClassScore]] = {}
    for row in scores:
        if row.split == split:
            found.setdefault((row.model, row.metric), []).append(row)
    return {key: _mean(rows) for key, rows in found.items()}


def _mean(rows: Sequence[ClassScore]) -> Mean:
    values = [row.value for row in rows if row.value is not None]
    if len(values) < len(rows):
        return Mean(None, None, None, len(rows))
    if len(set(row.seed for row in rows)) < 2 or len(set(values)) == 1:
        return Mean(values[0], rows[0].low, rows[0].high, 1)
    mean = seed_mean(values)
    half = mean.half_width or 0.0
    return Mean(mean.mean, mean.mean - half, mean.mean + half, len(values))


def facts(content: ClassificationReport | StockReport, decimals: int = DECIMALS) -> list[tuple[str, str, str]]:
    """Label, value and remark of each figure in the summary."""
    test = means(content.scores, "test")
    own = [(metric, mean) for (model, metric), mean in test.items() if model == content.chosen]
    found = [
        (f"Test {metric}", text.number(mean.value, decimals) if mean.is_known else UNDEFINED, "")
        for metric, mean in own[:4]
    ]
    cost = next((cost for cost in content.costs if cost.model == content.chosen), None)
    if cost is not None and cost.parameters is not None:
        found.append(("Parameters", text.magnitude(cost.parameters), ""))
    return found + seed_facts(content)


def tables(content: ClassificationReport, colours: Mapping[str, int]) -> list[Table]:
    """One table per split, test first."""
    splits = sorted(dict.fromkeys(row.split for row in content.scores), key=lambda split: split != "test")
    return [_table(content, split, colours) for split in splits]


def _table(content: ClassificationReport, split: str, colours: Mapping[str, int]) -> Table:
    found = means(content.scores, split)
    metrics = list(dict.fromkeys(metric for _, metric in found))
    models = list(dict.fromkeys(model for model, _ in found))
    models.sort(key=lambda model: -_number(found.get((model, metrics[0]))))
    columns = [_column([found.get((model, metric)) for model in models], metric) for metric in metrics]
    rows = [
        Row(title(model), colours.get(model, 0), model == content.chosen, [column[index] for column in columns])
        for index, model in enumerate(models)
    ]
    several = any(mean.num_seeds > 1 for mean in found.values())
    return Table(split, metrics, rows, several, any(m.low is not None and m.num_seeds == 1 for m in found.values()))


def _column(cells: Sequence[Mean | None], metric: str) -> list[Cell]:
    known = [cell.value for cell in cells if cell is not None and cell.is_known and cell.value is not None]
    best = (min(known) if metric in LOWER_IS_BETTER else max(known)) if known else None
    decimals = max(DECIMALS, text.decimals_for(known) if metric in SMALL else 0)
    wanted = text.number(best, decimals)
    ranked = len(known) > 1 and metric.split()[0] not in NONE_IS_BEST
    return [
        Cell("", "", False)
        if cell is None
        else Cell(UNDEFINED, "", False)
        if not cell.is_known
        else Cell(
            text.number(cell.value, decimals),
            _spread(cell, decimals),
            ranked and text.number(cell.value, decimals) == wanted,
        )
        for cell in cells
    ]


def _spread(cell: Mean, decimals: int = DECIMALS) -> str:
    if cell.low is None or cell.high is None or cell.value is None:
        return ""
    if cell.num_seeds > 1:
        return f"±\u202f{text.number(cell.high - cell.value, decimals)}"
    between = "–" if cell.low >= 0 else " to "
    return f"{text.number(cell.low, decimals)}{between}{text.number(cell.high, decimals)}"


def verdict(content: ClassificationReport) -> str:
    """One sentence: the first defined metric on the test cases, beside the best baseline."""
    found = means(content.scores, "test")
    metric = primary(content)
    own = found.get((content.chosen, metric)) if metric else None
    if own is None or own.value is None:
        return ""
    others = {model: mean for (model, name), mean in found.items() if name == metric and model != content.chosen}
    start = f"{text.sentence_case(title(content.chosen))} has a test {metric} of {_in_words(own)}"
    rivals = {model: mean for model, mean in others.items() if mean.value is not None and mean.is_known}
    if not rivals:
        return f"{start}."
    best = max(rivals, key=lambda model: _number(rivals[model]))
    return f"{start}; {_standing(own, rivals[best])} the best baseline, {title(best)}, with {_in_words(rivals[best])}."


def _standing(own: Mean, rival: Mean) -> str:
    """A difference that the intervals cover is said to be one."""
    ahead = _number(own) > _number(rival)
    if own.low is not None and own.high is not None and rival.low is not None and rival.high is not None:
        apart = own.low > rival.high if ahead else own.high < rival.low
        return ("that is above" if ahead else "that is below") if apart else "its interval meets that of"
    return "that is above" if ahead else "that is no better than"


def supporting(content: ClassificationReport) -> list[str]:
    """What the verdict should be read beside: the most frequent class, undefined metrics, the threshold."""
    found = means(content.scores, "test")
    sentences = []
    accuracy = found.get((content.chosen, "ACC"))
    if content.majority is not None and accuracy is not None and accuracy.value is not None:
        sentences.append(
            f"It names {text.percent(100 * accuracy.value)} of the test cases rightly; always naming the most "
            f"frequent class is right in {text.percent(100 * content.majority)}."
        )
    undefined = [metric for (model, metric), mean in found.items() if model == content.chosen and not mean.is_known]
    if undefined:
        sentences.append(f"{text.listing(undefined)} is undefined: the test cases are all of one class.")
    if content.threshold is not None and len(content.classes) == 2:
        sentences.append(
            f"Sensitivity and specificity are those at {text.number(content.threshold, DECIMALS)} for "
            f"{content.classes[1]}, a threshold chosen on validation."
        )
    return sentences


def primary(content: ClassificationReport) -> str:
    """Name the first metric that is defined for the chosen model, or ""."""
    found = means(content.scores, "test")
    return next((metric for (model, metric), mean in found.items() if model == content.chosen and mean.is_known), "")


def bars(content: ClassificationReport, colours: Mapping[str, int]) -> dict[str, object] | None:
    """Set the first metric of every model as bars from 0 to 1, best first; `None` for a single model."""
    metric = primary(content)
    found = {model: mean for (model, name), mean in means(content.scores, "test").items() if name == metric}
    known = {model: mean for model, mean in found.items() if mean.is_known}
    if len(known) < 2:
        return None
    rows = [
        {
            "model": title(model),
            "colour": colours[model],
            "chosen": model == content.chosen,
            "width": _percent(mean.value),
            "value": text.number(mean.value, DECIMALS),
            "low": _percent(mean.low),
            "span": round(_percent(mean.high) - _percent(mean.low), 2),
        }
        for model, mean in sorted(known.items(), key=lambda item: -_number(item[1]))
    ]
    return {"metric": metric, "bars": rows}


def _percent(value: float | None) -> float:
    return round(100 * min(max(value or 0.0, 0.0), 1.0), 2)


def _in_words(mean: Mean) -> str:
    spread = _spread(mean)
    return text.number(mean.value, DECIMALS) + (f" ({spread})" if spread else "")


def _number(mean: Mean | None) -> float:
    return mean.value if mean is not None and mean.value is not None and mean.is_known else -math.inf
