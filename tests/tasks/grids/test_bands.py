"""Bands of fields: held as often as they say on drawn errors, counted slowly on a run, written as quantiles."""

import numpy as np
import pytest

import multiway
from command import outcome, printed
from multiway.tasks import lifecycle
from multiway.tasks.grids.bands import find_radii, learn_band, share_held
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.floors import forecast_floors
from multiway.tasks.grids.model import forecast_fields, list_errors, list_held_out, module_of, shares_of
from multiway.tasks.grids.task import TASK
from tasks.grids.fields import LAND, make_field, write_npz
from tolerances import LONG32, ROUNDING64

CONFIG = GridConfig(context=12, horizon=3, model={"name": "none"})


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_npz(tmp_path_factory.mktemp("bands") / "sst.npz", make_field(300))


@pytest.fixture(scope="module")
def run(path):
    return lifecycle.fit_in_memory(TASK, CONFIG, path)


def test_bands_hold_new_errors_of_the_same_kind_as_often_as_they_say():
    draw, sizes = np.random.default_rng(0), np.array([0.8, 1.0, 1.5, 3.0, 1.2, 1.0, 1.0])
    weights = np.array([3.0, 1.0, 1.0, 1.0, 1.0, 2.0, 5.0]) / 14
    spread, reach = learn_band(draw.normal(size=(400, 7)) * sizes, weights)
    np.testing.assert_allclose(spread, sizes, rtol=0.12)
    new = draw.normal(size=(4000, 7)) * sizes
    for level in (50, 80, 95):
        held, whole = share_held(new, find_radii(spread[None], reach[None], level)[0], weights).sum(1)
        assert held / whole == pytest.approx(level / 100, abs=0.02)


def test_few_times_still_hold_new_errors():
    draw, weights = np.random.default_rng(1), np.ones(500) / 500
    sizes, held = np.exp(draw.normal(size=500) / 2), []
    for _ in range(20):
        spread, reach = learn_band(draw.normal(size=(6, 500)) * sizes, weights)
        radii = find_radii(spread[None], reach[None], 80)[0]
        new, whole = share_held(draw.normal(size=(20, 500)) * sizes, radii, weights).sum(1)
        held.append(new / whole)
    assert np.mean(held) == pytest.approx(0.8, abs=0.02)


def test_a_cell_is_measured_without_its_own_error():
    """Three times of one cell: the band of 80 % holds all of them, that of 10 % the first."""
    errors = np.array([[1.0], [-2.0], [np.nan], [4.0]])
    spread, reach = learn_band(errors, np.ones(1))
    common = (1 + 4 + 16) / 3
    assert spread[0] == pytest.approx(np.sqrt((21 + 4 * common) / 7), rel=ROUNDING64)
    others = [np.sqrt((21 - own + 4 * common) / (2 + 4)) for own in (1, 4, 16)]
    ratios = sorted(size / other for size, other in zip((1, 2, 4), others, strict=True))
    assert [reach[79], reach[9]] == pytest.approx([ratios[2], ratios[0]], rel=ROUNDING64)


def test_a_time_that_counts_twice_is_as_two():
    """Alike but for the spread of the others, which lacks a single one of two."""
    draw, weights = np.random.default_rng(2), np.array([1.0, 2.0, 3.0]) / 6
    errors, counts = draw.normal(size=(5, 3)), np.array([0.5, 1.0, 2.0, 1.0, 0.25])
    errors[1, 2] = np.nan
    spread, reach = learn_band(errors, weights, counts)
    known = [(time, cell) for time, cell in np.ndindex(5, 3) if (time, cell) != (1, 2)]
    total = sum(counts[time] * weights[cell] for time, cell in known)
    common = sum(counts[time] * weights[cell] * errors[time, cell] ** 2 for time, cell in known) / total
    ratios = []
    for time, cell in known:
        own = [each for each, other in known if other == cell]
        sums = sum(counts[each] * errors[each, cell] ** 2 for each in own)
        whole = sum(counts[each] for each in own)
        assert spread[cell] == pytest.approx(np.sqrt((sums + 4 * common) / (whole + 4)), rel=ROUNDING64)
        rest = (sums - counts[time] * errors[time, cell] ** 2 + 4 * common) / (whole - counts[time] + 4)
        ratios.append((abs(errors[time, cell]) / np.sqrt(rest), counts[time] * weights[cell]))
    held = [sum(share for other, share in ratios if other <= ratio) / total for ratio, _ in ratios]
    expected = min(ratio for (ratio, _), share in zip(ratios, held, strict=True) if share >= 0.8)
    assert reach[79] == pytest.approx(expected, rel=ROUNDING64)


def test_few_times_that_vary_together_hold_more_with_the_training():
    """Fields that rise and fall as a whole: five of them say little, and forty stretches of the training more."""
    draw, weights, held = np.random.default_rng(4), np.ones(30) / 30, np.zeros((2, 2))
    for _ in range(60):
        fields = draw.normal(size=(45 + 200, 1)) * (1 + draw.random(30) / 2) + draw.normal(size=(245, 30)) / 4
        counts = np.append(np.full(40, 4 / 40), np.ones(5))
        for place, (seen, often) in enumerate(((fields[40:45], None), (fields[:45], counts))):
            spread, reach = learn_band(seen, weights, often)
            held[place] += share_held(fields[45:], find_radii(spread[None], reach[None], 80)[0], weights).sum(1)
    few, more = held[:, 0] / held[:, 1]
    assert few < 0.77 < more < 0.83


