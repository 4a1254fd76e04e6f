"""What is read of a grid, what a check says of it, and what it refuses."""

import numpy as np
import pytest

from multiway import check
from multiway.data.findings import Findings, Unreadable
from multiway.errors import DataError
from multiway.tasks.grids.check import GRID
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.cube import is_grid, read_cube
from multiway.tasks.grids.encode import prepare_grid, read_sound
from multiway.tasks.registry import task_of_data
from tasks.grids.fields import LAND, LATITUDES, LONGITUDES, make_field, months, write_npz


def config_of(**read):
    return GridConfig(read=read)


def read(source, **options):
    return read_cube(config_of(**options).read, source, Findings(""))


def test_a_npz_names_its_axes(tmp_path):
    values = make_field(20)
    path = write_npz(tmp_path / "sst.npz", values)
    cube = read(path)
    np.testing.assert_array_equal(cube.values, values)
    assert [(axis.name, axis.role, axis.size) for axis in cube.axes] == [("lat", "lat", 3), ("lon", "lon", 5)]
    assert cube.name == "sst" and cube.units == "K" and cube.times.words()[-1] == "2002-08-15"
    assert is_grid(path) and cube.axes[1].values == tuple(LONGITUDES)


def test_an_array_has_time_first_unless_the_axes_say_otherwise():
    values = np.random.default_rng(0).normal(size=(4, 7, 9))
    assert read(values).values.shape == (4, 7, 9)
    turned = read(values, axes=("height", "time", "width"))
    np.testing.assert_array_equal(turned.values, np.moveaxis(values, 1, 0))
    assert [axis.role for axis in turned.axes] == ["space", "space"] and turned.time == "time"
    assert [axis.role for axis in read(values, axes=("height", "time", "lat")).axes] == ["level", "lat"]


def test_a_check_says_what_a_grid_holds(tmp_path):
    values = make_field(20)
    values[4, 0, 0] = np.nan
    report = GRID.check(config_of(), write_npz(tmp_path / "sst.npz", values))
    facts = report.summary
    assert facts["target"] == "sst in K" and facts["time"] == "20 from 2001-01-15 to 2002-08-15, every month"
    assert facts["lat"] == "3 from -40 to 50, lat" and facts["season"] == "12 steps"
    assert facts["cells without values"] == "1 (6.7%)" and report.is_usable
    assert [each.rule for each in report.findings] == [
        "1 values of cells that have others are missing (0.4%); a forecast takes the last known"
    ]


def test_a_check_names_the_largest_variable_where_there_are_several(tmp_path):
    path = write_npz(tmp_path / "two.npz", make_field(20), wind=np.ones((20, 3)))
    report = GRID.check(config_of(), path)
    assert report.is_usable and report.summary["other variables"] == "wind"
    assert [(fix.field, fix.value) for fix in GRID.proposal(config_of(), path)] == [("read.target", "sst")]
    with pytest.raises(DataError, match=r"it has several variables: sst, wind. Name one \(read.target=NAME\)"):
        read_sound(config_of(), path)
    with pytest.raises(DataError, match=r"there is no variable 'ice' on a grid. It has sst, wind"):
        read_sound(config_of(target="ice"), path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sst": np.where(np.isnan(make_field(20)), 1e20, make_field(20))},
         r"1e\+20 stands apart from all other numbers, 20 times over"),
        ({"sst": np.where(np.isnan(make_field(20)), -999, make_field(20))},
         r"-999 stands apart from all other numbers, 20 times over"),
        ({"sst": np.nan_to_num(make_field(20), nan=np.inf)}, "20 values are infinite"),
        ({"time": np.delete(months(21), 7)}, "even steps: row 7, 2001-07-15 and then 2001-09-15"),
        ({"time": months(19)}, "there are 19 times for 20 fields"),
        ({"sst": np.full((20, 3, 5), np.nan)}, "with values. Got 20, 0 values"),
        ({"sst": np.full((20, 3, 5), 3.0)}, "all values are 3"),
        ({"axes": np.array(["a", "b", "c"])}, r"axes a, b, c, and one must be time. .*read.axes=time,b,c"),
        ({"axes": np.array(["time", "lat"])}, "'sst' has 3 axes, and 2 are named: time, lat"),
    ],
    ids=["huge", "fill", "infinite", "absent", "few", "empty", "constant", "unnamed", "short"],
)  # fmt: skip
def test_a_flaw_is_one_line(tmp_path, change, message):
    arrays = {"sst": make_field(20), "time": months(20), "axes": np.array(["time", "lat", "lon"]), **change}
    np.savez(tmp_path / "sst.npz", **arrays)
    with pytest.raises(DataError, match=message):
        read_sound(config_of(target="sst"), tmp_path / "sst.npz")


def test_a_number_that_is_said_to_be_missing_is(tmp_path):
    values = make_field(20)
    path = write_npz(tmp_path / "sst.npz", np.where(np.isnan(values), -999.0, values))
    np.testing.assert_array_equal(read(path, sentinels=(-999.0,)).values, values)


def test_parts_follow_each_other_and_a_gap_is_taken_from_the_part_before(tmp_path):
    grid = prepare_grid(GridConfig(horizon=3), write_npz(tmp_path / "sst.npz", make_field(90)))
    assert grid.borders == {"train": (0, 63), "validation": (63, 72), "test": (72, 90)}
    apart = prepare_grid(GridConfig(horizon=3, split={"gap": 4}), tmp_path / "sst.npz")
    assert apart.borders == {"train": (0, 59), "validation": (63, 68), "test": (72, 90)}
    with pytest.raises(DataError, match=r"90 times are too few for a horizon of 70. Got train 63.*horizon=60"):
        prepare_grid(GridConfig(horizon=70), tmp_path / "sst.npz")


