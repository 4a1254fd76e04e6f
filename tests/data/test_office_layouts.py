"""Ten layouts of weather services, gauges, banks and grid operators, written before the reading code was opened."""

import json

import numpy as np

from data.test_public_layouts import checked, days, level, written
from multiway.tasks.forecasting import read_panel

TOWNS = "Ulm", "Bonn", "Kiel"


def test_bom_rainfall(tmp_path):
    """Year, month and day in columns of their own, a station in each row, and nothing in the first weeks."""
    head = "Product code,Bureau of Meteorology station number,Year,Month,Day,Rainfall amount (millimetres),"
    head += "Period over which rainfall was measured (days),Quality"
    rows = [
        f"IDCJAC0009,066062,{day:%Y},{day:%m},{day:%d},{f'{value:.1f},1,Y' if place > 20 else ',,'}"
        for place, (day, value) in enumerate(zip(days(500, "D", "2021-01-01"), level(500, 365), strict=True))
    ]
    code, task, summary, said = checked(written(tmp_path / "IDCJAC0009.csv", [head, *rows]))
    assert task == "forecast" and summary["rows"] in (479, 500) and summary["step"] == "D"
    assert code == 0 or "--variates" in said


def test_met_office_station(tmp_path):
    """Lines about the place, blanks between columns, --- for nothing, * behind what was estimated."""
    above = ["Oxford", "450900E 207200N, Lat 51.761 Lon -1.262, 63 metres amsl", "Estimated data is marked with a *"]
    above += ["Missing data is marked by ---.", "   yyyy  mm   tmax    tmin      af    rain     sun"]
    above += ["              degC    degC    days      mm   hours"]
    values = zip(days(360, "MS", "1990-01-01"), level(360, 12) / 5, level(360, 12, 1) / 9, strict=True)
    rows = [
        f"   {time:%Y}  {time.month:2d}   {a:5.1f}{'*' if place % 41 == 3 else ' '}  {b:5.1f}       {place % 9}    "
        f"{a * 3:5.1f}     {'---' if place < 30 else f'{b * 9:.1f}'}"
        for place, (time, a, b) in enumerate(values)
    ]
    code, task, summary, said = checked(written(tmp_path / "oxforddata.txt", [*above, *rows]), "--missing", "mask")
    assert (task, summary["rows"], summary["step"], summary["variates"]) == ("forecast", 360, "MS", 5)
    assert code == 0 and summary["from"].startswith("1990-01-01") and "*" in said


def test_bundesbank(tmp_path):
    """Title, unit and state of the figures above months; commas as points, and a dot with a word for nothing."""
    above = [";BBK01.SU0202;BBK01.SU0202_FLAGS", ";Effective rates / loans to households;", "unit;% p.a.;"]
    above += ["unit multiplier;one;", "last update;05.01.2024 11:00:06;"]
    rows = [
        f"{time:%Y-%m};{f'{value / 30:.2f};'.replace('.', ',') if place != 17 else '.;No value available'}"
        for place, (time, value) in enumerate(zip(days(200, "MS", "2003-01-01"), level(200, 12), strict=True))
    ]
    code, task, summary, said = checked(written(tmp_path / "BBK01.csv", [*above, *rows]), "--missing", "mask")
    assert task == "forecast" and summary["rows"] == 200 and summary["step"] == "MS"
    assert (code == 0 and summary["missing cells"] == 1) or "BBK01.SU0202_FLAGS" in said


def test_ecdc(tmp_path):
    """The newest day first, a date and its parts once more, and many countries below each other."""
    rows = [
        f"{day:%d/%m/%Y},{day.day},{day.month},{day.year},{value:.0f},{value / 30:.0f},{name},{name[:2].upper()}"
        for place, name in enumerate(["Austria", "Belgium", "Croatia"])
        for day, value in reversed(list(zip(days(250, "D", "2020-03-01"), level(250, 7, place), strict=True)))
    ]
    head = "dateRep,day,month,year,cases,deaths,countriesAndTerritories,geoId"
    code, task, summary, said = checked(written(tmp_path / "ecdc.csv", [head, *rows]))
    if code == 0:
        assert (task, summary["rows"], summary["step"]) == ("forecast", 250, "D")
        assert summary["from"].startswith("2020-03-01") and summary["variates"] in (3, 6)
    else:
        assert task == "forecast" and ("--value" in said or "--id" in said or "id_column" in said)


def test_unicode_text_of_excel(tmp_path):
    """What Excel saves as Unicode text: UTF-16 with tabs, decimal commas and dates with dots."""
    rows = [
        f"{day:%d.%m.%Y}\t{a:.1f}\t{b:.2f}".replace(".", ",").replace(",", ".", 2)
        for day, a, b in zip(days(300), level(300), level(300, 7, 1), strict=True)
    ]
    path = tmp_path / "verkauf.txt"
    path.write_bytes("\r\n".join(["Tag\tBäckerei\tCafé", *rows, ""]).encode("utf-16"))
    code, task, summary, _ = checked(path)
    assert (code, task, summary["rows"], summary["variates"], summary["step"]) == (0, "forecast", 300, 2, "D")
    assert summary["names"] == "Bäckerei, Café"


