"""A folder of parts: read as one table, and by two processes that hold its series between them."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from command import outcome, printed
from multiway.models.weighed_forecasts import InGroups
from multiway.tasks.forecasting.processes import deal_series
from multiway.tasks.forecasting.read import read_panel
from multiway.tasks.forecasting.windows import Groups, Windows
from tasks.forecasting.panels import make_frame
from tasks.two_processes import started
from tolerances import LONG32, ROUNDING64, SUMS32

LIMIT = 60
SIZES = {
    "horizon": 3, "lookback": 5, "season": 5, "group": 2, "network": True, "answer": "network", "partner": "none",
    "refit": "all",
}  # fmt: skip
NETWORK = {"dim": 8, "num_blocks": 1, "num_heads": 2, "patch_length": 5, "dropout": 0}
TRAINING = {"epochs": 1, "batch_size": 64, "checkpoint_seconds": 1e9}


def write_parts(folder, series=7, rows=131):
    """Parts of a long table whose row groups end within series; the last one begins later, the first ends earlier."""
    wide = make_frame(rows, 5).set_index("date")
    spans = {0: slice(None, -11), series - 1: slice(23, None)}
    frames = [
        pd.DataFrame({"unique_id": f"s{number}", "ds": wide.index, "y": wide.iloc[:, number % 5] + number})[
            spans.get(number, slice(None))
        ]
        for number in range(series)
    ]
    folder.mkdir()
    whole = pd.concat(frames, ignore_index=True)
    for number, rows in enumerate(np.array_split(np.arange(len(whole)), 3)):
        whole.iloc[rows].to_parquet(folder / f"part-{number}.parquet", row_group_size=97, index=False)
    return whole


def words(data, out):
    sets = {**SIZES, "model": NETWORK, "training": TRAINING}
    return ["train", "forecast", "--data", str(data), "--out", str(out), "--quiet", *_sets(sets)]


def _sets(settings, prefix=""):
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _sets(value, f"{name}.")
        else:
            yield from ("--set", f"{prefix}{name}={json.dumps(value)}")


def weights(run):
    return load_file(run / "weights.safetensors")


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Runs of one process and of two on the same folder, and what the two said."""
    folder = tmp_path_factory.mktemp("sharing")
    write_parts(folder / "parts")
    children = [*started({name: words(folder / "parts", folder / name) for name in ("two", "sharded")}, folder)]
    printed(*words(folder / "parts", folder / "one"))
    for child in children:
        child.join(LIMIT)
        child.kill()
    return folder, "".join(path.read_text() for path in folder.glob("errors-*"))


def test_ridge_of_two_processes_is_that_of_one(both):
    folder, said = both
    assert (folder / "two" / "manifest.json").is_file(), said
    one, two = weights(folder / "one"), weights(folder / "two")
    assert one.keys() == two.keys()
    ridges = [name for name in one if name.endswith("ridge.weight")]
    assert len(ridges) == 3 and all(one[name].abs().max() > 0.01 for name in ridges)
    for name in ridges:
        assert float((one[name].double() - two[name].double()).abs().max()) <= ROUNDING64
    for name in one.keys() - {*ridges}:
        assert float((one[name].double() - two[name].double()).abs().max()) <= LONG32, name


def test_weights_that_lie_in_parts_are_those_of_one_process(both):
    folder, said = both
    assert (folder / "sharded" / "manifest.json").is_file(), said
    one, two = weights(folder / "one"), weights(folder / "sharded")
    assert one.keys() == two.keys()
    assert all(float((one[name].double() - two[name].double()).abs().max()) <= LONG32 for name in one)
    assert "lie in parts" in (folder / "sharded" / "preprocessing.json").read_text()


