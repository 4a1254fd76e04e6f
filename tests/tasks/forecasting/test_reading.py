"""Files and frames that can be read: layouts, separators, times, policies."""

import gzip
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from multiway.data import ReadOptions
from multiway.data.findings import quote
from multiway.errors import ConfigError, DataError
from multiway.tasks.forecasting.read import check_file, read_panel


def wide(rows: int = 40, freq: str = "h", **columns: object) -> pd.DataFrame:
    times = pd.date_range("2024-01-01", periods=rows, freq=freq)
    generator = np.random.default_rng(7)
    values = {name: generator.normal(size=rows) for name in ("p", "q", "r")}
    return pd.DataFrame({"date": times, **values, **columns})


def long_of(frame: pd.DataFrame) -> pd.DataFrame:
    melted = frame.melt("date", var_name="unique_id", value_name="y").rename(columns={"date": "ds"})
    return melted.sample(frac=1, random_state=3).reset_index(drop=True)


def saved(frame: pd.DataFrame, path, form: str):
    if form == "parquet":
        frame.to_parquet(path, index=False)
    elif form == "csv.gz":
        path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    elif form == "semicolons":
        frame.to_csv(path, index=False, sep=";")
    elif form == "tabs":
        frame.to_csv(path, index=False, sep="\t")
    elif form == "crlf":
        path.write_bytes(frame.to_csv(index=False, lineterminator="\r\n").encode())
    elif form == "bom":
        path.write_bytes(b"\xef\xbb\xbf" + frame.to_csv(index=False).encode())
    elif form == "utf-16":
        path.write_bytes(frame.to_csv(index=False).encode("utf-16"))
    elif form == "quoted":
        frame.to_csv(path, index=False, quoting=1)
    else:
        frame.to_csv(path, index=form == "with index")
    return path


FORMS = ["csv", "csv.gz", "parquet", "semicolons", "tabs", "crlf", "bom", "utf-16", "quoted", "with index"]


@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_the_same_to_the_bit_from_every_form(form, tmp_path):
    frame = wide()
    path = saved(frame, tmp_path / ("x.parquet" if form == "parquet" else "x.csv"), form)
    panel = read_panel(path)
    assert panel.names == ("p", "q", "r")
    assert np.array_equal(panel.values, frame[["p", "q", "r"]].to_numpy())
    assert panel.times.equals(pd.DatetimeIndex(frame["date"]).as_unit("us"))
    assert (panel.frequency, panel.layout, panel.source) == ("h", "wide", path.name)
    assert any("read as wide: times in 'date', 3 series" in note for note in panel.notes)


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
@pytest.mark.parametrize("layout", ["wide", "long"])
def test_frames(convert, layout):
    frame = wide()
    panel = read_panel(convert(frame if layout == "wide" else long_of(frame)))
    order = [panel.names.index(name) for name in ("p", "q", "r")]
    assert np.array_equal(panel.values[:, order], frame[["p", "q", "r"]].to_numpy())
    assert (panel.frequency, panel.layout, panel.source) == ("h", layout, "the table")


def test_the_frame_is_not_changed():
    frame = wide(q=[np.nan] + [-9999.0] * 39)
    before = frame.copy()
    read_panel(frame, ReadOptions(missing="mask"))
    pd.testing.assert_frame_equal(frame, before)


def test_a_lazy_polars_frame_is_told_to_collect():
    with pytest.raises(DataError, match=r"Got LazyFrame\. Call collect\(\) first\."):
        read_panel(pl.from_pandas(wide()).lazy())


def test_an_index_of_times_and_of_levels_is_used():
    frame = wide()
    assert np.array_equal(read_panel(frame.set_index("date")).values, read_panel(frame).values)
    assert read_panel(frame.set_index("date").rename_axis(None)).frequency == "h"
    levels = long_of(frame).set_index(["unique_id", "ds"])
    assert set(read_panel(levels).names) == {"p", "q", "r"}
    periods = frame.set_index(pd.period_range("2020-01", periods=40, freq="M")).drop(columns="date")
    assert read_panel(periods).frequency == "MS"


