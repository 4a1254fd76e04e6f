"""The floors of a grid as a module whose numbers are stored, and what they say of a part."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.errors import DataError
from multiway.tasks.grids.encode import GridState, PreparedGrid
from multiway.tasks.grids.floors import Fitted, Floats, fit_floors, forecast_floors
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run

LEAST = 0.005
"""Share from which on a floor is named."""


class GridFloors(nn.Module):
    """Everything that the floors know of some times, and the share of each floor in the answer to each lead.

    Nothing of it has a gradient: `fit_floors` has closed forms for all.
    """

    def __init__(self, state: GridState, horizon: int) -> None:
        super().__init__()
        cells, modes = sum(state.runs[::2]), state.modes
        sizes = {
            "climatology": (state.period, cells),
            "damping": (horizon, cells),
            "patterns": (modes, cells),
            "maps": (horizon, modes, modes),
            "shares": (horizon, len(state.floors)),
        }
        for name, shape in sizes.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape), requires_grad=False))

    def fit(self, grid: PreparedGrid, stop: int, horizon: int) -> None:
        """Learn from the first times of a grid, in place."""
        for name, values in learn_floors(grid, stop, horizon)._asdict().items():
            self.get_parameter(name).data = torch.from_numpy(values).float()


def learn_floors(grid: PreparedGrid, stop: int, horizon: int) -> Fitted:
    """What the floors know of the first times of a grid."""
    how = {"period": grid.state.period, "horizon": horizon, "modes": grid.state.modes}
    return fit_floors(grid.values[:stop], grid.phases[:stop], grid.weights, **how)


def read_floors(tensors: dict[str, Tensor]) -> Fitted:
    """What was stored, in float64."""
    return Fitted(*(tensors[name].double().numpy() for name in Fitted._fields))


class Measured(NamedTuple):
    """Errors of the floors on a part.

    products: By lead, inner products of the floors' weighted errors at each time, `(times, floors, floors)`.
    shares: Of the floors in the answer to each lead, `(leads, floors)`.
    """

    floors: Sequence[str]
    products: list[Floats]
    shares: NDArray[np.float64]

    def squares(self, weights: Floats) -> Floats:
        """Mean squared error of a blend by lead."""
        pairs = zip(weights, self.products, strict=True)
        return np.array([np.einsum("i,ij,j->", each, products.mean(0), each) for each, products in pairs])

    def errors(self) -> dict[str, Floats]:
        """Root mean squared error by lead: of the answer, and of every floor."""
        alone = np.eye(len(self.floors))[:, None].repeat(len(self.shares), axis=1)
        every = {OURS: self.shares, **dict(zip(self.floors, alone, strict=True))}
        return {name: np.sqrt(self.squares(weights)) for name, weights in every.items()}


def measure_floors(fitted: Fitted, grid: PreparedGrid, part: str, horizon: int) -> list[Floats]:
    """Inner products of the floors' errors at each time of a part and lead, weighted by area over known cells."""
    past, names = grid.past, grid.state.floors
    products = []
    for lead in range(1, horizon + 1):
        start, stop = grid.borders[part]
        rows = np.arange(max(start, lead), stop)
        truth = grid.values[rows]
        known = np.isfinite(truth)
        weights = np.where(known, grid.weights, 0.0)
        seen = weights.sum(1)
        scale = np.sqrt(weights / np.maximum(seen, 1e-300)[:, None])
        found = forecast_floors(fitted, past, rows - lead, lead)
        errors = np.stack([scale * np.where(known, found[name] - truth, 0.0) for name in names], axis=1)
        products.append((errors @ errors.swapaxes(1, 2))[seen > 0])
    return products


def blend_fields(fitted: Fitted, grid: PreparedGrid, origin: int, shares: Floats) -> Floats:
    """The answer for every lead after one time, `(leads, cells)`."""
    past, fields = grid.past, []
    for lead, weights in enumerate(shares, start=1):
        found = forecast_floors(fitted, past, np.array([origin]), lead)
        fields.append(sum(weight * found[name][0] for name, weight in zip(grid.state.floors, weights, strict=True)))
    return np.stack(fields)


def module_of(run: Run) -> GridFloors:
    """The floors of a run."""
    module = run.models[OURS]
    assert isinstance(module, GridFloors)
    return module


def shares_of(run: Run) -> Floats:
    """Share of each floor in the answer to each lead; of one that was named by hand, all of it."""
    shares: Floats = module_of(run).get_parameter("shares").double().numpy()
    if run.answer.name == OURS:
        return shares
    return np.tile(np.eye(len(run.state.floors))[run.state.floors.index(run.answer.name)], (len(shares), 1))


def in_words(floors: Sequence[str], shares: Floats) -> str:
    """What an answer is made of, the largest share first."""
    ranked = sorted(zip(shares.tolist(), floors, strict=True), reverse=True)
    return " and ".join(f"{share:.0%} {name}" for share, name in ranked if share >= LEAST)


def forecast_fields(run: Run, prepared: PreparedGrid) -> Floats:
    """The answer after the last time, `(leads, cells)`.

    Raises:
        DataError: There are fewer times than a forecast sees.
    """
    times, context = len(prepared.values), run.config.context
    if times < context:
        raise DataError(f"{prepared.source}: a forecast sees {context} times. Got {times}. Give more of the past.")
    return blend_fields(read_floors(run.calibration), prepared, times - 1, shares_of(run))
