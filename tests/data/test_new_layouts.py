"""Eleven layouts more, from memory, written before the code of reading was read: each is read right or asked about."""

import pandas as pd

from data.test_public_layouts import checked, days, level, written


def test_gistemp(tmp_path):
    """A title, a row a year and a column a month, means of seasons beside them, stars where a value lacks."""
    months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    header = ",".join(["Year", *months, "J-D", "D-N", "DJF", "MAM", "JJA", "SON"])
    rows = []
    for year in range(1880, 2025):
        cells = [f"{value / 100:.2f}" for value in level(18, 12, year) - 100]
        if year == 2024:
            cells[8:] = ["***"] * 10
        rows.append(",".join([str(year), *cells]))
    path = written(tmp_path / "GLB.Ts+dSST.csv", ["Land-Ocean: Global Means", header, *rows])
    _code, task, summary, said = checked(path)
    monthly = (summary or {}).get("rows") == 1740
    yearly = (summary or {}).get("rows") == 145 and "Jan" in str(summary.get("names"))
    assert task == "forecast" and "cells of *** in columns Sep" in said and (monthly or yearly)


def test_mauna_loa(tmp_path):
    """Comments, blanks between the columns, no header, -99.99 where a value lacks."""
    rows = []
    for time, value in zip(days(780, "MS", "1958-03-01"), level(780, 12) / 10 + 310, strict=True):
        cell = -99.99 if time.year == 1964 and time.month < 4 else round(value, 2)
        rows.append(
            f"{time.year}   {time.month:2d}   {time.year + time.month / 12:.4f}   {cell:8.2f}   {value:.2f}   -1  -9.99"
        )
    path = written(tmp_path / "co2_mm_mlo.txt", ["# Data from March 1958", "#", "# decimal  average", *rows])
    code, task, summary, said = checked(path)
    assert (code, task, summary["step"], summary["rows"]) == (1, "forecast", "MS", 780)
    assert "blanks separate columns" in said and "-99.99 stands apart" in said


def test_fred(tmp_path):
    """A day a row, a full stop on holidays."""
    values = [f"{value / 20:.2f}" for value in level(500, 5)]
    values[60] = values[180] = "."
    rows = [f"{day:%Y-%m-%d},{value}" for day, value in zip(days(500, "B"), values, strict=True)]
    code, task, summary, said = checked(
        written(tmp_path / "DGS10.csv", ["observation_date,DGS10", *rows]), "--missing", "mask"
    )
    assert (code, task, summary["rows"], summary["step"]) == (0, "forecast", 500, "B")
    assert summary["missing cells"] == 2 and "cells of ." in said


def test_yfinance(tmp_path):
    """Three rows above the prices: what, of which ticker, and the name of the first column."""
    above = ["Price,Close,Close,Volume,Volume", "Ticker,AAPL,MSFT,AAPL,MSFT", "Date,,,,"]
    rows = [
        f"{day:%Y-%m-%d},{price},{price * 2:.1f},{9000 + row},{7000 - row}"
        for row, (day, price) in enumerate(zip(days(300, "B"), level(300, 5), strict=True))
    ]
    code, task, summary, _said = checked(written(tmp_path / "prices.csv", [*above, *rows]))
    assert (code, task, summary["tickers"]) == (0, "stocks", "2 (AAPL, MSFT)")


def test_beijing_air(tmp_path):
    """A time in four columns, a number for each row, NA for what lacks, a column of words."""
    rows = []
    for row, (time, value) in enumerate(zip(days(700, "h", "2010-01-02"), level(700, 24), strict=True)):
        cell = "NA" if 20 <= row < 26 else f"{value:.0f}"
        rows.append(
            f"{row + 1},{time:%Y},{time.month},{time.day},{time.hour},{cell},{value:.1f},{'NW SE cv'.split()[row % 3]}"
        )
    path = written(tmp_path / "PRSA.csv", ["No,year,month,day,hour,pm2.5,TEMP,cbwd", *rows])
    code, task, summary, said = checked(path, "--missing", "mask")
    assert task == "forecast"
    assert (code == 1 and "cbwd" in said) or (summary["rows"], summary["step"]) == (700, "h")
    if code == 0:
        assert str(summary["from"]).startswith("2010-01-02 00:00") and "year" not in str(summary["names"])


def test_our_world_in_data(tmp_path):
    """Entities with and without a code, of other spans each."""
    rows = [
        f"{land},{code},{year},{value}"
        for place, (land, code, first) in enumerate(
            [("Africa", "", 1950), ("Austria", "AUT", 1960), ("World", "OWID_WRL", 1950)]
        )
        for year, value in zip(range(first, 2020), level(2020 - first, 9, place), strict=True)
    ]
    _code, task, summary, _said = checked(written(tmp_path / "emissions.csv", ["Entity,Code,Year,Emissions", *rows]))
    assert (task, summary["names"], summary["rows"]) == ("forecast", "Africa, Austria, World", 70)
    assert (summary["from"], summary["to"]) == ("1950", "2019")