def test_long_names_keep_their_letters(tmp_path):
    path = tmp_path / "long.csv"
    rows = [(f"2024-01-{day:02d}", name, day) for day in range(1, 6) for name in ("NA", "007", "1e5")]
    pd.DataFrame(rows, columns=["ds", "unique_id", "y"]).to_csv(path, index=False)
    assert read_panel(path).names == ("NA", "007", "1e5")


def test_a_file_reread_for_the_names_of_its_series_is_reported_once(tmp_path):
    path = tmp_path / "long.csv"
    rows = [f"{day:02d}.01.2024;{name:03d};{day},5" for name in (1, 2) for day in range(1, 21)]
    path.write_text("\n".join(["Tag;Laden;Umsatz", *rows]))
    report = check_file(path)
    assert read_panel(path).names == ("001", "002")
    assert [finding.kind for finding in report.findings] == ["decimal", "layout"]


def test_long_by_shape_and_by_choice(tmp_path):
    path = tmp_path / "stocks.csv"
    days = [f"{month} 1 {year}" for year in (2000, 2001) for month in ("Jan", "Feb", "Mar", "Apr", "May", "Jun")]
    path.write_text("symbol,date,price\n" + "".join(f"{s},{d},{len(d)}.5\n" for s in ("MSFT", "IBM") for d in days[:6]))
    panel = read_panel(path)
    assert (panel.names, panel.layout, panel.frequency, panel.num_rows) == (("MSFT", "IBM"), "long", "MS", 6)
    chosen = read_panel(path, ReadOptions(id_column="symbol", value_column="price", variates=("IBM",)))
    assert chosen.names == ("IBM",)
    with pytest.raises(
        DataError, match=r"^stocks\.csv: id_column names 'ticker', which is not there\. There are symbol"
    ):
        read_panel(path, ReadOptions(id_column="ticker"))
    with pytest.raises(DataError, match=r"variates names 'AAPL', which is not there\. There are MSFT, IBM\."):
        read_panel(path, ReadOptions(variates=("AAPL",)))


def test_unused_columns_of_a_long_table_are_said():
    frame = long_of(wide()).assign(price=1.0)
    assert any("columns price are not used" in note for note in read_panel(frame).notes)


@pytest.mark.parametrize("policy", ["error", "mask", "ffill"])
def test_a_series_that_starts_late_or_ends_early_is_named_and_misses_nothing(policy):
    frame = long_of(wide())
    late = frame[(frame.unique_id != "q") | (frame.ds > "2024-01-01 05:00")]
    short = late[(late.unique_id != "r") | (late.ds < "2024-01-02")]
    panel, report = read_panel(late, ReadOptions(missing=policy)), check_file(late, ReadOptions(missing=policy))
    column = panel.names.index("q")
    assert np.isnan(panel.values[:6, column]).all() and int(np.isnan(panel.values).sum()) == 6
    assert report.is_usable and report.summary["missing cells"] == 0 and report.missing == {}
    (span,) = (finding for finding in report.findings if finding.kind == "span")
    assert span.severity == "note" and "column 'q', 2024-01-01 06:00:00 to 2024-01-02 15:00:00" in span.line()
    (span,) = (finding for finding in check_file(short).findings if finding.kind == "span")
    assert span.severity == "warning" and "2 series start later or end earlier than the others" in span.line()


def test_a_gap_within_a_series_is_still_missing_and_so_are_rows_without_any_value():
    frame = wide(q=[np.nan, 1.0, np.nan, *np.arange(37.0)])
    with pytest.raises(DataError, match=r"1 cell is missing: row 2, column 'q'"):
        read_panel(frame)
    frame = wide()
    frame.loc[37:, ["p", "q", "r"]] = np.nan
    with pytest.raises(DataError, match=r"9 cells are missing: row 37"):
        read_panel(frame)


SHOPS = [(shop, day, item) for shop in (2, 1, 30) for day in range(40) for item in (7, 8)]


def sales(**columns: object) -> pd.DataFrame:
    frame = pd.DataFrame(SHOPS, columns=["store", "day", "item"])
    times = pd.Timestamp("2024-01-01") + pd.to_timedelta(frame["day"], unit="D")
    return frame.assign(date=times.dt.strftime("%Y-%m-%d"), sales=np.arange(240) % 11, **columns).drop(columns="day")


