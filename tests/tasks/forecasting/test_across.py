"""Times in the header: each row is a series, as if the table were long."""

import numpy as np
import pandas as pd
import pytest

from multiway import Forecaster
from multiway.data.looking import look_at
from multiway.data.options import ReadOptions
from multiway.tasks.forecasting.read import read_panel

MONTHS = pd.date_range("2021-01-01", periods=37, freq="MS")
HEADERS = {
    "words": MONTHS.strftime("%b %Y"), "ISO": MONTHS.strftime("%Y-%m-%d"), "short years": MONTHS.strftime("%m/%d/%y"),
    "digits": MONTHS.strftime("%Y%m"), "stamps": MONTHS.astype(str) + " 00:00:00", "periods": MONTHS.strftime("%YM%m"),
}  # fmt: skip


def table(header, stop=None):
    """Three shops with their region and size, and a value for each month; one is missing."""
    values = np.random.default_rng(5).normal(100, 9, (3, len(header))).round(2)
    values[1, 2] = np.nan
    shops = pd.DataFrame({"shop": ["A", "B", "C"], "region": ["east", "west", "west"], "size": [1.5, 2.5, 3.5]})
    return pd.concat([shops, pd.DataFrame(values, columns=list(header))], axis=1).iloc[:, :stop]


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("kind", ["frame", "file"])
def test_each_row_is_a_series(name, kind, tmp_path):
    source = table(HEADERS[name])
    values = source.iloc[:, 3:].to_numpy().T
    if kind == "file":
        source.to_csv(tmp_path / "shops.csv", index=False)
        source = tmp_path / "shops.csv"
    panel = read_panel(source, ReadOptions(missing="mask"))
    assert panel.names == ("A", "B", "C") and list(panel.times) == list(MONTHS) and panel.layout == "long"
    np.testing.assert_array_equal(panel.values, values)
    assert "are 37 times, and each row is a series" in " ".join(panel.notes)


def test_years_are_times_and_names_may_be_numbers(tmp_path):
    years = [str(year) for year in range(1990, 2021)]
    frame = pd.DataFrame(np.arange(62.0).reshape(2, 31), columns=years)
    frame.insert(0, "store", ["007", "12"])
    frame.to_csv(tmp_path / "years.csv", index=False)
    panel = read_panel(tmp_path / "years.csv")
    assert panel.names == ("007", "12") and list(panel.times) == list(range(1990, 2021))
    np.testing.assert_array_equal(panel.values, np.arange(62.0).reshape(2, 31).T)


@pytest.mark.parametrize("kind", ["few", "a column of times", "no names", "repeated", "mostly others"])
def test_other_headers_are_names(kind):
    source = table(HEADERS["ISO"])
    if kind == "few":
        source = source.iloc[:, :8]
    elif kind == "a column of times":
        source.insert(0, "date", ["2024-01-01", "2024-01-02", "2024-01-03"])
    elif kind == "no names":
        source = source.iloc[:, 3:]
    elif kind == "repeated":
        source = source.rename(columns={"2021-02-01": "2021-01-01 00:00"})
    else:
        source = source.assign(**{f"note {row}x": "y" for row in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"})
    assert not look_at(source).is_across


def test_it_is_seen_as_series_unless_it_has_a_target():
    source = table(HEADERS["ISO"])
    assert look_at(source).is_of_series and not look_at(source).is_of_rows
    assert look_at(source.assign(label=["yes", "no", "no"])).is_of_rows


def test_a_forecaster_reads_later_tables_likewise():
    days = pd.date_range("2024-01-01", periods=127)
    own = {"horizon": 3, "lookback": 7, "settings": {"answer": "ridge"}}
    whole = table(days.strftime("%m/%d/%y")).fillna(100.0)
    forecaster = Forecaster(static=["region"], **own).fit(whole.iloc[:, :-7])
    long = whole.iloc[:, :-7].melt(["shop", "region", "size"], var_name="ds").drop(columns="size")
    pd.testing.assert_frame_equal(forecaster.predict(), Forecaster(static=["region"], **own).fit(long).predict())
    forecaster.update(whole.drop(columns=whole.columns[3:-7]))
    assert forecaster.predict()["ds"].iloc[0] == days[-1] + pd.Timedelta(days=1)


@pytest.mark.parametrize("form", ["%b %Y", "%Y-%m-%d", "%m/%d/%y", "%d/%m/%Y", "%Y%m", None])
def test_a_later_table_may_have_few_times(form):
    header = list(MONTHS if form is None else MONTHS.strftime(form))
    whole = table(header).fillna(100.0).drop(columns=["region", "size"])
    own = {"horizon": 2, "lookback": 3, "levels": (), "settings": {"answer": "ridge"}}
    forecaster = Forecaster(**own).fit(whole.iloc[:, :-2])
    later = whole[[header[-3], "shop", *header[-5:-3]]].assign(size=[1.5, 2.5, 3.5], region="east", kind="x")
    pd.testing.assert_frame_equal(forecaster.predict(later), forecaster.predict())
    forecaster.update(whole[["shop", *header[-2:]]])
    pd.testing.assert_frame_equal(forecaster.predict(), forecaster.predict(whole))
    assert forecaster.predict()["ds"].iloc[0] == pd.Timestamp("2024-02-01")
