"""What a check says: how far prices and texts reach, which days are odd, and how labels lie in each split."""

import numpy as np
import pandas as pd
import pytest

from multiway_papers.stocks.checking import odd_days, text_coverage
from multiway_papers.stocks.protocols import StockProtocol
from multiway_papers.stocks.source import read_stocks
from papers.stocks import stock_files
from papers.stocks.stock_files import check_stocks
from papers.stocks.stock_panels import build_samples

DAYS = pd.bdate_range("2024-01-02", periods=60)


def many_texts():
    days = [day.strftime("%Y-%m-%d") for day in DAYS]
    return pd.DataFrame({"ticker": ["NA", "1E5"] * 30, "day": days, "text": "words"})


def test_coverage_counts_by_ticker_and_month():
    frame, about = stock_files.prices(days=DAYS), many_texts()
    panel, texts = read_stocks(frame, texts=about)
    found = text_coverage(panel, texts)
    assert list(map(str, found.months)) == ["2024-01", "2024-02", "2024-03"]
    assert found.days.tolist() == [DAYS.strftime("%Y-%m").tolist().count(f"2024-0{month}") for month in (1, 2, 3)]
    for row, ticker in enumerate(found.tickers):
        for column, month in enumerate(map(str, found.months)):
            rows = frame[(frame.ticker == ticker) & frame.date.str.startswith(month)]
            assert found.traded[row, column] == len(rows)
            assert found.texts[row, column] == about[about.ticker == ticker].day.str.startswith(month).sum()
            before = [DAYS[max(0, list(DAYS.strftime("%Y-%m-%d")).index(day) - 1)].strftime("%Y-%m-%d")
                      for day in rows.date]  # fmt: skip
            written = about[about.ticker == ticker].day.tolist()
            with_text = sum(day in written and day != now for day, now in zip(before, rows.date, strict=True))
            assert found.with_text[row, column] == with_text


def test_a_report_of_sound_data():
    panel, texts = read_stocks(stock_files.prices(days=DAYS), texts=many_texts())
    report = check_stocks(stock_files.prices(days=DAYS), texts=many_texts())
    assert report.is_usable
    assert report.summary["tickers"] == "3 (1E5, AAPL, NA)"
    assert report.summary["days"] == "60, 2024-01-02 to 2024-03-25"
    assert report.summary["next session"] == "2024-03-26"
    assert report.summary["rows of prices"] == "176 of 180 stock-days (97.8%)"
    assert report.summary["fewest prices"] == "AAPL 57, NA 59"
    assert report.summary["fewest texts"] == "AAPL 0, 1E5 30, NA 30"
    shares = text_coverage(panel, texts)
    march = shares.with_text[:, 2].sum() / shares.traded[:, 2].sum()
    assert report.summary["2024-03"] == f"17 days, 3 tickers, 51 prices, 17 texts, on {march:.0%} of stock-days"
    samples = build_samples(panel, texts, StockProtocol())
    labels = report.summary["labels under the protocol chronological"]
    for name, rows in samples.splits.items():
        labelled = samples.labels[rows][samples.labels[rows] >= 0]
        assert (
            f"{name} {len(labelled)} ({labelled.mean():.1%} rises, {samples.days[samples.targets[rows[0]]]} to"
            in labels
        )


def test_prices_alone():
    summary = check_stocks(stock_files.prices(days=DAYS)).summary
    assert "texts" not in summary
    assert summary["fewest texts"] is None
    assert summary["2024-03"] == "17 days, 3 tickers, 51 prices"


def test_many_years_are_shown_by_year():
    summary = check_stocks(stock_files.prices(days=pd.bdate_range("2019-01-01", "2023-12-29"))).summary
    assert [name for name in summary if name.startswith("20")] == ["2019", "2020", "2021", "2022", "2023"]


def test_odd_days_and_weekends_are_warned_of():
    frame = stock_files.prices(("A", "B", "C"), DAYS)
    saturday = frame.iloc[[0]].assign(date="2024-01-06")
    panel = read_stocks(pd.concat([frame, saturday]))[0]
    assert panel.days[odd_days(panel)].tolist() == [np.datetime64("2024-01-06").item()]
    lines = "\n".join(check_stocks(pd.concat([frame, saturday])).lines())
    assert "warning: fewer than half of the tickers have a row on some days: 2024-01-06 (1 tickers)." in lines
    assert "warning: there are prices on Saturdays or Sundays: 2024-01-06." in lines
    assert odd_days(read_stocks(frame)[0]).tolist() == []


def test_one_ticker():
    report = check_stocks(stock_files.prices(("A",), DAYS))
    assert report.is_usable
    assert "there is one ticker, so nothing can be learnt between stocks" in [one.rule for one in report.findings]


def test_the_real_ones(real_data):
    if not (real_data / "stocks").is_dir():
        pytest.skip("StockNet absent")
    report = check_stocks(real_data / "stocks", protocol=StockProtocol(name="stocknet"))
    assert report.is_usable
    assert report.summary["labels under the protocol stocknet"].startswith(
        "train 20,345 (50.7% rises, 2014-01-02 to 2015-07-31); val"
    )
    assert "validation 2,555 (44.6% rises" in report.summary["labels under the protocol stocknet"]
    assert "test 3,720 (51.3% rises" in report.summary["labels under the protocol stocknet"]
    assert report.summary["fewest prices"] == "AGFS 299, BABA 343"
