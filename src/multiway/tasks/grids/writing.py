"""Fields as the files they came from: NetCDF or .npz."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway import files
from multiway.lazy import load_extra
from multiway.tasks.grids.cube import AXES, ENDINGS, Cube
from multiway.tasks.grids.times import Times

FIELDS = (*ENDINGS, ".npz")
"""Endings of files of fields."""
QUANTILE = "quantile"
"""Axis of the ends of bands."""


def in_order(cube: Cube, whole: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same with its axes in the order of the file; quantiles, where there are some, stay the first."""
    first = whole.ndim - len(cube.dims)
    return np.moveaxis(whole, first, first + cube.dims.index(cube.time))


def as_xarray(cube: Cube, whole: NDArray[np.float32], times: Times, quantiles: Sequence[float] = ()) -> Any:
    """The fields as xarray: coordinates, attributes and calendar are those of the file; quantiles are an axis.

    Several variables make a `Dataset`.
    """
    xarray = load_extra("xarray", "writing NetCDF", "grids")
    if len(cube.names) > 1:
        return xarray.Dataset(
            {each.name: as_xarray(each, fields, times, quantiles) for each, fields in cube.split(whole)}
        )
    kept: dict[str, Any] = {name: each for name, each in cube.coordinates.items() if name != cube.time}
    (template,) = cube.templates or (None,)
    if template is not None:
        kept = {name: each for name, each in template.coords.items() if cube.time not in each.dims}
    more = {QUANTILE: list(quantiles)} if quantiles else {}
    coords = {**more, **kept, cube.time: times.values}
    result = xarray.DataArray(in_order(cube, whole), dims=(*more, *cube.dims), coords=coords, name=cube.name)
    if template is None:
        return result
    result.attrs, own = template.attrs, template.encoding
    fill = {name: np.float32(own[name]) for name in ("_FillValue", "missing_value") if name in own}
    result.encoding = {"dtype": "float32", **fill}
    if cube.time in template.coords:
        known = template[cube.time]
        result[cube.time].attrs = known.attrs
        names = known.encoding.keys() & {"units", "calendar"}
        result[cube.time].encoding = {name: known.encoding[name] for name in names}
    return result


def write_fields(
    cube: Cube, whole: NDArray[np.float32], times: Times, path: Path, quantiles: Sequence[float] = ()
) -> None:
    """Write fields as NetCDF or .npz, by the ending."""
    if path.suffix == ".npz":
        parts = list(cube.split(whole))
        written = np.array(times.words()) if times.calendar else times.values
        more = {QUANTILE: np.array(quantiles)} if quantiles else {}
        own = {
            **more,
            AXES: np.array([*more, *parts[0][0].dims]),
            "units": np.array([cube.units]),
            **{each.name: in_order(each, fields) for each, fields in parts},
        }
        files.write_arrays(path, {**cube.coordinates, cube.time: written, **own})
        return
    grid = as_xarray(cube, whole, times, quantiles)
    files.write_with(path, lambda temporary: grid.to_netcdf(temporary))