def test_cells_count_by_the_cosine_of_their_latitude(tmp_path):
    grid = prepare_grid(GridConfig(horizon=3), write_npz(tmp_path / "sst.npz", make_field(90)))
    expected = np.broadcast_to(np.cos(np.deg2rad(LATITUDES))[:, None], (3, 5))[grid.state.mask]
    np.testing.assert_allclose(grid.weights, expected / expected.sum())
    assert not grid.state.mask[LAND] and grid.state.mask.sum() == 14


def test_what_training_learns_is_of_the_training_times_alone(tmp_path):
    values = make_field(90)
    states = []
    for path, later in ((tmp_path / "one.npz", 0.0), (tmp_path / "two.npz", 50.0)):
        values[63:] += later
        states.append(prepare_grid(GridConfig(horizon=3), write_npz(path, values)).state.plain())
    assert states[0] == states[1]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"units": np.array(["degC"])}, "units must be that of the training: K. Got degC"),
        ({"lat": LATITUDES + 1}, "lat must be that of the training"),
        (
            {"time": np.array([f"{year}-01-01" for year in range(1900, 1990)])},
            "step must be .*: 1 months. Got 12 months",
        ),
        ({"time": np.arange(90.0)}, "calendar must be that of the training: standard. Got "),
    ],
    ids=["units", "places", "step", "calendar"],
)
def test_a_later_grid_is_held_to_the_training(tmp_path, more, message):
    config = GridConfig(horizon=3)
    state = prepare_grid(config, write_npz(tmp_path / "sst.npz", make_field(90))).state
    with pytest.raises(DataError, match=message):
        prepare_grid(config, write_npz(tmp_path / "later.npz", make_field(90), **more), state)


def test_what_is_no_grid_is_none(tmp_path):
    np.savez(tmp_path / "plain.npz", X=np.zeros((4, 3, 2)))
    (tmp_path / "broken.npz").write_text("no archive")
    assert not any(is_grid(tmp_path / name) for name in ("plain.npz", "broken.npz", "absent.npz", "table.csv"))
    assert not is_grid(np.zeros((4, 3, 2)))
    findings = Findings("")
    with pytest.raises(Unreadable):
        read_cube(config_of().read, np.array(["a", "b", "c"]), findings)
    assert findings.found[0].rule == "no variable has numbers along two axes or more"


def test_a_file_of_xarray_has_the_roles_and_the_calendar_that_it_says(tmp_path):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    cftime = pytest.importorskip("cftime", reason="cftime is not installed")
    values = make_field(24).transpose(1, 2, 0)
    dates = [cftime.datetime(1990 + n // 12, n % 12 + 1, 16, calendar="360_day") for n in range(24)]
    field = xarray.DataArray(
        values, dims=("y", "x", "steps"), name="tas", attrs={"units": "K"},
        coords={
            "y": ("y", LATITUDES, {"standard_name": "latitude"}),
            "x": ("x", LONGITUDES, {"units": "degrees_east"}),
            "steps": dates,
        },
    )  # fmt: skip
    pytest.importorskip("h5netcdf", reason="h5netcdf is not installed")
    field.to_netcdf(tmp_path / "tas.nc", engine="h5netcdf")
    for source in (tmp_path / "tas.nc", field, field.to_dataset()):
        cube = read(source)
        np.testing.assert_array_equal(cube.values, values.transpose(2, 0, 1))
        assert [(axis.name, axis.role) for axis in cube.axes] == [("y", "lat"), ("x", "lon")]
        assert cube.times.calendar == "360_day" and cube.time == "steps" and cube.name == "tas"
    (tmp_path / "bad.nc").write_text("no grid")
    with pytest.raises(DataError, match=r"bad\.nc: it is no grid that can be read"):
        read(tmp_path / "bad.nc")


def test_grids_are_told_from_scans_without_being_named(tmp_path):
    """By arrays of their axes, whose names need no list; a `.npz` of one array is a scan."""
    values, dates = make_field(20), months(20).astype("datetime64[D]")
    np.savez(tmp_path / "field.npz", sst=values, lat=LATITUDES, time=dates, lon=LONGITUDES)
    np.savez(tmp_path / "places.npz", sst=values, lat=LATITUDES, lon=LONGITUDES)
    np.savez(tmp_path / "scan.npz", values)
    (tmp_path / "sea").mkdir()
    (tmp_path / "sea" / "zarr.json").write_text("{}")
    for name in ("field.npz", "places.npz", "sea"):
        assert task_of_data(tmp_path / name) == "grids"
    assert task_of_data(tmp_path / "scan.npz") == "volumes"
    cube = read(tmp_path / "field.npz")
    assert cube.dims == ("time", "lat", "lon") and cube.times.words()[-1] == "2002-08-15"
    assert read(tmp_path / "places.npz").dims == ("time", "lat", "lon")
    np.savez(tmp_path / "two.npz", a=values, b=values)
    report = check(tmp_path / "two.npz")
    assert not report.is_usable and "Got a, b" in report.findings[0].rule


def test_axes_of_one_length_are_named_in_the_order_of_the_file(tmp_path):
    values = np.arange(64.0).reshape(4, 4, 4)
    places = {"time": [0, 1, 2, 3], "lat": [10, 20, 30, 40], "lon": [5, 6, 7, 8]}
    np.savez(tmp_path / "cube.npz", v=values, **{name: np.array(each) for name, each in places.items()})
    assert read(tmp_path / "cube.npz").dims == ("time", "lat", "lon")
