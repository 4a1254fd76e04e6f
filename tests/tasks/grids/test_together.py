"""Several variables that are forecast together: read as each by itself, and written each under its name."""

import numpy as np
import pytest

import multiway
from command import printed
from multiway.errors import DataError
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.explain import name_channels
from multiway.tasks.grids.model import forecast_fields
from multiway.tasks.grids.task import TASK
from multiway.tasks.run import load
from tasks.grids.fields import LATITUDES, LONGITUDES, make_field, months
from tolerances import LONG32


def write_winds(path, **more):
    """Two components side by side, the second the first shifted and with its sign changed."""
    u = make_field(90) - 280
    arrays = {"u": u, "v": -np.roll(u, 1, axis=0), "axes": np.array(["time", "lat", "lon"]), "time": months(90)}
    np.savez(path, **{**arrays, "lat": LATITUDES, "lon": LONGITUDES, "units": np.array(["m/s"]), **more})
    return path


def test_several_variables_are_forecast_together_and_written_each(tmp_path):
    path, out = write_winds(tmp_path / "winds.npz"), tmp_path / "next.npz"
    printed(
        "train",
        "grids",
        "--data",
        path,
        "--target",
        "u,v",
        "--horizon",
        2,
        "--model",
        "none",
        "--out",
        tmp_path / "run",
    )
    run = load(tmp_path / "run")
    assert (
        run.state.targets == ("u", "v") and run.state.planes == (1, 2, 3, 5) and name_channels(run.state) == ["u", "v"]
    )
    printed("predict", tmp_path / "run", "--data", path, "--out", out, "--levels", "80")
    whole = run.state.spread(forecast_fields(run, TASK.prepare(run.config, path, run.state), (80,)))
    with np.load(out) as arrays:
        assert arrays["axes"].tolist() == ["quantile", "time", "lat", "lon"]
        for place, name in enumerate("uv"):
            np.testing.assert_array_equal(arrays[name], whole[:, :, place])
    printed("report", tmp_path / "run", "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "U and v are off by" in page and "2008-06-15, u" in page


def test_a_variable_is_read_with_others_as_alone(tmp_path):
    path = write_winds(tmp_path / "winds.npz")
    both, alone = (TASK.prepare(GridConfig(horizon=2, read={"target": target}), path) for target in ("u,v", "v"))
    np.testing.assert_array_equal(both.cube.values[:, 1], alone.cube.values)
    assert both.weights.sum() == pytest.approx(1) and both.cube.others == () and alone.cube.others == ("u",)


def test_variables_that_differ_are_not_forecast_together(tmp_path):
    path = write_winds(tmp_path / "winds.npz", ice=np.ones((90, 3)))
    with pytest.raises(DataError, match=r"have the same axes and units\. Got 'u' 90 3 5, 'ice' 90 3\. Forecast each"):
        TASK.prepare(GridConfig(horizon=2, read={"target": "u,ice"}), path)
    with pytest.raises(DataError, match=r"there is no variable 'w' on a grid\. It has u, v, ice"):
        TASK.prepare(GridConfig(horizon=2, read={"target": "u,w"}), path)


def test_variables_of_xarray_come_back_with_their_attributes():
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    times = np.arange("2001-01", "2008-07", dtype="datetime64[M]").astype("datetime64[ns]")
    values, given = make_field(90) - 280, {}
    for sign, name in ((1, "u"), (-1, "v")):
        attributes = {"units": "m/s", "long_name": f"wind along {name}"}
        given[name] = xarray.DataArray(sign * values, {"time": times}, ("time", "lat", "lon"), name, attributes)
    settings = {"read": {"target": "u,v"}}
    later = multiway.GridForecaster(2, model="none", settings=settings).fit(xarray.Dataset(given)).predict()
    assert [*later.data_vars] == ["u", "v"] and later["v"].attrs == given["v"].attrs
    np.testing.assert_allclose(later["u"], -later["v"], rtol=LONG32, atol=LONG32)
    given["v"].attrs["units"] = "K"
    with pytest.raises(DataError, match="'u' time lat lon 90 3 5 m/s, 'v' time lat lon 90 3 5 K"):
        multiway.GridForecaster(2, model="none", settings=settings).fit(xarray.Dataset(given))