def test_open_meteo(tmp_path):
    """A small table about the place, a blank line, and then the hours."""
    above = ["latitude,longitude,elevation,utc_offset_seconds,timezone,timezone_abbreviation"]
    above += ["52.52,13.419,38.0,0,GMT,GMT", "", "time,temperature_2m (°C),rain (mm)"]
    rows = [
        f"{time:%Y-%m-%dT%H:%M},{a / 5:.1f},{b / 50:.2f}"
        for time, a, b in zip(days(700, "h"), level(700, 24), level(700, 24, 1), strict=True)
    ]
    code, task, summary, _ = checked(written(tmp_path / "open-meteo.csv", [*above, *rows]))
    assert (code, task, summary["rows"], summary["variates"], summary["step"]) == (0, "forecast", 700, 2, "h")


def test_open_meteo_as_json(tmp_path):
    """Facts of the place, units, and under `hourly` one list for each column."""
    hourly = {"time": [f"{time:%Y-%m-%dT%H:%M}" for time in days(700, "h")], "temperature_2m": level(700, 24).tolist()}
    place = {"latitude": 52.52, "longitude": 13.4, "hourly_units": {"time": "iso8601", "temperature_2m": "°C"}}
    path = tmp_path / "forecast.json"
    path.write_text(json.dumps({**place, "hourly": hourly}))
    code, task, summary, said = checked(path)
    if code == 0:
        assert (task, summary["rows"], summary["variates"], summary["step"]) == ("forecast", 700, 1, "h")
    else:
        assert "hourly" in said


def test_usgs_gauge(tmp_path):
    """Comments, a header, a row of widths and types below it, and codes of quality."""
    above = [
        "# U.S. Geological Survey",
        "# retrieved: 2024-01-02",
        "#",
        "agency_cd\tsite_no\tdatetime\t01_00060\t01_cd",
    ]
    above += ["5s\t15s\t20d\t14n\t10s"]
    rows = [
        f"USGS\t01646500\t{day:%Y-%m-%d}\t{value * 100:.0f}\t{'A' if place < 280 else 'P'}"
        for place, (day, value) in enumerate(zip(days(300), level(300, 365), strict=True))
    ]
    code, task, summary, said = checked(written(tmp_path / "gauge.rdb.txt", [*above, *rows]))
    assert task == "forecast" and summary["rows"] == 300 and summary["step"] == "D"
    assert (code == 0 and summary["variates"] == 1) or "--variates" in said


def test_grdc(tmp_path):
    """Comments, a date and a time that is never there, and -999.000 for nothing."""
    above = ["# Title: GRDC STATION DATA FILE", "# Unit of measure: m3/s", "# DATA", "YYYY-MM-DD;hh:mm; Value"]
    rows = [
        f"{day:%Y-%m-%d};--:--;{-999 if place % 97 == 5 else value:10.3f}"
        for place, (day, value) in enumerate(zip(days(400), level(400, 365), strict=True))
    ]
    code, task, summary, said = checked(written(tmp_path / "6335020_Q_Day.Cmd.txt", [*above, *rows]))
    assert task == "forecast" and summary["rows"] == 400 and summary["step"] == "D"
    assert "-999" in said and (code == 1 or summary["missing cells"] == 5)


def test_hours_in_columns(tmp_path):
    """A row for each day and zone, and a column for each hour that ends: HE01 to HE24."""
    hours = ",".join(f"HE{hour:02d}" for hour in range(1, 25))
    rows = [
        f"{day:%m/%d/%Y},{zone}," + ",".join(f"{value:.1f}" for value in level(24, 24, place * 400 + number))
        for place, zone in enumerate(["COAST", "NORTH"])
        for number, day in enumerate(days(200))
    ]
    code, task, summary, said = checked(written(tmp_path / "load.csv", [f"Date,Zone,{hours}", *rows]))
    if code == 0:
        assert (task, summary["rows"], summary["variates"], summary["step"]) == ("forecast", 4800, 2, "h")
        assert np.isclose(float(summary["mean"]), 100, atol=5) if "mean" in summary else True
    else:
        assert "HE01" in said or "hour" in said


def test_a_sign_of_all_columns_of_times_is_that_of_each_series(tmp_path):
    """Shares of three towns, a column for each year: one note, and forecasts in percent."""
    head = ",".join(["town", *map(str, range(1990, 2024))])
    rows = [f"{town}," + ",".join(f"{cell} %" for cell in level(34, 34, place)) for place, town in enumerate(TOWNS)]
    path = written(tmp_path / "shares.csv", [head, *rows])
    panel = read_panel(path)
    assert panel.columns.sign_of("Ulm") == "%" and panel.values.shape == (34, 3)
    assert checked(path)[3].count("numbers stand without their %") == 1
