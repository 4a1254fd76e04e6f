"""Ten more layouts of public sources, from memory: each is read as it is meant, or asked about in a line that helps."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from command import printed
from data.test_public_layouts import checked, days, level, written
from multiway.data.findings import Findings
from multiway.data.options import FileOptions
from multiway.data.sources.tables import load_table
from multiway.data.targets import read_target
from multiway.report.text import with_unit
from multiway.tasks.answers import words_on_units
from multiway.tasks.forecasting.read import read_panel


def german(value, digits=2):
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def test_world_bank(tmp_path):
    years = range(1990, 2024)
    header = ["Country Name", "Country Code", "Indicator Name", "Indicator Code", *years, ""]
    lands = {"Aruba": "ABW", "Austria": "AUT", "Chad": "TCD"}
    rows = [
        [land, code, "GDP growth", "NY.GDP", *level(34, 9, place), ""]
        for place, (land, code) in enumerate(lands.items())
    ]
    lines = [",".join(f'"{cell}"' for cell in row) for row in (header, *rows)]
    above = ['"Data Source","World Development Indicators",', "", '"Last Updated Date","2024-06-28",', ""]
    code, task, summary, _ = checked(written(tmp_path / "API_NY.csv", [*above, *lines]))
    assert (code, task, summary["names"], summary["rows"]) == (0, "forecast", "Aruba, Austria, Chad", 34)
    assert (summary["from"], summary["to"]) == ("1990", "2023")


def test_m4(tmp_path):
    header = ",".join(f'"V{place}"' for place in range(1, 62))
    rows = [f'"Y{row}",{",".join(f"{y}" for y in level(60, 12, row))}' for row in range(1, 9)]
    path = written(tmp_path / "Yearly-train.csv", [header, *rows])
    code, _, _, said = checked(path)
    assert code == 1 and "are numbered: a table of cases, or each row is a series" in said
    code, _, summary, _ = checked(path, "--task", "forecast", "--time", "time")
    assert (code, summary["variates"], summary["rows"], summary["from"]) == (0, 8, 60, "2")


def test_home_assistant(tmp_path):
    states = [f"{value}" for value in level(300, 24)]
    states[40], states[41] = "unavailable", "unknown"
    rows = [
        f"sensor.kitchen,{state},{time:%Y-%m-%dT%H:%M:%S.000Z}"
        for time, state in zip(days(300, "h"), states, strict=True)
    ]
    code, task, summary, said = checked(written(tmp_path / "history.csv", ["entity_id,state,last_changed", *rows]))
    assert task == "forecast" and summary["rows"] == 300 and "unavailable" in said
    assert code == 1 or summary["missing cells"] == 2


def test_binance(tmp_path):
    opened = days(400, "h", "2024-12-20").as_unit("ms").asi8
    rows = []
    for row, (start, price) in enumerate(zip(opened, level(400, 24), strict=True)):
        unit = 1 if row < 288 else 1000
        cells = [start * unit, price, price + 1, price - 1, price + 0.5, 12.5 + row % 7, (start + 3_599_999) * unit]
        rows.append(",".join(map(str, [*cells, 1250.5 + row, 310 + row % 50, 6.1, 611.2, 0])))
    code, task, summary, said = checked(written(tmp_path / "BTCUSDT-1h.csv", rows))
    assert (code, task, summary["rows"], summary["step"]) == (0, "forecast", 400, "h")
    assert summary["from"] == "2024-12-20 00:00:00" and "ms and us" in said


def test_stooq(tmp_path):
    header = "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>"
    dates = days(300, "B")
    rows = [
        f"AAPL.US,D,{day:%Y%m%d},000000,{price},{price + 1},{price - 1},{price + 0.5},{9000 + row},0"
        for row, (day, price) in enumerate(zip(dates, level(300, 5), strict=True))
    ]
    code, task, summary, said = checked(written(tmp_path / "aapl.us.txt", [header, *rows]))
    assert (task == "forecast" and str(summary["from"]).startswith("2022-01-03")) or (code == 1 and "--t" in said)


def test_air_quality(tmp_path):
    co, sensor = level(600, 24) / 40, 1000 + 3 * level(600, 24, 1)
    co[::8], sensor[5:11] = -200, -200
    rows = [
        f"{time:%d/%m/%Y};{time:%H.00.00};{german(a, 1)};{german(b, 0)};;"
        for time, a, b in zip(days(600, "h", "2004-03-10"), co, sensor, strict=True)
    ]
    path = written(tmp_path / "AirQualityUCI.csv", ["Date;Time;CO(GT);PT08.S1(CO);;", *rows, *[";;;;;"] * 5])
    code, task, _, said = checked(path)
    assert (code, task) == (1, "forecast") and "-200 stands apart" in said
    code, task, summary, said = checked(path, "--set", "read.sentinels=[-200]", "--missing", "mask")
    assert (code, task, summary["step"]) == (0, "forecast", "h") and summary["missing cells"] == 80  # one is the first


def test_household_power(tmp_path):
    values = [f"{value / 50:.3f}" for value in level(900, 60)]
    values[30:34] = ["?"] * 4
    rows = [
        f"{time:%d/%m/%Y};{time:%H:%M:%S};{value};0.418"
        for time, value in zip(days(900, "min", "2006-12-16"), values, strict=True)
    ]
    path = written(tmp_path / "power.txt", ["Date;Time;Global_active_power;Sub_metering", *rows])
    code, task, summary, said = checked(path, "--missing", "mask")
    assert (code, task, summary["step"], summary["missing cells"]) == (0, "forecast", "min", 4)
    assert summary["from"] == "2006-12-16 00:00:00" and "cells of ? in columns" in said


def test_sdmx(tmp_path):
    header = "LOCATION,INDICATOR,SUBJECT,MEASURE,FREQUENCY,TIME,Value,Flag Codes"
    rows = [
        f"{land},GDP,TOT,PC_CHGPP,Q,{time.year}-Q{time.quarter},{value},{'E' if row > 76 else ''}"
        for place, land in enumerate(["AUS", "AUT", "BEL"])
        for row, (time, value) in enumerate(zip(days(80, "QS", "2003-01-01"), level(80, 4, place), strict=True))
    ]
    code, task, summary, _ = checked(written(tmp_path / "DP_LIVE.csv", [header, *rows]))
    assert (code, task, summary["names"], summary["rows"]) == (0, "forecast", "AUS, AUT, BEL", 80)
    assert summary["from"] == "2003-01-01 00:00:00"


def test_smard(tmp_path):
    load = [german(value * 111) for value in level(500, 24)]
    load[20] = "-"
    rows = [
        f"{time:%d.%m.%Y %H:%M};{time + pd.Timedelta(hours=1):%d.%m.%Y %H:%M};{value}"
        for time, value in zip(days(500, "h", "2023-01-01"), load, strict=True)
    ]
    path = written(tmp_path / "smard.csv", ["Datum von;Datum bis;Netzlast [MWh] Originalauflösungen", *rows])
    code, task, summary, said = checked(path, "--missing", "mask")
    assert task == "forecast"
    assert code == 1 and "1 cell is no finite number" in said and "Datum bis hold other times" in said
    assert (summary["rows"], summary["from"]) == (500, "2023-01-01 00:00:00")


def test_asos(tmp_path):
    draw = np.random.default_rng(2)
    rows = []
    for place, station in enumerate(["DSM", "ORD"]):
        for time, value in zip(days(300, "h"), level(300, 24, place), strict=True):
            gust = "M" if draw.random() < 0.6 else f"{draw.integers(18, 49)}.00"
            rows.append(f"{station},{time:%Y-%m-%d %H:%M},{value},{gust}")
    path = written(tmp_path / "asos.csv", ["station,valid,tmpf,gust", *rows])
    code, task, summary, said = checked(path)
    assert task == "forecast"
    assert (code == 0 and summary["names"] == "DSM, ORD") or "--value NAME" in said
    code, task, summary, said = checked(path, "--value", "tmpf")
    assert (code, summary["names"], summary["rows"]) == (0, "DSM, ORD", 300)


def test_a_column_of_users_is_no_target(tmp_path):
    """Labelled messages without a header, as sentiment140 has them: label, id, time, query, user and text."""
    rng, rows = np.random.default_rng(0), 400
    said = [" ".join(rng.choice(["good", "bad", "home", "rain", "song"], 6)) + f" {row}" for row in range(rows)]
    frame = pd.DataFrame({"label": np.repeat([0, 4], rows // 2), "id": 10**9 + 37 * np.arange(rows)})
    users = [f"u{number}" for number in rng.integers(0, 80, rows)]
    frame = frame.assign(query="NO_QUERY", user=users, text=said)
    frame.to_csv(tmp_path / "messages.csv", index=False, header=False)
    said = checked(tmp_path / "messages.csv")[3]
    assert "the command below predicts '0'" in said


def test_classes_are_named_as_they_are_written(tmp_path):
    def told(ends, name="rows.csv"):
        rows = [f"{row % 13},{ends[row % 2]}" for row in range(60)]
        return checked(written(tmp_path / name, ["size,class", *rows]), "--target", "class")

    for ends in (["1.0", "2.0"], ["10 %", "5 %"], ["1", "2"], ["a", "b"], ["False", "True"]):
        _, _, summary, said = told(ends)
        assert "and named" not in said
        assert all(f"{end} 30" in summary["classes"] for end in ends)
    assert told(["true", "false"])[2]["classes"] == "False 30, True 30"


def test_later_data_may_spell_a_class_otherwise(tmp_path):
    frames = {
        kind: load_table(
            written(tmp_path / f"{kind}.csv", ["size,class", *(f"{row},{'12'[row % 2]}{end}" for row in range(20))]),
            FileOptions(),
            Findings(""),
        )
        for kind, end in (("plain", ""), ("pointed", ".0"), ("percent", " %"))
    }
    read = partial(read_target, name="class", kind="auto", findings=Findings(""))
    for learnt in frames.values():
        codes, classes = read(learnt, classes=None)
        for later in frames.values():
            assert read(later, classes=classes)[1] == classes
            np.testing.assert_array_equal(read(later, classes=classes)[0], codes)
    assert read(frames["percent"], classes=None)[1] == ("1 %", "2 %")


def test_signs_that_numbers_stand_without_are_known_afterwards(tmp_path):
    rows = [
        f"{day:%Y-%m-%d},{value:.0f} €,{value / 3:.1f}%,{value}" for day, value in zip(days(60), level(60), strict=True)
    ]
    path = written(tmp_path / "sales.csv", ["date,sales,share,level", *rows])
    panel = read_panel(path)
    assert [panel.columns.sign_of(name) for name in ("sales", "share", "level")] == ["€", "%", ""]
    long = written(
        tmp_path / "long.csv",
        [
            "date,shop,sales",
            *(f"{day:%Y-%m-%d},{shop},${row + 7}" for shop in "ab" for row, day in enumerate(days(40))),
        ],
    )
    assert read_panel(long).columns.sign_of("b") == "$"
    table = load_table(path, FileOptions(), Findings(""))
    assert [table.columns[name].sign for name in table.names] == ["", "€", "%", ""]
    said = written(tmp_path / "said.csv", ["date,sales in €,share in %", *(row.rsplit(",", 1)[0] for row in rows)])
    assert read_panel(said).columns.signs == {"share in %": "%"}
    assert words_on_units({"sales": "€", "share": "%", "level": ""}) == (
        "Numbers of 'sales' are in €.",
        "Numbers of 'share' are in percent.",
    )
    sizes = [with_unit(47.19, sign) for sign in ("", "€", "$", "%")]
    assert sizes == ["47.2", "47.2\u202f€", "$47.2", "47.2 percentage points"]


@pytest.mark.parametrize("sign", ["", " €"])
def test_a_run_reads_a_few_later_rows_by_the_marks_of_all_of_its_own(sign, tmp_path):
    """Among 992 and 4.184 points separate thousands; 1.320 and 2.646 alone are decimals, a thousandth of that."""
    areas = np.random.default_rng(0).integers(20, 200, 200)
    rows = [f"{german(20 * area, 0)};{german(800 * area, 0)}{sign}" for area in areas]
    rows += [f"{20 * area};{800 + area}{sign}" for area in range(20, 49)]
    path = written(tmp_path / "flats.csv", ["area;price", *rows])
    printed(
        "train", "tabular", "--data", path, "--target", "price", "--out", tmp_path / "run", "--set", "training.epochs=1"
    )
    later = written(tmp_path / "later.csv", ["area;price", f"1.320;2.646{sign}", f"2.740;5.515{sign}"])
    printed("predict", tmp_path / "run", "--data", later, "--out", tmp_path / "answer.csv")
    answer = pd.read_csv(tmp_path / "answer.csv")
    assert (answer["predicted"] > 1000).all()
