"""What the classifier of stocks looked at, and which texts and prices moved its answer, for a ticker and a day.

Where no gradient tells, its probability without each day's prices, its texts, and each text.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.errors import ConfigError
from multiway.explain import DeletionCurves, ModeMap, average_maps, has_maps, mode_maps
from multiway.tasks import page_parts
from multiway.tasks.answers import positions_of
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run
from multiway.training import Batch
from multiway.training.processes import device_of
from multiway_papers.stocks.attribution import (
    Contributions,
    SampleTexts,
    Score,
    contributions,
    deletion_of_texts,
    text_contributions,
    texts_of_rows,
)
from multiway_papers.stocks.encode import PreparedStocks, StockInputs
from multiway_papers.stocks.network import INPUTS, labelled_rows, rises_of, stock_outputs
from multiway_papers.stocks.panel import Groups
from multiway_papers.stocks.samples import StockWindows

EXPLAINED = 4
STREAMS = {"text": "texts", "price": "prices", "cross": "prices to texts"}
"""Where a map is from: the encoder, the decoder, or the decoder's look at the encoder."""
TOKEN, TARGET = "token", "target day"
AVERAGED_DAYS, AT_ONCE = 64, 8
NOT_ATTRIBUTION = f"{page_parts.NOT_ATTRIBUTION} The deletion test measures whether what is marked matters."
Values = NDArray[np.float64]


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
    contributions: Of every stock's days.
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
    contributions: Contributions
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


def explain_pairs(run: Run, inputs: StockInputs, pairs: Sequence[tuple[int, int]]) -> list[DayExplanation]:
    """Explain samples and stocks, one explanation for each sample."""
    days = dict.fromkeys(sample for sample, _ in pairs)
    return [explain_day(run, inputs, day, [stock for sample, stock in pairs if sample == day]) for day in days]


def explain_day(
    run: Run, inputs: StockInputs, sample: int, stocks: Sequence[int], *, deletion: bool = True
) -> DayExplanation:
    """Explain the tickers at some positions of one sample, with the deletion test of texts where that is to be run."""
    one = inputs[np.array([sample])]
    windows, (slots,), (date,) = one.windows, one.windows.slots, one.windows.target_days
    slot_days = np.where(slots >= 0, windows.days[np.maximum(slots, 0)], np.datetime64("NaT"))
    texts, rises, of_network = texts_of(one), rises_of(run, one)[0], run.answer.name == NETWORK
    score, batch = direction_score(run), batch_of(run, one)
    labels = ["no day" if np.isnat(day) else str(day.astype("datetime64[D]")) for day in slot_days]
    maps = stock_maps(run, batch, [TOKEN, *labels], sample=str(date)) if of_network else []

    def ticker(stock: int) -> TickerExplanation:
        label, movement = int(windows.labels[0, stock]), float(windows.returns[0, stock])
        moved = contributions(score, batch, stock) if of_network else without_days(run, one, stock)
        shares = text_contributions(moved, texts) if of_network else without_texts(run, one, stock, texts)
        return TickerExplanation(
            ticker=windows.tickers[stock],
            date=date,
            p_up=float(rises[stock]),
            label=None if label < 0 else label,
            movement=movement if np.isfinite(movement) else None,
            names=windows.tickers,
            contributions=moved,
            texts=_strongest(windows, texts, slot_days, shares),
            deletion=deletion_of_texts(score, batch, texts, stock, shares) if deletion and of_network else None,
            looks=partners(maps, windows.tickers, stock),
        )

    return DayExplanation(date=date, slot_days=slot_days, maps=maps, tickers=[ticker(stock) for stock in stocks])


def _strongest(
    windows: StockWindows, texts: SampleTexts, slot_days: NDArray[np.datetime64], shares: NDArray[np.float64]
) -> list[TextShare]:
    """Texts with their parts, the strongest first."""
    source = windows.texts
    if source is None:
        return []
    return [
        TextShare(
            ticker=windows.tickers[texts.stock[text]],
            day=source.day[texts.item[text]],
            slot_day=slot_days[texts.slot[text]],
            share=float(shares[text]),
            text="" if source.text is None else source.text[texts.item[text]],
        )
        for text in np.argsort(-np.abs(shares), kind="stable")
    ]


