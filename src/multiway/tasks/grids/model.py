"""The floors of a grid and its network as a module whose numbers are stored, and what they say of a part."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.errors import ConfigError, DataError
from multiway.tasks.grids.bands import PERCENTAGES, PRIOR, SHOWN, find_radii, learn_band, share_held
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.encode import GridState, PreparedGrid
from multiway.tasks.grids.fields import BLOCK, Floats, Whole, many, thin
from multiway.tasks.grids.floors import Fitted, blend_weights, forecast_floors
from multiway.tasks.grids.network import (
    Frames,
    build_network,
    correct_fields,
    find_scales,
    frames_of,
    list_candidates,
)
from multiway.tasks.options import hold_levels
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run

LEAST = 0.005
"""Share from which on a floor is named."""
MOST = 16
"""Times of validation, evenly spread, that a network is shown."""


class GridFloors(nn.Module):
    """Everything that the floors know of some times, a network that corrects them, and their shares in the answer.

    Nothing but the network has a gradient: `fit_floors` has closed forms for all else.
    """

    def __init__(self, config: GridConfig, state: GridState) -> None:
        super().__init__()
        cells, modes, horizon = sum(state.runs[::2]), state.modes, config.horizon
        self.network = build_network(config, state)
        sizes = {
            "climatology": (state.period, cells),
            "damping": (horizon, cells),
            "patterns": (modes, cells),
            "maps": (horizon, modes, modes),
            "base": (horizon, len(state.floors)),
            "scales": (state.planes[1],),
            "shares": (horizon, len(list_candidates(config, state))),
            "spread": (horizon, cells),
            "reach": (horizon, len(PERCENTAGES)),
        }
        for name, shape in sizes.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape), requires_grad=False))

    def fit(self, grid: PreparedGrid, stop: int) -> None:
        """Learn from the first times of a grid, in place."""
        for name, values in grid.learn(grid.until(stop))._asdict().items():
            self.keep(name, values)

    @property
    def floors(self) -> Fitted:
        """What the floors know."""
        return read_floors(dict(self.named_parameters()))

    def keep(self, name: str, values: Floats) -> None:
        """Take what was learnt under a name."""
        self.get_parameter(name).data = torch.from_numpy(values).float()

    def numbers(self, name: str) -> Floats:
        """What was learnt under a name, in float64."""
        values: Floats = self.get_parameter(name).double().numpy()
        return values

    def radii(self, level: float) -> Floats:
        """Half widths of the answer's band of a level in percent, `(leads, cells)`."""
        return find_radii(self.numbers("spread"), self.numbers("reach"), level)

    def correct(self, grid: PreparedGrid, origins: NDArray[np.int64], floors: Fitted) -> Floats | None:
        """Fields of the network after some times, `(origins, leads, cells)`; None without one."""
        if self.network is None:
            return None
        own = {"base": self.numbers("base"), "scales": self.numbers("scales")}
        return correct_fields(self.network, Frames(grid=grid, floors=[floors], origins=origins, part=(0, 0), **own))


class Samples(NamedTuple):
    """What a network is trained on, and what chooses its weights."""

    training: Frames
    validation: Frames


def learn_start(module: GridFloors, grid: PreparedGrid) -> GridFloors:
    """Learn what a network starts from: the blend of floors that validation prefers, and the scales."""
    products = measure_errors(module, grid, "validation", alone=True)
    module.keep("base", np.stack([blend_weights(each) for each in products]))
    module.keep("scales", find_scales(grid))
    return module


def samples_of(module: GridFloors, grid: PreparedGrid) -> Samples:
    """Samples of a network: what the floors leave of the training times, which those do not know, and of validation."""
    base, scales = module.numbers("base"), module.numbers("scales")
    return Samples(
        frames_of(grid, "train", grid.crosswise, base, scales),
        frames_of(grid, "validation", [grid.early], base, scales),
    )


def spread_frames(run: Run, grid: PreparedGrid) -> Frames:
    """Samples of validation that a network is shown, evenly spread, the last among them."""
    module, (start, stop) = module_of(run), grid.borders["validation"]
    origins = np.unique(np.linspace(max(start - grid.horizon, 0), stop - 2, MOST).astype(int))
    own = {"base": module.numbers("base"), "scales": module.numbers("scales")}
    return Frames(grid=grid, floors=[grid.early], origins=origins, part=(start, stop), **own)


def read_floors(tensors: dict[str, Tensor]) -> Fitted:
    """What was stored, in float64."""
    return Fitted(*(tensors[name].double().numpy() for name in Fitted._fields))