def test_whole_numbers_name_series_where_they_tell_rows_of_one_time_apart(tmp_path):
    one = sales()[lambda frame: frame.item == 7].drop(columns="item").assign(holiday=lambda frame: frame.date.str[-1])
    one["holiday"] = (one.holiday == "7").astype(int)
    one.to_csv(tmp_path / "sales.csv", index=False)
    panel = read_panel(tmp_path / "sales.csv")
    assert (panel.names, panel.layout, panel.num_rows) == (("2", "1", "30"), "long", 40)
    assert panel.values[:, 1].tolist() == one[one.store == 1].sales.tolist()
    assert (panel.columns.time, panel.columns.ids, panel.columns.value) == ("date", ("store",), "sales")
    assert any("columns holiday are not used" in note for note in panel.notes)


def test_several_columns_name_a_series_together(tmp_path):
    frame = sales().assign(price=lambda frame: frame.store * 1.5)
    frame["store"] = frame.store.map("{:03d}".format)
    frame.to_csv(tmp_path / "sales.csv", index=False)
    panel = read_panel(tmp_path / "sales.csv")
    assert panel.names == ("002/7", "002/8", "001/7", "001/8", "030/7", "030/8")  # as they are written
    assert panel.columns.ids == ("store", "item")
    told = read_panel(tmp_path / "sales.csv", ReadOptions(id_column=("item", "store"), value_column="sales"))
    assert told.names[0] == "7/002" and np.array_equal(told.values, panel.values)


def test_a_few_repeated_rows_of_a_long_table_are_repeats_and_no_series(tmp_path):
    frame = pd.concat([sales(), sales().iloc[[3]].assign(sales=99)])
    with pytest.raises(DataError, match=r"1 rows repeat a time of their series: row 240.*Set duplicates to first"):
        read_panel(frame)


def test_counts_that_differ_by_luck_are_not_names(tmp_path):
    frame = wide(rows=60, freq="D", visits=np.random.default_rng(3).integers(0, 12, 60))
    twice = pd.concat([frame, frame.iloc[[5, 9, 20, 40]].assign(visits=[20, 21, 22, 23])]).sort_values("date")
    report = check_file(twice)
    assert report.summary["layout"] == "wide" and report.findings[0].kind == "duplicates"
    assert "name their column (read.id_column=NAME)" in report.findings[0].line()


def test_values_that_are_not_clear_are_listed():
    frame = sales(customers=np.arange(240) % 7).rename(columns={"sales": "sold"})
    with pytest.raises(
        DataError, match=r"the column of values is not clear\. Set value_column to one of sold, customers"
    ):
        read_panel(frame)
    assert read_panel(frame, ReadOptions(value_column="sold")).num_variates == 6


def test_a_column_of_one_word_is_left_out_of_a_wide_table():
    panel = read_panel(wide(shop="north"))
    assert panel.names == ("p", "q", "r") and any("columns shop say the same" in note for note in panel.notes)


