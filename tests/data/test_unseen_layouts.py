"""Ten further layouts of public files, each as its source writes it: read rightly, or asked about in one line.

Where a file is asked about, a case holds what the line asks for; the reading then has the values of the source.
"""

import json

import numpy as np
import pandas as pd
import pytest

from multiway import data
from multiway.data.looking import read_frame
from multiway.data.options import FileOptions
from multiway.tasks.forecasting import read_panel


def values(count, level, seed):
    """A season of 24 steps and some noise, with two decimals."""
    steps = np.arange(count)
    noise = np.random.default_rng(seed).normal(0, 0.02, count)
    return np.round(level * (1 + 0.2 * np.sin(steps * np.pi / 12) + noise), 2)


def ercot(folder):
    """Hours that end at 24:00, and quoted thousands."""
    coast, east = values(240, 9903, 1), values(240, 1320, 2)
    lines = ["Hour Ending,COAST,EAST"]
    for hour, (one, two) in enumerate(zip(coast, east, strict=True)):
        day = pd.Timestamp("2023-01-01") + pd.Timedelta(days=hour // 24)
        lines.append(f'{day:%m/%d/%Y} {hour % 24 + 1:02d}:00,"{one:,.2f}","{two:,.2f}"')
    path = folder / "native_load.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, pd.date_range("2023-01-01 01:00", periods=240, freq="h"), {"COAST": coast, "EAST": east}


def aeronet(folder):
    """Six lines of preamble, days of colons beside clocks, and -999. for what no photometer saw."""
    days = pd.date_range("2023-06-01 12:00", periods=120, freq="D")
    red, blue = values(120, 12, 3) / 100, values(120, 31, 4) / 100
    red[40] = np.nan
    lines = ["AERONET Version 3;", "Cuiaba", "Version 3: AOD Level 1.5"]
    lines += ["The following data are cloud cleared, but may not have final calibration applied."]
    lines += ["Contact: PI=Jane Doe and John Roe; PI Email=jane@example.org"]
    lines += ["AOD Level 1.5,Daily Averages,UNITS can be found at,,, https://example.org/units.html"]
    lines += ["Date(dd:mm:yyyy),Time(hh:mm:ss),Day_of_Year,AOD_1640nm,AOD_870nm,AOD_440nm"]
    for day, one, two in zip(days, red, blue, strict=True):
        cell = "-999." if np.isnan(one) else f"{one:.6f}"
        lines.append(f"{day:%d:%m:%Y},{day:%H:%M:%S},{day.day_of_year},-999.,{cell},{two:.6f}")
    path = folder / "20230601_Cuiaba.lev15"
    path.write_text("\n".join(lines) + "\n")
    return path, days.normalize(), {"AOD_870nm": red, "AOD_440nm": blue}


def bls(folder):
    """Padded columns between tabs; a thirteenth month is the mean of the year."""
    months = pd.date_range("2005-01-01", periods=120, freq="MS")
    found = {"CUUR0000SA0": values(120, 217, 5), "CUUR0000SA0E": values(120, 185, 6)}
    lines = ["series_id                     \tyear\tperiod\t       value\tfootnote_codes"]
    for name, column in found.items():
        for at, month in enumerate(months):
            lines.append(f"{name:<30}\t{month.year}\tM{month.month:02d}\t{column[at]:12.3f}\t")
            if month.month == 12:
                lines.append(f"{name:<30}\t{month.year}\tM13\t{column[at - 11 : at + 1].mean():12.3f}\t")
    path = folder / "cu.data.1.AllItems"
    path.write_text("\n".join(lines) + "\n")
    return path, months, found


def ons(folder):
    """What the series is in two columns; then years, quarters and months in one."""
    months = pd.date_range("1988-01-01", periods=240, freq="MS")
    index = pd.Series(values(240, 48, 7), months)
    about = {"Title": "CPI INDEX 00: ALL ITEMS 2015=100", "CDID": "D7BT", "Source dataset ID": "MM23", "PreUnit": ""}
    about |= {"Unit": "Index, base year = 100", "Release date": "20-03-2024", "Next release": "17 April 2024"}
    rows = [*about.items(), ("Important notes", "")]
    rows += [(f"{at:%Y}", f"{mean:.1f}") for at, mean in index.resample("YS").mean().items()]
    rows += [(f"{at.year} Q{at.quarter}", f"{mean:.1f}") for at, mean in index.resample("QS").mean().items()]
    rows += [(f"{at:%Y %b}".upper(), f"{value:.2f}") for at, value in index.items()]
    path = folder / "series-200324.csv"
    path.write_text("".join(f'"{one}","{two}"\n' for one, two in rows))
    return path, months, {"CPI INDEX 00: ALL ITEMS 2015=100": index.to_numpy()}


def coingecko(folder):
    """Lists of pairs below each quantity; epochs in milliseconds, the last of them is now."""
    days = pd.date_range("2023-09-01", periods=150, freq="D")
    now = days[-1] + pd.Timedelta(hours=7, minutes=43, seconds=12, milliseconds=345)
    found = {
        "prices": values(150, 26000, 8),
        "market_caps": values(150, 510000, 9),
        "total_volumes": values(150, 900, 10),
    }
    epochs = [int(at.timestamp() * 1000) for at in (*days, now)]
    told = {
        name: [list(pair) for pair in zip(epochs, [*column, column[-1]], strict=True)] for name, column in found.items()
    }
    path = folder / "market_chart.json"
    path.write_text(json.dumps(told))
    return path, days, found


def alpha_vantage(folder):
    """Rows below their days, the newest first, and numbers as texts."""
    days = pd.bdate_range("2023-01-02", periods=150)
    names = ("1. open", "2. high", "3. low", "4. close")
    found = {name: values(150, 187, 11 + at) for at, name in enumerate(names)}
    rows = {f"{day:%Y-%m-%d}": {name: f"{found[name][at]:.4f}" for name in names} for at, day in enumerate(days)}
    about = {"1. Information": "Forex Daily Prices (open, high, low, close)", "2. From Symbol": "EUR"}
    path = folder / "query.json"
    path.write_text(json.dumps({"Meta Data": about, "Time Series FX (Daily)": dict(reversed(rows.items()))}, indent=4))
    return path, days, found


def jma(folder):
    """Shift-JIS; a download's time, then three rows of names, with qualities beside each quantity."""
    hours = pd.date_range("2024-01-01 01:00", periods=240, freq="h")
    warm, rain = values(240, 6, 15), np.abs(values(240, 1, 16))
    lines = ["ダウンロードした時刻：2024/04/01 12:00:00", "", "," + ",".join(["東京"] * 7)]
    lines += ["年月日時,気温(℃),気温(℃),気温(℃),降水量(mm),降水量(mm),降水量(mm),降水量(mm)"]
    lines += [",,品質情報,均質番号,,現象なし情報,品質情報,均質番号"]
    for at, one, two in zip(hours, warm, rain, strict=True):
        lines.append(f"{at.year}/{at.month}/{at.day} {at.hour}:00:00,{one},8,1,{two},0,8,1")
    path = folder / "data.csv"
    path.write_text("\r\n".join(lines) + "\r\n", encoding="cp932")
    return path, hours, {"気温(℃)": warm, "降水量(mm)": rain}


def green_button(folder):
    """Who pays in rows of two cells, days beside starts and ends, and a cost in dollars."""
    hours = pd.date_range("2024-01-01", periods=240, freq="h")
    used = values(240, 0.9, 17)
    cost = np.round(used * 0.34 + np.arange(240) % 5 * 0.01, 2)
    lines = ["Name,JANE DOE", 'Address,"123 MAIN ST APT 1, OAKLAND CA 94601"', "Account Number,1234567890"]
    lines += ["Service,Service 1", "", "TYPE,DATE,START TIME,END TIME,USAGE (kWh),COST,NOTES"]
    for at, one, two in zip(hours, used, cost, strict=True):
        lines.append(f"Electric usage,{at:%Y-%m-%d},{at:%H}:00,{at:%H}:59,{one:.2f},${two:.2f},")
    path = folder / "pge_electric_interval_data.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, hours, {"USAGE (kWh)": used, "COST": cost}


def ilinet(folder):
    """A title, years beside weeks of the epidemic year, and X where a group of ages was not counted."""
    weeks = pd.date_range("2002-09-29", periods=150, freq="7D")  # the week 40 begins on a Sunday
    share, total, young = values(150, 1.4, 18), np.round(values(150, 900, 19)), np.round(values(150, 200, 20))
    young[:60] = np.nan
    lines = ["PERCENTAGE OF VISITS FOR INFLUENZA-LIKE-ILLNESS REPORTED BY SENTINEL PROVIDERS"]
    lines += ["REGION TYPE,REGION,YEAR,WEEK,% WEIGHTED ILI,AGE 25-49,AGE 25-64,ILITOTAL"]
    for at, week in enumerate(weeks):
        middle = week + pd.Timedelta(days=3)  # a week is of the year and number of its Wednesday
        year, number = middle.year, (middle.day_of_year - 1) // 7 + 1
        group = "X" if np.isnan(young[at]) else f"{young[at]:.0f}"
        lines.append(f"National,X,{year},{number},{share[at]},{group},X,{total[at]:.0f}")
    path = folder / "ILINet.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, weeks, {"% WEIGHTED ILI": share, "AGE 25-49": young, "ILITOTAL": total}


LAYOUTS = {
    ercot: {},
    aeronet: {"missing": "mask", "sentinels": (-999.0,)},
    bls: {},
    ons: {},
    coingecko: {"resample": "last", "frequency": "D"},
    alpha_vantage: {},
    jma: {},
    green_button: {},
    ilinet: {"missing": "mask"},
}


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_values_are_those_of_the_source(layout, tmp_path):
    path, times, columns = layout(tmp_path)
    panel = read_panel(path, data.ReadOptions(**LAYOUTS[layout]))
    for name, column in columns.items():
        (at,) = [at for at, read in enumerate(panel.names) if name in read][:1]
        np.testing.assert_allclose(panel.values[: len(times), at], column, rtol=1e-6, err_msg=name)
    assert list(pd.DatetimeIndex(panel.times))[: len(times)] == list(times)


def test_pairs_of_a_place_and_a_value_are_cells(tmp_path):
    """Lines of LIBSVM: a class, then the features that are not zero."""
    path = tmp_path / "heart_scale"
    path.write_text(
        "".join(f"{row % 2 * 2 - 1:+d} 1:{row % 7 / 7:.4g} {row % 3 + 2}:1 9:{row / 200:.3g}\n" for row in range(200))
    )
    frame = read_frame(path, FileOptions())
    assert list(frame) == ["target", "1", "2", "3", "4", "9"] and frame["target"].astype(int).tolist()[:2] == [-1, 1]
    assert frame["3"].tolist()[:5] == [0, 1, 0, 0, 1] and frame["9"].iloc[50] == 0.25
