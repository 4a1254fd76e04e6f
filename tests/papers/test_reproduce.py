"""A row of results: the figure of a recipe with its baselines, and the published table below."""

import hashlib
import json
import statistics
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from command import printed
from multiway import workflows
from multiway.tasks.scores import score_of
from multiway.workflows.recipe import load_recipe
from multiway_papers.cell_rows import cell_row, sha256_of_data


def test_a_row_holds_the_mean_over_seeds_with_ridge_and_naive(tmp_path):
    values = np.random.default_rng(0).normal(size=(90, 2)).cumsum(0)
    days = pd.date_range("2024-01-01", periods=90)
    pd.DataFrame({"date": days, "a": values[:, 0], "b": values[:, 1]}).to_csv(tmp_path / "good.csv", index=False)
    given = {"data": str(tmp_path / "good.csv"), "horizon": 2, "lookback": 4, "network": False, "levels": [80]}
    runs = workflows.train(given, out=tmp_path / "run", seeds=2).runs
    row = cell_row("floor-etth1-96", load_recipe("floor-etth1-96"), runs, 2)
    for prefix, model in (("", "multiway"), ("ridge_", "ridge"), ("naive_", "naive")):
        for metric in ("mse", "mae"):
            values = [score_of(run, model, metric)["value"] for run in runs]
            assert row[prefix + metric] == pytest.approx(statistics.fmean(values))
    assert row["naive_mse"] != row["ridge_mse"]
    read = hashlib.sha256((tmp_path / "good.csv").read_bytes()).hexdigest()
    assert row["environment"]["data_sha256"] == read != runs[0].digest


def test_a_folder_of_data_is_named_by_its_files(tmp_path):
    folders = []
    for name, more in (("one", b"c"), ("two", b"c"), ("three", b"d")):
        (tmp_path / name / "below").mkdir(parents=True)
        (tmp_path / name / "a.csv").write_bytes(b"b")
        (tmp_path / name / "below" / "a.csv").write_bytes(more)
        folders.append(tmp_path / name)

    def run_of(data):
        return SimpleNamespace(config=SimpleNamespace(data=data), task=SimpleNamespace(locate=str))

    first, copy, changed = (sha256_of_data(run_of(folder)) for folder in folders)
    expected = "".join(
        f"{name} {hashlib.sha256(data).hexdigest()}\n" for name, data in (("a.csv", b"b"), ("below/a.csv", b"c"))
    )
    assert first == copy == hashlib.sha256(expected.encode()).hexdigest() != changed
    (folders[1] / "a.csv").rename(folders[1] / "b.csv")
    assert sha256_of_data(run_of(folders[1])) != first and sha256_of_data(run_of(None)) is None


def test_a_published_table_is_printed_with_its_slips_and_notes():
    lines = printed("published", "hot-table-1").splitlines()
    assert lines[0] == "HOT, table 1: Forecasts, mean over the four horizons"
    assert lines[2].split()[:6] == ["method", "year", "parameters", "complexity", "ecl", "mse"]
    assert lines[3].split()[:5] == ["AutoFormer", "2021", "15M", "-", "0.2270"] and len(lines[3].split()) == 14
    assert "Figures that other figures of the paper contradict:" in lines
    assert "Stationary    solar mae      0.3810   0.2780" in lines and "table 12" in lines[-2]


def test_a_figure_without_values_prints_what_is_known():
    assert "has the caption alone" in printed("published", "hot-figure-3")


def test_measured_cells_are_followed_by_every_published_method(tmp_path):
    cell = {"recipe": "hot-exchange-96", "row": "exchange", "mse": 0.08, "mse_sd": 0.002, "parameters": {"multiway": 9}}
    (tmp_path / "cells.jsonl").write_text(json.dumps(cell))
    words = ["reproduce", "hot-table-1", "--from", tmp_path / "cells.jsonl", "--report", tmp_path / "page.html"]
    lines = printed(*words).splitlines()
    assert lines[1].split() == ["hot-exchange-96", "exchange", "0.0800", "0.0020", "9"] and lines[2] == ""
    assert len(lines) == 4 + 13 and lines[-2].split() == ["HOT", "-", "96", "0.0830", "0.0050", "0.2020", "0.0050"]
    assert lines[-1].split() == ["multiway,", "paper", "-", "96", "0.0800", "0.0020", "-", "-"]
    assert "Horizon 96" in (tmp_path / "page.html").read_text()