def test_a_cell_of_a_long_file_is_named_by_its_line(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(
        "unique_id,ds,y\na,2024-01-01,1\na,2024-01-02,-9999\nb,2024-01-01,1\nb,2024-01-02,2\nb,2024-01-02,3\n"
    )
    kinds = {finding.kind: finding for finding in check_file(path).findings}
    assert kinds["sentinel"].places[0].row == 3
    assert kinds["duplicates"].places[0].row == 6
    values = {
        policy: read_panel(path, ReadOptions(duplicates=policy, missing="mask")).values[1, 1]
        for policy in ("first", "last", "mean")
    }
    assert values == {"first": 2, "last": 3, "mean": 2.5}


def test_a_file_without_times_is_counted(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("a,b\n" + "".join(f"{row % 3},{row * 0.5}\n" for row in range(9)))
    panel = read_panel(path)
    assert (list(panel.times), panel.names, panel.frequency) == (list(range(9)), ("a", "b"), None)
    assert list(panel.future_times(3)) == [9, 10, 11]


def test_a_file_of_numbers_alone_has_no_header(tmp_path):
    path = tmp_path / "solar.txt"
    np.savetxt(path, np.arange(30.0).reshape(10, 3) % 7, delimiter=",")
    panel = read_panel(path)
    assert (panel.values.shape, panel.names) == ((10, 3), ("0", "1", "2"))
    assert any("the first line is data" in note for note in panel.notes)


def test_whole_numbers_as_times(tmp_path):
    frame = pd.DataFrame({"time": [10, 15, 20, 30, 35], "a": np.arange(5.0)})
    with pytest.raises(DataError, match=r"1 time is absent in 1 gap: 25\. Set gaps"):
        read_panel(frame)
    panel = read_panel(frame, ReadOptions(gaps="fill", missing="mask"))
    assert list(panel.times) == [10, 15, 20, 25, 30, 35]
    assert list(panel.future_times(2)) == [40, 45]


@pytest.mark.parametrize(
    ("texts", "frequency", "first"),
    [
        (["20240130", "20240131", "20240201"], "D", "2024-01-30"),
        (["202311", "202312", "202401"], "MS", "2023-11-01"),
        (["2024-01", "2024-02", "2024-03"], "MS", "2024-01-01"),
        (["1990/1/1 0:00", "1990/1/2 0:00", "1990/1/3 0:00"], "D", "1990-01-01"),
        (["30.01.2024 10:00", "30.01.2024 11:00", "30.01.2024 12:00"], "h", "2024-01-30 10:00"),
        (["01/30/2024", "01/31/2024", "02/01/2024"], "D", "2024-01-30"),
        (["30/01/2024", "31/01/2024", "01/02/2024"], "D", "2024-01-30"),
        (["2024-01-01T00:00:00Z", "2024-01-01T00:15:00Z", "2024-01-01T00:30:00Z"], "15min", "2024-01-01 00:00+00:00"),
        (
            ["2024-03-31T01:00:00+01:00", "2024-03-31T03:00:00+02:00", "2024-03-31T04:00:00+02:00"],
            "h",
            "2024-03-31 00:00+00:00",
        ),
        (["02/01/2024", "03/01/2024", "04/01/2024", "05/01/2023"], None, None),
    ],
    ids=lambda value: str(value)[:28],
)
def test_ways_to_write_times(texts, frequency, first, tmp_path):
    path = tmp_path / "times.csv"
    path.write_text("date,a\n" + "".join(f"{text},{number}\n" for number, text in enumerate(texts)))
    if first is None:
        with pytest.raises(DataError, match="day and month can be read either way"):
            read_panel(path)
        return
    panel = read_panel(path)
    assert (panel.frequency, panel.times[0]) == (frequency, pd.Timestamp(first))


def test_day_first_as_told(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text("date,a\n" + "".join(f"{day:02d}/01/2024,{day}\n" for day in range(1, 8)))
    assert read_panel(path, ReadOptions(day_first=True)).frequency == "D"
    assert read_panel(path, ReadOptions(day_first=False)).frequency == "MS"


def test_a_decimal_comma_as_told(tmp_path):
    path = tmp_path / "werte.csv"
    path.write_text("Datum;a\n01.02.2024;1,5\n02.02.2024;-2,25\n03.02.2024;3\n")
    panel = read_panel(path, ReadOptions(decimal=",", day_first=True))
    assert panel.values[:, 0].tolist() == [1.5, -2.25, 3.0]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["981,5", "1.003,12", "2"], [981.5, 1003.12, 2]),
        (["0,125", "3,250", "1,500"], [0.125, 3.25, 1.5]),
        (["1.203", "12,5", "1.000"], [1203, 12.5, 1000]),
        (["-1.203.400", "", "1,0"], [-1203400, np.nan, 1]),
    ],
)
def test_a_decimal_comma_is_seen_where_it_can_mean_nothing_else(cells, values, tmp_path):
    path = tmp_path / "werte.csv"
    path.write_text("Datum;a;b\n" + "".join(f"0{day}.01.2024;{cell};1\n" for day, cell in enumerate(cells, start=1)))
    panel = read_panel(path, ReadOptions(missing="mask"))
    assert np.array_equal(panel.values[:, 0], values, equal_nan=True) and panel.values[:, 1].tolist() == [1, 1, 1]
    assert any("commas separate decimals, as in columns a" in note for note in panel.notes)
    quoted_cells = pd.DataFrame({"day": range(3), "a": cells})
    if "1.003,12" in cells:  # in tables whose columns commas separate, or nothing does, a cell with both marks tells
        quoted_cells.to_csv(tmp_path / "us.csv", index=False)
        for source in (tmp_path / "us.csv", quoted_cells):
            assert read_panel(source).values[:, -1].tolist() == values


