"""What the classifier of stocks looked at, and which texts and prices moved its answer, for a ticker and a day."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.errors import ConfigError, closest
from multiway.explain import DeletionCurves, ModeMap
from multiway.metrics.quantiles import share_above_zero
from multiway.tasks.devices import device_of
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.stocks.attention import TOKEN, maps_of, partners
from multiway.tasks.stocks.attribution import (
    Batch,
    Contributions,
    SampleTexts,
    Score,
    contributions,
    deletion_of_texts,
    text_contributions,
)
from multiway.tasks.stocks.explanation_inputs import ExplainedData
from multiway.tasks.stocks.inputs import outputs_of
from multiway.tasks.stocks.quantiles import levels_of

EXPLAINED = 4
NOT_ATTRIBUTION = (
    "Attention is not attribution: it says where the network looked, not what made the answer. "
    "The deletion test asks whether what is marked matters."
)


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
    label: 1 rise, 0 fall, None where it is not asked.
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
    """Attention of one day's sample, and its tickers that were asked for.

    slot_days: Days of the slots; NaT where the window is shorter.
    """

    date: np.datetime64
    slot_days: NDArray[np.datetime64]
    maps: list[ModeMap]
    tickers: list[TickerExplanation]


def explain_day(
    run: Run, data: ExplainedData, sample: int, stocks: Sequence[int], *, deletion: bool = True, seed: int = 0
) -> DayExplanation:
    """Explain some tickers of one sample.

    Args:
        run: The fitted classifier.
        data: Its data.
        sample: Which day's sample.
        stocks: Positions of the tickers.
        deletion: Run the deletion test of texts.
        seed: Of the random orders of the deletion test.
    """
    batch = {name: tensor.to(device_of(run.model)) for name, tensor in data.batch(sample).items()}
    texts = data.texts_of(sample)
    samples = data.prepared.samples
    slots = samples.slots[sample]
    slot_days = np.where(slots >= 0, samples.days[np.maximum(slots, 0)], np.datetime64("NaT"))
    date = samples.days[samples.targets[sample]]
    maps = maps_of(run, batch, [TOKEN, *map(_day_label, slot_days)], sample=str(date))
    rises = probabilities(run, batch)
    score = score_of(run)
    return DayExplanation(
        date=date,
        slot_days=slot_days,
        maps=maps,
        tickers=[
            _explain_ticker(
                data, sample, stock, score, batch, texts, maps, float(rises[stock]), slot_days, deletion, seed
            )
            for stock in stocks
        ],
    )


def _explain_ticker(
    data: ExplainedData,
    sample: int,
    stock: int,
    score: Score,
    batch: Batch,
    texts: SampleTexts | None,
    maps: Sequence[ModeMap],
    p_up: float,
    slot_days: NDArray[np.datetime64],
    deletion: bool,
    seed: int,
) -> TickerExplanation:
    samples = data.prepared.samples
    label, movement = int(samples.labels[sample, stock]), float(samples.returns[sample, stock])
    found = contributions(score, batch, stock)
    shares = np.empty(0) if texts is None else text_contributions(found, texts)
    tested = None if texts is None or not deletion else deletion_of_texts(score, batch, texts, stock, shares, seed=seed)
    return TickerExplanation(
        ticker=samples.tickers[stock],
        date=samples.days[samples.targets[sample]],
        p_up=p_up,
        label=None if label < 0 else label,
        movement=movement if np.isfinite(movement) else None,
        names=samples.tickers,
        found=found,
        texts=[] if texts is None else _named_texts(data, texts, shares, slot_days),
        deletion=tested,
        looks=partners(maps, samples.tickers, stock),
    )


def score_of(run: Run) -> Score:
    """Log odds of a rise; with quantiles the median movement, in spreads of the training movements from 0."""
    model: Any = run.model.eval()
    config = run.config

    def score(batch: Batch) -> Tensor:
        outputs = outputs_of(model, batch)
        if config.target == "movement":
            return outputs[..., 1] - outputs[..., 0]
        median: Tensor = levels_of(outputs, run.state.scale)[..., list(config.quantiles).index(0.5)]
        spread: float = run.state.scale.movement_spread
        return median / spread

    return score


@torch.no_grad()
def probabilities(run: Run, batch: Batch) -> NDArray[np.float64]:
    """Probability of a rise of every stock of a sample."""
    outputs = outputs_of(run.model.eval(), batch).double().cpu()[0]
    if run.config.target == "movement":
        return np.asarray(outputs.softmax(-1)[:, 1].numpy())
    return share_above_zero(levels_of(outputs, run.state.scale).numpy(), run.config.quantiles)


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


def named_sample(data: ExplainedData, date: str) -> int:
    """Sample that has a target day.

    Raises:
        ConfigError: It is no day, or none that is labelled.
    """
    days = data.target_days
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
    run: Run, data: ExplainedData, date: str | None, tickers: Sequence[str] | None
) -> list[tuple[int, int]]:
    """Samples and stocks to explain: by date and tickers; else the most confident test errors.

    Tickers alone are explained on the last day tested, a date alone by its most confident answers.

    Raises:
        ConfigError: There is no such ticker, or nothing is labelled that day.
    """
    if not date and not tickers:
        return [
            (named_sample(data, day), run.state.tickers.index(name)) for _, day, name in interesting(run, EXPLAINED)
        ]
    sample = named_sample(data, date) if date else int(data.prepared.samples.splits["test"][-1])
    if tickers:
        return [(sample, stock) for stock in named_stocks(run, tickers)]
    confidence = np.abs(probabilities(run, data.batch(sample)) - 0.5)
    mask = data.prepared.target_mask[sample]
    order = np.argsort(-np.where(mask, confidence, -1), kind="stable")[: min(EXPLAINED, max(1, int(mask.sum())))]
    return [(sample, int(stock)) for stock in order]


def interesting(run: Run, wrong: int, right: int = 0) -> list[tuple[str, str, str]]:
    """Heading, date and ticker: the most confident test predictions that were wrong, then right; a ticker once each."""
    rows = run.tables["predictions"]
    own = rows[(rows["model"] == OURS) & (rows["split"] == "test") & (rows["label"] >= 0)]
    own = own.assign(confidence=(own["p_up"] - 0.5).abs()).sort_values(
        ["confidence", "ticker"], ascending=[False, True]
    )
    is_right = own["predicted"] == own["label"]
    parts = (("Most confident errors", own[~is_right], wrong), ("Most confident when right", own[is_right], right))
    return [
        (heading, str(row.date)[:10], str(row.ticker))
        for heading, part, count in parts
        for row in part.drop_duplicates("ticker").head(count).itertuples()
    ]


def _named_texts(
    data: ExplainedData, texts: SampleTexts, shares: NDArray[np.float64], slot_days: NDArray[np.datetime64]
) -> list[TextShare]:
    source = data.prepared.texts
    assert source is not None
    words = source.text
    order = np.argsort(-np.abs(shares), kind="stable")
    return [
        TextShare(
            ticker=data.prepared.samples.tickers[texts.stock[place]],
            day=source.day[texts.item[place]],
            slot_day=slot_days[texts.slot[place]],
            text="" if words is None else words[texts.item[place]],
            share=float(shares[place]),
        )
        for place in order
    ]


def _day_label(day: np.datetime64) -> str:
    return "no day" if np.isnat(day) else str(day.astype("datetime64[D]"))