def test_scores_and_forecasts_of_two_processes_are_those_of_one(both):
    folder, _ = both
    one, two = (json.loads((folder / name / "scores.json").read_text()) for name in ("one", "two"))
    assert [{**row, "value": None} for row in one] == [{**row, "value": None} for row in two]
    known = [(a["value"], b["value"]) for a, b in zip(one, two, strict=True) if a["value"] is not None]
    np.testing.assert_allclose(*zip(*known, strict=True), rtol=LONG32)
    for table in ("errors", "predictions"):
        left, right = (pd.read_parquet(folder / name / f"{table}.parquet") for name in ("one", "two"))
        pd.testing.assert_frame_equal(left, right, rtol=LONG32)
    one, two = (json.loads((folder / name / "preprocessing.json").read_text()) for name in ("one", "two"))
    assert one["state"] == two["state"]
    assert {name: one["facts"][name] for name in ("variates", "missing_cells", "data_sha256", "splits")} == {
        name: two["facts"][name] for name in ("variates", "missing_cells", "data_sha256", "splits")
    }


def test_a_run_of_two_processes_forecasts_in_one(both):
    folder, _ = both
    printed("predict", folder / "two", "--data", folder / "parts", "--out", folder / "next.parquet")
    later, stored = pd.read_parquet(folder / "next.parquet"), pd.read_parquet(folder / "two" / "predictions.parquet")
    pd.testing.assert_frame_equal(later, stored, rtol=SUMS32)


def test_a_folder_is_read_as_the_table_of_its_parts(tmp_path):
    whole = write_parts(tmp_path / "parts")
    whole.to_parquet(tmp_path / "whole.parquet")
    parts, one = read_panel(tmp_path / "parts"), read_panel(tmp_path / "whole.parquet")
    assert parts.names == one.names and parts.times.equals(one.times)
    np.testing.assert_array_equal(parts.values, one.values)


def test_parts_with_other_columns_are_named(tmp_path):
    write_parts(tmp_path / "parts")
    pd.DataFrame({"unique_id": ["s1"], "ds": ["2024-01-01"]}).to_parquet(tmp_path / "parts" / "part-9.parquet")
    code, _, said = outcome("check", tmp_path / "parts", "--task", "forecast")
    assert code == 1 and "part-9.parquet" in said and "same columns" in said


def test_series_are_dealt_in_whole_groups_of_about_as_many_rows():
    assert deal_series(np.ones(7, int), 2, 2) == [0, 4, 7]
    assert deal_series(np.array([9, 1, 1, 1, 1, 1]), 2, 1) == [0, 1, 6]
    assert deal_series(np.array([1, 1, 1, 9]), 3, 1) == [0, 2, 3, 4]
    assert deal_series(np.ones(3, int), 2, 2) == [0, 2, 3]
    assert deal_series(np.ones(3, int), 2, 3) is None


class Mean(torch.nn.Module):
    """The mean over the series of a group of their last observed values, for each of its series."""

    def forward(self, past, observed=None):
        seen = torch.ones_like(past) if observed is None else observed.to(past.dtype)
        mean = (past * seen)[:, -1:].sum(2, keepdim=True) / seen[:, -1:].sum(2, keepdim=True)
        return mean.expand(-1, 3, past.shape[2])


def test_a_network_in_groups_sees_each_group_alone():
    past = torch.randn(3, 5, 7, dtype=torch.float64)
    forecast = InGroups(Mean(), 3)(past)
    for first in (0, 3, 6):
        own = past[:, -1:, first : first + 3].mean(2, keepdim=True)
        torch.testing.assert_close(forecast[:, :, first : first + 3], own.expand_as(forecast[:, :, first : first + 3]))


def test_samples_of_groups_are_windows_of_their_series():
    windows = Windows(torch.randn(23, 7), None, start=0, stop=23, lookback=5, horizon=2)
    groups = Groups(windows, 3)
    assert len(groups) == 3 * len(windows)
    index = torch.tensor([1, len(windows) + 4, 2 * len(windows)])
    batch, whole = groups.gather(index), windows.gather(torch.tensor([1, 4, 0]))
    for place, first in enumerate((0, 3, 6)):
        for part in ("past", "future"):
            own = whole[part][place, :, first : first + 3]
            torch.testing.assert_close(batch[part][place, :, : own.shape[1]], own, rtol=0, atol=0)
            assert bool(batch[f"{part}_observed"][place, :, : own.shape[1]].all())
            assert not bool(batch[f"{part}_observed"][place, :, own.shape[1] :].any())
