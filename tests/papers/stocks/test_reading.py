"""One market in every form it may come in, and each text on the day that the exchange's clock says."""

import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from multiway.errors import ConfigError, DataError
from multiway_papers.stocks.config import StockOptions
from multiway_papers.stocks.panel import FIELDS, StockPanel
from multiway_papers.stocks.source import looks_like_stocks, read_stocks
from papers.stocks import stock_files


def assert_same_panel(one: StockPanel, other: StockPanel) -> None:
    assert one.tickers == other.tickers
    assert (one.days == other.days).all()
    assert (one.traded == other.traded).all()
    np.testing.assert_array_equal(one.prices, other.prices)
    np.testing.assert_array_equal(one.movement, other.movement)


@pytest.fixture
def panel():
    return read_stocks(stock_files.prices())[0]


def test_a_panel_has_nothing_where_nothing_was_traded(panel):
    frame = stock_files.prices()
    assert panel.tickers == ("1E5", "AAPL", "NA")
    assert (panel.days == stock_files.DAYS.to_numpy().astype("datetime64[D]")).all()
    assert panel.traded.sum() == len(frame)
    for row in frame.itertuples():
        ticker, day = panel.tickers.index(row.ticker), int(np.flatnonzero(panel.days == np.datetime64(row.date))[0])
        assert [getattr(row, field) for field in FIELDS] == panel.prices[ticker, day].tolist()
    assert np.isnan(panel.prices[~panel.traded]).all()
    assert not (panel.prices == 0).any()
    assert panel.next_session == np.datetime64("2024-03-15")


def test_a_movement_is_to_the_row_before_across_a_hole(panel):
    adjusted = panel.prices[2, :, FIELDS.index("adj_close")]
    assert np.isnan(panel.movement[2, [0, 4]]).all()
    assert panel.movement[2, 5] == round(adjusted[5] / adjusted[3] - 1, 6)
    assert np.isnan(panel.movement[1, :4]).all()
    assert np.isfinite(panel.movement[1, 4:]).all()


def write_one(folder, frame, name):
    folder.mkdir()
    for ticker, rows in frame.groupby("ticker"):
        rows = rows.drop(columns="ticker")
        path = folder / f"{ticker}.{name}"
        rows.to_parquet(path) if name == "parquet" else rows.to_csv(path, index=False)
    return folder


def side_by_side(frame, by=0):
    """Prices under two headers, as yfinance has them, those of tickers first or last."""
    wide = frame.pivot(index="date", columns="ticker").rename_axis(columns=["Price", "Ticker"]).rename_axis("Date")
    return wide if by == 0 else wide.swaplevel(axis=1).sort_index(axis=1)


def write_headed(folder, frame):
    folder.mkdir()
    for ticker, rows in frame.groupby("ticker"):
        side_by_side(rows).to_csv(folder / f"file of {ticker}.csv")
    return folder


