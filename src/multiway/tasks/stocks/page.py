"""What the report of a run on stocks says: answers, movements by ticker and month, calibration, attention, backtest."""

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from multiway.data import CheckReport
from multiway.errors import MultiwayError
from multiway.report import text
from multiway.report.scores import Metric, Score, Scores, standing, verdict
from multiway.report.sections import PagePart, Section, Table, Text
from multiway.tasks import pages
from multiway.tasks.comparing import comparison
from multiway.tasks.page_parts import check_of, headed, maps_part, split_table
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.stocks.answers import prediction_table, reload
from multiway.tasks.stocks.backtest import backtest_reloaded, evening_texts
from multiway.tasks.stocks.encode import PreparedStocks
from multiway.tasks.stocks.explain import NOT_ATTRIBUTION, average_attention
from multiway.tasks.stocks.network import labelled_rows
from multiway.tasks.stocks.showing import backtest_part, deletion_parts, grid_part, interesting_answers, next_session
from multiway.tasks.target_page import calibration_part

MODELS = {
    "random": "fair coin",
    "arima": "ARIMA",
    "previous": "previous direction",
    "logistic": "logistic regression",
    "calendar": "calendar look-up",
    "training_quantiles": "training quantiles",
}
PERIOD = re.compile(r"\d{4}(-\d\d)?")
"""How the data check names a year or a month."""
GIVEN_AWAY = 0.9
"""ACC of the calendar baseline above which the labels follow from the calendar."""


def report(runs: Sequence[Run]) -> str:
    """The HTML report of runs that differ in their seed; the first is shown in detail."""
    prepared, why = _read(runs[0])
    return pages.report(SUBJECT, runs, head(runs, prepared), sections(runs, prepared, why))


def head(runs: Sequence[Run], prepared: PreparedStocks | None) -> pages.Summary:
    """The verdict and what it should be read with, the data check and the protocol's splits."""
    run, scores = runs[0], SUBJECT.scores(runs)
    check, periods = (None, {}) if prepared is None else _check(run)
    return pages.Summary(
        verdict=_verdict(scores), support=list(_support(scores)), check=check, splits=_splits(run, periods)
    )


def sections(runs: Sequence[Run], prepared: PreparedStocks | None, why: str = "") -> Iterator[PagePart]:
    """Answers first; those parts that need the data are left out when its file is no longer there.

    why: Said in place of the answers where there are no data.
    """
    run = runs[0]
    test = labelled_rows(run)
    answers: list[Section | None] = [Text(words=why) if why else None]
    if prepared is not None:
        answers = [_next(run, prepared), *headed(interesting_answers(run, prepared))]
    yield _answers(run, answers)
    if len(test):
        yield grid_part(test)
    rises = test["p_up"].to_numpy(float)
    yield calibration_part(test["label"].to_numpy(), np.stack([1 - rises, rises], axis=1), "movements", bins=20)
    if prepared is not None:
        yield _attention(run, prepared)
        traded = backtest_reloaded(run, prepared)
        if traded is not None:
            yield backtest_part(traded, evening_texts(run))


def _setting(run: Run) -> dict[str, str]:
    protocol, sizes = run.config.protocol, run.state.sizes
    named = f"{protocol.name}{', complete' if protocol.complete else ''}{', literal' if protocol.literal else ''}"
    low, high = protocol.dead_zone
    has_zone = high > low and protocol.of_movements
    reads = getattr(getattr(run.model, "config", None), "modality", "price")
    return {
        "Protocol": named,
        "Dead zone": f"{100 * low:g} to {100 * high:g} %".replace("-", "\u2212") if has_zone else "none",
        "Tickers": str(len(run.state.tickers)),
        "Days of a window": str(sizes.slots),
        "Reads": {"price": "prices", "text": "texts", "multimodal": "prices and texts"}.get(reads, reads),
        **({"Prices": "levels"} if protocol.prices == "levels" else {}),
        **({"Texts by": run.state.encoder} if run.state.encoder else {}),
        "Model": run.config.model_name,
    }


def _selected_by(run: Run) -> str:
    titles = {metric.name: metric.title for metric in run.task.metrics(run.config)}
    by_loss = run.config.select == "loss" or run.config.levels
    return "lowest validation loss" if by_loss else f"highest validation {titles[run.config.select]}"


def _columns(run: Run) -> list[Metric]:
    """Every metric but the count, which stands with the splits."""
    return [metric for metric in run.task.metrics(run.config) if metric.name != "count"]


SUBJECT = pages.Subject(
    kicker="Report on movements of stocks",
    rows="movements",
    setting=_setting,
    selected_by=_selected_by,
    models=MODELS,
    interval="over blocks of consecutive days, all tickers of a day together (bootstrap)",
    order=_columns,
    about=["An interval over seeds leaves out that other days could have been tested."],
)
compare = functools.partial(comparison, SUBJECT)


def _verdict(scores: Scores) -> str:
    """The share classified correctly against that of always naming one direction; of quantiles, the loss."""
    own, always = scores.get(OURS, "acc"), scores.get("majority", "acc")
    if own.value is None:
        return verdict(scores)
    share = f"{_percent(own)} of the test movements correctly{_span(own)}"
    start = f"{text.sentence_case(OURS)} classifies the direction of {share}"
    if always.value is None:
        return f"{start}."
    rival = f"the direction that was more frequent in training is right in {_percent(always)}"
    return f"{start}; always naming {rival}: {_place(own, always.number)}."


