"""A run on a grid, from its data to the fields after them: scores are those of a slow count; no test row is seen."""

import json

import numpy as np
import pandas as pd
import pytest

import multiway
from command import outcome, printed
from multiway.errors import DataError, MultiwayWarning
from multiway.tasks import lifecycle
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.model import forecast_fields, shares_of
from multiway.tasks.grids.task import TASK, audit_grid
from multiway.tasks.protocol import OURS
from report_pages import Page
from tasks.grids.fields import LAND, LATITUDES, make_field, write_npz
from tolerances import LONG32

CONFIG = GridConfig(context=12, horizon=3, training={"epochs": 4})


def fitted_on(path, values, config=CONFIG, **more):
    return lifecycle.fit_in_memory(TASK, config, write_npz(path, values, **more))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_npz(tmp_path_factory.mktemp("grid") / "sst.npz", make_field(90))


@pytest.fixture(scope="module")
def run(path):
    return lifecycle.fit_in_memory(TASK, CONFIG, path)


def test_scores_are_area_weighted_errors_in_the_units_of_the_file(run):
    """Persistence and climatology of the test times, cell by cell; the latter of the times before them."""
    values, weights = make_field(90), np.cos(np.deg2rad(LATITUDES))
    for lead in (1, 2, 3):
        squares, total = dict.fromkeys(("persistence", "climatology", "season"), 0.0), 0.0
        for row in range(72, 90):
            for at in np.ndindex(3, 5):
                if at != LAND:
                    weight, truth = weights[at[0]], values[row][at]
                    usual = np.mean([values[each][at] for each in range(row % 12, 72, 12)])
                    found = {
                        "persistence": values[row - lead][at],
                        "climatology": usual,
                        "season": values[row - 12][at],
                    }
                    for name, said in found.items():
                        squares[name] += weight * (said - truth) ** 2
                    total += weight
        for name, square in squares.items():
            (row,) = [each for each in run.scores
                      if (each["model"], each["split"], each["metric"]) == (name, "test", f"rmse_{lead}")]  # fmt: skip
            assert row["value"] == pytest.approx(np.sqrt(square / total), rel=LONG32)


def test_the_answer_is_no_worse_on_validation_than_any_floor_and_its_weights_sum_to_one(run):
    shares = shares_of(run)
    assert shares.shape == (3, 6) and (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(1), 1, rtol=LONG32)
    errors = {(row["model"], row["split"]): row["value"] for row in run.scores if row["metric"] == "rmse"}
    best = min(value for (model, split), value in errors.items() if split == "validation" and model != OURS)
    assert errors[OURS, "validation"] <= best and run.answer.name == OURS and "RMSE" in run.line


def test_no_test_row_has_a_say_in_the_choice(tmp_path, run):
    values = make_field(90)
    values[72:] += 3 * np.random.default_rng(0).normal(size=(18, 1, 1))
    other = fitted_on(tmp_path / "other.npz", values)
    assert other.answer == run.answer
    for name, each in run.models[OURS].state_dict().items():
        np.testing.assert_array_equal(each, other.models[OURS].state_dict()[name])
    kept = [[row for row in each.scores if row["split"] == "validation"] for each in (run, other)]
    assert kept[0] == kept[1] and run.scores != other.scores


def test_validation_is_scored_by_what_was_learnt_before_it(tmp_path, run):
    values = make_field(90)
    values[63:72] += 3 * np.random.default_rng(0).normal(size=(9, 1, 1))
    other = fitted_on(tmp_path / "other.npz", values)
    usual = np.stack([values[month:63:12].mean(0) for month in range(12)])
    errors = [values[row] - usual[row % 12] for row in range(63, 72)]
    weights = np.where(np.isnan(values[0]), 0, np.cos(np.deg2rad(LATITUDES))[:, None])
    expected = np.sqrt(np.mean([np.nansum(weights * error**2) / weights.sum() for error in errors]))
    (row,) = [each for each in other.scores
              if (each["model"], each["split"], each["metric"]) == ("climatology", "validation", "rmse_2")]  # fmt: skip
    assert row["value"] == pytest.approx(expected, rel=LONG32)


