"""Files in the layouts that public sources have are read as they are meant, or asked about."""

import json

import numpy as np
import pandas as pd
import pytest

from command import outcome
from data.sources.scans.scans import dicom, dicom_slice, nifti, voxels
from market_files import write_prices

DRAW = np.random.default_rng(11)
COUNT = 300


def checked(path, *words):
    """What `check` says of a file, as JSON and in one text."""
    code, out, err = outcome("check", path, *words, "--json")
    document = json.loads(out)
    said = " ".join(f"{each['rule']} {each['fix']}" for each in document["findings"])
    return code, document["task"], document["summary"], said + err


def written(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def level(count=COUNT, season=7, seed=0):
    noise = np.random.default_rng(seed).normal(size=count)
    return (100 + 20 * np.sin(np.arange(count) * 2 * np.pi / season) + 3 * noise).round(1)


def days(count=COUNT, step="D", start="2022-01-03"):
    return pd.date_range(start, periods=count, freq=step)


def test_points_separate_thousands_where_other_cells_have_none(tmp_path):
    prices = [820, 992, *DRAW.integers(1_016, 9_000, 400)]
    spelled = [f"{price:,}".replace(",", ".") + " €" for price in prices]
    path = written(
        tmp_path / "flats.csv", ["rooms;price", *(f"{row % 5 + 1};{cell}" for row, cell in enumerate(spelled))]
    )
    code, task, summary, said = checked(path, "--target", "price")
    assert (code, task) == (0, "tabular") and "points separate thousands" in said and "without their €" in said
    assert summary["range"].startswith(f"820 to {max(prices):g}, mean {np.mean(prices):g}"[:14])


def test_three_decimals_of_a_currency_are_a_question(tmp_path):
    rows = [f"{day:%d.%m.%Y};{1.4 + 0.2 * row / COUNT:.3f} €" for row, day in enumerate(days())]
    path = written(tmp_path / "fuel.csv", ["Tag;Diesel", *rows])
    code, *_, said = checked(path)
    assert code == 1 and "a point separates thousands or decimals in column 'Diesel'" in said
    assert checked(path, "--set", "read.decimal=.")[0] == 0


@pytest.mark.parametrize("marks", [4, 5], ids=["even", "odd"])
def test_bare_quotation_marks_of_messages_are_text(marks, tmp_path):
    rows = [f"{('ham', 'spam')[row % 3 == 0]}\tsee you at the station {row}" for row in range(400)]
    for row in range(marks):
        label, text = rows[17 + 70 * row].split("\t")
        rows[17 + 70 * row] = f'{label}\t"{text}'
    path = written(tmp_path / "sms.tsv", rows)
    code, task, summary, said = checked(path)
    assert (code, task, summary["rows"], summary["text"]) == (0, "text", 400, "1")
    assert f"{marks} cells hold quotation marks that open or close none" in said and "columns are named 0, 1, 2" in said


def test_a_cell_of_many_lines_is_warned_of_and_marks_can_be_text(tmp_path):
    lines = [*(f'{row},"one, two",b' for row in range(30)), '30,"begins', *["x,y,z"] * 3, *["w"] * 60, 'ends",b']
    path = written(tmp_path / "long.csv", ["a,b,c", *lines])
    assert "one cell holds 64 line breaks" in checked(path)[3]
    fields = checked(path, "--set", "read.quoting=none")[3]
    assert "rows do not have the 3 fields" in fields


def test_a_first_row_of_data_is_no_header(tmp_path):
    people = [
        f"{age}, {work}, {hours}, {income}"
        for age, work, hours, income in zip(
            DRAW.integers(18, 70, 200),
            DRAW.choice(["Private", "State-gov"], 200),
            DRAW.integers(10, 60, 200),
            DRAW.choice(["<=50K", ">50K"], 200),
            strict=True,
        )
    ]
    path = written(tmp_path / "adult.data", people)
    code, task, summary, said = checked(path)
    assert (code, task, summary["rows"], summary["numbers"]) == (0, "tabular", 200, "0, 2")
    assert "columns are named 0, 1, 2" in said and "--set read.no_header=false" in said
    assert checked(path, "--set", "read.no_header=false")[2]["rows"] == 199


def test_a_header_can_be_said_to_be_none(tmp_path):
    path = written(tmp_path / "pairs.csv", ["one,two", *(f"{DRAW.choice(list('abc'))},w{row}" for row in range(60))])
    assert checked(path)[2]["rows"] == 60 and checked(path, "--no-header")[2]["rows"] == 61


def test_years_and_regions_stay_a_header(tmp_path):
    rows = [f"{land},{','.join(map(str, level(30, seed=place)))}" for place, land in enumerate(["A", "B", "C"])]
    path = written(tmp_path / "wide.csv", [",".join(["land", *map(str, range(1990, 2020))]), *rows])
    code, task, summary, _ = checked(path)
    assert (code, task, summary["names"], summary["rows"]) == (0, "forecast", "A, B, C", 30)


def test_intervals_are_times_and_a_mark_of_the_source_is_missing(tmp_path):
    starts, values = days(COUNT, "h"), list(map(str, level(season=24)))
    values[7] = "n/e"
    form = "%d.%m.%Y %H:%M"
    rows = [
        f'"{start:{form}} - {start + pd.Timedelta(hours=1):{form}}","{value}"'
        for start, value in zip(starts, values, strict=True)
    ]
    path = written(tmp_path / "entsoe.csv", ['"Time (UTC)","Load [MW]"', *rows])
    code, task, summary, said = checked(path, "--missing", "mask")
    assert (code, task, summary["step"], summary["missing cells"]) == (0, "forecast", "h", 1)
    assert "cells of n/e in columns Load [MW] are missing" in said and "each is its start" in said
    assert checked(path)[:2] == (1, "forecast")


def test_a_blank_part_of_a_name_is_a_part(tmp_path):
    names = [",Aland", "North,Borduria", "South,Borduria", ",Syldavia"]
    header = ",".join(["Province/State,Country/Region,Lat", *(f"{day.month}/{day.day}/{day:%y}" for day in days())])
    rows = [f"{name},{place + 0.25},{','.join(map(str, level(seed=place)))}" for place, name in enumerate(names)]
    code, task, summary, _ = checked(written(tmp_path / "cases.csv", [header, *rows]))
    assert (code, task, summary["rows"]) == (0, "forecast", COUNT)
    assert summary["names"] == "/Aland, North/Borduria, South/Borduria, /Syldavia"


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_names_of_merged_cells_hold_below_them(ending, tmp_path):
    shops = {"Leeds": 0, "York": 1, "Hull": 2}
    frame = pd.concat(
        pd.DataFrame({"Store": [shop, *[None] * 99], "Week": days(100, "W-MON"), "Sales": level(100, seed=seed)})
        for shop, seed in shops.items()
    )
    path = tmp_path / f"sales.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_excel(path, index=False)
    code, task, summary, said = checked(path)
    assert (code, task, summary["names"], summary["rows"]) == (0, "forecast", "Leeds, York, Hull", 100)
    assert "stand in the first of their rows" in said


def test_flags_behind_numbers_are_left_out(tmp_path):
    lands = {"A,PC,AT": "58.7 b", "A,PC,BE": "60.1 p", "A,PC,DE": "61.5"}
    header = "\t".join(["freq,unit,geo\\TIME_PERIOD", *(f"{year} " for year in range(1995, 2024))])
    rows = [
        "\t".join([name, *(f"{value} " for value in level(28, 9, len(cell))), cell]) for name, cell in lands.items()
    ]
    code, task, summary, said = checked(written(tmp_path / "eurostat.tsv", [header, *rows]))
    assert (code, task, summary["rows"], summary["to"]) == (0, "forecast", 29, "2023")
    assert summary["step"] == "year"
    assert "letters behind numbers (b, p) in columns 2023 are flags and left out" in said


def test_years_and_months_without_a_header_are_times(tmp_path):
    rows = [
        f"{1950 + row // 12};{row % 12 + 1:02d};{1950 + row / 12 + 0.042:.3f}; {value:5.1f};  7"
        for row, value in enumerate(level(600, 132))
    ]
    code, task, summary, said = checked(written(tmp_path / "sunspots.csv", rows))
    assert (code, task, summary["step"], summary["season"], summary["names"]) == (0, "forecast", "MS", 12, "3, 4")
    assert (summary["from"], summary["to"]) == ("1950-01-01 00:00:00", "1999-12-01 00:00:00")
    assert "2: the years once more" in said


def test_annotations_of_influx_and_further_headers_are_left_out(tmp_path):
    above = [
        "#group,false,false,true,true,false,false,true",
        "#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,double,string",
        "#default,mean,,,,,,",
        ",result,table,_start,_stop,_time,_value,host",
    ]
    blocks = [
        [f",,{place},{days()[0]:%Y-%m-%dT00:00:00Z},{days()[-1]:%Y-%m-%dT00:00:00Z},{time:%Y-%m-%dT%H:%M:%SZ},{value},{host}"
         for time, value in zip(days(step="10min"), level(season=144, seed=place), strict=True)]
        for place, host in enumerate(["web1", "web2"])
    ]  # fmt: skip
    path = written(tmp_path / "influx.csv", [*above, *blocks[0], "", *above, *blocks[1]])
    code, task, summary, said = checked(path)
    assert (code, task, summary["names"], summary["step"]) == (0, "forecast", "web1, web2", "10min")
    assert "lines 1 to 3 stand above the header" in said and "say the header once more" in said


def test_days_of_excel_are_dates(tmp_path):
    path = written(tmp_path / "serial.csv", ["Date,Sales", *(f"{45292 + row},{y}" for row, y in enumerate(level()))])
    code, task, summary, said = checked(path)
    assert (code, task, summary["step"], summary["season"]) == (0, "forecast", "D", 7)
    assert summary["from"] == "2024-01-01 00:00:00" and "in days of Excel since 1900" in said
    counted = written(tmp_path / "n.csv", ["n,sales", *(f"{45292 + row},{y}" for row, y in enumerate(level()))])
    assert checked(counted)[2]["step"] == "row"


def test_stamps_some_seconds_off_are_rounded_to_their_step(tmp_path):
    times = days(step="10min") + pd.to_timedelta(DRAW.integers(-9, 10, COUNT), unit="s")
    rows = [f"{time:%Y-%m-%d %H:%M:%S},{value}" for time, value in zip(times, level(season=144), strict=True)]
    code, task, summary, said = checked(written(tmp_path / "loose.csv", ["timestamp,temp", *rows]))
    assert (code, task, summary["step"], summary["missing cells"]) == (0, "forecast", "10min", 0)
    assert summary["from"] == "2022-01-03 00:00:00" and "are rounded to it" in said


def test_the_thirtieth_of_each_month_is_a_step(tmp_path):
    months = [
        f"{2015 + row // 12}-{row % 12 + 1:02d}-{28 + (row in (13, 61)) if row % 12 == 1 else 30}" for row in range(66)
    ]
    rows = [f"{month},{value}" for month, value in zip(months, level(66, 12), strict=True)]
    code, _, summary, _ = checked(written(tmp_path / "months.csv", ["ds,y", *rows]))
    assert (code, summary["step"], summary["season"], summary["missing cells"]) == (0, "MS 30", 12, 0)


def test_a_unit_of_epochs_may_change(tmp_path):
    seconds = days().as_unit("s").asi8
    cells = [str(each * (1_000 if row < 100 else 1_000_000)) for row, each in enumerate(seconds)]
    rows = [f"{cell},{value}" for cell, value in zip(cells, level(), strict=True)]
    code, _, summary, said = checked(written(tmp_path / "coin.csv", ["open_time,close", *rows]))
    assert (code, summary["step"], summary["from"]) == (0, "D", "2022-01-03 00:00:00")
    assert "in ms and us since 1970" in said


def test_rows_of_even_times_without_names_are_a_question(tmp_path):
    rows = [f"{day:%Y-%m-%d},{value}" for day in days(60) for value in DRAW.normal(size=3).round(2)]
    path = written(tmp_path / "panel.csv", ["date,sales", *rows])
    code, task, _, said = checked(path)
    assert (code, task) == (1, "tabular") and "each time of 'date' has 3 rows" in said
    assert "--task forecast --set read.id_column=NAME" in said and checked(path, "--task", "tabular")[0] == 0


def test_times_of_an_unknown_form_are_a_question(tmp_path):
    values = np.linspace(0, 9, 300).round(3)
    rows = [f"day {row % 28 + 1} of {row // 28 + 1}/22,{value}" for row, value in enumerate(values)]
    code, _, _, said = checked(written(tmp_path / "odd.csv", ["when,load", *rows]))
    assert code == 1 and "'when' may hold times that are not understood, such as day 1 of 1/22" in said


def test_marks_found_in_series_and_tables_are_refused_until_told(tmp_path):
    gas = level(400) / 100
    gas[::9] = -200
    rows = [f"{day:%Y-%m-%d},{value}" for day, value in zip(days(400), gas, strict=True)]
    path = written(tmp_path / "gas.csv", ["date,co", *rows])
    code, *_, said = checked(path)
    assert code == 1 and "-200 stands apart from all other numbers, 45 times over" in said
    assert checked(path, "--set", "read.sentinels=[-200]", "--missing", "mask")[2]["missing cells"] == 45
    assert checked(path, "--set", "read.sentinels=[]")[0] == 0
    lines = [f"{value},{DRAW.normal():.3f},{DRAW.choice(['a', 'b'])}" for value in gas]
    table = written(tmp_path / "table.csv", ["co,x,class", *lines])
    code, *_, said = checked(table, "--target", "class")
    assert code == 1 and "column 'co', 45 cells" not in said and "-200 stands apart" in said
    assert checked(table, "--target", "class", "--set", "read.sentinels=[-200]")[2]["missing cells"] == 45


def arrays(path, *, has_time_last):
    classes = np.array(["a", "b"] * 30)
    steps = np.sin(np.arange(80) / np.where(classes == "a", 3.0, 5.0)[:, None])
    x = np.stack([steps, DRAW.normal(size=steps.shape), -steps], axis=1)
    np.savez(path, X=x if has_time_last else x.swapaxes(1, 2), y=classes)
    return path


def test_the_longer_axis_of_arrays_is_time(tmp_path):
    last, first = (arrays(tmp_path / f"{last}.npz", has_time_last=last) for last in (True, False))
    (code, task, summary, said), (_, _, other, _) = checked(last), checked(first)
    assert (code, task, summary["steps"]) == (
        0,
        "series",
        "80",
    ) and "the last axis of X is longer, so it is time" in said
    assert summary == other
    assert checked(last, "--set", "read.time_axis=1")[2]["steps"] == "3"


def market(path, days):
    rows = [(ticker, str(day), *[f"{place + 10 + np.sin(row + place):.3f}"] * 5, 900)
            for place, ticker in enumerate(["BTC", "ETH", "SOL"]) for row, day in enumerate(days)]  # fmt: skip
    rows[5] = (*rows[4][:1], rows[5][1], *rows[4][2:7], 0)  # suspended
    write_prices(path, rows)
    return path


def test_a_market_without_weekends_goes_on_the_next_day(tmp_path):
    every = np.arange("2022-01-01", "2023-02-05", dtype="datetime64[D]")
    code, task, summary, said = checked(market(tmp_path / "coins.csv", every), "--texts", "none")
    assert (code, task, summary["next session"]) == (0, "stocks", "2023-02-05") and "no weekends" in said
    assert "1 rows are without trade, at the price of the day before, and have no label" in said
    working = every[np.is_busday(every)]
    summary, said = checked(market(tmp_path / "stocks.csv", working), "--texts", "none")[2:]
    assert summary["next session"] == "2023-02-06" and "no weekends" not in said


def scan_series(folder, shift=0.0, without=None):
    folder.mkdir(parents=True)
    for place in range(9):
        if place != without:
            data = dicom_slice(voxels((8, 8), place), 2.0 * place, f"1.2.{len(folder.name)}{ord(folder.name[-1])}")
            data.ImagePositionPatient = [-10.0, 20.0 + shift * place, 2.0 * place]
            dicom(folder / f"{place}.dcm", data)


@pytest.mark.parametrize(
    ("odd", "said"),
    [({"without": 4}, "1 missing: 4 mm between 3.dcm and 5.dcm"), ({"shift": 0.72}, "sheared by 19.8 degrees")],
)
def test_scans_with_a_flaw_are_scans(odd, said, tmp_path):
    for case in range(6):
        scan_series(tmp_path / f"c{case}", **(odd if case == 3 else {}))
    path = written(tmp_path / "scans.csv", ["path,label", *(f"c{case},{'ab'[case % 2]}" for case in range(6))])
    code, task, _, found = checked(path)
    assert (code, task) == (1, "volumes") and found.count(said) == 1


def test_labels_that_scaling_moved_are_rounded(tmp_path):
    for case in range(6):
        labels = (voxels((9, 9, 9), case) > 300).astype(np.float32)
        nifti(tmp_path / f"i{case}.nii", voxels((9, 9, 9), case))
        nifti(tmp_path / f"m{case}.nii", labels * np.float32(1.0000153))
    path = written(tmp_path / "scans.csv", ["path,mask", *(f"i{case}.nii,m{case}.nii" for case in range(6))])
    code, task, summary, said = checked(path)
    assert (code, task) == (0, "segment") and "labels of masks lie within 0.001 of whole numbers" in said
    assert summary["masks"] == "6, values 0, 1"