def test_a_column_next_to_decimal_commas_has_points_for_thousands(tmp_path):
    path = tmp_path / "werte.csv"
    path.write_text("Datum;Stück;Preis\n" + "".join(f"0{day}.02.2024;1.20{day};{day},5\n" for day in range(1, 6)))
    panel = read_panel(path)
    assert panel.values[0].tolist() == [1201, 1.5] and panel.times[1] == pd.Timestamp("2024-02-02")
    with pytest.raises(DataError, match="no finite number"):
        read_panel(path, ReadOptions(decimal="."))


@pytest.mark.parametrize(
    ("form", "step"),
    [
        ("%d.%m.%Y", "MS"),
        ("%d/%m/%Y", "MS"),
        ("%m/%d/%Y", "MS"),
        ("%b %Y", "MS"),
        ("%b-%y", "MS"),
        ("%m/%Y", "MS"),
        ("%m.%Y", "MS"),
        ("%YM%m", "MS"),
        ("%d-%b-%Y", "D"),
    ],
)
def test_dates_that_can_be_read_either_way_follow_one_step(form, step, tmp_path):
    times = pd.date_range("2020-01-01", periods=30, freq=step)
    pd.DataFrame({"date": times.strftime(form), "a": range(30)}).to_csv(tmp_path / "months.csv", index=False)
    panel = read_panel(tmp_path / "months.csv")
    assert panel.times.equals(times.as_unit("us")) and panel.frequency == step