def test_google_trends(tmp_path):
    """A line on the category, a blank one, and <1 for little."""
    values = [f"{value:.0f}" for value in level(200, 52) - 70]
    values[33] = values[90] = "<1"
    rows = [f"{day:%Y-%m-%d},{value}" for day, value in zip(days(200, "W-SUN", "2019-01-06"), values, strict=True)]
    path = written(tmp_path / "multiTimeline.csv", ["Category: All categories", "", "Week,cheese: (Austria)", *rows])
    code, task, summary, said = checked(path)
    assert (code, task, summary["rows"], summary["step"]) == (1, "forecast", 200, "W-SUN")
    assert "2 cells are no finite number" in said


def test_dwd(tmp_path):
    """A station, days as one number, blanks in the cells, -999 for what lacks, and a column that says eor."""
    rows = []
    for row, (day, value) in enumerate(zip(days(400, "D", "2020-01-01"), level(400, 365), strict=True)):
        rain = -999 if row % 40 == 3 else value / 100
        rows.append(f"       1048;{day:%Y%m%d};   10;{value / 9:8.1f};{rain:8.1f};eor")
    path = written(tmp_path / "produkt_klima_tag.txt", ["STATIONS_ID;MESS_DATUM;QN_3;  TMK; RSK;eor", *rows])
    code, task, summary, said = checked(path)
    assert task == "forecast" and code == 1 and "-999" in said
    code, task, summary, said = checked(path, "--set", "read.sentinels=[-999]", "--missing", "mask")
    if code == 0:
        assert (summary["rows"], summary["step"], summary["missing cells"]) == (400, "D", 10)
        assert "TMK" in str(summary["names"])
    else:
        assert "--value" in said


def test_pvgis(tmp_path):
    """Places and settings above, times of a form of its own, a legend below."""
    above = [
        "Latitude (decimal degrees):\t45.000",
        "Longitude (decimal degrees):\t8.000",
        "Elevation (m):\t250.0",
        "",
        "",
    ]
    below = [
        "",
        "",
        "P: PV system power (W)",
        "T2m: 2-m air temperature (degree Celsius)",
        "",
        "PVGIS (c) European Union, 2001-2024",
    ]
    rows = [
        f"{time:%Y%m%d:%H%M},{value},{value / 9:.2f},0.0"
        for time, value in zip(days(500, "h", "2016-01-01 00:10"), level(500, 24), strict=True)
    ]
    path = written(tmp_path / "Timeseries_45.csv", [*above, "time,P,T2m,Int", *rows, *below])
    code, task, summary, said = checked(path)
    if code == 0:
        assert (task, summary["rows"], summary["step"]) == ("forecast", 500, "h")
        assert str(summary["from"]).startswith("2016-01-01 00:10")
    else:
        assert any(word in said for word in ("header", "time", "line 1", "fields", "separator"))


def test_years_over_quarters_in_a_workbook(tmp_path):
    """Years in merged cells over quarters, a region a row."""
    years, quarters = range(2015, 2025), [1, 2, 3, 4]
    top = [None, *(year if quarter == 1 else None for year in years for quarter in quarters)]
    below = ["Region", *(f"Q{quarter}" for _ in years for quarter in quarters)]
    regions = [[name, *level(40, 4, place)] for place, name in enumerate(["North", "South", "West"])]
    pd.DataFrame([top, below, *regions]).to_excel(tmp_path / "turnover.xlsx", header=False, index=False)
    code, task, summary, said = checked(tmp_path / "turnover.xlsx")
    if code == 0:
        assert (task, summary["rows"], summary["names"]) == ("forecast", 40, "North, South, West")
    else:
        assert "header" in said or "names" in said


def test_an_oscilloscope(tmp_path):
    """Settings in the first columns of the rows, time in seconds and volts in the fourth and fifth."""
    settings = [
        "Record Length,2500",
        "Sample Interval,4e-06",
        "Trigger Point,1250",
        "",
        "Source,CH1",
        "Vertical Units,V",
    ]
    rows = [
        f"{settings[row] if row < 6 and settings[row] else ','},,{4e-6 * row:.6f},{value / 50:.4f},"
        for row, value in enumerate(level(800, 80))
    ]
    code, task, summary, said = checked(written(tmp_path / "F0000CH1.CSV", rows))
    assert (code, task, summary["rows"], summary["names"]) == (0, "forecast", 800, "4")
    assert "3 rise by one step a row" in said and "0, 1 hold words in few rows" in said