def _place(own: Score, other: float) -> str:
    """Where an interval lies; without one, where the value does."""
    if own.low is None or own.high is None:
        return "that is better" if own.number > other else "that is no better"
    if own.low > other:
        return "its interval lies above that"
    return "its interval lies below that" if own.high < other else "its interval holds that, so it may be chance"


def _support(scores: Scores) -> Iterator[str]:
    """What the verdict should be read with: MCC, the best baseline, and whether the labels are given away."""
    own = scores.get(OURS, "mcc")
    if own.value is not None:
        pooled = f"Its Matthews correlation, pooled over all test movements, is {own.in_words(3)}"
        yield f"{pooled}; 0 is chance: {_place(own, 0.0)}."
        yield from _best_baseline(scores, own)
    calendar = scores.get("calendar", "acc")
    if calendar.value is not None and calendar.value >= GIVEN_AWAY:
        yield (
            f"A look-up of the weekday, the month and which days traded is right in {_percent(calendar)}: these labels "
            "follow from the calendar, and no score on them says anything about prices or texts."
        )


def _best_baseline(scores: Scores, own: Score) -> Iterator[str]:
    rivals = {model: scores.get(model, "mcc") for model in scores.models() if model != OURS}
    known = {model: score for model, score in rivals.items() if score.value is not None}
    if known:
        best = max(known, key=lambda model: known[model].number)
        rank = standing(own, known[best])
        yield f"By that measure {rank} the best baseline, {scores.name(best)}, with {known[best].in_words(3)}."


def _percent(score: Score) -> str:
    return text.percent(100 * score.number)


def _span(score: Score) -> str:
    """Interval in percent: over days for one seed, of the mean over several."""
    if score.low is None or score.high is None:
        return ""
    of = "over days" if score.num_seeds == 1 else f"of the mean over {score.num_seeds} seeds"
    return f" (95\u202f% interval {of} {text.number(100 * score.low, 1)} to {text.percent(100 * score.high)})"


def _read(run: Run) -> tuple[PreparedStocks | None, str]:
    """Samples of the run's data; else None and why."""
    try:
        return reload(run), ""
    except (MultiwayError, OSError) as error:
        return None, f"Answers, attention and backtest need the data, which could not be read again: {error}"


def _check(run: Run) -> tuple[CheckReport | None, Mapping[str, str]]:
    """The data check, and what there is by month or year; labels stand under the protocol."""
    checked = check_of(run)
    if checked is None:
        return None, {}
    periods = {name: str(words) for name, words in checked.summary.items() if PERIOD.fullmatch(name)}
    others = {name: words for name, words in checked.summary.items() if name not in periods}
    kept = {name: words for name, words in others.items() if not name.startswith("labels of")}
    return dataclasses.replace(checked, summary=kept), periods


def _splits(run: Run, periods: Mapping[str, str]) -> PagePart:
    titles = {
        "first": "First day",
        "last": "Last day",
        "days": "Days",
        "count": "Target movements",
        "rises": "Rises",
        "with_text": "With a text",
    }
    table = split_table(run.facts["splits"], titles, total="count", shares=("rises", "with_text"))
    rows = [[period, words] for period, words in periods.items()]
    length = "year" if rows and len(rows[0][0]) == len("2020") else "month"
    coverage = Table(columns=["", ""], rows=rows, fold=f"Prices and texts by {length}", style="words")
    return PagePart(
        id="splits",
        title="Protocol",
        side=[
            "Days in the order of time: fitted on the first, chosen on the second, scored once on the last.",
            "What a sample shows was known before its day began.",
        ],
        content=[table, coverage if rows else None],
    )


def _answers(run: Run, content: Sequence[Section | None]) -> PagePart:
    """The next session, then the most confident answers on the test days."""
    unit = "spreads of the median movement" if run.config.levels else "log odds of a rise"
    side = [
        f"Single answers, and what moved them: gradient × input, in {unit}, to first order.",
        "It counts from where the answer stands at average inputs.",
        "The vector of a stock’s day is the mean of its texts, so its part divides exactly among them.",
        "Texts about other stocks count too.",
    ]
    return PagePart(id="answers", title="Answers", side=side, content=content)


def _next(run: Run, prepared: PreparedStocks) -> Table | None:
    """Predictions for the session after the data; nothing where the protocol cannot look ahead."""
    try:
        return next_session(prediction_table(run, (prepared.panel, prepared.texts)))
    except (MultiwayError, OSError):
        return None


def _attention(run: Run, prepared: PreparedStocks) -> PagePart:
    maps = average_attention(run, prepared)
    side = [
        "One map per mode, stocks and days, for prices, for texts, and for the look of prices at texts.",
        "Each row looks; the shade says how much of its look falls on each column.",
        "The token stands before a stock’s days and gathers what is read from it.",
        NOT_ATTRIBUTION,
    ]
    return maps_part(maps, side, deletion_parts(run, prepared))
