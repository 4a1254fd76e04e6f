"""What trading by the predictions would have returned, compared with holding every ticker and with random rankings."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway import files
from multiway.config import Plain
from multiway.data.findings import list_some
from multiway.data.looking import read_frame
from multiway.data.options import ReadOptions
from multiway.data.writing import check_target, write_table
from multiway.errors import ConfigError, DataError
from multiway.metrics.resampling import intervals
from multiway.tasks.answers import Answer
from multiway.tasks.lifecycle import fit, make
from multiway.tasks.options import AUTO
from multiway.tasks.protocol import Context, Row
from multiway.tasks.run import Run
from multiway_papers.stocks.answers import market_for
from multiway_papers.stocks.encode import PreparedStocks, StockInputs
from multiway_papers.stocks.network import Scored, answer_chances
from multiway_papers.stocks.options import find_column
from multiway_papers.stocks.panel import CLOSE, OPEN
from multiway_papers.stocks.portfolio import (
    CALENDAR_YEAR,
    YEAR,
    Floats,
    Track,
    buy_and_hold,
    long_short_weights,
    max_drawdown,
    random_rankings,
    rank_correlations,
    sharpe,
    trade,
)
from multiway_papers.stocks.samples import Marks, StockWindows

Entry = Literal["close", "open"]
COST_BPS = 10.0
DRAWS = 200
BAND = (5, 95)
WORDS = "Not investment advice."
HELD = {
    "close": "held from the close before each day to its own",
    "open": "held from the open of each day to its close",
}
MADE = {
    "close": "is made at the very close that the prediction has just seen",
    "open": "is made at the open, and all is sold at the close",
}
BLOCK = 5
"""Neighbouring days that the interval of the rank IC draws together."""
MARKET = "market"
"""Of `neutral`: all tickers are one sector."""
USUAL_SECTORS = ("sector", "gicssector", "industry", "group")
LEFT_OUT = "borrowing, slippage and limits of size are left out"
INDEPENDENT = "its standard error takes the days as independent"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Backtest:
    """One long-short portfolio over the days of a predictions table.

    days: `(days,)`, each held from the close before it, or from its own open, to its close.
    track: The portfolio.
    hold: Every ticker in equal parts, never traded.
    chance: The same trading by random rankings, `(days, draws)`.
    rank_ic: Correlation of the ranks of probabilities and returns on each day, NaN where there is none.
    tickers: Long and short tickers per day on average.
    top: Share at either end of the ranking; None for above and below one half.
    cost_bps: Cost of a trade, in hundredths of a percent of its value.
    entry: Whether it is bought at the close before a day or at its open.
    sectors: In how many sectors as much is bought as is sold short; 0 where nothing says so.
    listed: Tickers, and how many of them end before the last day.
    """

    days: NDArray[np.datetime64]
    track: Track
    hold: Track
    chance: Track
    rank_ic: Floats
    tickers: tuple[float, float]
    top: float | None
    cost_bps: float
    days_per_year: int
    entry: Entry
    sectors: int
    listed: tuple[int, int]

    @property
    def beaten(self) -> float:
        """Share of the random rankings that ended with less."""
        ends = self.chance.wealth[-1]
        own = self.track.wealth[-1]
        return float(((ends < own).sum() + 0.5 * (ends == own).sum()) / len(ends))

    def band(self) -> tuple[Floats, Floats]:
        """Return so far of random rankings, the lowest and highest 5 % left out."""
        low, high = np.percentile(self.chance.wealth - 1, BAND, axis=1)
        return low, high

    def table(self) -> list[Row]:
        """One row per portfolio: what it returned over all days, and its risk."""
        middle = np.argsort(self.chance.wealth[-1])[len(self.chance.wealth[-1]) // 2]
        median = Track(**{name: values[:, middle] for name, values in vars(self.chance).items()})
        rows = {"long-short": self.track, "buy and hold": self.hold, "random ranking (median)": median}
        return [{"portfolio": name, "days": len(self.days), **self._figures(track)} for name, track in rows.items()]

    def _figures(self, track: Track) -> Row:
        ratio, error = sharpe(track.net, self.days_per_year)
        return {
            "return_gross": float(np.prod(1 + track.gross) - 1),
            "return_net": float(track.wealth[-1] - 1),
            "sharpe": ratio,
            "sharpe_error": error,
            "turnover": float(track.traded.mean()),
            "max_drawdown": max_drawdown(track.wealth),
        }

    def frame(self) -> pd.DataFrame:
        """Day by day: returns, what was traded, and the return so far, of holding and of chance too."""
        track, (low, high) = self.track, self.band()
        columns = {"date": self.days, "gross": track.gross, "net": track.net, "turnover": track.traded}
        columns["rank_ic"] = self.rank_ic
        wealth = {"cumulative": track.wealth - 1, "buy_and_hold": self.hold.wealth - 1}
        return pd.DataFrame({**columns, **wealth, "random_low": low, "random_high": high})

    def sentence(self) -> str:
        """What came of it, in one sentence."""
        own, hold = self.track.wealth[-1] - 1, self.hold.wealth[-1] - 1
        ratio, error = sharpe(self.track.net, self.days_per_year)
        risk = "" if ratio is None else f" (Sharpe ratio {ratio:.2f}, standard error {error:.2f})"
        return (
            f"Long-short returned {own:+.1%} after costs over {len(self.days)} days{risk}; holding every ticker "
            f"returned {hold:+.1%}; {self.beaten:.0%} of {len(self.chance.wealth[-1])} random rankings ended with less."
        )

    def ranking(self) -> str:
        """The mean rank IC with its interval over blocks of days, and that mean over the deviation of days (ICIR)."""
        known = self.rank_ic[np.isfinite(self.rank_ic)]
        if len(known) < 2:
            return "There is no rank IC: on fewer than two days the predictions and the movements differ by ticker."
        mean, spread = float(known.mean()), float(known.std(ddof=1))
        drawn = intervals({"mean": lambda values, _: float(values.mean())}, known, known, block=BLOCK)["mean"]
        bounds = (
            "" if drawn is None else f", 95 % interval {drawn[0]:+.3f} to {drawn[1]:+.3f} over blocks of {BLOCK} days"
        )
        ratio = f"; ICIR {mean / spread:+.2f}, that mean over the deviation of a day" if spread > 0 else ""
        return f"Rank IC {mean:+.3f} on {len(known)} days{bounds}{ratio}."

    def assumptions(self) -> list[str]:
        """What the figures suppose, one sentence each."""
        (long, short), top = self.tickers, self.top
        rule = "every ticker above one half is bought, every one below sold short"
        if top is not None:
            rule = f"the highest {top:.0%} of the ranking are bought, the lowest {top:.0%} sold short"
        tickers = f"{long:.0f} and {short:.0f} tickers a day on average"
        costs = f"Each trade costs {self.cost_bps:g} basis points of its value"
        (count, ended), parts = self.listed, "the market" if self.sectors == 1 else f"each of {self.sectors} sectors"
        neutral = f"In {parts} as much is bought as is sold short, or nothing where one side has no ticker."
        return [
            f"Half the capital is long and half short in equal parts ({rule}; {tickers}), {HELD[self.entry]}.",
            f"{costs}, and {MADE[self.entry]}; {LEFT_OUT}.",
            *([neutral] if self.sectors else []),
            f"The Sharpe ratio is annualised with {self.days_per_year} days; {INDEPENDENT}.",
            f"{ended} of {count} tickers end before the last day: without those that vanished, a past looks too good.",
        ]


def backtest_stocks(
    predictions: pd.DataFrame,
    *,
    top: float | None = None,
    cost_bps: float = COST_BPS,
    draws: int = DRAWS,
    seed: int = 0,
    entry: Entry = "close",
    sectors: Mapping[str, str] | None = None,
) -> Backtest:
    """Trade by the predictions of one model, held to the close of each date from the close before it, or from its open.

    Every row with a probability and a movement is tradable, whether or not the protocol labels it: what the label is
    was not known at the close before. Half the capital is long, half short; the cost is charged on everything that
    is bought or sold, the drift of the weights included.

    `predictions` has a row per ticker and date: date, ticker, p_up and movement. `top` is the share at either end of
    the ranking; without it, above and below one half. A trade costs `cost_bps` hundredths of a percent of its value.
    `draws` random rankings are compared. An `entry` at the open takes the column intraday, the movement from there to
    the close, at which all is sold. With `sectors`, by ticker, as much of each is bought as is sold short.
    """
    check_settings(top, cost_bps, draws)
    days, tickers, (p_up, moved, returns) = _tables(predictions, "movement" if entry == "close" else "intraday")
    codes = None if sectors is None else _codes(tickers, sectors)
    cost, weights, overnight = cost_bps / 10_000, long_short_weights(p_up, top, codes), entry == "close"
    chance = random_rankings(
        p_up, returns, top=top, cost=cost, draws=draws, seed=seed, overnight=overnight, sectors=codes
    )
    return Backtest(
        days=days,
        track=trade(weights, returns, cost, overnight=overnight),
        hold=buy_and_hold(moved, cost=cost),
        top=top,
        chance=chance,
        rank_ic=rank_correlations(p_up, returns),
        entry=entry,
        cost_bps=cost_bps,
        tickers=(float((weights > 0).sum(axis=1).mean()), float((weights < 0).sum(axis=1).mean())),
        sectors=0 if codes is None else len(np.unique(codes)),
        listed=(len(tickers), int(np.isnan(moved[-1]).sum())),
        days_per_year=YEAR if bool(np.is_busday(days).all()) else CALENDAR_YEAR,
    )


def check_settings(top: float | None, cost_bps: float, draws: int = DRAWS) -> None:
    """Whether a backtest can be run so; call it before long work."""
    long_short_weights(np.empty((0, 1)), top)
    if not (np.isfinite(cost_bps) and 0 <= cost_bps < 10_000):
        raise ConfigError(f"backtest: the cost must be from 0 to below 10000 basis points. Got cost_bps={cost_bps:g}.")
    if draws < 1:
        raise ConfigError(f"backtest: compare with at least one random ranking. Got draws={draws}.")


def _codes(tickers: list[str], sectors: Mapping[str, str]) -> NDArray[np.int64]:
    """A number for the sector of each ticker."""
    absent = [ticker for ticker in tickers if ticker not in sectors]
    if absent:
        raise DataError(f"backtest: neutral needs the sector of every ticker. Got none of {list_some(absent)}; add it.")
    return np.unique([sectors[ticker] for ticker in tickers], return_inverse=True)[1]


def _tables(predictions: pd.DataFrame, traded: str) -> tuple[NDArray[np.datetime64], list[str], list[Floats]]:
    """Days, tickers, and probabilities, movements and what a trade returns; without that nothing is tradable."""
    known = predictions.dropna(subset=["p_up", "movement", traded])
    if known.empty:
        raise DataError("backtest: no prediction has a movement to hold it for. Predict days whose close is known.")
    twice = known.duplicated(["date", "ticker"])
    if twice.any():
        _, date, ticker = next(known.loc[twice, ["date", "ticker"]].itertuples())
        raise DataError(f"backtest: give one row per ticker and date. Got two of {ticker} on {date}; choose one model.")
    names = ("p_up", "movement", traded)
    tables = [known.pivot(index="date", columns="ticker", values=name) for name in names]
    days = pd.to_datetime(tables[0].index).to_numpy().astype("datetime64[D]")
    return days, list(tables[0].columns), [table.to_numpy(float) for table in tables]


def backtest_run(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """Trade the test days by a run, on later prices if given; the returns day by day are written to `out`.

    options: `top`, `cost_bps` and `entry`, see `backtest_stocks`; `neutral`, `market` or a table of sectors; and
    `refit`, after how many days all is trained anew.
    """
    check_target(out)
    settings = {"top": options.get("top"), "cost_bps": options.get("cost_bps", COST_BPS)}
    check_settings(**settings)
    neutral, every = options.get("neutral"), options.get("refit")
    known = None if neutral is None or neutral == MARKET else read_sectors(neutral)
    predictions = tradable_predictions(run, data) if every is None else walk_forward(run, data, every)
    sectors = dict.fromkeys(predictions["ticker"], MARKET) if neutral == MARKET else known
    traded = backtest_stocks(predictions, **settings, entry=options.get("entry", "close"), sectors=sectors)
    if out is not None:
        write_table(traded.frame(), out)
    anew = [] if every is None else [f"All was trained anew before every {every} test days, on the days before them."]
    notes = [traded.sentence(), traded.ranking(), *traded.assumptions(), *anew, *evening_texts(run), WORDS]
    return Answer(frame=pd.DataFrame(traded.table()), files=() if out is None else (out,), notes=notes)


def read_sectors(path: str) -> dict[str, str]:
    """The sector of each ticker, by a table of both."""
    files.add_input(path)
    frame = read_frame(path, ReadOptions()).astype(str)
    ticker = find_column(frame.columns, "ticker")
    sector = next((name for name in frame if str(name).lower().replace(" ", "") in USUAL_SECTORS), None)
    if ticker is None or sector is None:
        names = list_some(list(frame.columns))
        raise DataError(f"{path}: a table of sectors has the columns ticker and sector. Got {names}; name them so.")
    return dict(zip(frame[ticker], frame[sector], strict=True))


def walk_forward(run: Run, data: str | None, every: int) -> pd.DataFrame:
    """`tradable_predictions`, each `every` test days by models that were trained on the days before them.

    As many days before these validate as in the run. The model that answered answers; a blend chooses anew.
    """
    protocol = run.state.protocol(run.config.protocol)
    if protocol.rules is not None:
        raise ConfigError(f"backtest: refit needs the protocol chronological. Got a run of {protocol.name}; train so.")
    source = market_for(run, data)
    prepared = run.task.prepare(run.config.replace(protocol=protocol.replace(down=0.0, up=0.0)), source, run.state)
    days, tested = prepared.raw.inputs.target_days, prepared.rows("test")
    before, answer = len(prepared.rows("validation")), run.answer.name
    found = []
    for start in range(0, len(tested), every):
        block = tested[start : start + every]
        first, last = days[block[0]], days[block[-1]]
        config = run.config.replace(
            protocol=protocol.replace(borders=(str(days[block[0] - before]), str(first))),
            answer=answer if answer in run.models else AUTO,
        )
        frame = _tradable(fit(make(run.task, config, source), Context()), source)
        found.append(frame[frame["date"].between(str(first), str(last))])
    return pd.concat(found, ignore_index=True)


def evening_texts(run: Run) -> list[str]:
    """What to know of a run whose protocol reads texts by their day alone, one sentence or none."""
    rules = run.config.protocol.rules
    if run.state.encoder is None or rules is None or not rules.by_calendar:
        return []
    read = f"The protocol {run.config.protocol.name} reads texts by their calendar day"
    return [f"{read}, so those of the evening before are read too, though the position is taken at that day's close."]


def backtest_reloaded(run: Run, prepared: PreparedStocks) -> Backtest | None:
    """The same of data that is read already; None where the run's labels are no movements."""
    if not run.config.protocol.of_movements:
        return None
    windows = prepared.raw.inputs
    return backtest_stocks(_tradable(run, (windows.panel, windows.texts)))


