"""`--json` and `--quiet`: one document on stdout, and nothing on stderr but warnings and errors."""

import datetime
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command import assert_one_line, call
from multiway.cli import show
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.task import TASK
from tasks.forecasting.panels import make_config, make_frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    make_frame().to_csv(place / "loads.csv", index=False)
    lifecycle.start(TASK, make_config(data=str(place / "loads.csv"), answer="network"), place / "run")
    (place / "cells.jsonl").write_text('{"recipe": "hot-exchange-96", "mse": 0.08}')
    return place


def document(words, monkeypatch, capsys, code=0):
    """The one document that a command prints."""
    found, out, err = call([*words, "--json"], monkeypatch, capsys)
    assert found == code, err
    assert "NaN" not in out and "Infinity" not in out
    return json.loads(out), err


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ("evaluate run", {"model", "mse", "mae"}),
        ("evaluate run --data loads.csv", {"model", "mse", "mae"}),
        ("compare run run", {"run", "model", "mse"}),
        ("recipes hot-exchange-*", {"recipe", "table", "row", "source"}),
        ("published", {"table", "source", "methods", "title"}),
        ("data list", {"name", "holds", "licence", "path"}),
    ],
)
def test_a_table_is_a_list_of_rows_with_the_same_keys(words, keys, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    rows, _ = document(words.split(), monkeypatch, capsys)
    assert keys <= set(rows[0]) and all(list(row) == list(rows[0]) for row in rows)


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ("check loads.csv", {"usable", "task", "source", "summary", "missing", "findings", "train", "others"}),
        ("predict run", {"answer", "rows", "files", "notes"}),
        ("backtest run --data loads.csv --cutoffs 2", {"answer", "rows", "files", "notes"}),
        ("anomalies run --data loads.csv", {"answer", "rows", "files", "notes"}),
        ("explain run", {"answer", "rows", "files", "notes"}),
        ("report run", {"file"}),
        ("published hot-table-1", {"table", "title", "source", "rows", "slips", "notes"}),
        ("reproduce hot-table-1 --from cells.jsonl", {"measured", "published"}),
        (
            "compress run --rule blocks.*(gate_up|down)=tt:rank=2 --dry-run",
            {
                "layers", "refused", "left", "parameters_before", "parameters_after", "output_error",
                "output_error_quartiles", "seconds_before", "seconds_after", "speed", "speed_low", "speed_high",
                "advice", "folder", "scores",
            },
        ),
    ],
)  # fmt: skip
def test_other_answers_are_mappings(words, keys, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    found, _ = document(words.split(), monkeypatch, capsys)
    assert set(found) == keys


def test_rows_of_a_forecast_hold_times_as_text_and_numbers_as_they_are(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    found, _ = document(["predict", "run"], monkeypatch, capsys)
    row = found["rows"][0]
    assert datetime.datetime.fromisoformat(row["date"]).year == 2024 and isinstance(row["multiway"], float)


def test_an_audit_that_finds_a_leak_is_a_document_and_exits_with_1(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    words = "audit forecast --data loads.csv --lookback 12 --horizon 4 --set split.protocol=leaky_random_windows"
    found, _ = document(words.split(), monkeypatch, capsys, code=1)
    assert found["leaks"] is True and found["findings"]


def test_an_error_leaves_stdout_empty(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert_one_line(call(["evaluate", "absent", "--json"], monkeypatch, capsys), "absent is not a run folder")


def test_training_prints_one_document_and_quietly_nothing_else(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    words = "train forecast --data loads.csv --horizon 4 --lookback 12 --epochs 1 --set model.dim=8 --out".split()
    found, err = document([*words, "loud"], monkeypatch, capsys)
    assert found["runs"][0]["folder"] == "loud" and found["scores"][0]["model"] == "multiway" and "epoch" in err
    repeated, err = document([*words, "quiet", "--quiet"], monkeypatch, capsys)
    assert repeated["scores"] == found["scores"] and err == ""


def test_values_that_json_has_no_word_for():
    row = {
        "nan": math.nan,
        "inf": -math.inf,
        "number": np.float32(0.5),
        "count": np.int64(3),
        "array": np.array([1.0, math.nan]),
        "time": pd.Timestamp("2024-01-02"),
        "none": pd.NaT,
        "path": Path("a/b"),
        "flag": np.bool_(True),
    }
    assert show.plain_values(row) == {
        "nan": None,
        "inf": None,
        "number": 0.5,
        "count": 3,
        "array": [1.0, None],
        "time": "2024-01-02T00:00:00",
        "none": None,
        "path": "a/b",
        "flag": True,
    }


def test_rows_get_the_same_keys():
    assert show.uniform([{"a": 1}, {"b": 2}]) == [{"a": 1, "b": None}, {"a": None, "b": 2}]