def texts_of(one: StockInputs) -> SampleTexts:
    """Texts of one sample; none where the network reads prices alone."""
    rows = one.windows.text_rows[0] * (one.tables.vectors is not None)
    return texts_of_rows(rows, one.windows.groups.of, one.text_vectors)


def direction_score(run: Run) -> Score:
    """Log odds of a rise; with quantiles the median movement, in spreads of the training movements from 0."""
    model, config = run.model.eval(), run.config

    def score(batch: Batch) -> Tensor:
        outputs = stock_outputs(model, batch)
        if not config.levels:
            return outputs[..., 1] - outputs[..., 0]
        median: Tensor = run.state.scale.levels(outputs)[..., config.levels.index(0.5)]
        return median / float(run.state.scale.movement_spread)

    return score


def named_stocks(run: Run, names: Sequence[str]) -> list[int]:
    """Positions of tickers by name."""
    return positions_of(names, run.state.tickers, "explain: the run has no ticker")


def named_sample(windows: StockWindows, date: str) -> int:
    """Sample that has a target day."""
    days = windows.target_days
    try:
        day = np.datetime64(date, "D")
    except ValueError:
        raise ConfigError(f"explain: the date must be a day such as {days[-1]}. Got {date!r}.") from None
    rows = np.flatnonzero(days == day)
    if not len(rows):
        near = days[np.abs((days - day).astype(np.int64)).argmin()]
        raise ConfigError(
            f"explain: no movement of {day} is labelled. Choose a day from {days[0]} to {days[-1]}, such as {near}."
        )
    return int(rows[0])


def chosen_pairs(
    run: Run, prepared: PreparedStocks, date: str | None, tickers: Sequence[str] | None
) -> list[tuple[int, int]]:
    """Samples and stocks to explain: by date and tickers; else the most confident test errors.

    Tickers alone are explained on the last day tested, a date alone by its most confident answers.
    """
    if not date and not tickers:
        return [(sample, stock) for _, sample, stock in interesting(run, prepared, EXPLAINED)]
    inputs: StockInputs = prepared.encoded.inputs
    sample = named_sample(inputs.windows, date) if date else int(prepared.rows("test")[-1])
    if tickers:
        return [(sample, stock) for stock in named_stocks(run, tickers)]
    one = inputs[np.array([sample])]
    confidence, mask = np.abs(rises_of(run, one)[0] - 0.5), one.target_mask[0]
    order = np.argsort(-np.where(mask, confidence, -1), kind="stable")[: min(EXPLAINED, max(1, int(mask.sum())))]
    return [(sample, int(stock)) for stock in order]


def interesting(run: Run, prepared: PreparedStocks, wrong: int, right: int = 0) -> list[tuple[str, int, int]]:
    """Heading, sample and stock: the most confident test errors, then right answers; a ticker once each."""
    own = labelled_rows(run, run.answer.name)
    own = own.assign(confidence=-(own["p_up"] - 0.5).abs()).sort_values(["confidence", "ticker"])
    is_right = own["predicted"] == own["label"]
    parts = (("Most confident errors", own[~is_right], wrong), ("Most confident when right", own[is_right], right))
    return [
        (heading, named_sample(prepared.raw.inputs, str(row.date)[:10]), run.state.tickers.index(row.ticker))
        for heading, part, count in parts
        for row in part.drop_duplicates("ticker").head(count).itertuples()
    ]


def batch_of(run: Run, some: StockInputs) -> dict[str, Tensor]:
    """Inputs of some samples, where the network is."""
    batch, device = some.batch(torch.arange(len(some))), device_of(run.model)
    return {name: batch[name].to(device) for name in INPUTS if name in batch}


@torch.no_grad()
def stock_maps(run: Run, batch: Mapping[str, Tensor], days: Sequence[str], sample: str = "") -> list[ModeMap]:
    """Attention of a batch, averaged over it: per stream, block and attended mode; none without a map per mode."""
    if not has_maps(run.model):
        return []
    network: Any = run.model.eval()
    blocks = network.forward_with_maps(*(batch.get(name) for name in INPUTS))[1]
    attended, labels = network.config.attended_modes, (run.state.tickers, tuple(days))
    maps: list[ModeMap] = []
    for stream, name in STREAMS.items():
        modes = (f"stocks ({name})", f"days ({name})")
        kept = [[block[mode] for mode in attended] for block in blocks.get(stream, [])]
        names, positions = [modes[mode] for mode in attended], [labels[mode] for mode in attended]
        maps += mode_maps(kept, names, positions, ordered=modes[1:], sample=sample)
    return maps