def test_the_fields_after_the_end_are_learnt_from_all_times_and_follow_the_last(run, path):
    grid = TASK.prepare(CONFIG, path, run.state)
    whole = run.state.spread(forecast_fields(run, grid))
    assert np.isnan(whole[:, *LAND]).all() and np.isfinite(whole).sum() == 3 * 14
    values, alone = make_field(90), run.with_answer("climatology")
    expected = np.stack([values[(90 + lead) % 12 : 90 : 12].mean(0) for lead in range(3)])
    np.testing.assert_allclose(run.state.spread(forecast_fields(alone, grid)), expected, rtol=LONG32)
    few = TASK.prepare(CONFIG, make_short(path, 11), run.state)
    with pytest.raises(DataError, match=r"a forecast sees 12 times\. Got 11"):
        forecast_fields(run, few)


def make_short(path, count):
    return write_npz(path.with_name(f"last{count}.npz"), make_field(90)[-count:], start=f"{2008 - (count > 6)}-0{8}")


def test_a_later_file_has_the_variable_of_the_training(run, path):
    other = write_npz(path.with_name("more.npz"), make_field(90), wind=np.ones((90, 3, 5)))
    same = TASK.prepare(CONFIG, other, run.state)
    np.testing.assert_array_equal(same.values, TASK.prepare(CONFIG, path, run.state).values)
    np.savez(path.with_name("wind.npz"), wind=np.ones((90, 3, 5)), axes=np.array(["time", "lat", "lon"]))
    with pytest.raises(DataError, match=r"there is no variable 'sst' on a grid\. It has wind"):
        TASK.prepare(CONFIG, path.with_name("wind.npz"), run.state)


def test_the_context_is_all_that_a_forecast_sees(run, path):
    values = make_field(90)
    values[:78] += 100
    whole = TASK.prepare(CONFIG, write_npz(path.with_name("moved.npz"), values), run.state)
    np.testing.assert_array_equal(
        forecast_fields(run, whole), forecast_fields(run, TASK.prepare(CONFIG, path, run.state))
    )


def test_a_grid_in_another_unit_is_refused(run, path):
    values = make_field(90) * 1000
    far = TASK.prepare(CONFIG, write_npz(path.with_name("far.npz"), values), run.state)
    with pytest.raises(DataError, match=r"'sst' lies .* deviations from training"):
        run.check_far(far, "far.npz", far=False)


def test_an_audit_sees_a_field_that_is_in_two_parts(tmp_path):
    values = make_field(90)
    sound = audit_grid(CONFIG.replace(data=str(write_npz(tmp_path / "sst.npz", values))))
    assert not sound.leaks and any("2006-12-15" in line or "2007-01-15" in line for line in sound.passed)
    values[80] = values[10]
    copied = audit_grid(CONFIG.replace(data=str(write_npz(tmp_path / "copied.npz", values))))
    assert copied.leaks and "2001-11-15" in "".join(copied.lines())


@pytest.fixture(scope="module")
def trained(path):
    said = printed("train", "grids", "--data", path, "--horizon", 3, "--epochs", 4, "--out", path.parent / "run")
    return path.parent / "run", said


def test_a_run_is_checked_trained_predicted_reported_and_audited(path, trained, tmp_path):
    run, said = trained
    checked = printed("check", path, "--task", "grids")
    assert f"train: multiway train grids --data {path}" in checked and "cells without values: 1 (6.7%)" in checked
    assert said.startswith("Answer: the blend by lead, ") and "ridge on EOFs" in said and " K on the test times" in said
    assert json.loads(printed("evaluate", run, "--json"))[0]["rmse_1"] > 0
    second = path.parent / "second"
    repeated = printed("train", "grids", "--data", path, "--horizon", 3, "--epochs", 4, "--out", second)
    assert repeated.replace("second", "run") == said
    one, two = (each / "weights.safetensors" for each in (run, second))
    assert one.read_bytes() == two.read_bytes()
    printed("predict", run, "--data", path, "--out", tmp_path / "next.npz")
    with np.load(tmp_path / "next.npz") as found:
        assert found["sst"].shape == (3, 3, 5) and list(found["time"]) == ["2008-07-15", "2008-08-15", "2008-09-15"]
        np.testing.assert_array_equal(found["lat"], LATITUDES)
        answer = found["sst"]
    loaded = multiway.GridForecaster.load(run)
    np.testing.assert_array_equal(loaded.predict(path), answer)
    assert "fields is in two splits" in printed("audit", run)
    page = Page(printed_page(run, tmp_path))
    assert {"maps", "scores", "data-check", "environment"} <= set(page.sections())
    assert any("is off by" in text and "than the last field repeated" in text for text in page.texts)


