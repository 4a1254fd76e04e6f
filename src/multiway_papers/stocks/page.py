"""What the report of a run on stocks says: answers, movements by ticker and month, calibration, attention, backtest."""

from collections.abc import Iterator, Sequence

import numpy as np

from multiway.errors import MultiwayError
from multiway.report import text
from multiway.report.scores import Metric, Score
from multiway.report.sections import PagePart, Section, Table, Text
from multiway.tasks import pages
from multiway.tasks.candidate import words_of
from multiway.tasks.lifecycle import if_there
from multiway.tasks.page_parts import add_headings, maps_part
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run
from multiway.tasks.target_page import SplitPage, calibration_part
from multiway_papers.stocks.answers import prediction_table, reload
from multiway_papers.stocks.backtest import backtest_reloaded, evening_texts
from multiway_papers.stocks.encode import PreparedStocks
from multiway_papers.stocks.explain import NOT_ATTRIBUTION, average_attention
from multiway_papers.stocks.network import labelled_rows
from multiway_papers.stocks.showing import backtest_part, deletion_parts, grid_part, interesting_answers, next_session

READS = {"price": "prices", "text": "texts", "multimodal": "prices and texts"}
TITLES = {
    "first": "First day",
    "last": "Last day",
    "days": "Days",
    "count": "Target movements",
    "rises": "Rises",
    "with_text": "With a text",
}
GIVEN_AWAY = 0.9
"""ACC of the calendar baseline above which the labels follow from the calendar."""


def parts(runs: Sequence[Run]) -> Iterator[PagePart]:
    """Answers first; those parts that need the data are left out when its file is no longer there."""
    try:
        prepared, why = reload(runs[0]), ""
    except (MultiwayError, OSError) as error:
        prepared, why = None, f"Answers, attention and backtest need the data, which could not be reread: {error}"
    return sections(runs[0], prepared, why)


def sections(run: Run, prepared: PreparedStocks | None, why: str = "") -> Iterator[PagePart]:
    """Parts of a run on its data; `why` is said in place of the answers where there are none."""
    test = labelled_rows(run, run.answer.name)
    answers: list[Section | None] = [Text(words=why) if why else None]
    if prepared is not None:
        answers = [_next(run, prepared), *add_headings(interesting_answers(run, prepared))]
    yield _answers(run, answers)
    traded = None if prepared is None else backtest_reloaded(run, prepared)
    if traded is not None:
        yield backtest_part(traded, evening_texts(run))
    word = words_of(run.task.candidates()).get(run.answer.name, run.answer.name)
    if len(test):
        yield grid_part(test, word)
    rises = test["p_up"].to_numpy(float)
    shares = np.stack([1 - rises, rises], axis=1)
    yield calibration_part(test["label"].to_numpy(), shares, "movements", bins=20, model=word)
    if prepared is not None:
        yield _attention(run, prepared)


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
        "Days of a window": str(sizes.num_slots),
        "Reads": READS.get(reads, reads),
        **({"Prices": "levels"} if protocol.prices == "levels" else {}),
        **({"Texts by": run.state.encoder} if run.state.encoder else {}),
        "Model": run.config.model_name,
    }


def _selected_by(run: Run) -> str:
    titles = {metric.name: metric.title for metric in run.task.metrics(run.config)}
    by_loss = run.config.select == "loss" or run.config.levels
    return "lowest validation loss" if by_loss else f"highest validation {titles[run.config.select]}"


def _columns(run: Run) -> list[Metric]:
    """Every metric but the count, which stands with the splits; with texts apart where there are any."""
    left_out = ("count",) if run.state.encoder else ("count", "acc_texts", "mcc_texts")
    return [metric for metric in run.task.metrics(run.config) if metric.name not in left_out]


def _support(runs: Sequence[Run]) -> Iterator[str]:
    """What the verdict should be read with: MCC against chance, and whether the labels are given away."""
    scores = SUBJECT.scores(runs)
    own, calendar = scores.get(runs[0].answer.name, "mcc"), scores.get("calendar", "acc")
    if own.value is not None:
        pooled = f"Its Matthews correlation, pooled over all test movements, is {own.in_words(3)}"
        yield f"{pooled}. Chance gives 0{_chance(own)}."
    if calendar.value is not None and calendar.value >= GIVEN_AWAY:
        share = text.percent(100 * calendar.number)
        yield (
            f"A look-up of the weekday, the month and which days traded is right in {share}: these labels follow from "
            "the calendar, and no score on them says anything about prices or texts."
        )


def _headline(subject: pages.Subject, run: Run) -> str:
    """How often the direction is right, compared with the one that is most frequent in training."""
    scores = subject.scores([run])
    own, most = scores.get(run.answer.name, "acc"), scores.get("majority", "acc")
    if own.value is None:
        return ""
    always = "; always naming the direction that is most frequent in training is right in"
    rival = "" if most.value is None else f"{always} {text.percent(100 * most.number)}"
    return f"The direction is right in {text.percent(100 * own.number)} of the test movements{rival}."


def _chance(own: Score) -> str:
    """Where an interval lies relative to 0."""
    if own.low is None or own.high is None:
        return ""
    if own.low <= 0 <= own.high:
        return ", which lies within this interval"
    return f"; the interval lies {'above' if own.low > 0 else 'below'} it"


SUBJECT = pages.Subject(
    kicker="Report on movements of stocks",
    rows="movements",
    setting=_setting,
    selected_by=_selected_by,
    interval="over blocks of consecutive days, all tickers of a day together (bootstrap)",
    order=_columns,
    about=["An interval over seeds does not say what other test days would give."],
)
PAGE = SplitPage(
    SUBJECT, parts, titles=TITLES, total="count", shares=("rises", "with_text"), support=_support, headline=_headline
)


def _answers(run: Run, content: Sequence[Section | None]) -> PagePart:
    """The next session, then the most confident answers on the test days."""
    unit = "spreads of the median movement" if run.config.levels else "log odds of a rise"
    side = [
        "Single answers, and how far the probability of a rise falls where prices or texts of the stock are hidden.",
        "Each day is hidden on its own, and so is each text.",
    ]
    if run.answer.name == NETWORK:
        side = [
            f"Single answers of the network, and what moved them: gradient × input, in {unit}, to first order.",
            "It counts from where the answer stands at average inputs.",
            "The vector of a stock’s day is the mean of its texts, so its part divides exactly among them.",
            "Texts about other stocks count too.",
        ]
    return PagePart(id="answers", title="Answers", side=side, content=content)


def _next(run: Run, prepared: PreparedStocks) -> Table | None:
    """Predictions for the session after the data; nothing where the protocol cannot look ahead."""
    market = prepared.raw.inputs.panel, prepared.raw.inputs.texts
    return if_there(lambda: next_session(prediction_table(run, market)))


def _attention(run: Run, prepared: PreparedStocks) -> PagePart:
    network = run.with_answer(NETWORK)
    maps = average_attention(network, prepared)
    side = [
        "One map per mode, stocks and days, for prices, for texts, and for the look of prices at texts.",
        "Each row looks; the shade says how much of its look falls on each column.",
        "The token stands before a stock’s days and gathers what is read from it.",
        NOT_ATTRIBUTION,
    ]
    return maps_part(maps, side, deletion_parts(network, prepared))