def test_line_numbers_survive_quoted_breaks_and_blank_lines(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text('date,"a\tb",c\n2024-01-01,1,"2"\n\n2024-01-02,"1",x\n2024-01-03,"1\n",4\n2024-01-04,1,y\n')
    finding = next(finding for finding in check_file(path).findings if finding.kind == "number")
    assert [place.row for place in finding.places] == [4, 7]


def test_missing_policies():
    frame = wide(q=[0.5, np.nan, np.nan, *np.arange(37.0)])
    with pytest.raises(DataError, match=r"the table: 2 cells are missing: row 1, column 'q', time .* \(and 1 more\)"):
        read_panel(frame)
    masked = read_panel(frame, ReadOptions(missing="mask"))
    assert int(np.isnan(masked.values).sum()) == 2
    assert any("2 cells are missing (missing=mask)" in note for note in masked.notes)
    assert read_panel(frame, ReadOptions(missing="ffill")).values[:3, 1].tolist() == [0.5, 0.5, 0.5]


def test_a_column_without_values():
    frame = wide(q=np.nan)
    for options in (ReadOptions(), ReadOptions(missing="ffill")):
        panel = read_panel(frame, options)
        assert panel.names == ("p", "r")
        assert any("columns q hold no value at all and are left out" in str(words) for words in panel.warned)
    named = ("q",)
    with pytest.raises(DataError, match=r"40 cells are missing"):
        read_panel(frame, ReadOptions(variates=named))
    with pytest.raises(DataError, match=r"columns hold no value at all: column 'q'"):
        read_panel(frame, ReadOptions(missing="ffill", variates=named))
    with pytest.raises(DataError):
        read_panel(frame[["date", "q"]])
    assert any("hold no value at all" in note for note in read_panel(frame, ReadOptions(missing="mask")).notes)


def test_sentinels_are_numbers_if_told_and_that_is_said():
    frame = wide(q=[-9999.0] * 2 + [1.0, 2.0] * 19)
    panel = read_panel(frame, ReadOptions(sentinels=()))
    assert panel.values[0, 1] == -9999
    assert any("2 cells hold -9999 and are taken as numbers" in note for note in panel.notes)
    assert np.isnan(read_panel(frame, ReadOptions(sentinels=(2.0,), missing="mask")).values[3, 1])


def test_duplicates_gaps_and_order():
    frame = wide(rows=8, freq="D")
    twice = pd.concat([frame.iloc[:3], frame.iloc[2:3].assign(p=100.0), frame.iloc[3:]], ignore_index=True)
    assert read_panel(twice, ReadOptions(duplicates="first")).values[2, 0] == frame.p[2]
    assert read_panel(twice, ReadOptions(duplicates="last")).values[2, 0] == 100
    assert read_panel(twice, ReadOptions(duplicates="mean")).values[2, 0] == (frame.p[2] + 100) / 2
    assert read_panel(twice, ReadOptions(duplicates="keep")).num_rows == 9
    holed = twice.drop(index=[5])
    filled = read_panel(holed, ReadOptions(duplicates="keep", gaps="fill", missing="mask"))
    assert filled.num_rows == 9 and int(np.isnan(filled.values).all(1).sum()) == 1
    assert read_panel(holed, ReadOptions(duplicates="first", gaps="ignore")).num_rows == 7
    shuffled = frame.iloc[::-1]
    assert np.array_equal(read_panel(shuffled, ReadOptions(unsorted="sort")).values, read_panel(frame).values)


def test_rows_from_the_newest_to_the_oldest_are_turned_round():
    frame = wide(rows=8, freq="D")
    panel = read_panel(frame.iloc[::-1])
    assert np.array_equal(panel.values, read_panel(frame).values) and panel.times.is_monotonic_increasing
    assert any("from the newest to the oldest" in note for note in panel.notes)
    with pytest.raises(DataError, match="times run backwards at 6 rows"):
        read_panel(frame.iloc[[7, 6, 5, 4, 3, 2, 0, 1]].iloc[::1])


def test_times_off_the_step_are_not_dropped_by_filling():
    frame = wide()
    frame.loc[7, "date"] += pd.Timedelta(minutes=3)
    with pytest.raises(DataError, match=r"1 row off the step of h: row 7, time 2024-01-01 07:03:00.*Round these times"):
        read_panel(frame, ReadOptions(gaps="fill", missing="mask"))
    assert read_panel(frame, ReadOptions(gaps="ignore")).num_rows == 40


def test_irregular_times_need_a_step():
    frame = pd.DataFrame(
        {"ds": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-09", "2024-02-20"]), "a": range(4)}
    )
    with pytest.raises(
        DataError,
        match=r"times follow no regular step\. Set gaps to fill or ignore \(read\.gaps=fill\)\. Or set frequency",
    ):
        read_panel(frame)
    panel = read_panel(frame, ReadOptions(gaps="ignore"))
    with pytest.raises(DataError, match=r"the step between times is unknown"):
        panel.future_times(3)
    assert read_panel(frame, ReadOptions(gaps="ignore", frequency="D")).future_times(1)[0] == pd.Timestamp("2024-02-21")
    with pytest.raises(DataError, match=r"'fortnight' is no step that pandas knows"):
        read_panel(frame, ReadOptions(frequency="fortnight"))


def test_kinds_of_columns_in_frames():
    frame = wide(q=pd.array([1, None] * 20, dtype="Int64"), r=pd.array(["2.5"] * 40, dtype="str"))
    panel = read_panel(frame, ReadOptions(missing="mask"))
    assert panel.values[0].tolist()[1:] == [1.0, 2.5]
    dated = read_panel(wide(q=pd.date_range("2020", periods=40)))
    assert dated.names == ("p", "r") and "columns q hold other times and are left out." in dated.notes
    for column in ([True] * 40, [[1]] * 40):
        with pytest.raises(DataError, match=r"columns hold words, not numbers: column 'q'"):
            read_panel(wide(q=column))
    with pytest.raises(DataError, match=r"more digits than float64 keeps: row 0, column 'q'"):
        read_panel(wide(q=[2**53 + 1] * 40))


def test_variates_are_kept_in_the_given_order():
    assert read_panel(wide(), ReadOptions(variates=("r", "p"))).names == ("r", "p")
    with pytest.raises(DataError, match=r"variates names 's', which is not there\. There are p, q, r\."):
        read_panel(wide(), ReadOptions(variates=("s",)))
    with pytest.raises(ConfigError, match="did you mean missing"):
        ReadOptions.parse({"mising": "mask"})


def test_check_says_what_a_file_is(tmp_path):
    path = tmp_path / "sales.csv"
    wide(q=3.0).to_csv(path, index=False)
    report = check_file(path)
    assert report.is_usable
    assert report.summary | {"names": ""} == {
        "rows": 40, "variates": 3, "names": "", "from": "2024-01-01 00:00:00", "to": "2024-01-02 15:00:00", "step": "h",
        "season": 24, "layout": "wide", "encoding": "utf-8", "missing cells": 0, "sentinel cells": 0,
        "repeated times": 0, "gaps": 0, "constant columns": 1,
    }  # fmt: skip
    assert report.lines()[0] == "sales.csv"
    assert report.lines()[-1] == "The file can be used as it is."


def test_quoting_is_safe_and_short():
    assert quote("a\nb\x1b[0m\u202e") == "a\\nb\\x1b[0m\\u202e"
    assert quote("x" * 120) == "x" * 120 and quote("x" * 121) == "x" * 119 + "…"
    assert quote("C:\\temp 'é'") == "C:\\temp 'é'"


def test_reading_raises_no_warning(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("date,a,b\n13/01/2024,1,x\n14/01/2024,2,3\n01/15/2024,4,5\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_file(path)


@pytest.mark.parametrize(
    "name", ['5" pipe', '"5"" pipe"', '"north\nsouth"'], ids=["inside", "doubled", "over two lines"]
)
def test_quotation_marks_that_are_no_open_ones(name, tmp_path):
    path = tmp_path / "long.csv"
    rows = [f"{label},2024-01-0{day},{day}" for label in (name, "other") for day in range(1, 5)]
    path.write_text("unique_id,ds,y\n" + "\n".join(rows) + "\n")
    panel = read_panel(path)
    assert set(panel.names) == {"other", name.strip('"').replace('""', '"')}
    assert panel.values.tolist() == [[day, day] for day in range(1, 5)]


@pytest.mark.parametrize("missing", ["mask", "ffill"])
@pytest.mark.parametrize("layout", ["wide", "long", "years by months"])
def test_last_rows_without_any_value_are_left_out(layout, missing):
    months = pd.date_range("2015-01-01", periods=96, freq="MS")
    wide = pd.DataFrame({"date": months, "a": np.where(np.arange(96) < 91, np.arange(96.0), np.nan)})
    source = wide.assign(b=wide["a"] + 1).melt("date", var_name="id") if layout == "long" else wide
    if layout == "years by months":
        source = pd.DataFrame(wide["a"].to_numpy().reshape(8, 12), columns=months[:12].strftime("%b"))
        source.insert(0, "Year", range(2015, 2023))
    with pytest.raises(DataError, match="cells are missing"):
        read_panel(source)
    panel = read_panel(source, ReadOptions(missing=missing))
    assert panel.num_rows == 91 and panel.future_times(1)[0] == months[91] and not np.isnan(panel.values).any()
    assert "no value in the last 5 rows, which are left out: a forecast begins after 2022-07-01" in str(panel.warned)


@pytest.mark.parametrize(("step", "said"), [("MS", "MS"), ("W-SUN", "W-SUN"), ("2D", "2D")])
def test_a_series_of_a_longer_step_is_named(step, said):
    days, others = pd.date_range("2022-01-01", periods=400), pd.date_range("2022-01-02", periods=13, freq=step)
    spans = {"shop": days, "region": others}
    frame = pd.concat(
        [pd.DataFrame({"id": name, "date": times, "y": 1.0 * times.day}) for name, times in spans.items()]
    )
    rule = rf"series have different steps: {said} of region; D of shop\. Bring all to the longest "
    with pytest.raises(DataError, match=rule + rf"\(read\.frequency={said} read\.resample=sum\)") as raised:
        read_panel(frame)
    assert "missing" not in str(raised.value)
    assert "series have different steps" in str(read_panel(frame, ReadOptions(missing="mask")).warned)
    together = read_panel(frame, ReadOptions(frequency=said, resample="sum"))
    start, stop = together.times[3:5]
    sums = frame[(frame["date"] >= start) & (frame["date"] < stop)].groupby("id")["y"].sum()
    assert together.frequency == said and together.values[3].tolist() == [sums["shop"], sums["region"]]


STRETCHES = {
    "months, then days": (pd.date_range("2015-01-01", periods=48, freq="MS"), "MS", "D", "MS"),
    "weeks, then days": (pd.date_range("2015-01-04", periods=30, freq="W"), "W-SUN", "D", "W-SUN"),
    "hours, then days": (pd.date_range("2018-12-01", "2018-12-31 23:00", freq="h"), "h", "D", "D"),
}


@pytest.mark.parametrize("name", STRETCHES)
def test_a_step_that_changes_is_named_with_its_time(name):
    first, before, after, longest = STRETCHES[name]
    days = pd.date_range(first[-1] + pd.Timedelta(days=31), periods=200, freq="D").normalize()
    for times, one, other in ((first.append(days), before, after), (first, before, None)):
        frame = pd.DataFrame({"date": times, "y": np.arange(len(times))})
        if other is None:
            assert read_panel(frame).frequency == before
            continue
        rule = rf"the step changes from {one} to {other} at {first[-1]:%Y-%m-%d}|{days[0]:%Y-%m-%d}"
        with pytest.raises(DataError, match=rule) as raised:
            read_panel(frame)
        assert f"Bring all to the longest (read.frequency={longest} read.resample=sum)" in str(raised.value)
        assert "absent" not in str(raised.value) and "regular" not in str(raised.value)
        assert "the step changes" in str(read_panel(frame, ReadOptions(gaps="ignore")).warned)
        assert read_panel(frame, ReadOptions(frequency=longest, resample="sum")).frequency == longest


def test_gaps_are_refused_where_missing_cells_of_slower_series_are_masked():
    months, days = pd.date_range("2020-01-01", periods=40, freq="MS"), pd.date_range("2022-01-01", periods=500)
    spans = {"shop": days, "region": months}
    frame = pd.concat([pd.DataFrame({"id": name, "date": times, "y": 1.0}) for name, times in spans.items()])
    with pytest.raises(DataError, match="series have different steps: MS of region; D of shop"):
        read_panel(frame)
    with pytest.raises(DataError, match="times are absent in 24 gaps"):
        read_panel(frame, ReadOptions(missing="mask"))


def test_series_that_sell_now_and_then_have_no_step_of_their_own():
    rng, days = np.random.default_rng(3), pd.date_range("2022-01-01", periods=300)
    parts = [pd.DataFrame({"id": "shop", "date": days, "y": 1.0 + np.arange(300)})]
    for item in range(20):
        own = days[rng.random(300) < 0.05 * (1 + item % 9)]
        parts.append(pd.DataFrame({"id": f"item {item}", "date": own, "y": 1.0 + np.arange(len(own))}))
    with pytest.raises(DataError, match=r"cells are missing") as raised:
        read_panel(pd.concat(parts))
    assert "different steps" not in str(raised.value)


@pytest.mark.parametrize("start", [0, 1, 240])
def test_an_index_that_was_written_with_the_rows_is_no_series(tmp_path, start):
    """As a column that pandas names, in a frame and in a file; one that does not count rows stays."""
    times = pd.date_range("2015-01-01", periods=60, freq="MS")
    sales = pd.DataFrame({"date": times, "sales": np.sin(np.arange(60)) + 5}, index=np.arange(60) + start)
    sales.to_csv(tmp_path / "once.csv")
    reread = pd.read_csv(tmp_path / "once.csv")
    reread.to_csv(tmp_path / "twice.csv", index=True)
    for source in (tmp_path / "once.csv", reread, pd.read_csv(tmp_path / "twice.csv")):
        assert read_panel(source).names == ("sales",)
    kept = reread.assign(**{"Unnamed: 0": np.arange(60) ** 2})
    assert read_panel(kept).names == ("Unnamed: 0", "sales")
