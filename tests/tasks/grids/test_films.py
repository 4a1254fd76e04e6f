"""GRIB, folders of numbered pictures, and films as arrays."""

import sys

import numpy as np
import pytest

from command import printed
from multiway.data.findings import Findings
from multiway.errors import ConfigError, DataError
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.cube import read_cube
from multiway.tasks.grids.encode import read_sound
from tasks.grids.fields import make_field

TIMES, SIZES = 23, (5, 7)


def make_film(colours=()):
    return np.random.default_rng(0).integers(0, 256, (TIMES, *SIZES, *colours), dtype=np.uint8)


def write_film(folder, film, name="frame {}.png"):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    folder.mkdir()
    for number, frame in enumerate(film, start=1):
        image.fromarray(frame).save(folder / name.format(number))
    return folder


def read(source, **options):
    return read_cube(GridConfig(read=options).read, source, Findings(""))


@pytest.mark.parametrize("colours", [(), (3,)], ids=["grey", "coloured"])
def test_numbered_pictures_are_frames_in_the_order_of_their_numbers(tmp_path, colours):
    film = make_film(colours)
    cube = read(write_film(tmp_path / "film", film))
    np.testing.assert_array_equal(cube.values, film)
    assert cube.dims == ("time", "y", "x", "channel")[: 3 + len(colours)] and cube.name == "brightness"
    assert [axis.role for axis in cube.axes] == ["space", "space", "channel"][: 2 + len(colours)]
    assert cube.times.words() == [str(number) for number in range(1, TIMES + 1)]


def test_frames_of_another_size_and_absent_ones_are_one_line(tmp_path):
    folder = write_film(tmp_path / "film", make_film())
    (folder / "frame 12.png").unlink()
    with pytest.raises(DataError, match="do not follow each other in even steps: row 11, 11 and then 13"):
        read_sound(GridConfig(), folder)
    write_film(tmp_path / "other", make_film()[:, 1:], "{}.png")
    (tmp_path / "other" / "7.png").rename(folder / "frame 12.png")
    with pytest.raises(DataError, match=r"frame 12\.png: frames have one size\. Got 4 x 7 and 5 x 7\."):
        read(folder)


@pytest.mark.parametrize("form", ["folder", "npy", "npz"])
def test_a_film_is_checked_trained_on_and_forecast(tmp_path, form):
    film, path = make_film(), tmp_path / f"film.{form}"
    if form == "folder":
        write_film(path, film)
    elif form == "npy":
        np.save(path, film)
    else:
        np.savez(path, film)
    words = () if form == "folder" else ("--axes", "time,height,width")
    assert f"{TIMES} from" in printed("check", path, "--task", "grids", *words)
    how = ("--context", 3, "--horizon", 2, "--model", "none", "--set", "read.sentinels=[]")
    printed("train", "grids", "--data", path, *words, *how, "--out", tmp_path / "run")
    printed("predict", tmp_path / "run", "--data", path, "--out", tmp_path / "next.npz")
    with np.load(tmp_path / "next.npz") as arrays:
        values = next(arrays[name] for name in arrays if arrays[name].ndim == 3)
        assert values.shape == (2, *SIZES) and np.isfinite(values).all()


def test_grib_is_read_as_netcdf_and_no_index_is_written(tmp_path):
    eccodes = pytest.importorskip("eccodes", reason="ecCodes is not installed")
    pytest.importorskip("cfgrib", reason="cfgrib is not installed")
    values = np.nan_to_num(make_field(TIMES), nan=250.0)
    with (tmp_path / "t.grib2").open("wb") as stream:
        for row, field in enumerate(values):
            message = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib2")
            day = 10_000 * (2001 + row // 12) + 100 * (1 + row % 12) + 15
            keys = {"Ni": 5, "Nj": 3, "latitudeOfFirstGridPointInDegrees": 50.0, "dataDate": day, "dataTime": 0,
                    "latitudeOfLastGridPointInDegrees": 10.0, "longitudeOfFirstGridPointInDegrees": 0.0,
                    "longitudeOfLastGridPointInDegrees": 40.0, "iDirectionIncrementInDegrees": 10.0,
                    "jDirectionIncrementInDegrees": 20.0, "shortName": "2t", "bitsPerValue": 24}  # fmt: skip
            for key, value in keys.items():
                eccodes.codes_set(message, key, value)
            eccodes.codes_set_values(message, field.ravel())
            eccodes.codes_write(message, stream)
            eccodes.codes_release(message)
    cube = read(tmp_path / "t.grib2")
    np.testing.assert_allclose(cube.values, values, atol=1e-4)
    assert [axis.role for axis in cube.axes] == ["lat", "lon"] and cube.units == "K" and cube.name == "t2m"
    how = ("--horizon", 2, "--model", "none", "--context", 3)
    printed("train", "grids", "--data", tmp_path / "t.grib2", *how, "--out", tmp_path / "run")
    printed("predict", tmp_path / "run", "--data", tmp_path / "t.grib2", "--out", tmp_path / "next.nc")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["next.nc", "run", "t.grib2"]
    (tmp_path / "bad.grib").write_text("no message")
    with pytest.raises(DataError, match=r"bad\.grib: it is no grid that can be read \(No valid message"):
        read(tmp_path / "bad.grib")


def test_grib_without_its_library_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cfgrib", None)
    (tmp_path / "t.grib").write_bytes(b"GRIB")
    with pytest.raises(ConfigError, match=r"reading GRIB needs cfgrib, .*pip install 'multiway\[grids\]'"):
        read(tmp_path / "t.grib")
