"""What the classifier of stocks looked at, and which texts and prices moved its answer, for a ticker and a day."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.stocks.prepared import PreparedStocks
from multiway.errors import ConfigError, closest
from multiway.explain import DeletionCurves, ModeMap
from multiway.explain.texts import (
    Batch,
    Contributions,
    SampleTexts,
    Score,
    contributions,
    deletion_of_texts,
    text_contributions,
    texts_of_rows,
)
from multiway.tasks import page_parts
from multiway.tasks.run import Run
from multiway.tasks.stocks.attention import TOKEN, batch_of, maps_of, partners
from multiway.tasks.stocks.evaluation import labelled_rows, outputs_of, predicted, rises_and_levels

EXPLAINED = 4
NOT_ATTRIBUTION = f"{page_parts.NOT_ATTRIBUTION} The deletion test asks whether what is marked matters."


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TextShare:
    """One text and its part in an answer, in the unit of the score; `text` is empty for ready vectors."""

    ticker: str
    day: np.datetime64
    slot_day: np.datetime64
    text: str
    share: float


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TickerExplanation:
    """One ticker on one day.

    p_up: Probability of a rise.
    label: 1 rise, 0 fall, None where the protocol gives none.
    movement: What the price did; None where unknown.
    names: Every ticker, in the order of the contributions.
    found: Contributions of every stock's days.
    texts: Every text of the sample, the strongest first.
    deletion: Test of the texts; None with fewer than two.
    looks: Tickers that its attention over stocks falls on most, with the share, itself left out.
    """

    ticker: str
    date: np.datetime64
    p_up: float
    label: int | None
    movement: float | None
    names: tuple[str, ...]
    found: Contributions
    texts: list[TextShare]
    deletion: DeletionCurves | None
    looks: list[tuple[str, float]]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class DayExplanation:
    """Attention of one day's sample, and those of its tickers that are explained.

    slot_days: Days of the slots; NaT where the window is shorter.
    """

    date: np.datetime64
    slot_days: NDArray[np.datetime64]
    maps: list[ModeMap]
    tickers: list[TickerExplanation]


def explain_pairs(run: Run, prepared: PreparedStocks, pairs: Sequence[tuple[int, int]]) -> list[DayExplanation]:
    """Explain samples and stocks, one explanation for each sample."""
    days = dict.fromkeys(sample for sample, _ in pairs)
    return [explain_day(run, prepared, day, [stock for each, stock in pairs if each == day]) for day in days]


def explain_day(
    run: Run, prepared: PreparedStocks, sample: int, stocks: Sequence[int], *, deletion: bool = True
) -> DayExplanation:
    """Explain some tickers of one sample.

    Args:
        run: The fitted classifier.
        prepared: Its data.
        sample: Which day's sample.
        stocks: Positions of the tickers.
        deletion: Run the deletion test of texts.
    """
    day = _Day(run, prepared, sample)
    tickers = [day.ticker(stock, deletion) for stock in stocks]
    return DayExplanation(date=day.date, slot_days=day.slot_days, maps=day.maps, tickers=tickers)


class _Day:
    """What the explanations of one sample's tickers share."""

    def __init__(self, run: Run, prepared: PreparedStocks, sample: int) -> None:
        samples = prepared.samples
        self.prepared, self.sample, self.samples = prepared, sample, samples
        self.score, self.batch = score_of(run), batch_of(run, prepared, [sample])
        self.rises = probabilities(run, prepared, sample)
        self.date, slots = samples.target_days[sample], samples.slots[sample]
        self.slot_days = np.where(slots >= 0, samples.days[np.maximum(slots, 0)], np.datetime64("NaT"))
        self.maps = maps_of(run, self.batch, [TOKEN, *map(_day_label, self.slot_days)], sample=str(self.date))
        self.texts = texts_of(prepared, sample)

    def ticker(self, stock: int, deletion: bool) -> TickerExplanation:
        """Explain one ticker."""
        samples, texts = self.samples, self.texts
        label, movement = int(samples.labels[self.sample, stock]), float(samples.returns[self.sample, stock])
        found = contributions(self.score, self.batch, stock)
        shares = text_contributions(found, texts)
        return TickerExplanation(
            ticker=samples.tickers[stock],
            date=self.date,
            p_up=float(self.rises[stock]),
            label=None if label < 0 else label,
            movement=movement if np.isfinite(movement) else None,
            names=samples.tickers,
            found=found,
            texts=self._named(shares),
            deletion=deletion_of_texts(self.score, self.batch, texts, stock, shares) if deletion else None,
            looks=partners(self.maps, samples.tickers, stock),
        )

    def _named(self, shares: NDArray[np.float64]) -> list[TextShare]:
        """Texts with their parts, the strongest first."""
        source, texts = self.prepared.texts, self.texts
        if source is None:
            return []
        return [
            TextShare(
                ticker=self.samples.tickers[texts.stock[place]],
                day=source.day[texts.item[place]],
                slot_day=self.slot_days[texts.slot[place]],
                text="" if source.text is None else source.text[texts.item[place]],
                share=float(shares[place]),
            )
            for place in np.argsort(-np.abs(shares), kind="stable")
        ]


