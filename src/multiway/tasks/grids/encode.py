"""A grid as the floors take it: cells side by side, their weights, phases and parts; and what a run keeps of it."""

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.config import Config
from multiway.data.findings import Findings, soundly
from multiway.data.scaling import Scaler
from multiway.data.sources.bytes import within
from multiway.errors import DataError, Fix
from multiway.tasks.declarations import SPLITS
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.cube import Axis, Cube, find_flaws, look_at, read_cube
from multiway.tasks.grids.fields import Fields, Floats, Values, Whole, in_blocks, many, thin
from multiway.tasks.grids.floors import FLOORS, Fitted, History, carry, carry_later, fit_floors
from multiway.tasks.grids.times import Step
from multiway.tasks.kind import name_arrays

SAME = 1e-6
"""By how much coordinates may differ, as a share of the largest."""
FOLDS, FEW_FOLDS = 10, 3
"""Stretches of training times, each forecast first by floors that were learnt from the others; and those of a store."""
MODES, FEWEST = 20, 3
"""Patterns of a regression at most, and training times that are needed beside those of the horizon."""


class GridState(Config):
    """What training learnt of a grid; later ones are held to it.

    targets: Name of the variable.
    runs: Lengths of runs of cells with and without values in turn, the first with values.
    modes: Patterns of the regression.
    floors: Names of those that the data allow.
    scaler: Mean and spread of all training values; of a store, of fields that are evenly spread.
    """

    targets: tuple[str, ...]
    units: str
    calendar: str
    axes: tuple[Axis, ...]
    step: Step
    period: int
    runs: tuple[int, ...]
    modes: int
    floors: tuple[str, ...]
    scaler: Scaler

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which cells of space have values in the training, `(*space)`."""
        flags = np.arange(len(self.runs)) % 2 == 0
        return np.repeat(flags, self.runs).reshape([axis.size for axis in self.axes])

    @property
    def suffix(self) -> str:
        """The units behind a number."""
        return f" {self.units}" if self.units else ""

    @property
    def layout(self) -> tuple[tuple[int, ...], ...]:
        """Axes that are members, those that are channels, and rows and columns: latitude and longitude, or the last."""
        roles = [axis.role for axis in self.axes]
        others = [place for place, role in enumerate(roles) if role != "member"]
        space = [place for place in others if roles[place] not in ("level", "channel")]
        plane = (space if len(space) > 1 else others)[-2:]
        if {"lat", "lon"} <= {*roles}:
            plane = [roles.index("lat"), roles.index("lon")]
        members = tuple(place for place in range(len(roles)) if place not in others)
        return members, tuple(place for place in others if place not in plane), tuple(plane)

    @property
    def planes(self) -> tuple[int, ...]:
        """Members, channels, rows and columns."""
        members, channels, plane = ([self.axes[place].size for place in places] for places in self.layout)
        return math.prod(members), math.prod(channels), *([1, 1, *plane][-2:])

    def spread(self, fields: NDArray[np.floating]) -> NDArray[np.float32]:
        """Fields `(*leads, cells)` on the grid, `(*leads, *space)`; NaN where there is no cell."""
        mask = self.mask
        whole = np.full((*fields.shape[:-1], *mask.shape), np.nan, np.float32)
        whole[..., mask] = fields
        return whole

    def to_planes(self, fields: NDArray[np.floating]) -> NDArray[np.float32]:
        """Fields `(leads, cells)` as `(leads, members, channels, rows, columns)`; NaN where there is no cell."""
        order = [1 + place for places in self.layout for place in places]
        return self.spread(fields).transpose(0, *order).reshape(len(fields), *self.planes)

    def from_planes(self, planes: NDArray[np.floating]) -> NDArray[np.floating]:
        """Undo `to_planes`."""
        order = [place for places in self.layout for place in places]
        whole = planes.reshape(len(planes), *(self.axes[place].size for place in order))
        return whole.transpose(0, *(1 + np.argsort(order)))[:, self.mask]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PreparedGrid:
    """A grid ready to be learnt from.

    values: `(times, cells)`, of cells that have values in the training.
    weights: Of the cells, with sum 1: the cosine of the latitude where there is one.
    phases: Place in the season of each time, and of the horizon after the last.
    borders: First time of each part, and the first after it: of what is forecast.
    """

    cube: Cube
    state: GridState
    values: Values
    weights: Floats
    phases: Whole
    borders: dict[str, tuple[int, int]]
    context: int
    notes: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """What messages call the data."""
        return self.cube.source

    def content(self) -> Iterator[object]:
        """Everything that was read."""
        values = self.cube.values
        yield from (block for _, _, block in in_blocks(values)) if isinstance(values, Fields) else (values,)
        yield from (self.cube.times.words(), self.state.targets, self.state.units)
        yield from (axis.plain() for axis in self.state.axes)

    @property
    def past(self) -> History:
        """What forecasts see."""
        fields, context = self.values, self.context
        last = carry_later(fields, context) if isinstance(fields, Fields) else carry(fields, context)
        return History(last, self.phases, self.weights)

    @property
    def horizon(self) -> int:
        """Times to forecast."""
        return len(self.phases) - len(self.values)

    def until(self, stop: int, held: tuple[int, int] = (0, 0)) -> Fields:
        """Values before a time, as if nothing were known from one of them up to another."""

        def read(rows: Whole) -> Floats:
            found = self.values[rows]  # a copy
            found[(rows >= held[0]) & (rows < held[1])] = np.nan
            return found

        return Fields(read, (stop, self.values.shape[1]))

    def learn(self, values: Values) -> Fitted:
        """What the floors know of the first times, whose values are given."""
        how = {"period": self.state.period, "horizon": self.horizon, "modes": self.state.modes}
        return fit_floors(values, self.phases[: len(values)], self.weights, **how)

    @property
    def is_split(self) -> bool:
        """Whether a training is to learn from it; a later grid is one part as a whole."""
        return self.borders["train"][1] <= self.borders["validation"][0]

    @functools.cached_property
    def early(self) -> Fitted:
        """What the floors know of the training times: all that validation may be forecast with."""
        return self.learn(self.until(self.borders["train"][1]))

    @functools.cached_property
    def crosswise(self) -> list[Fitted]:
        """Floors for each stretch of the training, learnt without its times and those that are forecast from it.

        A network that corrects floors which know the answer would learn to correct too little.
        """
        stop = self.borders["train"][1]
        fits, rows = [], np.arange(stop)
        count = FEW_FOLDS if isinstance(self.values, Fields) else FOLDS
        for fold in range(count):
            inside = np.flatnonzero(rows * count // stop == fold)
            held = (int(inside[0]), int(inside[-1]) + min(self.horizon, stop // 2) + 1) if len(inside) else (stop, stop)
            fits.append(self.learn(self.until(stop, held)))
        return fits


def read_sound(config: GridConfig, source: object) -> tuple[Cube, tuple[str, ...]]:
    """A grid without a flaw, and what a reader of the scores should know of it."""
    notes: list[str] = []

    def read(findings: Findings) -> Cube:
        cube = read_cube(config.read, source, findings)
        find_flaws(cube, config.read, findings)
        notes.extend(findings.remarks())
        return cube

    with within(config.read, source):
        return soundly(name_arrays(source), read), tuple(notes)


def prepare_grid(config: GridConfig, source: object, state: GridState | None = None, **how: Any) -> PreparedGrid:
    """A grid, split by time; with a state a later one, held to it and taken as a whole."""
    if state is not None:
        config = config.replace(read={**config.read.plain(), "target": ",".join(state.targets)})
    cube, notes = read_sound(config, source)
    rows, step = len(cube.values), cube.times.step()[0]
    borders = cut(config, rows, cube.source) if state is None else dict.fromkeys((*SPLITS, "all"), (0, rows))
    if state is None:
        state = learn(config, cube, step, borders["train"][1])
    else:
        hold(cube, step, state)
    mask, later = state.mask, cube.times.later(step, config.horizon)
    values, places = cube.values, np.flatnonzero(mask)
    if isinstance(values, Fields):
        values = Fields(functools.partial(take_cells, values, places), (rows, len(places)))
    else:
        values = values[:, mask]
    return PreparedGrid(
        cube=cube,
        state=state,
        values=values,
        weights=weigh(cube, mask),
        phases=np.concatenate([each.phases(step, state.period) for each in (cube.times, later)]),
        borders=borders,
        context=config.context,
        notes=notes,
    )


def take_cells(values: Fields, places: Whole, rows: Whole) -> Floats:
    """Some cells at some times, `(rows, cells)`."""
    return values[rows].reshape(len(rows), math.prod(values.shape[1:]))[:, places]


def cut(config: GridConfig, rows: int, source: str) -> dict[str, tuple[int, int]]:
    """First and last time of each part, the latest for the test; a gap is taken from the part before it."""
    shares, gap = (1 - config.split.test - config.split.validation, 1 - config.split.test), config.split.gap
    first, second = (int(rows * share + 1e-9) for share in shares)
    parts = {"train": (0, first - gap), "validation": (first, second - gap), "test": (second, rows)}
    sizes = {name: max(0, stop - start) for name, (start, stop) in parts.items()}
    if sizes["train"] < config.horizon + FEWEST or not all(sizes.values()):
        counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        rule = f"{source}: {rows} times are too few for a horizon of {config.horizon}. Got {counts}. Give more, or "
        raise DataError(rule, "forecast fewer (", Fix("horizon", max(1, sizes["train"] - FEWEST)), ").")
    return parts


def learn(config: GridConfig, cube: Cube, step: Step, rows: int) -> GridState:
    """What the training times say of a grid."""
    training = Fields(lambda places: cube.values[places], (rows, *cube.values.shape[1:]))
    mask, period = look_at(training).counts > 0, config.read.season or cube.times.season(step)
    seen = training[thin(np.arange(rows), many(training))]
    has_season = 1 < period <= min(config.context, rows)
    return GridState(
        targets=cube.names,
        units=cube.units,
        calendar=cube.times.calendar,
        axes=cube.axes,
        step=step,
        period=period,
        runs=run_lengths(mask.reshape(-1)),
        modes=max(1, min(MODES, (rows - config.horizon) // 2, int(mask.sum()))),
        floors=tuple(name for name in FLOORS if has_season or name != "season"),
        scaler=Scaler.fit(seen[np.isfinite(seen)][:, None]),
    )


def run_lengths(flags: NDArray[np.bool_]) -> tuple[int, ...]:
    """Lengths of runs of true and false in turn, the first true."""
    ends = np.flatnonzero(np.diff(flags)) + 1
    lengths = np.diff([0, *ends.tolist(), len(flags)]).tolist()
    return tuple(lengths if flags[0] else [0, *lengths])


def weigh(cube: Cube, mask: NDArray[np.bool_]) -> Floats:
    """Share of each cell in a mean: by the cosine of its latitude, else all alike."""
    weights = np.ones(mask.shape)
    for place, axis in enumerate(cube.axes):
        if axis.role == "lat" and axis.values is not None:
            shares = np.maximum(np.cos(np.deg2rad(axis.values)), 0.0)
            weights = np.moveaxis(np.moveaxis(weights, place, -1) * shares, -1, place)
    chosen: Floats = weights[mask] / weights[mask].sum()
    return chosen


def hold(cube: Cube, step: Step, state: GridState) -> None:
    """Hold a later grid to that of the training: its axes, places, units, calendar and step."""
    known, given = (
        {
            "axes": ", ".join(f"{axis.name} {axis.size}" for axis in each.axes),
            "units": each.units,
            "calendar": calendar,
            "step": f"{own.months} months" if own.months else f"{own.length:.4g}",
        }
        for each, calendar, own in ((state, state.calendar, state.step), (cube, cube.times.calendar, step))
    )
    pairs = zip(state.axes, cube.axes, strict=False)
    for axis, other in pairs:
        reach = SAME * np.abs(axis.values or 1).max()
        if axis.size == other.size and not np.allclose(axis.values or 0, other.values or 0, rtol=0, atol=reach):
            known[axis.name], given[axis.name] = "its places", "others"
    for word, words in known.items():
        if words != given[word]:
            rule = f"{word} must be that of the training: {words}. Got {given[word]}"
            raise DataError(f"{cube.source}: {rule}. Convert it to that grid.")