def printed_page(run, folder):
    printed("report", run, "--out", folder / "report.html")
    return (folder / "report.html").read_text()


def test_what_a_run_on_grids_cannot_do_is_one_line(path, trained, tmp_path):
    run, _ = trained
    before = path.read_bytes()
    for words, text in (
        (["predict", run, "--data", path, "--out", path, "--overwrite"], "nothing is written onto an input"),
        (["predict", run, "--data", path], "fields are written as NetCDF or .npz (--out FILE.nc)"),
        (["predict", run, "--data", path, "--out", tmp_path / "x.npz", "--model", "forest"], "models of this run are"),
        (["train", "grids", "--data", path, "--out", tmp_path / "run", "--horizon", 80], "times are too few"),
        (["train", "grids", "--data", tmp_path / "absent.nc", "--out", tmp_path / "run"], "absent.nc"),
    ):
        code, out, err = outcome(*words)
        assert (code, out) == (1, "") and err.count("\n") == 1 and text in err, err
    assert path.read_bytes() == before and not (tmp_path / "run").exists()


def test_each_floor_answers_by_its_name(path, trained, tmp_path):
    run, _ = trained
    found = []
    for name in ("multiway", "climatology", "persistence", "season", "damped", "eof_ridge"):
        said = printed("predict", run, "--data", path, "--out", tmp_path / f"{name}.npz", "--model", name)
        assert said.startswith("Answer: ")
        with np.load(tmp_path / f"{name}.npz") as arrays:
            found.append(np.nan_to_num(arrays["sst"]))
    assert not any(np.allclose(one, other) for place, one in enumerate(found) for other in found[:place])


def test_an_estimator_takes_arrays(path):
    values = make_field(90)
    model = multiway.GridForecaster(3, context=6, season=6, epochs=4).fit(values)
    assert isinstance(model.scores_, pd.DataFrame) and model.run_.state.floors[2] == "season"
    later = model.predict()
    assert later.shape == (3, 3, 5)
    np.testing.assert_array_equal(later, model.predict(values))
    assert -3 < model.score(values) < 0
    with pytest.warns(MultiwayWarning, match="deviations from training"):
        model.predict(values * 2, far=True)


def test_xarray_goes_in_and_comes_out_with_its_coordinates(tmp_path):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip("h5netcdf", reason="h5netcdf is not installed")
    times = np.arange("2001-01", "2008-07", dtype="datetime64[M]").astype("datetime64[ns]")
    field = xarray.DataArray(
        make_field(90).astype("float32"), dims=("time", "lat", "lon"), name="sst",
        attrs={"units": "K", "long_name": "temperature"},
        coords={"time": times, "lat": ("lat", LATITUDES, {"units": "degrees_north"}), "height": 2.0},
    )  # fmt: skip
    later = multiway.GridForecaster(3, epochs=4).fit(field).predict()
    assert later.attrs == field.attrs and later.lat.attrs == field.lat.attrs and float(later.height) == 2.0
    assert list(later.time.dt.strftime("%Y-%m").values) == ["2008-07", "2008-08", "2008-09"]
    field.to_netcdf(tmp_path / "sst.nc", engine="h5netcdf", encoding={"sst": {"_FillValue": -999.0}})
    printed("train", "grids", "--data", tmp_path / "sst.nc", "--horizon", 3, "--epochs", 4, "--out", tmp_path / "run")
    printed("predict", tmp_path / "run", "--out", tmp_path / "next.nc")
    with xarray.open_dataset(tmp_path / "next.nc") as found:
        np.testing.assert_array_equal(found["sst"].values, later.values)
        assert found["sst"].attrs == field.attrs and found["sst"].encoding["_FillValue"] == -999.0
        assert found["lat"].attrs == field.lat.attrs
