"""Grids as they lie in a file or in memory: NetCDF, Zarr, GRIB, arrays with named axes, films and xarray."""

import dataclasses
import functools
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multiway import files
from multiway.config import Config
from multiway.data.checking import judge_marks
from multiway.data.findings import Findings, Place, list_some, quote
from multiway.data.sources.arrays import Archive, read_npy
from multiway.data.sources.bytes import check_memory
from multiway.data.sources.pictures import is_film, read_film
from multiway.errors import DataError, Fix, in_a_line
from multiway.lazy import load_extra
from multiway.tasks.grids.config import GridOptions
from multiway.tasks.grids.fields import BLOCK, Floats, Stored, Values, Whole, in_blocks
from multiway.tasks.grids.times import Times
from multiway.tasks.kind import name_arrays

ROLES = {
    "time": ("time", "t", "date", "datetime", "valid_time", "time_counter"),
    "lat": ("lat", "latitude", "nav_lat", "rlat"),
    "lon": ("lon", "longitude", "nav_lon", "rlon"),
    "level": ("level", "lev", "plev", "pressure", "depth", "height", "altitude", "z", "isobaricinhpa"),
    "member": ("member", "ensemble", "realization", "number"),
    "channel": ("channel", "band", "frequency", "variable"),
}
"""Names that axes have, by what they are; any other axis is space."""
DEGREES = {"lat": r"degrees?_?n(orth)?", "lon": r"degrees?_?e(ast)?"}
"""Units that say what an axis is (CF, sections 4.1 and 4.2)."""
ENDINGS = (".nc", ".nc4", ".cdf", ".netcdf")
GRIB = (".grib", ".grib1", ".grib2", ".grb", ".grb2")
VARIABLE = "variable"
"""Axis of variables that are forecast together, the first of all."""
AXES = "axes"
"""Array of a .npz that names the axes of the others."""
UNREADABLE = (OSError, EOFError, ValueError, ImportError, RuntimeError, KeyError, TypeError)
"""What xarray raises where a file is none that it knows."""