def average_attention(run: Run, prepared: PreparedStocks) -> list[ModeMap]:
    """Attention of a network that answers, averaged over 64 test days at most; days are named by their distance."""
    test = prepared.part("test")
    if run.answer.name != NETWORK or not has_maps(run.model) or not len(test):
        return []
    before = [f"{lag} before" for lag in range(run.state.sizes.num_slots - 1, 0, -1)]
    labels, chosen = [TOKEN, *before, TARGET], test.some(AVERAGED_DAYS).split(AT_ONCE)
    groups = [stock_maps(run, batch_of(run, test.inputs[rows.numpy()]), labels) for rows in chosen]
    return average_maps(groups, sample=f"mean over {sum(map(len, chosen))} test days")


def partners(maps: Sequence[ModeMap], tickers: Sequence[str], stock: int, count: int = 5) -> list[tuple[str, float]]:
    """Tickers that one looks at most, itself left out: the mean of its maps over stocks, all blocks and heads."""
    over_stocks = [item.head_mean()[stock] for item in maps if item.mode.startswith("stocks")]
    weights = np.mean(over_stocks, axis=0) if over_stocks else np.empty(0)
    order = [other for other in np.argsort(-weights, kind="stable") if other != stock][:count]
    return [(tickers[other], float(weights[other])) for other in order]


def without_days(run: Run, one: StockInputs, stock: int) -> Contributions:
    """How far the probability of a rise falls where prices or texts of one of the stock's own days are hidden."""
    stocks, slots = one.windows.slot_valid.shape[1:]
    many = one[np.zeros(1 + 2 * slots, np.int64)]
    windows = many.windows
    for slot in range(slots):
        windows.slot_valid[1 + slot, stock, slot] = False
        windows.text_rows[1 + slots + slot, stock, slot] = 0
    windows.previous[slots, stock] = np.nan  # the last movement is what the last slot shows
    rises = rises_of(run, many)[:, stock]
    parts = np.zeros((2, stocks, slots))
    parts[:, stock] = (rises[0] - rises[1:]).reshape(2, slots)
    return Contributions(score=float(rises[0]), prices=parts[0], texts=parts[1], text_gradient=None)


def without_texts(run: Run, one: StockInputs, stock: int, texts: SampleTexts) -> Values:
    """How far it falls without each of the sample's texts; 0 for those about other stocks."""
    own = np.flatnonzero(texts.stock == stock)
    many, groups = one[np.zeros(1 + len(own), np.int64)], one.windows.groups
    rows = many.windows.text_rows
    left = [
        items[items != texts.item[text]] for text in own for items in [groups.of(int(rows[0, stock, texts.slot[text]]))]
    ]
    for number, (text, items) in enumerate(zip(own, left, strict=True)):
        rows[1 + number, stock, texts.slot[text]] = groups.num_rows + number if len(items) else 0
    falls = np.zeros(len(texts))
    rises = rises_of(run, _with_groups(many, left))[:, stock]
    falls[own] = rises[0] - rises[1:]
    return falls


def _with_groups(inputs: StockInputs, more: list[NDArray[np.int64]]) -> StockInputs:
    """The same with more groups of texts behind those that there are, and their mean vectors."""
    groups, tables = inputs.windows.groups, inputs.tables
    ends = groups.starts[-1] + np.cumsum([len(items) for items in more], dtype=np.int64)
    longer = Groups(starts=np.append(groups.starts, ends), items=np.concatenate([groups.items, *more]))
    if tables.vectors is not None:
        means = [inputs.text_vectors(items).mean(0) if len(items) else tables.vectors[0] for items in more]
        tables = dataclasses.replace(tables, vectors=torch.stack([*tables.vectors, *means]))
    return StockInputs(windows=dataclasses.replace(inputs.windows, groups=longer), tables=tables)
