"""A portfolio against plain loops over days and tickers, and what must hold of any portfolio."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from multiway.errors import ConfigError, DataError
from multiway_papers.stocks.backtest import backtest_stocks
from multiway_papers.stocks.portfolio import (
    buy_and_hold,
    long_short_weights,
    max_drawdown,
    random_rankings,
    rank_correlations,
    sharpe,
    trade,
)
from tolerances import ROUNDING64, SUMS64

DAYS, TICKERS = 17, 7


def draw(seed=0, holes=True):
    chance = np.random.default_rng(seed)
    p_up, returns = chance.random((DAYS, TICKERS)), chance.normal(0, 0.03, (DAYS, TICKERS))
    if holes:
        missing = chance.random((DAYS, TICKERS)) < 0.2
        p_up[missing] = returns[missing] = np.nan
    return p_up, returns


def table(p_up, returns, start="2015-10-01"):
    dates = pd.bdate_range(start, periods=len(p_up)).strftime("%Y-%m-%d")
    return pd.DataFrame(
        [
            {"date": date, "ticker": f"T{column}", "p_up": p_up[row, column], "movement": returns[row, column]}
            for row, date in enumerate(dates)
            for column in range(p_up.shape[1])
        ]
    )


def slow_long_short(p_up, returns, top, cost):
    """As a person with a notebook would: amounts of money per ticker, day after day."""
    money, held, wealth = 1.0, {}, []
    for row in range(len(p_up)):
        ranked = sorted((p, ticker) for ticker, p in enumerate(p_up[row]) if np.isfinite(p))
        if top is None:
            long, short = [t for p, t in ranked if p > 0.5], [t for p, t in ranked if p < 0.5]
        else:
            places = min(max(round(top * len(ranked)), 1), len(ranked) // 2)
            long, short = [t for _, t in ranked[len(ranked) - places :]], [t for _, t in ranked[:places]]
        wanted = {t: 0.5 * money / len(long) for t in long} | {t: -0.5 * money / len(short) for t in short}
        traded = sum(abs(wanted.get(t, 0) - held.get(t, 0)) for t in range(p_up.shape[1]))
        gain = sum(amount * returns[row, t] for t, amount in wanted.items())
        paid = cost * traded / money
        held = {t: amount * (1 + returns[row, t]) * (1 - paid) for t, amount in wanted.items()}
        money = (money + gain) * (1 - paid)
        wealth.append(money)
    return np.array(wealth)


@pytest.mark.parametrize("top", [None, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("cost", [0.0, 0.003])
def test_the_portfolio_is_that_of_a_plain_loop(top, cost):
    p_up, returns = draw()
    track = trade(long_short_weights(p_up, top), returns, cost)
    np.testing.assert_allclose(track.wealth, slow_long_short(p_up, returns, top, cost), rtol=SUMS64)


def test_two_tickers_by_hand():
    p_up, returns = np.array([[0.9, 0.2], [0.8, 0.1]]), np.array([[0.10, -0.10], [0.0, 0.05]])
    track = trade(long_short_weights(p_up, 0.5), returns, 0.01)
    assert track.gross == pytest.approx([0.10, -0.025], rel=SUMS64)
    # day 1 buys .5 and sells .5; they drift to .55/1.1 and -.45/1.1 of the capital, so only the short leg is fixed
    assert track.traded == pytest.approx([1.0, 0.5 - 0.45 / 1.1], rel=SUMS64)
    assert track.net == pytest.approx([1.1 * 0.99 - 1, 0.975 * (1 - 0.01 * (0.5 - 0.45 / 1.1)) - 1], rel=SUMS64)


def test_half_is_long_and_half_short_whatever_the_day_offers():
    weights = long_short_weights(draw()[0], 0.3)
    np.testing.assert_allclose(weights.clip(0).sum(1), 0.5, rtol=SUMS64)
    np.testing.assert_allclose(weights.sum(1), 0, atol=SUMS64)
    alone = long_short_weights(np.array([[0.7, 0.9, np.nan]]))
    assert alone == pytest.approx(np.array([[0.25, 0.25, 0.0]]))


@pytest.mark.parametrize("top", [None, 0.4])
def test_each_sector_is_traded_alone_by_its_share_of_the_tickers(top):
    p_up, _ = draw(5)
    sectors = np.array([0, 1, 0, 2, 1, 1, 0])  # ticker 3 is alone and has one side only
    weights = long_short_weights(p_up, top, sectors)
    expected = np.zeros_like(p_up)
    for day in range(DAYS):
        for sector in range(3):
            own = np.flatnonzero((sectors == sector) & np.isfinite(p_up[day]))
            held = long_short_weights(p_up[day, own], top) if len(own) else np.zeros(0)
            if (held > 0).any() and (held < 0).any():
                expected[day, own] = held * len(own) / np.isfinite(p_up[day]).sum()
    np.testing.assert_allclose(weights, expected, atol=SUMS64)
    for sector in range(3):
        np.testing.assert_allclose(weights[:, sectors == sector].sum(1), 0, atol=SUMS64)
    assert (weights[:, sectors < 2] != 0).any(1).mean() > 0.5 and not weights[:, 3].any()


def test_a_sector_that_is_not_known_is_said_and_those_that_end_are_counted():
    frame = table(*draw(holes=False))
    sectors = {f"T{column}": "even" if column % 2 == 0 else "odd" for column in range(TICKERS)}
    found = backtest_stocks(frame, draws=3, sectors=sectors)
    assert any("In each of 2 sectors as much is bought as is sold short" in line for line in found.assumptions())
    ended = frame[(frame["ticker"] != "T2") | (frame["date"] < "2015-10-20")]
    assert "1 of 7 tickers end before the last day" in backtest_stocks(ended, draws=3).assumptions()[-1]
    del sectors["T4"]
    with pytest.raises(DataError, match=r"neutral needs the sector of every ticker. Got none of T4; add it"):
        backtest_stocks(frame, sectors=sectors)


def test_equal_probabilities_share_the_places():
    assert long_short_weights(np.array([[0.9, 0.6, 0.6, 0.1]]), 0.5) == pytest.approx(
        np.array([[0.25, 0.0, 0.0, -0.25]])
    )
    assert not long_short_weights(np.full((1, 5), 0.51), 0.2).any()
    assert not long_short_weights(np.array([[0.9, np.nan]]), 0.5).any()
    assert not long_short_weights(np.full((1, 3), np.nan), 0.5).any()


def test_knowing_the_future_beats_every_random_ranking_and_knowing_it_backwards_none():
    _, returns = draw(holes=False)
    best = backtest_stocks(table(returns, returns), top=0.3, draws=40)
    worst = backtest_stocks(table(-returns, returns), top=0.3, draws=40)
    assert (best.beaten, worst.beaten) == (1.0, 0.0)
    (_, high), (low, _) = (found.band() for found in (best, worst))
    assert best.track.wealth[-1] - 1 > high[-1] and low[-1] > worst.track.wealth[-1] - 1


def test_random_rankings_are_centred_on_nothing_before_costs():
    p_up, returns = draw(3)
    found = random_rankings(p_up, returns, top=0.3, cost=0.0, draws=2000, seed=1)
    error = found.gross.std(axis=1, ddof=1) / np.sqrt(2000)
    assert (np.abs(found.gross.mean(axis=1)) < 4.5 * error).all()


def test_random_rankings_trade_as_often_as_the_ranking_itself():
    steady = np.tile(np.linspace(0.1, 0.9, TICKERS), (DAYS, 1))
    returns = np.zeros((DAYS, TICKERS))
    found = random_rankings(steady, returns, top=0.3, cost=0.0, draws=11, seed=1)
    assert found.traded[0] == pytest.approx(np.ones(11)) and not found.traded[1:].any()


def test_costs_take_what_was_traded_and_nothing_else():
    p_up, returns = draw()
    free, paid = (trade(long_short_weights(p_up, 0.3), returns, cost) for cost in (0.0, 0.002))
    np.testing.assert_allclose(free.net, free.gross, atol=ROUNDING64)
    np.testing.assert_allclose(paid.gross, free.gross, atol=ROUNDING64)
    np.testing.assert_allclose((1 + paid.net) / (1 + paid.gross), 1 - 0.002 * paid.traded, rtol=SUMS64)


def test_who_buys_at_the_open_sells_all_at_the_close_and_pays_twice():
    p_up, intraday = draw()
    paid = trade(long_short_weights(p_up, 0.3), intraday, 0.002, overnight=False)
    money, wealth = 1.0, []
    for day in range(DAYS):
        bought = {t: weight * money for t, weight in enumerate(long_short_weights(p_up[day], 0.3)) if weight}
        sold = {t: amount * (1 + intraday[day, t]) for t, amount in bought.items()}
        fees = sum(map(abs, bought.values())) + sum(map(abs, sold.values())) * money / (
            money + sum(sold.values()) - sum(bought.values())
        )
        money = (money + sum(sold.values()) - sum(bought.values())) * (1 - 0.002 * fees / money)
        wealth.append(money)
    np.testing.assert_allclose(paid.wealth, wealth, rtol=SUMS64)


def test_the_open_trades_movements_of_the_day_and_holding_still_has_the_nights():
    p_up, movement = draw()
    frame = table(p_up, movement).assign(intraday=lambda rows: -rows["movement"])
    found, usual = (backtest_stocks(frame, top=0.3, draws=3, entry=entry) for entry in ("open", "close"))
    np.testing.assert_allclose(found.track.gross, -usual.track.gross, rtol=SUMS64)
    np.testing.assert_allclose(found.hold.wealth, usual.hold.wealth, rtol=SUMS64)
    np.testing.assert_allclose(found.rank_ic, -usual.rank_ic, rtol=SUMS64)
    assert "held from the open of each day to its close" in found.assumptions()[0]


def test_the_rank_ic_of_a_day_is_that_of_scipy():
    p_up, returns = draw(1)
    p_up[3, :] = 0.5  # nothing is ranked
    p_up[4, 1:] = np.nan  # one ticker alone
    p_up[:, 2] = p_up[:, 5]  # ties share a rank
    found = rank_correlations(p_up, returns)
    assert np.isnan(found[[3, 4]]).all()
    for day in sorted({*range(DAYS)} - {3, 4}):
        assert found[day] == pytest.approx(stats.spearmanr(p_up[day], returns[day], nan_policy="omit")[0])


def test_the_ranking_is_said_with_its_interval_and_ratio():
    p_up, returns = draw(2, holes=False)
    found = backtest_stocks(table(p_up, returns), draws=3)
    mean, spread = found.rank_ic.mean(), found.rank_ic.std(ddof=1)
    assert found.ranking().startswith(f"Rank IC {mean:+.3f} on {DAYS} days, 95 % interval ")
    assert f"ICIR {mean / spread:+.2f}," in found.ranking()
    low, high = (float(word) for word in found.ranking().split("interval ")[1].split(" over")[0].split(" to "))
    error = spread / np.sqrt(DAYS)
    assert mean - 3 * error < low < mean < high < mean + 3 * error
    assert "no rank IC" in backtest_stocks(table(np.full_like(p_up, 0.6), returns), draws=3).ranking()


def test_buy_and_hold_is_the_mean_of_the_tickers():
    _, returns = draw()
    track = buy_and_hold(returns, cost=0.001)
    expected = np.cumprod(1 + np.nan_to_num(returns), axis=0).mean(axis=1) * (1 - 0.001)
    np.testing.assert_allclose(track.wealth, expected, rtol=SUMS64)
    assert track.traded.sum() == 1


def test_sharpe_and_its_error():
    returns = np.array([0.01, -0.02, 0.03, 0.0])
    daily = returns.mean() / returns.std(ddof=1)
    assert sharpe(returns, 252) == pytest.approx((daily * 252**0.5, (252 * (1 + daily**2 / 2) / 4) ** 0.5))
    assert sharpe(np.zeros(5)) == (None, None) == sharpe(np.array([0.1]))


def test_the_error_of_the_sharpe_ratio_is_its_spread_over_samples():
    chance = np.random.default_rng(5)
    found = np.array([sharpe(chance.normal(0.001, 0.01, 64)) for _ in range(3000)], float)
    assert found[:, 0].std() == pytest.approx(found[:, 1].mean(), rel=0.05)


def test_drawdown_counts_a_loss_on_the_first_day():
    assert max_drawdown(np.array([0.9, 1.2, 0.6, 0.8])) == pytest.approx(0.5)
    assert max_drawdown(np.array([0.9, 1.2])) == pytest.approx(0.1)


def test_the_table_and_the_daily_frame_agree():
    found = backtest_stocks(table(*draw()), top=0.3, cost_bps=5, draws=20)
    rows = {row["portfolio"]: row for row in found.table()}
    frame = found.frame()
    assert list(rows) == ["long-short", "buy and hold", "random ranking (median)"]
    assert rows["long-short"]["return_net"] == pytest.approx(frame["cumulative"].iloc[-1])
    assert rows["long-short"]["turnover"] == pytest.approx(frame["turnover"].mean())
    assert (rows["long-short"]["days"], len(frame)) == (DAYS, DAYS)
    assert str(frame["date"].iloc[0])[:10] == "2015-10-01"
    assert "of 20 random rankings" in found.sentence()


def test_a_market_that_never_closes_has_a_longer_year():
    p_up, returns = draw()
    frame = table(p_up, returns)
    assert backtest_stocks(frame, draws=1).days_per_year == 252
    assert backtest_stocks(frame.replace("2015-10-01", "2015-10-03"), draws=1).days_per_year == 365


def test_a_row_that_cannot_be_traded_changes_nothing():
    p_up, returns = draw(holes=False)
    frame = table(p_up, returns)
    more = pd.concat([frame, pd.DataFrame([{"date": "2015-10-01", "ticker": "NEW", "p_up": 0.99}])])
    assert backtest_stocks(more, top=0.3, draws=3).table() == backtest_stocks(frame, top=0.3, draws=3).table()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"top": 0.6}, ConfigError, r"above 0 and at most 0.5. Got top=0.6"),
        ({"top": 0.0}, ConfigError, r"Got top=0\."),
        ({"cost_bps": -1.0}, ConfigError, r"Got cost_bps=-1"),
        ({"cost_bps": float("nan")}, ConfigError, r"Got cost_bps=nan"),
        ({"draws": 0}, ConfigError, r"at least one random ranking. Got draws=0"),
    ],
)
def test_an_option_out_of_range_is_said(options, error, text):
    with pytest.raises(error, match=text):
        backtest_stocks(table(*draw()), **options)


def test_two_models_in_one_table_and_no_movement_are_said():
    frame = table(*draw(holes=False))
    with pytest.raises(DataError, match=r"Got two of T0 on 2015-10-01; choose one model"):
        backtest_stocks(pd.concat([frame, frame]))
    with pytest.raises(DataError, match="no prediction has a movement"):
        backtest_stocks(frame.assign(movement=np.nan))