def test_the_training_is_forecast_by_floors_that_do_not_know_it(path):
    grid, shares = TASK.prepare(CONFIG, path), np.full((3, 5), 0.2)
    found, (start, stop) = list(list_held_out(grid, shares)), grid.borders["train"]
    fits = grid.crosswise
    for lead, errors in enumerate(found, start=1):
        assert errors.shape == (stop - lead, 14) and start == 0
        for origin in (0, 37, 110, stop - 1 - lead):
            said = forecast_floors(fits[origin * 10 // stop], grid.past, np.array([origin]), lead)
            expected = sum(said[name][0] for name in grid.state.floors) / 5 - grid.values[origin + lead]
            np.testing.assert_allclose(errors[origin], expected, rtol=ROUNDING64, atol=ROUNDING64)


def test_the_scores_count_the_test_values_in_the_bands(run, path):
    module, shares, grid = module_of(run), shares_of(run), TASK.prepare(CONFIG, path)
    held, whole = dict.fromkeys((80.0, 95.0), 0.0), 0.0
    for lead, errors in list_errors(module, grid, "test"):
        for row, cell in np.ndindex(errors.shape[0], errors.shape[2]):
            off = abs(float(shares[lead] @ errors[row, :, cell]))
            whole += grid.weights[cell]
            for level in held:
                held[level] += grid.weights[cell] * (off <= module.radii(level)[lead, cell])
    found = {row["metric"]: row["value"] for row in run.scores if row["split"] == "test" and "cover" in row["metric"]}
    assert found == {f"coverage_{level:g}": pytest.approx(each / whole, rel=LONG32) for level, each in held.items()}
    assert 0.6 < found["coverage_80"] < found["coverage_95"] < 1


def test_no_test_row_widens_a_band(run, tmp_path):
    values = make_field(300)
    values[240:] *= 1.5
    other = lifecycle.fit_in_memory(TASK, CONFIG, write_npz(tmp_path / "other.npz", values))
    np.testing.assert_array_equal(module_of(other).radii(80), module_of(run).radii(80))


def test_quantiles_are_an_axis_of_what_is_written(path, tmp_path):
    run = tmp_path / "run"
    printed("train", "grids", "--data", path, "--horizon", 3, "--model", "none", "--out", run)
    printed("predict", run, "--data", path, "--levels", "50,90", "--out", tmp_path / "bands.npz")
    printed("predict", run, "--data", path, "--out", tmp_path / "next.npz")
    with np.load(tmp_path / "bands.npz") as bands, np.load(tmp_path / "next.npz") as middle:
        assert bands["axes"].tolist() == ["quantile", "time", "lat", "lon"]
        np.testing.assert_allclose(bands["quantile"], [0.05, 0.25, 0.5, 0.75, 0.95], rtol=ROUNDING64)
        np.testing.assert_array_equal(bands["sst"][2], middle["sst"])
        rising = np.delete(bands["sst"].reshape(5, 3, -1), 5 * LAND[0] + LAND[1], axis=2)
        assert (np.diff(rising, axis=0) > 0).all()
        model = multiway.GridForecaster.load(run)
        np.testing.assert_array_equal(model.predict(path, levels=(50, 90)), bands["sst"])
        loaded = lifecycle.load(run)
        widths = forecast_fields(loaded, TASK.prepare(loaded.config, path, loaded.state), (90,))
        np.testing.assert_allclose(widths[2] - widths[1], module_of(loaded).radii(90), rtol=LONG32)


def test_bands_that_there_are_not_are_one_line(path, tmp_path):
    run = tmp_path / "run"
    printed("train", "grids", "--data", path, "--horizon", 3, "--model", "none", "--out", run)
    for words, text in (
        (["--levels", "0.9"], "levels are percentages, from 1 to less than 100. Got 0.9; did you mean 90?"),
        (["--levels", "90", "--model", "damped"], "bands are those of multiway"),
    ):
        code, out, err = outcome("predict", run, "--data", path, *words, "--out", tmp_path / "x.npz")
        assert (code, out) == (1, "") and err.count("\n") == 1 and text in err, err


def test_xarray_has_the_quantiles_as_a_coordinate(path):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    times = np.arange("2001-01", "2008-07", dtype="datetime64[M]").astype("datetime64[ns]")
    field = xarray.DataArray(make_field(90), dims=("time", "lat", "lon"), name="sst", coords={"time": times})
    later = multiway.GridForecaster(3, model="none").fit(field).predict(levels=(80,))
    assert later.dims == ("quantile", "time", "lat", "lon")
    np.testing.assert_allclose(later["quantile"], [0.1, 0.5, 0.9], rtol=ROUNDING64)