def tradable_predictions(run: Run, data: str | None = None) -> pd.DataFrame:
    """Columns date, ticker, p_up, movement and intraday, of every ticker that could be traded on the test days.

    Movements too small to be labelled are among them: nobody knows at the close before which these will be.
    """
    if not run.config.protocol.of_movements:
        raise ConfigError(
            f"backtest: the labels of the protocol {run.config.protocol.name} are no movements of prices, so there is "
            f"nothing to trade. Got a run of it. Train with the protocol chronological."
        )
    return _tradable(run, market_for(run, data))


def _tradable(run: Run, source: object) -> pd.DataFrame:
    """The same of any market, without the dead zone: no day is left out for how little it moved."""
    protocol = run.state.protocol(run.config.protocol)
    every_day = protocol.replace(down=0.0, up=0.0) if protocol.rules is None else protocol
    prepared = run.task.prepare(run.config.replace(protocol=every_day), source, run.state)
    inputs: StockInputs = prepared.part("test").inputs
    chosen = tradable(inputs.windows, complete=protocol.complete)
    if not chosen.any():
        raise DataError(f"{prepared.source}: no ticker can be traded on the test days. Give later prices.")
    scored = Scored.of(run.config, inputs.windows, chosen, {run.answer.name: answer_chances(run, inputs)})
    prices = inputs.windows.panel.prices[:, inputs.windows.targets].swapaxes(0, 1)[chosen]
    frame = scored.frame("test")[["date", "ticker", "p_up", "movement"]]
    return frame.assign(intraday=prices[:, CLOSE] / prices[:, OPEN] - 1)


def tradable(windows: StockWindows, *, complete: bool = False) -> Marks:
    """`(samples, stocks)`: the movement is known, and a price was shown before it, or all that `complete` needs."""
    shown = windows.is_complete if complete else windows.price_valid.any(axis=2)
    return np.asarray(shown & np.isfinite(windows.returns))
