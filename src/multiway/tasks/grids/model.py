"""The floors of a grid and its network as a module whose numbers are stored, and what they say of a part."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.errors import DataError
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.encode import GridState, PreparedGrid
from multiway.tasks.grids.floors import Fitted, Floats, forecast_floors
from multiway.tasks.grids.network import (
    Frames,
    build_network,
    correct_fields,
    frames_of,
    learn_crosswise,
    learn_floors,
    list_candidates,
    weigh_error,
)
from multiway.tasks.protocol import OURS, Context
from multiway.tasks.run import Run
from multiway.training import History, TrainingConfig, train

LEAST = 0.005
"""Share from which on a floor is named."""


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
        }
        for name, shape in sizes.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape), requires_grad=False))

    def fit(self, grid: PreparedGrid, stop: int, horizon: int) -> None:
        """Learn from the first times of a grid, in place."""
        for name, values in learn_floors(grid, grid.values[:stop], horizon)._asdict().items():
            self.keep(name, values)

    def keep(self, name: str, values: Floats) -> None:
        """Take what was learnt under a name."""
        self.get_parameter(name).data = torch.from_numpy(values).float()

    def numbers(self, name: str) -> Floats:
        """What was learnt under a name, in float64."""
        values: Floats = self.get_parameter(name).double().numpy()
        return values

    def correct(self, grid: PreparedGrid, origins: NDArray[np.int64], floors: Fitted) -> Floats | None:
        """Fields of the network after some times, `(origins, leads, cells)`; None without one."""
        if self.network is None:
            return None
        own = {"base": self.numbers("base"), "scales": self.numbers("scales")}
        return correct_fields(self.network, Frames(grid=grid, floors=[floors], origins=origins, part=(0, 0), **own))


def train_network(module: GridFloors, grid: PreparedGrid, training: TrainingConfig, context: Context) -> History:
    """Train the network on what floors leave that do not know it; validation keeps its best weights."""
    assert module.network is not None
    stop, base, scales = grid.borders["train"][1], module.numbers("base"), module.numbers("scales")
    return train(
        module.network,
        weigh_error,
        frames_of(grid, "train", learn_crosswise(grid, stop, len(base)), base, scales),
        frames_of(grid, "validation", [read_floors(dict(module.named_parameters()))], base, scales),
        training,
        run=context.own_folder(),
        progress=context.progress,
        callbacks=context.callbacks,
    )


def read_floors(tensors: dict[str, Tensor]) -> Fitted:
    """What was stored, in float64."""
    return Fitted(*(tensors[name].double().numpy() for name in Fitted._fields))


class Measured(NamedTuple):
    """Errors of the candidates on a part: the floors, and the network where there is one.

    products: By lead, inner products of their weighted errors at each time, `(times, candidates, candidates)`.
    shares: Of each in the answer to each lead, `(leads, candidates)`.
    """

    names: Sequence[str]
    products: list[Floats]
    shares: NDArray[np.float64]

    def squares(self, weights: Floats) -> Floats:
        """Mean squared error of a blend by lead."""
        pairs = zip(weights, self.products, strict=True)
        return np.array([np.einsum("i,ij,j->", each, products.mean(0), each) for each, products in pairs])

    def errors(self) -> dict[str, Floats]:
        """Root mean squared error by lead: of the answer, and of every candidate."""
        alone = np.eye(len(self.names))[:, None].repeat(len(self.shares), axis=1)
        every = {OURS: self.shares, **dict(zip(self.names, alone, strict=True))}
        return {name: np.sqrt(self.squares(weights)) for name, weights in every.items()}


def measure_errors(module: GridFloors, grid: PreparedGrid, part: str, *, alone: bool = False) -> list[Floats]:
    """Inner products of the candidates' errors at each time of a part and lead, weighted by area over known cells.

    alone: Leave the network out.
    """
    fitted, past, names = read_floors(dict(module.named_parameters())), grid.past, grid.state.floors
    start, stop = grid.borders[part]
    products, first = [], max(start - len(fitted.damping), 0)
    network = None if alone else module.correct(grid, np.arange(first, stop - 1), fitted)
    for lead in range(1, len(fitted.damping) + 1):
        rows = np.arange(max(start, lead), stop)
        truth = grid.values[rows]
        known = np.isfinite(truth)
        weights = np.where(known, grid.weights, 0.0)
        seen = weights.sum(1)
        scale = np.sqrt(weights / np.maximum(seen, 1e-300)[:, None])
        found = forecast_floors(fitted, past, rows - lead, lead)
        every = [found[name] for name in names]
        if network is not None:
            every.append(network[rows - lead - first, lead - 1])
        errors = np.stack([scale * np.where(known, each - truth, 0.0) for each in every], axis=1)
        products.append((errors @ errors.swapaxes(1, 2))[seen > 0])
    return products


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


def shares_of(run: Run) -> Floats:
    """Share of each floor in the answer to each lead; of one that was named by hand, all of it."""
    shares = module_of(run).numbers("shares")
    if run.answer.name == OURS:
        return shares
    names = list_candidates(run.config, run.state)
    return np.tile(np.eye(len(names))[names.index(run.answer.name)], (len(shares), 1))


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
    return blend_fields(module_of(run), read_floors(run.calibration), prepared, times - 1, shares_of(run))