FORMS = {
    "CSV": lambda p, f: f.to_csv(p / "x.csv", index=False) or p / "x.csv",
    "CSV.gz": lambda p, f: f.to_csv(p / "x.csv.gz", index=False) or p / "x.csv.gz",
    "semicolons": lambda p, f: f.to_csv(p / "x.csv", index=False, sep=";") or p / "x.csv",
    "Parquet": lambda p, f: f.to_parquet(p / "x.parquet") or p / "x.parquet",
    "dates": lambda p, f: f.assign(date=pd.to_datetime(f.date)),
    "dates of Python": lambda p, f: f.assign(date=pd.to_datetime(f.date).dt.date),
    "numbers for dates": lambda p, f: f.assign(date=f.date.str.replace("-", "").astype(int)),
    "midnights of New York": lambda p, f: f.assign(date=pd.to_datetime(f.date).dt.tz_localize("America/New_York")),
    "an index": lambda p, f: f.set_index(["ticker", "date"]),
    "shuffled": lambda p, f: f.sample(frac=1, random_state=3),
    "Yahoo's names": lambda p, f: f.rename(
        columns={"date": "Date", "ticker": "Symbol", "adj_close": "Adj Close", "close": "Close", "open": "Open"}
    ),
    "other names": lambda p, f: f.rename(columns={"date": "timestamp", "adj_close": "adjustedClose"}),
    "folder of CSV": lambda p, f: write_one(p / "all", f, "csv"),
    "folder of Parquet": lambda p, f: write_one(p / "all", f, "parquet"),
    "prices.csv in a folder": lambda p, f: f.to_csv(p / "prices.csv", index=False) or p,
    "two headers": lambda p, f: side_by_side(f).to_csv(p / "x.csv") or p / "x.csv",
    "two headers, packed": lambda p, f: side_by_side(f, 1).to_csv(p / "x.csv.gz") or p / "x.csv.gz",
    "two headers in memory": lambda p, f: side_by_side(f),
    "two headers by ticker": lambda p, f: side_by_side(f, 1),
    "two headers of unknown names": lambda p, f: side_by_side(f).rename_axis(columns=[None, None]),
    "two headers in a folder": lambda p, f: write_headed(p / "all", f),
    "empty rows": lambda p, f: pd.concat([f, pd.DataFrame({"ticker": ["NA"], "date": ["2024-03-07"]})]),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_forms(form, tmp_path, panel):
    read, texts = read_stocks(FORMS[form](tmp_path, stock_files.prices()))
    assert_same_panel(read, panel)
    assert texts is None


@pytest.mark.parametrize("form", [form for form in FORMS if form.startswith("two headers")])
def test_prices_under_two_headers_are_seen(form, tmp_path):
    assert looks_like_stocks(FORMS[form](tmp_path, stock_files.prices()))


@pytest.mark.parametrize(
    "ticker", ["NA", "NULL", "TRUE", "1E5", "007", "nan", "None", "INF", "2024-01-02", "^GSPC", "BRK.B"]
)
def test_any_word_is_a_ticker(ticker, tmp_path):
    frame = stock_files.prices((ticker, "B"))
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    write_one(tmp_path / "all", frame, "csv")
    for source in (tmp_path / "x.csv", tmp_path / "x.parquet", tmp_path / "all", frame):
        assert set(read_stocks(source)[0].tickers) == {ticker, "B"}


def test_one_table_of_one_ticker_is_named_by_its_file(tmp_path):
    frame = stock_files.prices(("X",)).drop(columns="ticker")
    frame.to_csv(tmp_path / "NA.csv", index=False)
    assert read_stocks(tmp_path / "NA.csv")[0].tickers == ("NA",)
    with pytest.raises(
        DataError, match=r"the table: there is no column of tickers\. There are date, open.*\(read\.ticker=NAME\)"
    ):
        read_stocks(frame)


def test_columns_that_were_read_are_those_of_every_file(tmp_path):
    frame = stock_files.prices(("AAA", "BBB")).drop(columns="ticker")
    frame.iloc[:9].to_csv(tmp_path / "AAA.csv", index=False)
    assert read_stocks(tmp_path)[0].read == ("open", "high", "low", "close", "adj_close")
    frame.iloc[9:].drop(columns="high").to_csv(tmp_path / "BBB.csv", index=False)
    assert read_stocks(tmp_path)[0].read == ("open", "low", "close", "adj_close")
    alone = frame.iloc[:9].drop(columns="close").assign(ticker="AAA")
    assert read_stocks(alone)[0].read == ("open", "high", "low", "adj_close")


def test_columns_that_stand_in_are_noted():
    panel = read_stocks(stock_files.prices()[["ticker", "date", "close"]])[0]
    notes = stock_files.notes_of(stock_files.prices()[["ticker", "date", "close"]])
    assert notes == ("there is no open, high, low, adj close: the close stands in.",)
    assert (panel.prices[..., 4] == panel.prices[..., 3])[panel.traded].all()
    assert np.isnan(panel.prices[..., 5]).all()


def test_columns_can_be_named():
    frame = stock_files.prices().rename(columns={"ticker": "who", "date": "when"})
    read = read_stocks(frame, StockOptions(ticker="who", date="when"))[0]
    assert_same_panel(read, read_stocks(stock_files.prices())[0])
    with pytest.raises(
        DataError, match=r"the table: ticker names 'whom', which is not there\. There are who, when, open"
    ):
        read_stocks(frame, StockOptions(ticker="whom", date="when"))


def test_days_can_be_kept_and_movements_know_the_day_before(panel):
    options = StockOptions(start="2024-03-06", end="2024-03-08")
    part = read_stocks(stock_files.prices(), options)[0]
    assert (part.days == panel.days[3:6]).all()
    np.testing.assert_array_equal(part.movement, panel.movement[:, 3:6])
    early = read_stocks(stock_files.prices(), StockOptions(end="2024-03-04"))[0]
    assert early.tickers == ("1E5", "NA")
    assert stock_files.notes_of(stock_files.prices(), StockOptions(end="2024-03-04")) == (
        "1 tickers have no row in the days kept: AAPL.",
    )


def test_movements_of_the_file_are_taken(panel):
    frame = stock_files.prices()
    adjusted = frame.groupby("ticker").adj_close
    frame["movement"] = (frame.adj_close / adjusted.shift() - 1).round(6)
    frame.loc[0, "movement"] = 0.0123  # known from a day before the file begins
    read = read_stocks(frame)[0]
    assert read.movement[2, 0] == 0.0123
    assert np.array_equal(read.movement.flat[1:20], panel.movement.flat[1:20], equal_nan=True)
    assert stock_files.notes_of(frame) == ("movements are those of the file.",)


@pytest.mark.parametrize("form", ["frame", "CSV", "Parquet", "JSONL", "folder"])
def test_texts_in_every_form(form, tmp_path):
    frame = stock_files.texts()
    if form == "frame":
        given = {"texts": frame}
    else:
        path = tmp_path / {"CSV": "t.csv", "Parquet": "t.parquet", "JSONL": "t.jsonl", "folder": "t"}[form]
        if form == "CSV":
            frame.to_csv(path, index=False)
        elif form == "Parquet":
            frame.to_parquet(path)
        elif form == "JSONL":
            stock_files.lines(path, frame.to_dict("records"))
        else:
            path.mkdir()
            for ticker, rows in frame.groupby("ticker"):
                stock_files.lines(path / f"{ticker}.jsonl", rows.drop(columns="ticker").to_dict("records"))
        given = {"options": StockOptions(texts=str(path))}
    panel, texts = read_stocks(stock_files.prices(), **given)
    assert [panel.tickers[row] for row in texts.ticker] == ["1E5", "NA", "NA", "NA"]
    assert texts.text == ("a day", "first", "before the close", "at the close")
    assert list(map(str, texts.day)) == ["2024-03-06", "2024-03-04", "2024-03-05", "2024-03-06"]
    assert str(texts.stamp[2]) == "2024-03-05T20:59:59"
    assert (texts.vectors, texts.dropped, texts.count) == (None, {}, 4)


def test_texts_next_to_the_prices_are_found_and_can_be_left_out(tmp_path):
    stock_files.prices().to_csv(tmp_path / "prices.csv", index=False)
    stock_files.lines(tmp_path / "texts.jsonl", stock_files.texts().to_dict("records"))
    assert read_stocks(tmp_path)[1].count == 4
    assert read_stocks(tmp_path, StockOptions(texts="none"))[1] is None


STAMPS = [
    "2024-03-08T15:59:59-05:00", "2024-03-08T16:00:00-05:00", "2024-03-08 21:00:00Z", "2024-03-08 20:59:59 UTC",
    "2024-03-11T19:59:59Z", "2024-03-11T20:00:00Z",  # summer time has begun: the close is an hour earlier in UTC
    "2024-03-09T03:00:00+00:00", "2024-03-12T03:30:00.123Z", "2024-03-12T04:30:00+0900",
]  # fmt: skip


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo", "Europe/London"])
def test_the_day_is_the_exchanges(zone):
    frame = pd.DataFrame({"ticker": "NA", "timestamp": STAMPS, "text": [f"t{row}" for row in range(len(STAMPS))]})
    texts = read_stocks(stock_files.prices(), StockOptions(exchange_zone=zone), texts=frame)[1]
    found = dict(zip(texts.text, texts.day, strict=True))
    for row, stamp in enumerate(STAMPS):
        local = datetime.datetime.fromisoformat(stamp.replace(" UTC", "Z")).astimezone(ZoneInfo(zone))
        day = local.date() + datetime.timedelta(days=local.hour >= 16)
        assert found[f"t{row}"] == np.datetime64(day), stamp


def test_other_stamps():
    stamps = ["Fri Mar 08 23:30:00 +0000 2024", "20240307", "2024-03-07"]
    frame = pd.DataFrame({"ticker": "NA", "created_at": stamps, "text": ["a", "b", "c"]})
    texts = read_stocks(stock_files.prices(), texts=frame)[1]
    assert dict(zip(texts.text, map(str, texts.day), strict=True)) == {
        "a": "2024-03-09", "b": "2024-03-07", "c": "2024-03-07",
    }  # fmt: skip
    seconds = [int(pd.Timestamp("2024-03-08T21:30Z").timestamp()) * unit for unit in (1, 1000)]
    for number in seconds:
        frame = pd.DataFrame({"ticker": "NA", "created": [number], "text": ["a"]})
        texts = read_stocks(stock_files.prices(), texts=frame)[1]
        assert (str(texts.day[0]), str(texts.stamp[0])) == ("2024-03-09", "2024-03-08T21:30:00")


def test_a_zone_can_be_named_and_a_close():
    frame = pd.DataFrame({"ticker": "NA", "time": ["2024-03-08 14:00", "2024-03-08 16:30"], "text": ["a", "b"]})
    for zone, close, days in (
        ("America/New_York", "16:00", ["2024-03-08", "2024-03-09"]),
        ("America/New_York", "17:00", ["2024-03-08", "2024-03-08"]),
        ("UTC", "09:00", ["2024-03-09", "2024-03-09"]),
        ("UTC", "16:00", ["2024-03-08", "2024-03-08"]),
    ):
        texts = read_stocks(stock_files.prices(), StockOptions(time_zone=zone, close=close), texts=frame)[1]
        assert list(map(str, texts.day)) == days
    for form in (pd.to_datetime(frame.time), pd.to_datetime(frame.time).dt.tz_localize("UTC")):
        texts = read_stocks(stock_files.prices(), StockOptions(time_zone="UTC"), texts=frame.assign(time=form))[1]
        assert list(map(str, texts.day)) == ["2024-03-08", "2024-03-08"]


def test_a_column_of_days_next_to_times_without_a_zone_is_the_day():
    frame = pd.DataFrame({"ticker": "NA", "date": ["2024-03-08"], "created_at": ["2024-03-08 22:30:00"], "text": "a"})
    assert str(read_stocks(stock_files.prices(), texts=frame)[1].day[0]) == "2024-03-08"
    for options in (StockOptions(time_zone="UTC"), StockOptions(time_zone="UTC", stamp="created_at")):
        assert str(read_stocks(stock_files.prices(), options, texts=frame)[1].day[0]) == "2024-03-09"
    with pytest.raises(DataError, match=r"1 times of texts say no zone: row 0, value '2024-03-08 22:30:00'"):
        read_stocks(stock_files.prices(), StockOptions(stamp="created_at"), texts=frame)


def test_texts_reach_from_a_week_before_to_the_eve_of_the_next_session():
    stamps = ["2024-02-22", "2024-02-23", "2024-03-14", "2024-03-15"]  # a session, and so too late for it, is the 15th
    frame = pd.DataFrame({"ticker": "NA", "day": stamps, "text": stamps})
    panel, texts = read_stocks(stock_files.prices(), texts=frame)
    assert (panel.days[0], panel.next_session) == (np.datetime64("2024-03-01"), np.datetime64("2024-03-15"))
    assert texts.text == ("2024-02-23", "2024-03-14")
    assert texts.dropped == {"outside the prices' days": 2}


def test_texts_of_a_day_are_in_the_order_of_their_stamps():
    stamps = ["2024-03-08T15:00:00Z", "2024-03-08T13:00:00Z", "2024-03-08T14:00:00Z"]
    frame = pd.DataFrame({"ticker": "NA", "timestamp": stamps, "text": ["3", "1", "2"]})
    assert read_stocks(stock_files.prices(), texts=frame)[1].text == ("1", "2", "3")


def test_vectors_are_taken_as_they_are(tmp_path):
    frame = stock_files.texts()
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    columns = pd.concat([frame.drop(columns="text"), pd.DataFrame(values, columns=["e0", "e1", "e2"])], axis=1)
    lists = frame.assign(embedding=list(values))
    lists.to_parquet(tmp_path / "v.parquet")
    items = [{**row, "embedding": one.tolist()} for row, one in zip(frame.to_dict("records"), values, strict=True)]
    jsonl = stock_files.lines(tmp_path / "v.jsonl", [{k: v for k, v in one.items() if k != "text"} for one in items])
    for given in (columns, lists, tmp_path / "v.parquet", jsonl):
        texts = read_stocks(stock_files.prices(), texts=given)[1]
        assert texts.text is None
        assert texts.vectors.dtype == np.float32
        np.testing.assert_array_equal(texts.vectors, values[[2, 3, 0, 1]])


def test_stocknets_folder(tmp_path):
    folder = stock_files.stocknet(tmp_path)
    panel, texts = read_stocks(folder)
    assert_same_panel(panel, read_stocks(stock_files.prices(("AAA", "BBB")))[0])
    assert texts.count == 12
    assert texts.text[0] == "buy $ aaa"
    assert list(map(str, texts.day[:6])) == ["2024-03-04"] * 2 + ["2024-03-05"] * 2 + ["2024-03-06"] * 2
    assert str(texts.stamp[0]) == "2024-03-04T23:30:00"
    later = read_stocks(folder, StockOptions(stamp="created_at"))[1]
    assert list(later.day) == list(texts.day + 1)
    (folder / "price" / "preprocessed" / "BBB.txt").unlink()
    assert read_stocks(folder)[0].tickers == ("AAA",)


def test_what_looks_like_stocks(tmp_path):
    frame = stock_files.prices()
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    pd.DataFrame({"date": ["2024-01-01"], "open": 1, "close": 2}).to_csv(tmp_path / "series.csv", index=False)
    assert looks_like_stocks(tmp_path / "x.csv")
    assert looks_like_stocks(tmp_path / "x.parquet")
    assert not looks_like_stocks(tmp_path / "series.csv")
    assert not looks_like_stocks(tmp_path / "absent.csv")
    assert looks_like_stocks(write_one(tmp_path / "all", frame, "csv"))
    assert looks_like_stocks(stock_files.stocknet(tmp_path / "net"))
    (tmp_path / "empty").mkdir()
    assert not looks_like_stocks(tmp_path / "empty")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"time_zone": "Mars/Base"}, r"time_zone is a name such as UTC or America/New_York\. Got 'Mars/Base'"),
        ({"exchange_zone": "../../etc/passwd"}, r"exchange_zone is a name such as UTC"),
        ({"exchange_zone": "America"}, r"exchange_zone is a name such as UTC"),
        ({"close": "4pm"}, r"close is a time such as 16:00\. Got '4pm'"),
        ({"start": "2014-02-30"}, r"start is a day such as 2014-01-31\. Got '2014-02-30'"),
        ({"start": "2015-01-01", "end": "2014-01-01"}, r"start must not lie after end"),
        ({"jump": "warn"}, r"jump is not a known field, did you mean jumps\?"),
    ],
)
def test_options_are_checked(given, text):
    with pytest.raises(ConfigError, match=text):
        StockOptions.parse(given, "read")


def test_the_real_ones(real_data):
    if not (real_data / "stocks").is_dir():
        pytest.skip("StockNet absent")
    panel, texts = read_stocks(real_data / "stocks")
    assert (len(panel.tickers), len(panel.days), int(panel.traded.sum()), texts.count) == (87, 544, 46_882, 106_338)
    assert int(np.isnan(panel.movement[panel.traded]).sum()) == 2
    assert (len(set(texts.text)), texts.dropped) == (73_337, {})
    computed = read_stocks(pd.read_parquet(real_data / "stocks" / "prices.parquet").drop(columns="movement"))[0]
    both = np.isfinite(computed.movement)
    assert np.abs(computed.movement - panel.movement)[both].max() < 2e-6


@pytest.mark.parametrize("ending", ["xlsx", "csv.xz", "csv.zip"])
def test_prices_of_excel_and_packed_are_the_same(ending, tmp_path):
    frame = stock_files.prices().round(4)  # Excel keeps 15 digits
    path = tmp_path / f"prices.{ending}"
    frame.to_excel(path, index=False) if ending == "xlsx" else frame.to_csv(path, index=False)
    assert looks_like_stocks(path)
    assert_same_panel(read_stocks(path)[0], read_stocks(frame)[0])
