"""Every flaw of prices and texts that RELIABILITY promises to name: one line, the file, the place, the fix."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from multiway.data.findings import CheckReport
from multiway.data.sources import json_files
from multiway.errors import DataError
from multiway_papers.stocks import panel, source
from multiway_papers.stocks.config import StockOptions, StockProtocol
from multiway_papers.stocks.source import read_stocks
from papers.stocks import stock_files
from papers.stocks.stock_files import check_stocks, notes_of


def changed(column, row, value):
    """Prices with one cell changed, as a CSV."""

    def write(path):
        frame = stock_files.prices()
        frame[column] = frame[column].astype(object)
        frame.loc[row, column] = value
        frame.to_csv(path, index=False)

    return write


def scaled(column, row, factor):
    """Prices of the first ticker that change by a factor from a row on; row 5 is the sixth day it trades."""

    def write(path):
        frame = stock_files.prices()
        frame.loc[row:8, column] *= factor
        frame.to_csv(path, index=False)

    return write


def repeated(path):
    frame = stock_files.prices()
    pd.concat([frame, frame.iloc[[3]]]).to_csv(path, index=False)


def without(*columns):
    return lambda path: stock_files.prices().drop(columns=list(columns)).to_csv(path, index=False)


def many_tickers(path):
    names = np.arange(panel.MAX_TICKERS + 1).astype(str)
    pd.DataFrame({"ticker": names, "date": "2024-01-02", "close": 1.0}).to_parquet(path.with_suffix(".parquet"))
    path.with_suffix(".parquet").rename(path)


def wrong_movement(path):
    frame = stock_files.prices()
    frame["movement"] = (frame.adj_close / frame.groupby("ticker").adj_close.shift() - 1).round(6)
    frame.loc[2, "movement"] = 0.5
    frame.to_csv(path, index=False)


def cut(path):
    stock_files.prices().to_parquet(path)
    path.write_bytes(path.read_bytes()[:-40])


ALL = ["open", "high", "low", "close", "adj_close"]
PRICES = {
    "zero": (changed("low", 4, 0), r"1 prices are not above 0: line 6, column 'low', value '0', NA 2024-03-08\. Corr"),
    "negative": (changed("close", 11, -3.5), r"1 prices are not above 0: line 13, column 'close', value '-3\.5', 1E5"),
    "out of bounds": (changed("high", 4, 1e300), r"1 prices lie outside 1e-12 to 1e\+12: line 6, column 'high', value"),
    "tiny": (changed("low", 4, 1e-300), r"1 prices lie outside 1e-12 to 1e\+12: line 6, column 'low', value '1e-300'"),
    "movement in per cent": (
        lambda p: stock_files.prices().assign(movement=-1.5).to_csv(p, index=False),
        r"26 movements lie below -1 or above all bounds: line 2, column 'movement', value '-1\.5'",
    ),
    "high below low": (changed("high", 2, 1.0), r"1 highs lie below the low of the day: line 4, column 'high', value"),
    "empty price": (changed("high", 2, ""), r"1 prices are empty: line 4, column 'high', value 'nan', NA 2024-03-05"),
    "letters": (changed("close", 3, "12.3x"), r"no finite number: line 5, column 'close', value '12\.3x'\. Correct it"),
    "infinity": (changed("open", 3, "1e400"), r"no finite number: line 5, column 'open', value '1e400'\. Correct it"),
    "words": (lambda p: stock_files.prices().assign(close="x").to_csv(p, index=False), r"columns hold words, not num"),
    "no day": (changed("date", 3, "soon"), r"1 of 26 times are absent or not written like.*line 5, column 'date', val"),
    "impossible day": (changed("date", 3, "2024-02-30"), r"line 5, column 'date', value '2024-02-30'"),
    "empty day": (changed("date", 3, ""), r"1 of 26 times are absent or not written like the others: line 5, column"),
    "no days": (lambda p: stock_files.prices().assign(date=range(26)).to_csv(p, index=False), r"days are needed: line"),
    "repeated": (repeated, r"1 rows repeat a ticker and day: line 28, column 'date', NA 2024-03-06\. Keep one row per"),
    "empty ticker": (changed("ticker", 3, ""), r"1 of 26 tickers are empty: line 5, column 'ticker'\. Fill it in"),
    "control characters": (changed("ticker", 3, "A\x1b[31m"), r"40 printable characters: line 5, .* value 'A\\x1b\[3"),
    "long ticker": (changed("ticker", 3, "A" * 41), r"a ticker has 1 to 40 printable characters: line 5, column 'tic"),
    "negative volume": (changed("volume", 3, -1), r"1 volumes are below 0: line 5, column 'volume', value '-1'"),
    "split": (
        scaled(ALL, 5, 1 / 2),
        r"jumps like a split that was not taken out: NA 2024-03-11: close .* adjusted .*\(read\.jumps=warn\)",
    ),
    "reverse split": (scaled(ALL, 5, 10), r"adjusted close jumps like a split that was not taken out: NA 2024-03-11"),
    "adjusted alone": (scaled("adj_close", 5, 0.6), r"an adjusted close jumps where the close does not: NA 2024-03-11"),
    "movement": (wrong_movement, r"1 movements of the file disagree with its adjusted close: NA 2024-03-05: 0\.500000"),
    "no close": (without("close", "adj_close"), r"there is no column of closing prices\. Name it close"),
    "no date": (without("date"), r"there is no column of days\. There are ticker, open, high, .* \(read\.date="),
    "short row": (
        lambda p: p.write_text("ticker,date,close\nA,2024-01-02,1\nA,2024-01-03\n"), r"1 of 2 rows do not have the 3 f",
    ),
    "NUL": (lambda p: p.write_bytes(b"ticker,date,close\nA\x00,2024-01-02,1\n"), r"holds a NUL byte.*: line 2, charac"),
    "header only": (lambda p: p.write_text("ticker,date,close\n"), r"it has a header and no rows"),
    "empty": (lambda p: p.write_text(""), r"the file is empty"),
    "cut Parquet": (cut, r"it is not a whole Parquet file"),
    "many tickers": (many_tickers, r"100,001 tickers x 1 days would take 0\.013 GB; at most 100,000 tickers are read"),
    "two columns of one name": (
        lambda p: p.write_text("ticker,date,close,close\nA,2024-01-02,1,1\n"),
        r"two columns have one name: line 1, column 'close'",
    ),
}  # fmt: skip


def assert_refused(report: CheckReport, name: str, text: str, error: DataError) -> None:
    assert str(error).startswith(name)
    assert "\n" not in str(error)
    assert not report.is_usable
    assert all("\n" not in line for line in report.lines())


@pytest.mark.parametrize("case", PRICES)
def test_prices(case, tmp_path):
    make, text = PRICES[case]
    path = tmp_path / "x.csv"
    make(path)
    with pytest.raises(DataError, match=text) as caught:
        read_stocks(path)
    assert_refused(check_stocks(path), "x.csv", text, caught.value)


@pytest.mark.parametrize("case", ["zero", "letters", "no day", "cut Parquet", "empty", "header only", "split"])
def test_one_bad_file_of_many_is_named(case, tmp_path):
    make, text = PRICES[case]
    stock_files.prices(("B",)).to_csv(tmp_path / "B.csv", index=False)
    make(tmp_path / "C.csv")
    with pytest.raises(DataError, match=text) as caught:
        read_stocks(tmp_path)
    where = f"{tmp_path.name}: " if case == "split" else f"{tmp_path.name}: C.csv: "
    assert_refused(check_stocks(tmp_path), where, text, caught.value)


def test_a_split_that_is_adjusted_passes_and_others_can_be_let_through(tmp_path):
    scaled(ALL[:4], 5, 1 / 2)(tmp_path / "x.csv")
    assert notes_of(tmp_path / "x.csv") == ()
    scaled(ALL, 5, 1 / 2)(tmp_path / "y.csv")
    warned = notes_of(tmp_path / "y.csv", StockOptions(jumps="warn"))
    assert warned[0].startswith("an adjusted close jumps like a split that was not taken out: NA 2024-03-11")
    assert notes_of(tmp_path / "y.csv", StockOptions(jumps="ignore")) == ()
    scaled(ALL, 5, 0.7)(tmp_path / "z.csv")  # a bad day, and no split
    assert notes_of(tmp_path / "z.csv") == ()


@pytest.mark.parametrize("factor", [2, 3, 4, 10, 1 / 3, 1 / 10, 1.5])
def test_a_jump_is_seen_with_a_days_movement_on_top(factor, tmp_path):
    scaled(ALL, 5, factor)(tmp_path / "x.csv")
    adjusted = pd.read_csv(tmp_path / "x.csv", keep_default_na=False).adj_close
    scaled(ALL, 5, adjusted[4] / adjusted[5] * factor**2 * 1.01)(tmp_path / "x.csv")
    with pytest.raises(DataError, match="jumps like a split"):
        read_stocks(tmp_path / "x.csv")


def text_of(**changes):
    return {"ticker": "NA", "timestamp": "2024-03-05T12:00:00Z", "text": "words"} | changes


TEXTS = {
    "bad JSON": ([text_of(), '{"ticker": "NA", ', text_of()], r"1 lines hold no sound JSON object: line 2, value '{"),
    "no object": ([text_of(), "[1, 2]"], r"1 lines hold no sound JSON object: line 2, value '\[1, 2\]'"),
    "only bad JSON": (["nothing"], r"1 lines hold no sound JSON object: line 1, value 'nothing'"),
    "a raw NUL": ([text_of(), '{"text": "a\x00b"}'], r"1 lines hold no sound JSON object: line 2"),
    "deep": ([text_of(), '{"a":' * 100_000], r"1 lines hold no sound JSON object: line 2"),
    "long number": ([text_of(), '{"a":' + "1" * 5000 + "}"], r"1 lines hold no sound JSON object: line 2"),
    "no zone": ([text_of(), text_of(timestamp="2024-03-05 12:00:00")],
                r"1 times of texts say no zone: line 2, value '2024-03-05 12:00:00'\. .*\(read\.time_zone=UTC\)"),
    "no time": ([text_of(timestamp="yesterday")], r"1 times of texts cannot be understood: line 1, value 'yesterday'"),
    "no such day": ([text_of(timestamp="2024-02-30")], r"1 times of texts cannot be understood: line 1, value '2024-0"),
    "lost time": ([text_of(), {"ticker": "NA", "text": "a"}], r"1 times of texts cannot be understood: line 2"),
    "lost ticker": ([text_of(), text_of(ticker=None)], r"1 of 2 tickers are empty: line 2, column 'ticker'\. Fill it"),
    "odd ticker": ([text_of(), text_of(ticker="\x1b[2J")], r"40 printable characters: line 2, .*value '\\x1b\[2J'"),
    "no column": ([{"ticker": "NA", "time": "2024-03-05", "words": "a"}], r"there is no column of texts\. There are t"),
    "strangers": ([text_of(ticker="XX")], r"no text is left \(unknown ticker 1; unknown tickers are XX\)\. Give texts"),
    "other days": ([text_of(timestamp="2023-01-01")], r"no text is left \(outside the prices' days 1\)"),
    "nothing said": ([text_of(text=" ")], r"no text is left \(empty 1\)"),
    "no lines": ([""], r"it holds no objects"),
    "short vector": ([{"ticker": "NA", "time": "2024-03-05", "embedding": one} for one in ([1, 2], [1])],
                     r"vectors must be lists of one length, and the first has 2: line 2"),
    "no vector": ([{"ticker": "NA", "time": "2024-03-05", "embedding": one} for one in ([1, 2], "x")],
                  r"'embedding' does not hold lists of numbers"),
    "infinite vector": (['{"ticker": "NA", "time": "2024-03-05", "embedding": [1, NaN]}'], r"1 vectors are not finite"),
}  # fmt: skip


@pytest.mark.parametrize("case", TEXTS)
def test_texts(case, tmp_path):
    items, text = TEXTS[case]
    path = stock_files.lines(tmp_path / "t.jsonl", items)
    options = StockOptions(texts=str(path))
    with pytest.raises(DataError, match=text) as caught:
        read_stocks(stock_files.prices(), options)
    assert str(caught.value).startswith("t.jsonl: ")
    assert "\n" not in str(caught.value)
    report = check_stocks(stock_files.prices(), options)
    assert not report.is_usable
    assert any("t.jsonl: " in line for line in report.lines())


CLOCKS = [("2024-03-10 02:30:00", "never"), ("2023-11-05 01:30:00", "twice")]


@pytest.mark.parametrize(("stamp", "how"), CLOCKS, ids=[how for _, how in CLOCKS])
def test_an_hour_that_a_clock_shows_twice_or_never_is_refused(stamp, how):
    days = pd.bdate_range("2023-11-01", "2024-03-20")
    frame = pd.DataFrame({"ticker": "NA", "time": ["2024-03-08 14:00:00", stamp], "text": "a"})
    text = rf"1 times of texts come twice or never in America/New_York.*: row 1, value '{stamp}'\. Write their offsets"
    with pytest.raises(DataError, match=text):
        read_stocks(stock_files.prices(days=days), StockOptions(time_zone="America/New_York"), texts=frame)
    assert read_stocks(stock_files.prices(days=days), StockOptions(time_zone="UTC"), texts=frame)[1].count == 2


def test_texts_that_say_nothing_are_kept_out_and_counted(tmp_path):
    items = [
        text_of(text="good", id="1"), text_of(text="again", id="1"), text_of(text="other", id=2, ticker="1E5"),
        text_of(text=""), text_of(text=None), text_of(text=7), text_of(text="half \ud83d"), text_of(text="a\x00b"),
        text_of(ticker="\ud800"), text_of(ticker="ZZ"), text_of(timestamp="2031-01-01"),
        text_of(text="far too long " * 80_000),
    ]  # fmt: skip
    items = [json.dumps(item) for item in items if item["ticker"] != "\ud800"]
    path = stock_files.lines(tmp_path / "t.jsonl", items)
    panel, texts = read_stocks(stock_files.prices(), StockOptions(texts=str(path)))
    assert sorted(text[:5] for text in texts.text) == ["far t", "good", "half ", "other"]
    assert max(map(len, texts.text)) == source.MAX_TEXT == 20_000
    assert texts.dropped == {
        "unknown ticker": 1, "duplicate id": 1, "empty": 2, "no text": 1, "NUL character": 1,
        "outside the prices' days": 1,
    }  # fmt: skip
    notes = notes_of(stock_files.prices(), StockOptions(texts=str(path)))
    assert "t.jsonl: 1 texts of more than 20,000 characters were cut there." in notes
    shown = "\n".join(check_stocks(stock_files.prices(), StockOptions(texts=str(path))).lines())
    assert "t.jsonl: texts left out: unknown ticker 1, duplicate id 1, empty 2" in shown
    assert f"stock-days with a text: 2 of {panel.traded.sum()} (8%), the rest is masked" in shown


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(json_files, "MAX_LINE", 1000)
    path = stock_files.lines(tmp_path / "t.jsonl", [text_of(), text_of(text="x" * 2000)])
    with pytest.raises(DataError, match=r"t\.jsonl: a line has more than 1,000 bytes: line 2\. Write one object on"):
        read_stocks(stock_files.prices(), StockOptions(texts=str(path)))


def test_what_cannot_fit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(panel, "free_memory", lambda: 1000)
    with pytest.raises(DataError, match=r"3 tickers x 10 days would take 3\.8e-06 GB; .* and 1e-06 GB are free\. Keep"):
        read_stocks(stock_files.prices())


def test_other_texts(tmp_path):
    frame = stock_files.texts()
    for given, text in (
        (tmp_path / "no.csv", r"no\.csv does not exist\. Give a file or folder of texts, or none"),
        (tmp_path, r"there are no texts in this folder\. Give CSV, Parquet or JSONL files"),
        (frame.drop(columns="timestamp"), r"the table: there is no column of times\. There are ticker, text"),
        (frame.assign(ticker=None), r"the table: 4 of 4 tickers are empty: row 0.*keep_default_na=False"),
        (frame.assign(timestamp=pd.NaT), r"4 times of texts cannot be understood: row 0, value 'NaT'"),
        (frame.assign(e0=1.0, e2=1.0), r"vectors are columns e0, e1, \.\.\. without a gap\. Got e0, e2"),
        (frame.assign(e0=["1", "x", "2", "3"]), r"no finite number: row 1, column 'e0', value 'x'"),
    ):
        with pytest.raises(DataError, match=text) as caught:
            read_stocks(stock_files.prices(), texts=given)
        assert "\n" not in str(caught.value)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(DataError, match=r": a\.parquet: it is not a whole Parquet file"):
        read_stocks(stock_files.prices(), texts=tmp_path)


def test_a_frame_in_which_pandas_lost_a_ticker(tmp_path):
    stock_files.prices().to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(DataError, match=r"9 of 26 tickers are empty: row 0.* took a ticker NA for nothing, read with"):
        read_stocks(pd.read_csv(tmp_path / "x.csv"))


@pytest.mark.parametrize("name", ["..x", "a b", "=1+1", "A'B", "naïve", "é" * 40])
def test_odd_names_of_files_are_tickers(name, tmp_path):
    stock_files.prices(("B",)).drop(columns="ticker").to_csv(tmp_path / f"+{name}.csv"[-90:], index=False)
    stock_files.prices(("B",)).drop(columns="ticker").to_csv(tmp_path / "B.csv", index=False)
    if len(name) < 40:
        assert read_stocks(tmp_path)[0].tickers == tuple(sorted(("B", f"+{name}")))
    else:
        with pytest.raises(
            DataError, match=r"a ticker has 1 to 40 printable characters: value '\+é.*'\. Rename the fi"
        ):
            read_stocks(tmp_path)


def test_names_of_files_are_escaped(tmp_path):
    stock_files.prices(("B",)).drop(columns="ticker").to_csv(tmp_path / "A\x1b[31m\n.csv", index=False)
    with pytest.raises(DataError, match=r"A\\x1b\[31m\\n\.csv: a ticker has 1 to 40 printable characters") as caught:
        read_stocks(tmp_path)
    assert str(caught.value).isprintable()


def test_two_files_of_one_ticker(tmp_path):
    for name in ("A.csv", "B.csv"):
        stock_files.prices(("X",)).to_csv(tmp_path / name, index=False)
    with pytest.raises(DataError, match=r"9 rows of different files repeat a ticker and day: X 2024-03-01"):
        read_stocks(tmp_path)


def test_folders(tmp_path):
    with pytest.raises(
        DataError, match=r"there are no prices in it\. Give prices\.csv or prices\.parquet, one table for"
    ):
        read_stocks(tmp_path)
    assert not check_stocks(tmp_path).is_usable
    with pytest.raises(DataError, match=r"nowhere does not exist\. Give a table of prices, or a folder of them"):
        read_stocks(tmp_path / "nowhere")
    net = stock_files.stocknet(tmp_path / "net")
    tweet = sorted((net / "tweet" / "preprocessed" / "AAA").iterdir())[0]
    tweet.write_text(tweet.read_text() + "{broken\n")
    with pytest.raises(DataError, match=rf"net: AAA/{tweet.name}: 1 lines hold no sound JSON object: line 3"):
        read_stocks(net)
    (net / "price" / "preprocessed" / "AAA.txt").write_text("2024-03-04 0.1\n")
    with pytest.raises(DataError, match=r"AAA\.txt: a line holds a day and a movement, with tabs between: line 1"):
        read_stocks(net)
    for file in (net / "price" / "raw").iterdir():
        file.unlink()
    with pytest.raises(DataError, match=r"the normalised ones alone do not say prices"):
        read_stocks(net)


def test_days_that_are_not_there():
    with pytest.raises(
        DataError, match=r"no row lies between 2031-01-01 and the end\. The rows run from 2024-03-01 to"
    ):
        read_stocks(stock_files.prices(), StockOptions(start="2031-01-01"))


def test_nothing_left_after_thresholds_is_said():
    report = check_stocks(stock_files.prices(), protocol=StockProtocol(down=0.9, up=0.9))
    assert [finding.kind for finding in report.findings if finding.severity == "error"] == ["source"]


def test_flaws_of_prices_do_not_hide_those_of_texts(tmp_path):
    changed("close", 3, "x7")(tmp_path / "prices.csv")
    (tmp_path / "texts.jsonl").write_text("no JSON\n")
    said = "\n".join(check_stocks(tmp_path / "prices.csv", texts=tmp_path / "texts.jsonl").lines())
    assert "value 'x7'" in said and "texts.jsonl" in said and "no sound JSON object" in said
    said = "\n".join(check_stocks(tmp_path / "prices.csv", texts=tmp_path / "absent.jsonl").lines())
    assert "value 'x7'" in said and "absent.jsonl does not exist" in said


def test_packed_texts_are_refused_before_they_fill_the_memory(tmp_path):
    stock_files.prices().to_csv(tmp_path / "prices.csv", index=False)
    line = json.dumps({"ticker": "AAA", "created_at": "2024-01-03 10:00:00", "text": "up"}) + "\n"
    (tmp_path / "texts.jsonl.gz").write_bytes(gzip.compress(line.encode() * 20_000))
    options = StockOptions(texts=str(tmp_path / "texts.jsonl.gz"), time_zone="UTC", max_bytes=100_000)
    with pytest.raises(DataError, match=r"it unpacks to more than 100,000 bytes\. Raise max_bytes"):
        read_stocks(tmp_path / "prices.csv", options)
