"""Grids that are read by blocks of times, beside the same in memory."""

import pickle

import numpy as np
import pytest

import multiway
from command import printed
from multiway.tasks.grids import cube, encode, fields, floors, model, task
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.encode import read_sound
from multiway.tasks.grids.fields import Fields, Stored, in_blocks, thin
from multiway.tasks.run import load
from tasks.grids.fields import make_field, months
from tolerances import LONG32, LONG64, ROUNDING64, assert_near

SMALL = 15 * 11
"""Values of a block: eleven fields of fifteen cells."""


@pytest.fixture
def values():
    """`(times, 15)`, some missing, as float32 has them."""
    whole = make_field(97).reshape(97, -1).astype(np.float32).astype(np.float64)
    whole[np.random.default_rng(3).random(whole.shape) < 0.1] = np.nan
    return whole


@pytest.fixture
def in_small_blocks(monkeypatch):
    for each in (cube, fields, model, task):
        monkeypatch.setattr(each, "BLOCK", SMALL)


@pytest.mark.parametrize("chunk", [0, 5, 13])
def test_fields_of_a_store_are_indexed_as_an_array_and_read_once(values, in_small_blocks, monkeypatch, chunk):
    monkeypatch.setattr(fields, "KEPT", 97 * 15 * 2)
    seen = []

    def read(rows):
        seen.append(rows.start)
        return values[rows]

    stored = Stored(read, values.shape, chunk)
    for rows in (slice(None), slice(-7, None), slice(3, 60, 4), np.array([96, 0, 50, 50])):
        np.testing.assert_array_equal(stored[rows], values[rows])
    assert len(stored) == 97 and stored.length == (min(chunk, 11) or 11)
    assert sorted(seen) == list(range(0, 97, stored.length))


def test_slabs_that_were_not_used_lately_are_forgotten(values, in_small_blocks, monkeypatch):
    monkeypatch.setattr(fields, "KEPT", 3 * SMALL)
    stored = Stored(lambda rows: values[rows], values.shape, 0)
    for block in in_blocks(stored):
        assert len(block[2]) == 11 or block[0] == 88
    assert stored.slab.cache_info().currsize == 3


def test_floors_learnt_by_blocks_are_those_of_all_values(values, monkeypatch):
    weights, places = np.random.default_rng(1).random(15), np.arange(101) % 12
    weights /= weights.sum()
    how = {"period": 12, "horizon": 3, "modes": 8}
    whole = floors.fit_floors(values, places[:97], weights, **how)
    monkeypatch.setattr(fields, "BLOCK", SMALL)
    parts = floors.fit_floors(Fields(values.__getitem__, values.shape), places[:97], weights, **how)
    assert_near(parts.climatology, whole.climatology, ROUNDING64)
    assert_near(parts.damping, whole.damping, ROUNDING64)
    signs = np.sign((parts.patterns * whole.patterns).sum(1))  # as many are carried on as there are cells: exact
    assert_near(parts.patterns * signs[:, None], whole.patterns, LONG64)
    assert_near(parts.maps * signs[:, None] * signs, whole.maps, LONG64)


def test_patterns_by_blocks_explain_nearly_as_much_as_those_of_all(monkeypatch):
    draw = np.random.default_rng(0)
    anomalies = draw.normal(size=(200, 6)) * 2.0 ** -np.arange(6) @ draw.normal(size=(6, 15)) + draw.normal(
        0, 0.1, (200, 15)
    )
    weights, best = np.ones(15) / 15, []
    for block in (1 << 22, SMALL):
        monkeypatch.setattr(fields, "BLOCK", block)
        found = floors.leading_patterns(anomalies, weights, 3)
        best.append((floors.amounts(anomalies, weights, found) ** 2).sum())
    assert 0.999 * best[0] < best[1] < best[0]


def test_a_value_is_carried_on_in_a_store_as_in_memory(values):
    later = floors.carry_later(values, 4)
    whole = floors.carry(values, 4)
    for rows in (np.arange(97), np.array([40, 41, 42, 3, 3, 96]), np.array([0])):
        np.testing.assert_array_equal(later[rows], whole[rows])


def test_rows_are_thinned_evenly_to_the_last():
    rows = np.arange(5, 100)
    assert thin(rows, 200) is rows and thin(rows, 1).tolist() == [5]
    few = thin(rows, 7)
    assert len(few) == 7 and few[-1] == 99 and np.ptp(np.diff(few)) <= 1


def write_nc(path):
    """A field as NetCDF, its values as float32 has them."""
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    dates = months(97).astype("datetime64[ns]")
    places = {"time": dates, "lat": [-40.0, 0.0, 50.0], "lon": np.arange(5.0)}
    field = xarray.DataArray(make_field(97).astype(np.float32), places, ("time", "lat", "lon"), "sst", {"units": "K"})
    field.to_netcdf(path, engine="scipy")
    return path


def test_a_run_on_a_store_is_that_on_an_array(tmp_path, in_small_blocks, monkeypatch):
    path = write_nc(tmp_path / "sst.nc")
    network = ("--set", "model.patch_size=2", "--set", "model.dim=8", "--set", "model.num_heads=2")
    how = ("--horizon", 2, "--context", 5, "--model", "hot_grid_forecaster", *network, "--set", "budget=null")
    how += ("--set", "training.epochs=1", "--set", "training.learning_rate=0.01")
    runs = {}
    monkeypatch.setattr(encode, "FEW_FOLDS", encode.FOLDS)
    for name, most in (("stored", SMALL), ("whole", 1 << 22)):
        monkeypatch.setattr(cube, "BLOCK", most)
        run, out = tmp_path / name, tmp_path / f"{name}.npz"
        printed("train", "grids", "--data", path, *how, "--out", run)
        printed("predict", run, "--data", path, "--levels", "80", "--out", out)
        for command in ("evaluate", "backtest", "audit"):
            printed(command, run)
        runs[name] = load(run), np.load(out)["sst"]
        assert isinstance(read_sound(GridConfig(), path)[0].values, Stored) == (name == "stored")
    (stored, fields_of_store), (whole, fields_of_whole) = runs.values()
    is_land = np.isnan(fields_of_whole)
    np.testing.assert_array_equal(np.isnan(fields_of_store), is_land)
    assert_near(fields_of_store[~is_land], fields_of_whole[~is_land], LONG32)
    pairs = zip(stored.scores, whole.scores, strict=True)
    assert all(one["value"] == pytest.approx(other["value"], rel=1e-5) for one, other in pairs)


def test_a_forecaster_of_a_store_is_pickled_without_its_values(tmp_path, in_small_blocks):
    path = write_nc(tmp_path / "sst.nc")
    forecaster = multiway.GridForecaster(2, context=5, model="none").fit(path)
    loaded = pickle.loads(pickle.dumps(forecaster))
    np.testing.assert_array_equal(loaded.predict(), forecaster.predict())


def test_a_check_says_how_a_store_is_read(tmp_path, in_small_blocks):
    found = printed("check", write_nc(tmp_path / "sst.nc"))
    assert "memory: 0.0 MB, read by 11 times" in found and "cells without values: 1 (6.7%)" in found
