"""The benchmark files, where they are: what they hold, and that their flaws pass through under a policy."""

import gzip
import hashlib
import time

import numpy as np
import pandas as pd
import pytest

from multiway.data import ReadOptions
from multiway.data.catalogue import entries
from multiway.tasks.forecasting.calendar import season_of
from multiway.tasks.forecasting.config import SplitOptions
from multiway.tasks.forecasting.read import check_file, read_panel
from multiway.tasks.forecasting.splitting import borders_of
from multiway.tasks.forecasting.windows import split_windows
from multiway.tasks.known import settings_for

FILES = {
    "ett_h1": ("ETTh1.csv", (17_420, 7), "h", 24, (8449, 2785, 2785)),
    "ett_h2": ("ETTh2.csv", (17_420, 7), "h", 24, (8449, 2785, 2785)),
    "ett_m1": ("ETTm1.parquet", (69_680, 7), "15min", 96, (34369, 11425, 11425)),
    "weather": ("weather.csv.gz", (52_696, 21), "10min", 144, (36696, 5175, 10444)),
    "exchange": ("exchange_rate.csv", (7_588, 8), "D", 7, (5120, 665, 1422)),
}


def unpacked(path):
    """The bytes of the official file, which a hash is pinned of."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_a_benchmark_file_as_published(name, real_data):
    file, shape, frequency, season, counts = FILES[name]
    path, known = real_data / "forecasting" / file, entries()[name]
    start = time.process_time()
    panel = read_panel(path, ReadOptions.parse(settings_for(name)["read"]))
    assert time.process_time() - start < 2
    assert (panel.values.shape, panel.frequency, season_of(panel.frequency)) == (shape, frequency, season)
    assert known.size == shape
    assert known.known_hash in (None, f"sha256:{hashlib.sha256(unpacked(path)).hexdigest()}")
    windows = split_windows(panel.values, borders_of(panel, SplitOptions.parse(settings_for(name)["split"])), 96, 96)
    assert tuple(map(len, windows.values())) == counts


def test_numbers_are_those_of_pythons_own_float(real_data):
    path = real_data / "forecasting" / "weather.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split(",")[1:] for line in file][1:]
    panel = read_panel(path, ReadOptions.parse(settings_for("weather")["read"]))
    assert np.array_equal(panel.values, np.array(rows, dtype=object).astype(np.float64))


def test_every_flaw_of_weather_is_counted(real_data):
    report = check_file(real_data / "forecasting" / "weather.csv.gz")
    found = {finding.kind: finding for finding in report.findings}
    assert not report.is_usable
    assert (report.summary["rows"], report.summary["variates"]) == (52_696, 21)
    assert found["sentinel"].count == 81
    assert (found["sentinel"].places[0].row, found["sentinel"].places[0].column) == (7246, "OT")
    assert (found["duplicates"].count, found["duplicates"].places[0].row) == (1, 19046)
    assert found["gaps"].count == 1
    assert found["gaps"].places[0].detail == "2020-05-29 09:40:00 to 2020-05-29 11:00:00 (9 steps)"
    # This copy is UTF-8 in form, but its degree and micro signs had been replaced before it was written.
    assert "5 characters were lost to a wrong encoding" in found["encoding"].line()
    assert report.missing == {"wv (m/s)": 1, "max. PAR (�mol/m�/s)": 30, "OT": 50}
    assert set(found) == {"sentinel", "duplicates", "gaps", "encoding", "layout"}


def test_weather_under_a_users_policy(real_data):
    options = ReadOptions(missing="mask", duplicates="first", gaps="fill")
    panel = read_panel(real_data / "forecasting" / "weather.csv.gz", options)
    assert panel.values.shape == (366 * 144, 21)
    assert int(np.isnan(panel.values).sum()) == 81 + 9 * 21
    assert (np.diff(panel.times) == pd.Timedelta(minutes=10)).all()
    assert any("1 row repeats a time (duplicates=first): line 19046" in note for note in panel.notes)
