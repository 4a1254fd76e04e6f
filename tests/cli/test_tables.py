"""Tables in and out of the command: no formulas, Excel, packed files, and the clocks of the input."""

import csv
import gzip

import numpy as np
import openpyxl
import pandas as pd
import pytest

from command import assert_one_line, call, printed
from multiway.data.writing import write_table

TRAIN = ("--horizon", "3", "--lookback", "7", "--set", "network=false")
SERIES = ("=cmd|'/C calc'!A0", "-b", "+c", "@d")


def series(times):
    """Four series whose names a spreadsheet would run."""
    rows = np.arange(len(times))
    return pd.DataFrame({"ds": times, **{name: np.sin(rows + place) - 2 for place, name in enumerate(SERIES)}})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on hours of Berlin over a change of clocks."""
    folder = tmp_path_factory.mktemp("run")
    times = pd.date_range("2024-03-28", periods=150, freq="h", tz="Europe/Berlin")
    series(times[:-3]).to_csv(folder / "load.csv", index=False)
    printed("train", "forecast", "--data", folder / "load.csv", "--out", folder / "run", *TRAIN)
    return folder / "run", times[-3:]


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_no_cell_of_a_forecast_is_run(run, layout, tmp_path):
    for out in (tmp_path / "next.csv", None):
        text = printed("predict", run[0], "--layout", layout, *(("--out", out) if out else ()))
        rows = list(csv.reader((out.read_text() if out else text).splitlines()))
        cells = [cell for row in rows for cell in row]
        assert not [cell for cell in cells if cell[:1] in ("=", "@", "+") or cell.startswith(("-b", "-c"))]
        assert f"'{SERIES[0]}" in cells and any(cell.startswith("-1.") or cell.startswith("-2.") for cell in cells)


def test_raw_leaves_names_as_they_are(run, tmp_path):
    out = tmp_path / "next.csv"
    printed("predict", run[0], "--out", out, "--raw")
    assert pd.read_csv(out)["unique_id"].drop_duplicates().tolist() == list(SERIES)
    assert "\n=cmd" in printed("predict", run[0], "--raw")


def test_raw_reaches_the_tables_of_a_backtest(run, tmp_path):
    for words, names in (((), {f"'{name}" for name in SERIES}), (("--raw",), set(SERIES))):
        printed("backtest", run[0], "--cutoffs", "2", "--out", tmp_path / "past.csv", "--overwrite", *words)
        assert set(pd.read_csv(tmp_path / "past.csv")["unique_id"]) == names


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "xlsx"])
def test_a_forecast_in_any_form_can_be_rechecked(run, ending, tmp_path):
    out = tmp_path / f"next.{ending}"
    printed("predict", run[0], "--layout", "wide", "--out", out)
    said = printed("check", out, "--task", "forecast")
    assert "=cmd|'/C calc'!A0, =cmd|'/C calc'!A0-lo-80" in said and "The file can be used as it is." in said


def test_times_have_the_offsets_of_the_input(run, tmp_path):
    out = tmp_path / "next.csv"
    printed("predict", run[0], "--layout", "wide", "--out", out)
    assert pd.read_csv(out)["ds"].tolist() == [str(time) for time in run[1]]
    assert str(run[1][0]).endswith("+02:00")


def test_a_run_learns_from_excel_and_writes_it(tmp_path):
    times = pd.date_range("2024-01-01", periods=60)
    write_table(series(times), tmp_path / "load.xlsx")
    printed("train", "forecast", "--data", tmp_path / "load.xlsx", "--out", tmp_path / "run", *TRAIN)
    printed("predict", tmp_path / "run", "--data", tmp_path / "load.xlsx", "--out", tmp_path / "next.xlsx")
    rows = list(openpyxl.load_workbook(tmp_path / "next.xlsx").active.values)
    assert rows[0][:3] == ("unique_id", "ds", "multiway") and rows[1][0] == f"'{SERIES[0]}"
    assert isinstance(rows[1][2], float) and rows[1][1] == pd.Timestamp("2024-03-01")


@pytest.mark.parametrize("task", ["forecast", "tabular", "stocks"])
def test_a_packed_table_that_unfolds_to_too_much_is_one_line(task, tmp_path, monkeypatch, capsys):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"ticker,date,close\n" + b"A,2024-01-01,1\n" * 50_000))
    words = ["train", task, "--data", str(path), "--out", str(tmp_path / "run"), "--set", "read.max_bytes=100000"]
    own = {"forecast": ["--horizon", "2"], "tabular": ["--target", "close"], "stocks": []}[task]
    text = "it unpacks to more than 100,000 bytes. Raise max_bytes if that is meant (--set read.max_bytes=400000)"
    assert_one_line(call([*words, *own], monkeypatch, capsys), text)


@pytest.mark.parametrize("name", ["brain.mgz", "brain.mnc", "DICOMDIR"])
def test_a_check_says_what_a_foreign_scan_is(name, tmp_path, monkeypatch, capsys):
    (tmp_path / name).write_bytes(gzip.compress(bytes(100)))
    code, out, err = call(["check", str(tmp_path / name)], monkeypatch, capsys)
    assert (code, err) == (1, "") and "which is not read" in out and "text" not in out
