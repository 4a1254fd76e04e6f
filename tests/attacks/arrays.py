"""Pictures and grids told in other words, which mean what they meant: other files, types, orders and names."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import xarray
from PIL import Image

from multiway.data.sources.arrays import Archive

Change = Callable[[Path, random.Random], object]


def _each(change: Callable[[Path], object]) -> Change:
    return lambda folder, chance: [change(path) for path in sorted(folder.rglob("*.png"))]


def _stored(ending: str, mode: str | None = None) -> Change:
    """Each picture in another file format, or with other channels, that keeps every level."""

    def change(path: Path) -> None:
        with Image.open(path) as image:
            image = image.convert(mode) if mode else image.copy()
        path.unlink()
        image.save(path.with_suffix(ending))

    return _each(change)


def _some(folder: Path, chance: random.Random) -> Path:
    return chance.choice([path for path in folder.iterdir() if path.is_dir()])


IMAGES: dict[str, Change] = {
    "BMP": _stored(".bmp"),
    "TIFF": _stored(".tiff"),
    "three colours": _stored(".png", "RGB"),
    "colours that are all opaque": _stored(".png", "RGBA"),
    "endings in capitals": _each(lambda path: path.rename(path.with_suffix(".PNG"))),
    "blanks in names": _each(lambda path: path.rename(path.with_name(f"a picture {path.name}"))),
    "a file of the desktop": lambda folder, chance: (_some(folder, chance) / ".DS_Store").write_bytes(b"\0\1"),
    "thumbnails of the desktop": lambda folder, chance: (_some(folder, chance) / "Thumbs.db").write_bytes(b"\0\1"),
    "a note beside them": lambda folder, chance: (folder / "README.md").write_text("Shapes.\n"),
    "an empty folder that is hidden": lambda folder, chance: (folder / ".cache").mkdir(),
    "other times of the files": _each(lambda path: path.touch()),
    "compressed otherwise": _each(lambda path: Image.open(path).save(path, compress_level=1)),
    "EXIF that turns nothing": _each(lambda path: Image.open(path).save(path, exif=_upright())),
    "a folder around": lambda folder, chance: _move(folder, folder / "train"),
}


def _upright() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 1
    return exif


def _move(folder: Path, inner: Path) -> None:
    parts = [path for path in folder.iterdir()]
    inner.mkdir()
    for part in parts:
        shutil.move(part, inner / part.name)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    archive = Archive(path, 2**30, path.name)
    return {name: archive.read(name, words=True) for name in archive.names}


def _saved(change: Callable[[dict[str, np.ndarray], random.Random], dict[str, np.ndarray]]) -> Change:
    return lambda path, chance: np.savez(path, **change(_arrays(path), chance))


def _turned(arrays: dict[str, np.ndarray], chance: random.Random) -> dict[str, np.ndarray]:
    order = chance.sample(range(3), 3)
    return arrays | {"sst": arrays["sst"].transpose(order), "axes": arrays["axes"][order]}


def _shuffled(arrays: dict[str, np.ndarray], chance: random.Random) -> dict[str, np.ndarray]:
    return {name: arrays[name] for name in chance.sample([*arrays], len(arrays))}


def _set(path: Path) -> xarray.Dataset:
    arrays = _arrays(path)
    known = {name: arrays[name] for name in ("lat", "lon")} | {"time": arrays["time"].astype("datetime64[ns]")}
    return xarray.Dataset({"sst": (("time", "lat", "lon"), arrays["sst"], {"units": "K"})}, known)


def _netcdf(change: Callable[[xarray.Dataset], xarray.Dataset] = lambda given: given, **encoding: object) -> Change:
    def write(path: Path, chance: random.Random) -> Path:
        target = path.with_suffix(".nc")
        change(_set(path)).to_netcdf(target, encoding={"sst": encoding} if encoding else None)
        return target

    return write


GRIDS: dict[str, Change] = {
    "arrays in another order": _saved(_shuffled),
    "axes in another order": _saved(_turned),
    "axes by their arrays": _saved(lambda arrays, _: {name: arrays[name] for name in arrays if name != "axes"}),
    "packed": lambda path, _: np.savez_compressed(path, **_arrays(path)),
    "other order of bytes": _saved(lambda arrays, _: arrays | {"sst": arrays["sst"].astype(">f8")}),
    "order of Fortran": _saved(lambda arrays, _: arrays | {"sst": np.asfortranarray(arrays["sst"])}),
    "times as dates": _saved(lambda arrays, _: arrays | {"time": arrays["time"].astype("datetime64[D]")}),
    "times to the second": _saved(lambda arrays, _: arrays | {"time": np.char.add(arrays["time"], "T00:00:00")}),
    "whole degrees": _saved(lambda arrays, _: arrays | {name: arrays[name].astype(int) for name in ("lat", "lon")}),
    "a constant beside it": _saved(lambda arrays, _: arrays | {"radius": np.array(6371.0)}),
    "infinite where missing": _saved(lambda arrays, _: arrays | {"sst": np.nan_to_num(arrays["sst"], nan=np.inf)}),
    "-999 where missing": _saved(lambda arrays, _: arrays | {"sst": np.nan_to_num(arrays["sst"], nan=-999)}),
    "NetCDF": _netcdf(),
    "NetCDF with a fill value": _netcdf(_FillValue=-32768.0),
    "NetCDF of whole numbers": _netcdf(dtype="int32", scale_factor=1e-6, add_offset=280.0, _FillValue=-(2**31)),
    "NetCDF with axes in another order": _netcdf(lambda given: given.transpose("lon", "time", "lat")),
    "NetCDF with long names of axes": _netcdf(lambda given: given.rename(lat="latitude", lon="longitude")),
    "NetCDF with bounds": _netcdf(lambda given: given.assign(crs=np.int32(0))),
}
CHANGES = {"images": IMAGES, "grids": GRIDS}


def changed(task: str, data: Path, chance: random.Random) -> tuple[str, Path]:
    """Data told in a way that is drawn; the words for it, and where they are."""
    words = chance.choice(list(CHANGES[task]))
    found = CHANGES[task][words](data, chance)
    return words, found if isinstance(found, Path) and found.suffix == ".nc" else data
