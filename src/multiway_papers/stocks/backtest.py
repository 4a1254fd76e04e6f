"""What trading by the predictions would have returned, compared with holding every ticker and with random rankings."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.config import Plain
from multiway.data.writing import check_target, write_table
from multiway.errors import ConfigError, DataError
from multiway.tasks.answers import Answer
from multiway.tasks.protocol import Row
from multiway.tasks.run import Run
from multiway_papers.stocks.answers import market_for
from multiway_papers.stocks.encode import PreparedStocks, StockInputs
from multiway_papers.stocks.network import Scored, answer_chances
from multiway_papers.stocks.portfolio import (
    CALENDAR_YEAR,
    YEAR,
    Floats,
    Track,
    buy_and_hold,
    long_short_weights,
    max_drawdown,
    random_rankings,
    sharpe,
    trade,
)
from multiway_papers.stocks.samples import Marks, StockWindows

COST_BPS = 10.0
DRAWS = 200
BAND = (5, 95)
WORDS = "Not investment advice."
HELD = "held from the close before each day to its own"
LEFT_OUT = "borrowing, slippage and limits of size are left out"
INDEPENDENT = "its standard error takes the days as independent"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Backtest:
    """One long-short portfolio over the days of a predictions table.

    days: `(days,)`, each held from the close before it to its own.
    track: The portfolio.
    hold: Every ticker in equal parts, never traded.
    chance: The same trading by random rankings, `(days, draws)`.
    tickers: Long and short tickers per day on average.
    top: Share at either end of the ranking; None for above and below one half.
    cost_bps: Cost of a trade, in hundredths of a percent of its value.
    """

    days: NDArray[np.datetime64]
    track: Track
    hold: Track
    chance: Track
    tickers: tuple[float, float]
    top: float | None
    cost_bps: float
    days_per_year: int

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

    def assumptions(self) -> list[str]:
        """What the figures suppose, one sentence each."""
        (long, short), top = self.tickers, self.top
        rule = "every ticker above one half is bought, every one below sold short"
        if top is not None:
            rule = f"the highest {top:.0%} of the ranking are bought, the lowest {top:.0%} sold short"
        tickers = f"{long:.0f} and {short:.0f} tickers a day on average"
        costs = f"Each trade costs {self.cost_bps:g} basis points of its value"
        return [
            f"Half the capital is long and half short in equal parts ({rule}; {tickers}), {HELD}.",
            f"{costs}, and is made at the very close that the prediction has just seen; {LEFT_OUT}.",
            f"The Sharpe ratio is annualised with {self.days_per_year} days; {INDEPENDENT}.",
        ]


def backtest_stocks(
    predictions: pd.DataFrame,
    *,
    top: float | None = None,
    cost_bps: float = COST_BPS,
    draws: int = DRAWS,
    seed: int = 0,
) -> Backtest:
    """Trade by the predictions of one model, held from the close before each date to the close of that date.

    Every row with a probability and a movement is tradable, whether or not the protocol labels it: what the label is
    was not known at the close before. Half the capital is long, half short; the cost is charged on everything that
    is bought or sold, the drift of the weights included.

    `predictions` has a row per ticker and date: date, ticker, p_up and movement. `top` is the share at either end of
    the ranking; without it, above and below one half. A trade costs `cost_bps` hundredths of a percent of its value.
    `draws` random rankings are compared.
    """
    check_settings(top, cost_bps, draws)
    days, p_up, returns = _tables(predictions)
    cost, weights = cost_bps / 10_000, long_short_weights(p_up, top)
    return Backtest(
        days=days,
        track=trade(weights, returns, cost),
        hold=buy_and_hold(returns, cost=cost),
        top=top,
        chance=random_rankings(p_up, returns, top=top, cost=cost, draws=draws, seed=seed),
        cost_bps=cost_bps,
        tickers=(float((weights > 0).sum(axis=1).mean()), float((weights < 0).sum(axis=1).mean())),
        days_per_year=YEAR if bool(np.is_busday(days).all()) else CALENDAR_YEAR,
    )


def check_settings(top: float | None, cost_bps: float, draws: int = DRAWS) -> None:
    """Whether a backtest can be run so; call it before long work."""
    long_short_weights(np.empty((0, 1)), top)
    if not (np.isfinite(cost_bps) and 0 <= cost_bps < 10_000):
        raise ConfigError(f"backtest: the cost must be from 0 to below 10000 basis points. Got cost_bps={cost_bps:g}.")
    if draws < 1:
        raise ConfigError(f"backtest: compare with at least one random ranking. Got draws={draws}.")


def _tables(predictions: pd.DataFrame) -> tuple[NDArray[np.datetime64], Floats, Floats]:
    """Days, probabilities and returns; a probability without a return is not tradable."""
    known = predictions.dropna(subset=["p_up", "movement"])
    if known.empty:
        raise DataError("backtest: no prediction has a movement to hold it for. Predict days whose close is known.")
    twice = known.duplicated(["date", "ticker"])
    if twice.any():
        _, date, ticker = next(known.loc[twice, ["date", "ticker"]].itertuples())
        raise DataError(f"backtest: give one row per ticker and date. Got two of {ticker} on {date}; choose one model.")
    p_up, returns = (known.pivot(index="date", columns="ticker", values=name) for name in ("p_up", "movement"))
    days = pd.to_datetime(p_up.index).to_numpy().astype("datetime64[D]")
    return days, p_up.to_numpy(float), returns.to_numpy(float)


def backtest_run(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """Trade the test days by a run, on later prices if given; the returns day by day are written to `out`.

    options: `top` and `cost_bps`, see `backtest_stocks`.
    """
    check_target(out)
    settings = {"top": options.get("top"), "cost_bps": options.get("cost_bps", COST_BPS)}
    check_settings(**settings)
    traded = backtest_stocks(tradable_predictions(run, data), **settings)
    if out is not None:
        write_table(traded.frame(), out)
    notes = [traded.sentence(), *traded.assumptions(), *evening_texts(run), WORDS]
    return Answer(frame=pd.DataFrame(traded.table()), files=() if out is None else (out,), notes=notes)


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
    """Columns date, ticker, p_up and movement, of every ticker that could be traded on the test days.

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
    return scored.frame("test")[["date", "ticker", "p_up", "movement"]]


def tradable(windows: StockWindows, *, complete: bool = False) -> Marks:
    """`(samples, stocks)`: the movement is known, and a price was shown before it, or all that `complete` needs."""
    shown = windows.is_complete if complete else windows.price_valid.any(axis=2)
    return np.asarray(shown & np.isfinite(windows.returns))