class Axis(Config):
    """An axis of space: its name, what it is, its places, and their coordinates where these are numbers."""

    name: str
    role: str
    size: int
    values: tuple[float, ...] | None


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Cube:
    """A variable on a grid, or several of one unit along an axis of their own.

    values: `(time, *space)` in float64, NaN where missing; of a large store, read when they are needed.
    axes: Those of space.
    dims: Names of all axes in the order of the file.
    coordinates: By name of an axis, as the file has them.
    names: Of what is forecast.
    others: Names of the other variables.
    units: As the file writes them; empty where it does not.
    templates: The variables as xarray holds them; none where they came otherwise.
    """

    values: Values
    times: Times
    axes: tuple[Axis, ...]
    dims: tuple[str, ...]
    time: str
    coordinates: Mapping[str, NDArray[Any]]
    names: tuple[str, ...]
    source: str
    units: str
    others: tuple[str, ...]
    templates: tuple[Any, ...] = ()

    @functools.cached_property
    def facts(self) -> "Facts":
        """What one look at all values says."""
        return look_at(self.values)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Sizes of the chunks of a file, in the order of its axes; none where it has none."""
        return chunks_of(self.templates[0]) if self.templates else ()

    @property
    def name(self) -> str:
        """What is forecast, in words."""
        return " and ".join(self.names)

    def split(self, whole: NDArray[np.float32]) -> Iterator[tuple["Cube", NDArray[np.float32]]]:
        """Each variable by itself, with its fields: those of all are `(..., leads, *space)`."""
        if len(self.names) == 1:
            yield self, whole
            return
        for place, name in enumerate(self.names):
            own: dict[str, Any] = {"names": (name,), "dims": self.dims[1:], "axes": self.axes[1:]}
            templates = self.templates[place : place + 1]
            fields: NDArray[np.float32] = np.take(whole, place, axis=-len(self.axes))
            yield dataclasses.replace(self, **own, templates=templates), fields


def chunks_of(variable: Any) -> tuple[int, ...]:
    """Sizes of the chunks that a variable of xarray was read from."""
    return tuple(variable.encoding.get("chunks") or variable.encoding.get("chunksizes") or ())


class Facts(NamedTuple):
    """What one look at values says.

    counts: Times at which each cell of space has a value.
    endless: Infinite values.
    low, high: The least and the largest value.
    """

    counts: Whole
    endless: int
    low: float
    high: float


def look_at(values: Values) -> Facts:
    """Count values by cell, infinite ones and bounds, block by block."""
    counts, endless, low, high = np.zeros(values.shape[1:], int), 0, np.inf, -np.inf
    for _, _, block in in_blocks(values):
        known = np.isfinite(block)
        counts += known.sum(0)
        endless += int(np.isinf(block).sum())
        low = float(np.min(block, where=known, initial=low))
        high = float(np.max(block, where=known, initial=high))
    return Facts(counts, endless, low, high)


def is_grid(source: object) -> bool:
    """Whether a source is NetCDF, Zarr, GRIB, a .npz with named axes, or held by xarray."""
    if not isinstance(source, str | Path):
        return hasattr(source, "dims") and hasattr(source, "coords")
    path = Path(source)
    if path.suffix.lower() in (*ENDINGS, *GRIB) or any((path / name).is_file() for name in (".zgroup", "zarr.json")):
        return True
    try:
        archive = Archive(path, 2**62, str(path)) if path.suffix == ".npz" and path.is_file() else None
        return archive is not None and (AXES in archive.names or _names_axes(archive))
    except DataError:
        return False


def _names_axes(archive: Archive) -> bool:
    """Whether an archive holds arrays for two axes or more of another one, such as `lat` and `lon` of a field."""
    shapes = {name: archive.header(name, words=True).shape for name in archive.names}
    lines = {name: shape[0] for name, shape in shapes.items() if len(shape) == 1 and role_of(name) != "space"}
    return len(lines) > 1 and any(len(shape) > 2 and {*lines.values()} <= {*shape} for shape in shapes.values())


def read_cube(options: GridOptions, source: object, findings: Findings, *, is_first: bool = False) -> Cube:
    """The target of a source, its axes named, its fill values missing.

    is_first: Take the largest variable where several are there and none is named.
    """
    path, label = Path(source) if isinstance(source, str | Path) else None, name_arrays(source)
    if isinstance(source, np.ndarray):
        arrays = {options.target or "value": source}
    elif path is not None and path.suffix == ".npy":
        arrays = {options.target or "value": read_npy(path, options.max_bytes, label)}
    elif path is not None and path.suffix == ".npz":
        archive = Archive(path, options.max_bytes, label)
        arrays = {name: archive.read(name, words=True) for name in archive.names}
    elif path is not None and is_film(path):
        files.add_input(path)
        values, numbers = read_film(path)
        is_grey = values.shape[-1] == 1
        axes = np.array(["time", "y", "x", "channel"][: 4 - is_grey])
        arrays = {"brightness": values[..., 0] if is_grey else values, "time": np.array(numbers), AXES: axes}
    else:
        given = source if path is None else open_grid(path)
        return _from_xarray(options, given, label, findings, is_first)
    return _from_arrays(options, arrays, label, findings, is_first)


def open_grid(path: Path) -> Any:
    """A file or group of xarray, whose values are read when they are needed."""
    xarray, how = load_extra("xarray", "reading NetCDF, Zarr and GRIB", "grids"), dict[str, Any]()
    files.check_regular(path)
    files.add_input(path)
    if path.suffix.lower() in GRIB:
        load_extra("cfgrib", "reading GRIB", "grids")
        how = {"engine": "cfgrib", "backend_kwargs": {"indexpath": ""}}  # no index is written next to the file
    read = xarray.open_zarr if path.is_dir() else xarray.open_dataset
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a library says of encodings of its own
            return read(path, decode_timedelta=False, **how)
    except UNREADABLE as error:
        fix = "Give NetCDF, Zarr, GRIB, arrays or numbered frames; `pip install 'multiway[grids]'` has what reads them."
        raise DataError(f"{path}: it is no grid that can be read ({in_a_line(error, 100)}). {fix}") from None


def _from_xarray(options: GridOptions, given: Any, label: str, findings: Findings, is_first: bool) -> Cube:
    """Variables of a data set of xarray, or the one that is given alone."""
    names: Sequence[str] = ["value"]
    others, variables = tuple[str, ...](), [given]
    if hasattr(given, "data_vars"):
        fields = {each: field for each, field in given.items() if field.ndim > 1 and field.dtype.kind in "iuf"}
        fields = {each: field for each, field in fields.items() if "time" in roles_in(field).values()} or fields
        sizes = {each: field.size for each, field in fields.items()}
        names, others = choose_targets(options, sizes, findings, is_first)
        variables = [given[name] for name in names]
    variable = variables[0]
    found = roles_in(variable)
    known = {dim: variable.coords[dim].values for dim in found if dim in variable.coords}
    names = tuple(str(each.name or name) for each, name in zip(variables, names, strict=True))
    units = [str(each.attrs.get("units", "")) for each in variables]
    forms = [(*each.dims, *each.shape, unit) for each, unit in zip(variables, units, strict=True)]
    check_together(names, forms, findings)
    parts: dict[str, Any] = {"source": label, "names": names, "others": others, "templates": tuple(variables)}
    return arrange(options, variables, found, known, units[0], findings, **parts)


def roles_in(variable: Any) -> dict[str, str]:
    """What each axis of a variable of xarray is: by its values, by the name and units that CF has, and by its own."""
    found = {str(dim): role_of(str(dim)) for dim in variable.dims}
    for dim in found.keys() & {*variable.coords}:
        known = variable.coords[dim]
        named, units = (str(known.attrs.get(key, "")).lower() for key in ("standard_name", "units"))
        standard = next((role for role, form in DEGREES.items() if re.fullmatch(form, units)), role_of(named))
        is_time = known.dtype.kind == "M" or any(hasattr(each, "calendar") for each in known.values.flat[:1])
        found[dim] = "time" if is_time else found[dim] if standard == "space" else standard
    return found


def _from_arrays(
    options: GridOptions, arrays: dict[str, NDArray[Any]], label: str, findings: Findings, is_first: bool
) -> Cube:
    """The target among arrays by name; one of them may name the axes."""
    named, units = arrays.pop(AXES, None), arrays.pop("units", np.array([""]))
    sizes = {name: each.size for name, each in arrays.items() if each.ndim > 1 and each.dtype.kind in "iuf"}
    targets, others = choose_targets(options, sizes, findings, is_first)
    name, values = targets[0], arrays[targets[0]]
    check_together(targets, [arrays[each].shape for each in targets], findings)
    dims = tuple(map(str, options.axes or find_names(values, arrays) if named is None else named.tolist()))
    if len(dims) != values.ndim:
        rule = f"'{quote(name)}' has {values.ndim} axes, and {len(dims)} are named: {list_some(dims)}"
        raise findings.fatal("axes", rule, f"Give one name for each in the array '{AXES}'.")
    known = {dim: arrays[dim] for dim in dims if dim in arrays}
    found = dict(zip(dims, roles_of(dims), strict=True))
    parts: dict[str, Any] = {"source": label, "names": targets, "others": others}
    fields = [arrays[each] for each in targets]
    return arrange(options, fields, found, known, str(units.flat[0]), findings, **parts)


def find_names(values: NDArray[Any], arrays: Mapping[str, NDArray[Any]]) -> Sequence[str]:
    """Names of the axes by arrays that are as long and called as axes are; else the first is time.

    Axes of one length have names in the order of the file.
    """
    lines = {name: each.size for name, each in arrays.items() if each.ndim == 1 and role_of(name) != "space"}
    names = [f"axis{place}" for place in range(values.ndim)]
    for name, size in lines.items():
        at = next((place for place, own in enumerate(values.shape) if own == size and names[place] not in lines), None)
        if at is not None:
            names[at] = name
    if "time" not in map(role_of, names) and names[0] not in lines:
        names[0] = "time"
    return names


def check_together(names: Sequence[str], forms: Sequence[tuple[object, ...]], findings: Findings) -> None:
    """Whether variables have the same axes, sizes and units."""
    other = next((place for place, form in enumerate(forms) if form != forms[0]), 0)
    if other:
        rule = "variables that are forecast together have the same axes and units"
        listed = ", ".join(f"'{quote(names[at])}' {' '.join(map(str, forms[at]))}" for at in (0, other))
        raise findings.fatal("target", f"{rule}. Got {listed}", "Forecast each in a run of its own.")


def choose_targets(
    options: GridOptions, sizes: Mapping[str, int], findings: Findings, is_first: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The variables that are named, the only one, or the largest; and the others."""
    fix = ("Name one (", Fix("read.target", like="NAME"), ").")
    if not sizes:
        raise findings.fatal("target", "no variable has numbers along two axes or more", "Give another file.")
    if options.target is None and len(sizes) > 1 and not is_first:
        raise findings.fatal("target", f"it has several variables: {list_some(sizes)}", fix)
    given = options.target or max(sizes, key=lambda each: sizes[each])
    names = (given,) if given in sizes else tuple(dict.fromkeys(each.strip() for each in given.split(",")))
    for name in names:
        if name not in sizes:
            rule = f"there is no variable '{quote(name)}' on a grid. It has {list_some(sizes)}"
            raise findings.fatal("target", rule, fix)
    return names, tuple(str(each) for each in sizes if each not in names)