def texts_of(prepared: PreparedStocks, sample: int) -> SampleTexts:
    """Texts of one sample; none where the network reads prices alone."""
    samples = prepared.samples
    rows = samples.text_rows[sample] if prepared.vectors is not None else np.zeros_like(samples.text_rows[sample])
    return texts_of_rows(rows, samples.groups.of, prepared.text_vectors)


def score_of(run: Run) -> Score:
    """Log odds of a rise; with quantiles the median movement, in spreads of the training movements from 0."""
    model: Any = run.model.eval()
    config = run.config

    def score(batch: Batch) -> Tensor:
        outputs = outputs_of(model, batch)
        if config.target == "movement":
            return outputs[..., 1] - outputs[..., 0]
        median: Tensor = run.state.scale.levels(outputs)[..., config.quantiles.index(0.5)]
        return median / float(run.state.scale.movement_spread)

    return score


def probabilities(run: Run, prepared: PreparedStocks, sample: int) -> NDArray[np.float64]:
    """Probability of a rise of every stock of a sample."""
    found = predicted(run.model, prepared.inputs(np.array([sample])), run.config, run.state.scale)
    return rises_and_levels(found[0], run.config)[0]


def named_stocks(run: Run, names: Sequence[str]) -> list[int]:
    """Positions of tickers by name.

    Raises:
        ConfigError: A name is unknown.
    """
    places = {name: index for index, name in enumerate(run.state.tickers)}
    for name in names:
        if name not in places:
            raise ConfigError(f"explain: the run has no ticker {name!r}{closest(name, places)}")
    return [places[name] for name in names]


def named_sample(prepared: PreparedStocks, date: str) -> int:
    """Sample that has a target day.

    Raises:
        ConfigError: It is no day, or none that is labelled.
    """
    days = prepared.samples.target_days
    try:
        wanted = np.datetime64(date, "D")
    except ValueError:
        raise ConfigError(f"explain: the date must be a day such as {days[-1]}. Got {date!r}.") from None
    found = np.flatnonzero(days == wanted)
    if not len(found):
        near = days[np.abs((days - wanted).astype(np.int64)).argmin()]
        raise ConfigError(
            f"explain: no movement of {wanted} is labelled. Choose a day from {days[0]} to {days[-1]}, such as {near}."
        )
    return int(found[0])


def chosen_pairs(
    run: Run, prepared: PreparedStocks, date: str | None, tickers: Sequence[str] | None
) -> list[tuple[int, int]]:
    """Samples and stocks to explain: by date and tickers; else the most confident test errors.

    Tickers alone are explained on the last day tested, a date alone by its most confident answers.

    Raises:
        ConfigError: There is no such ticker, or nothing is labelled that day.
    """
    if not date and not tickers:
        return [(sample, stock) for _, sample, stock in interesting(run, prepared, EXPLAINED)]
    sample = named_sample(prepared, date) if date else int(prepared.samples.splits["test"][-1])
    if tickers:
        return [(sample, stock) for stock in named_stocks(run, tickers)]
    confidence = np.abs(probabilities(run, prepared, sample) - 0.5)
    mask = prepared.target_mask[sample]
    order = np.argsort(-np.where(mask, confidence, -1), kind="stable")[: min(EXPLAINED, max(1, int(mask.sum())))]
    return [(sample, int(stock)) for stock in order]


def interesting(run: Run, prepared: PreparedStocks, wrong: int, right: int = 0) -> list[tuple[str, int, int]]:
    """Heading, sample and stock: the most confident test errors, then right answers; a ticker once each."""
    own = labelled_rows(run)
    own = own.assign(confidence=-(own["p_up"] - 0.5).abs()).sort_values(["confidence", "ticker"])
    is_right = own["predicted"] == own["label"]
    parts = (("Most confident errors", own[~is_right], wrong), ("Most confident when right", own[is_right], right))
    return [
        (heading, named_sample(prepared, str(row.date)[:10]), run.state.tickers.index(row.ticker))
        for heading, part, count in parts
        for row in part.drop_duplicates("ticker").head(count).itertuples()
    ]


def _day_label(day: np.datetime64) -> str:
    return "no day" if np.isnat(day) else str(day.astype("datetime64[D]"))