class Measured(NamedTuple):
    """Errors of the candidates on a part: the floors, and the network where there is one.

    products: By lead, inner products of their weighted errors at each time, `(times, candidates, candidates)`.
    shares: Of each in the answer to each lead, `(leads, candidates)`.
    coverage: Share of the values in the band of each level.
    """

    names: Sequence[str]
    products: list[Floats]
    shares: NDArray[np.float64]
    coverage: Mapping[float, float]

    def squares(self, weights: Floats) -> Floats:
        """Mean squared error of a blend by lead."""
        pairs = zip(weights, self.products, strict=True)
        return np.array([np.einsum("i,ij,j->", each, products.mean(0), each) for each, products in pairs])

    def errors(self) -> dict[str, Floats]:
        """Root mean squared error by lead: of the answer, and of every candidate."""
        alone = np.eye(len(self.names))[:, None].repeat(len(self.shares), axis=1)
        every = {OURS: self.shares, **dict(zip(self.names, alone, strict=True))}
        return {name: np.sqrt(self.squares(weights)) for name, weights in every.items()}


def list_errors(
    module: GridFloors, grid: PreparedGrid, part: str, *, alone: bool = False, most: int | None = None
) -> Iterator[tuple[int, Floats]]:
    """Places of leads, and errors of the candidates at times of a part, `(times, candidates, cells)`.

    Times come strip by strip, as many as are worked on at once. What is unknown is NaN. Validation is forecast with
    what the training times say, even where more was learnt since.

    alone: Leave the network out.
    most: Look at no more times than this, evenly spread.
    """
    start, stop = grid.borders[part]
    origins = np.arange(max(start - grid.horizon, 0), stop - 1)
    origins = origins if most is None else thin(origins, most)
    fitted = grid.early if part == "validation" and grid.is_split else module.floors
    size = max(1, BLOCK // (grid.values.shape[1] * (len(grid.state.floors) + 1)))
    for strip in np.split(origins, range(size, len(origins), size)):
        yield from enumerate(errors_after(module, fitted, grid, strip, (start, stop), alone=alone))


def errors_after(
    module: GridFloors,
    fitted: Fitted,
    grid: PreparedGrid,
    origins: Whole,
    part: tuple[int, int],
    *,
    alone: bool = False,
) -> Iterator[Floats]:
    """The same at those times of a part, its first and the one after its last, that are a lead after some origins."""
    past, names = grid.past, grid.state.floors
    network = None if alone else module.correct(grid, origins, fitted)
    for lead in range(1, len(fitted.damping) + 1):
        is_inside = (origins + lead >= part[0]) & (origins + lead < part[1])
        rows = origins[is_inside] + lead
        found = forecast_floors(fitted, past, rows - lead, lead)
        every = [found[name] for name in names]
        if network is not None:
            every.append(network[is_inside, lead - 1])
        yield np.stack(every, axis=1) - grid.values[rows][:, None]


def multiply(errors: Floats, areas: Floats) -> Floats:
    """Inner products of errors of candidates at each time, weighted by area; NaN where no cell is known."""
    weights = np.where(np.isfinite(errors[:, 0]), areas, 0.0)
    seen = weights.sum(1)
    scaled = np.nan_to_num(errors) * np.sqrt(weights / np.maximum(seen, 1e-300)[:, None])[:, None]
    return np.where((seen > 0)[:, None, None], scaled @ scaled.swapaxes(1, 2), np.nan)


def measure_errors(module: GridFloors, grid: PreparedGrid, part: str, *, alone: bool = False) -> list[Floats]:
    """Inner products of the candidates' errors at each time and lead, weighted by area over known cells."""
    found: list[list[Floats]] = [[] for _ in range(grid.horizon)]
    for lead, errors in list_errors(module, grid, part, alone=alone):
        products = multiply(errors, grid.weights)
        found[lead].append(products[np.isfinite(products[:, 0, 0])])
    return [np.concatenate(each) for each in found]


def keep_bands(module: GridFloors, grid: PreparedGrid, shares: Floats) -> None:
    """Learn the bands of a blend from its errors on validation, and on all of the training as if on a few more times.

    In the training its network stands for the blend that it corrects. Of more times than are worked on at once, some
    that are evenly spread are looked at.
    """
    count = len(grid.state.floors)
    floors, bands = shares[:, :count] + shares[:, count:].sum(1, keepdims=True) * module.numbers("base"), []
    own: list[list[Floats]] = [[] for _ in shares]
    for lead, errors in list_errors(module, grid, "validation", most=many(grid.values)):
        own[lead].append(np.einsum("c,tcx->tx", shares[lead], errors))
    for parts, held_out in zip(own, list_held_out(grid, floors), strict=True):
        seen = np.concatenate([held_out, *parts])
        counts = np.append(np.full(len(held_out), PRIOR / len(held_out)), np.ones(len(seen) - len(held_out)))
        bands.append(learn_band(seen, grid.weights, counts))
    for name, values in zip(("spread", "reach"), zip(*bands, strict=True), strict=True):
        module.keep(name, np.stack(values))


def list_held_out(grid: PreparedGrid, shares: Floats) -> Iterator[Floats]:
    """By lead, errors of a blend of floors in the training, `(times, cells)`: of each stretch by the others.

    Times are as many as are worked on at once, evenly spread.
    """
    stop = grid.borders["train"][1]
    fits, past = grid.crosswise, grid.past
    for lead, weights in enumerate(shares, start=1):
        rows, parts = thin(np.arange(lead, stop), many(grid.values)), []
        for place, fitted in enumerate(fits):
            own = rows[(rows - lead) * len(fits) // stop == place]
            found = forecast_floors(fitted, past, own - lead, lead)
            said = np.einsum("f,ftx->tx", weights, np.stack([found[name] for name in grid.state.floors]))
            parts.append(said - grid.values[own])
        yield np.concatenate(parts)


def measure_coverage(module: GridFloors, grid: PreparedGrid, part: str, shares: Floats) -> dict[float, float]:
    """Share of the known values of a part, by area over all leads, in the band of each level in percent."""
    radii = {level: module.radii(level) for level in SHOWN}
    sums = {level: np.zeros(2) for level in SHOWN}
    for lead, errors in list_errors(module, grid, part):
        off = np.einsum("c,tcx->tx", shares[lead], errors)
        for level in SHOWN:
            sums[level] += share_held(off, radii[level][lead], grid.weights).sum(1)
    return {level: float(held / max(whole, 1e-300)) for level, (held, whole) in sums.items()}


def blend_fields(module: GridFloors, fitted: Fitted, grid: PreparedGrid, origin: int, shares: Floats) -> Floats:
    """The answer for every lead after one time, `(leads, cells)`."""
    past, names, origins, fields = grid.past, grid.state.floors, np.array([origin]), []
    network = module.correct(grid, origins, fitted) if shares[:, len(names) :].any() else None
    for lead, weights in enumerate(shares, start=1):
        found = forecast_floors(fitted, past, origins, lead)
        every = [found[name][0] for name in names] + ([] if network is None else [network[0, lead - 1]])
        fields.append(sum(weight * field for field, weight in zip(every, weights, strict=False)))
    return np.stack(fields)


def module_of(run: Run) -> GridFloors:
    """The floors of a run."""
    module = run.models[OURS]
    assert isinstance(module, GridFloors)
    return module


def shares_of(run: Run, answer: str | None = None) -> Floats:
    """Share of each candidate in the answer to each lead; of one that was named by hand, all of it."""
    shares, answer = module_of(run).numbers("shares"), answer or run.answer.name
    if answer == OURS:
        return shares
    names = list_candidates(run.config, run.state)
    return np.tile(np.eye(len(names))[names.index(answer)], (len(shares), 1))


def in_words(floors: Sequence[str], shares: Floats) -> str:
    """What an answer is made of, the largest share first."""
    ranked = sorted(zip(shares.tolist(), floors, strict=True), reverse=True)
    return " and ".join(f"{share:.0%} {name}" for share, name in ranked if share >= LEAST)


def forecast_fields(run: Run, prepared: PreparedGrid, levels: Sequence[float] = ()) -> Floats:
    """The answer after the last time, `(leads, cells)`; with levels its quantiles, `(quantiles, leads, cells)`.

    Raises:
        DataError: There are fewer times than a forecast sees.
        ConfigError: Bands of another model than the one that answers are wanted.
    """
    times, context, module = len(prepared.values), run.config.context, module_of(run)
    if times < context:
        raise DataError(f"{prepared.source}: a forecast sees {context} times. Got {times}. Give more of the past.")
    fields = blend_fields(module, read_floors(run.calibration), prepared, times - 1, shares_of(run))
    if not levels:
        return fields
    hold_levels("predict", levels)
    if run.answer.name != run.facts["banded"]:
        raise ConfigError(f"predict: bands are those of {run.facts['banded']}. Leave out model, or the levels.")
    radii = [module.radii(level) for level in sorted(levels)]
    return np.stack([*(fields - each for each in radii[::-1]), fields, *(fields + each for each in radii)])


def quantiles_of(levels: Sequence[float]) -> list[float]:
    """Shares below the ends of bands and the middle, in rising order."""
    tails = [each / 200 for each in sorted(levels)]
    return [*(0.5 - each for each in tails[::-1]), 0.5, *(0.5 + each for each in tails)]