def role_of(name: str) -> str:
    """What an axis of that name is; `space` where its name does not say it."""
    return next((role for role, names in ROLES.items() if name.lower() in names), "space")


def roles_of(names: Sequence[str]) -> list[str]:
    """What axes of these names are; a height beside a width is that of a picture."""
    return ["space" if name == "height" and "width" in names else role_of(name) for name in names]


def arrange(
    options: GridOptions,
    fields: Sequence[Any],
    found: Mapping[str, str],
    known: Mapping[str, NDArray[Any]],
    units: str,
    findings: Findings,
    **parts: Any,
) -> Cube:
    """The cube of some variables with its time first; what its axes are is as found, or as the settings say.

    A large file of xarray is read when its values are needed.
    """
    dims, roles, sizes = tuple(found), list(found.values()), fields[0].shape
    if options.axes is not None:
        roles = roles_of(options.axes)
    own = dims
    if len(fields) > 1:
        dims, roles, sizes = (VARIABLE, *dims), ["channel", *roles], (len(fields), *sizes)
    if len(roles) != len(dims) or roles.count("time") != 1:
        rule = f"the target has the axes {', '.join(dims)}, and one must be time"
        likely = ",".join(["time", *dims[1:]])
        raise findings.fatal("axes", rule, ("Say what each is (", Fix("read.axes", likely), ")."))
    first = roles.index("time")
    times = Times.read(np.asarray(known.get(dims[first], np.arange(sizes[first], dtype=np.float64))))
    if len(times) != sizes[first]:
        raise findings.fatal("times", f"there are {len(times)} times for {sizes[first]} fields", "Write as many.")
    space = [place for place in range(len(dims)) if place != first]
    axes = tuple(
        Axis(name=dims[at], role=roles[at], size=sizes[at], values=numbers_of(known.get(dims[at]))) for at in space
    )
    shape = (len(times), *(axis.size for axis in axes))
    load = functools.partial(load_fields, fields, own.index(dims[first]), first, options.sentinels)
    if math.prod(shape) > BLOCK and not all(getattr(each, "_in_memory", True) for each in fields):
        chunks = chunks_of(fields[0])
        values: Values = Stored(load, shape, chunks[own.index(dims[first])] if chunks else 0)
    else:
        check_memory(math.prod(shape), 1, 0, findings)
        values = load(slice(None))
    return Cube(
        values=values, times=times, axes=axes, dims=dims, time=dims[first], coordinates=known, units=units, **parts
    )


