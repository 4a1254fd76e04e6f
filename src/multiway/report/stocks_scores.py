"""The verdict on movements of stocks: beside always naming one direction, and with the interval over days."""

import statistics
from typing import NamedTuple

from multiway.report import text
from multiway.report.palette import title
from multiway.report.stocks_content import StockReport

DECIMALS = 3
GIVEN_AWAY = 0.9
"""ACC of the calendar baseline above which the labels follow from the calendar."""


class Interval(NamedTuple):
    """A test score: mean over seeds, and the mean of their 95 % intervals over blocks of days."""

    value: float
    low: float | None
    high: float | None
    num_seeds: int

    def against(self, other: float) -> str:
        """Where the interval lies."""
        if self.low is None or self.high is None:
            return "above" if self.value > other else "below" if self.value < other else "at"
        return "above" if self.low > other else "below" if self.high < other else "around"


def interval(content: StockReport, model: str, metric: str) -> Interval | None:
    """Test score of a model; None where it is absent or undefined."""
    rows = [row for row in content.scores if (row.model, row.metric, row.split) == (model, metric, "test")]
    values = [row.value for row in rows if row.value is not None]
    if not rows or len(values) < len(rows):
        return None
    lows = [row.low for row in rows if row.low is not None]
    highs = [row.high for row in rows if row.high is not None]
    if len(lows) < len(rows) or len(highs) < len(rows):
        return Interval(statistics.fmean(values), None, None, len(rows))
    return Interval(statistics.fmean(values), statistics.fmean(lows), statistics.fmean(highs), len(rows))


def verdict(content: StockReport) -> str:
    """One sentence: the share named rightly beside that of always naming one direction."""
    own = interval(content, content.chosen, "ACC")
    if own is None:
        return _quantile_verdict(content)
    seeds = f", mean over {own.num_seeds} seeds" if own.num_seeds > 1 else ""
    start = f"{_name(content.chosen)} names the direction of {_percent(own.value)} of the test movements{seeds}"
    always = interval(content, content.majority, "ACC")
    if always is None:
        return f"{start}{_span(own)}."
    place = {
        "above": "its interval lies above that" if own.low is not None else "that is above",
        "below": "its interval lies below that" if own.low is not None else "that is below",
        "around": "its interval holds that, so it may be chance",
        "at": "that is the same",
    }[own.against(always.value)]
    return (
        f"{start}{_span(own)}; always naming the direction that was more frequent in training is right in "
        f"{_percent(always.value)}: {place}."
    )


def _quantile_verdict(content: StockReport) -> str:
    own = interval(content, content.chosen, "Pinball")
    if own is None:
        return ""
    others = {row.model for row in content.scores if row.model != content.chosen}
    known = {model: found for model in others if (found := interval(content, model, "Pinball")) is not None}
    start = f"{_name(content.chosen)} has a pinball loss of {text.number(own.value, 5)} on the test movements"
    if not known:
        return f"{start}."
    best = min(known, key=lambda model: known[model].value)
    standing = "below" if own.value < known[best].value else "no better than"
    return f"{start}; that is {standing} that of {title(best)}, {text.number(known[best].value, 5)}."


def supporting(content: StockReport) -> list[str]:
    """What the verdict should be read beside: MCC, the best baseline, and whether the labels are given away."""
    sentences = []
    own = interval(content, content.chosen, "MCC")
    if own is not None:
        place = {"above": "above", "below": "below", "around": "around", "at": "at"}[own.against(0.0)]
        what = "the interval is" if own.low is not None else "it is"
        sentences.append(
            f"Its Matthews correlation, pooled over all test movements, is {text.number(own.value, DECIMALS)}"
            f"{_range(own)}; 0 is chance, and {what} {place} it."
        )
        sentences += _beside(content, own.value)
    return sentences + _given_away(content)


def _beside(content: StockReport, own: float) -> list[str]:
    models = dict.fromkeys(row.model for row in content.scores if row.split == "test" and row.model != content.chosen)
    known = {model: found.value for model in models if (found := interval(content, model, "MCC")) is not None}
    if not known:
        return []
    best = max(known, key=lambda model: known[model])
    remark = "The network has not earned its place: " if known[best] >= own else ""
    sentence = f"{remark}the best baseline by that measure, {title(best)}, has {text.number(known[best], DECIMALS)}."
    return [text.sentence_case(sentence)]


def _given_away(content: StockReport) -> list[str]:
    calendar = interval(content, content.calendar, "ACC")
    if calendar is None or calendar.value < GIVEN_AWAY:
        return []
    rule = f"A look-up of the weekday, the month and which days traded is right in {_percent(calendar.value)}"
    return [f"{rule}: these labels follow from the calendar, and no score on them says anything about prices or texts."]


def _percent(share: float) -> str:
    return text.percent(100 * share)


def _span(found: Interval) -> str:
    if found.low is None or found.high is None:
        return ""
    return f" (95\u202f% interval over days {text.number(100 * found.low, 1)} to {_percent(found.high)})"


def _range(found: Interval) -> str:
    if found.low is None or found.high is None:
        return ""
    return f" (95\u202f% interval {text.number(found.low, DECIMALS)} to {text.number(found.high, DECIMALS)})"


def _name(model: str) -> str:
    return text.sentence_case(title(model))