def load_fields(
    variables: Sequence[Any], axis: int, first: int, sentinels: tuple[float, ...] | None, rows: slice
) -> Floats:
    """Some times of variables, those of each along an axis, which becomes the first of all; what is missing is NaN."""
    given = [np.asarray(each[(*(slice(None),) * axis, rows)]) for each in variables]
    values = np.moveaxis(np.stack(given) if len(given) > 1 else given[0], first, 0).astype(np.float64)
    return np.where(np.isin(values, sentinels), np.nan, values) if sentinels else values


def numbers_of(values: NDArray[Any] | None) -> Sequence[float] | None:
    """Coordinates that are numbers."""
    is_number = values is not None and values.dtype.kind in "iuf"
    return tuple(np.asarray(values, np.float64).tolist()) if is_number else None


def find_flaws(cube: Cube, options: GridOptions, findings: Findings) -> None:
    """What is wrong with a grid: fill values that nobody named, gaps, and times that do not follow each other."""
    (counts, endless, low, high), rows = cube.facts, len(cube.times)
    if rows < 3 or not counts.any():
        rule = f"three times or more are needed, with values. Got {rows}, {counts.sum()} values"
        raise findings.fatal("missing", rule, "Give more.")
    if endless:
        findings.add("infinite", "error", f"{endless:,} values are infinite", "Correct them, or make them NaN.")
    blocks = ((cube.name, block.ravel()) for _, _, block in in_blocks(cube.values))
    judge_marks(blocks, options.sentinels, findings)
    words, wrong = cube.times.words(), cube.times.step()[1].tolist()
    if wrong:
        places = [Place(row=row, unit="row", detail=f"{words[row - 1]} and then {words[row]}") for row in wrong]
        fix = "Sort the times, and fill absent ones with missing values."
        findings.add("times", "error", "times do not follow each other in even steps", fix, places)
    present = int((counts > 0).sum()) * rows
    if gaps := present - int(counts.sum()):
        share = gaps / present
        rule = f"{gaps:,} values of cells that have others are missing ({share:.1%}); a forecast takes the last known"
        findings.add("gaps", "note" if share < 0.5 else "warning", rule)
    if low == high:
        findings.add("constant", "error", f"all values are {low:g}", "Give another variable.")
