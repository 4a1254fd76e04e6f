"""The network of a grid: what it sees before each time, what it loses, and the fields it gives."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.models import create_model
from multiway.tasks.grids.config import NONE, GridConfig
from multiway.tasks.grids.encode import GridState, PreparedGrid
from multiway.tasks.grids.fields import Floats, in_blocks
from multiway.tasks.grids.floors import Fitted, History, forecast_floors
from multiway.tasks.options import network_fields
from multiway.tasks.protocol import NETWORK
from multiway.training import Batch
from multiway.training.processes import best_device, device_of

FEATURES = 5
"""What a network is told of a cell beside its value: whether that is known, the season on a circle, row and column."""
AT_ONCE = 8
"""Samples that are forecast at once."""


def build_network(config: GridConfig, state: GridState) -> nn.Module | None:
    """Draw the network that a settled config names, if it does."""
    if config.model["name"] == NONE:
        return None
    sizes = state.planes
    fields = {"context": config.context, "horizon": config.horizon, "channels": sizes[1], "sizes": sizes[2:]}
    return create_model(config.model["name"], **network_fields(config.model, **fields, features=FEATURES))


def list_candidates(config: GridConfig, state: GridState) -> tuple[str, ...]:
    """Names of the floors, and of the network where there is one."""
    return (*state.floors, *((NETWORK,) if config.model["name"] != NONE else ()))


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Frames:
    """Samples of a network: a time and a member each, with the fields before it and the first forecasts of those after.

    floors: Learnt for each stretch of times, or once for all.
    base: Share of each floor in the first forecast of each lead, `(leads, floors)`.
    scales: Of anomalies, one for each channel.
    origins: Last time that each sample sees.
    part: First of the times that are learnt from, and the first after them.
    """

    grid: PreparedGrid
    floors: Sequence[Fitted]
    base: Floats
    scales: Floats
    origins: NDArray[np.int64]
    part: tuple[int, int]

    def __len__(self) -> int:
        return len(self.origins) * self.grid.state.planes[0]

    @functools.cached_property
    def past(self) -> History:
        """What the floors see."""
        return self.grid.past

    @functools.cached_property
    def place(self) -> NDArray[np.float32]:
        """Row and column of each cell, from -1 to 1."""
        return np.stack(np.meshgrid(*(np.linspace(-1, 1, size) for size in self.grid.state.planes[2:]), indexing="ij"))

    def rows(self, origin: int) -> NDArray[np.int64]:
        """Times of the fields of a sample."""
        return np.arange(origin - self.grid.context + 1, origin + len(self.base) + 1)

    def usual(self, origin: int) -> Floats:
        """Climatology of the times of a sample, `(context + horizon, cells)`."""
        return self.floors_at(origin).climatology[self.grid.phases[np.maximum(self.rows(origin), 0)]]

    def floors_at(self, origin: int) -> Fitted:
        """The floors that forecast from a time."""
        return self.floors[origin * len(self.floors) // self.part[1] if len(self.floors) > 1 else 0]

    def look(self, origin: int) -> Iterator[NDArray[np.floating]]:
        """Inputs, targets and weights of every member: scaled anomalies `(members, fields, channels, rows, columns)`.

        Where nothing is known stands zero, and what is no time of the part has no weight.
        """
        grid, state, (start, stop), context = self.grid, self.grid.state, self.part, self.grid.context
        rows, usual, names = self.rows(origin), self.usual(origin), state.floors
        values = np.where((rows >= 0)[:, None], grid.values[rows.clip(0, len(grid.values) - 1)], np.nan)
        fields = values.copy()
        for lead, shares in enumerate(self.base, start=1):
            found = forecast_floors(self.floors_at(origin), self.past, np.array([origin]), lead)
            said = (share * found[name][0] for share, name in zip(shares, names, strict=True) if share)
            fields[context + lead - 1] = sum(said)
        anomalies = state.to_planes(fields - usual) / self.scales[:, None, None]
        (count, members, channels, *sizes), known = anomalies.shape, np.isfinite(anomalies)
        angles = 2 * np.pi * grid.phases[np.maximum(rows, 0)] / state.period
        inputs = np.zeros((count, members, channels + FEATURES, *sizes), np.float32)
        inputs[:, :, :channels], inputs[:, :, channels] = np.where(known, anomalies, 0.0), known.any(2)
        for place, wave in enumerate((np.sin(angles), np.cos(angles)), start=channels + 1):
            inputs[:, :, place] = wave[:, None, None, None]
        inputs[:, :, -2:] = self.place
        yield inputs.swapaxes(0, 1)
        is_learnt = (rows >= start) & (rows < stop)
        off = state.to_planes(np.where(is_learnt[:, None], values - fields, np.nan)[context:])
        yield np.nan_to_num(off / self.scales[:, None, None]).swapaxes(0, 1)
        weights = state.to_planes(np.tile(grid.weights * len(grid.weights), (len(off), 1)))
        yield np.where(np.isfinite(off), weights, 0.0).swapaxes(0, 1)

    def gather(self, index: Tensor) -> Batch:
        """Inputs, targets and weights of some samples, members of a time side by side."""
        members = self.grid.state.planes[0]
        places, known = index.tolist(), {}
        for place in {each // members for each in places}:
            known[place] = [np.ascontiguousarray(each, np.float32) for each in self.look(int(self.origins[place]))]
        parts = zip(*([each[place % members] for each in known[place // members]] for place in places), strict=True)
        names = ("inputs", "target", "weights")
        return {name: torch.from_numpy(np.stack(part)) for name, part in zip(names, parts, strict=True)}


def weigh_error(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Squared errors of a correction by area, over the cells that are known, and the sum of their weights."""
    weights = batch["weights"]
    return (weights * (model(batch["inputs"]) - batch["target"]) ** 2).sum(), weights.sum()


def frames_of(grid: PreparedGrid, split: str, floors: Sequence[Fitted], base: Floats, scales: Floats) -> Frames:
    """Samples with a time of a part to learn from; those of the training see as many times as the others."""
    start, stop = grid.borders[split]
    least = min(grid.context, stop // 2) - 1 if split == "train" else 0
    origins = np.arange(max(start - len(base), least, 0), stop - 1)
    return Frames(grid=grid, floors=floors, base=base, scales=scales, origins=origins, part=(start, stop))


def find_scales(grid: PreparedGrid) -> Floats:
    """Root mean square of the anomalies of each channel in the training."""
    stop, usual = grid.borders["train"][1], grid.early.climatology
    sums, counts = np.zeros((2, grid.state.planes[1]))
    for start, _, block in in_blocks(grid.until(stop)):
        planes = grid.state.to_planes(block - usual[grid.phases[start : start + len(block)]])
        sums += np.nansum(planes.astype(np.float64) ** 2, axis=(0, 1, 3, 4))
        counts += np.isfinite(planes).sum((0, 1, 3, 4))
    scales: Floats = np.sqrt(sums / np.maximum(counts, 1)).clip(1e-12)
    return scales


@torch.no_grad()
def correct_fields(network: nn.Module, frames: Frames) -> Floats:
    """Fields after each origin as a network corrects them, `(origins, leads, cells)`."""
    network.eval()
    members, channels, *_ = frames.grid.state.planes
    context, parts = frames.grid.context, []
    with best_device(network):
        for index in torch.arange(len(frames)).split(AT_ONCE):
            inputs = frames.gather(index)["inputs"]
            found = network(inputs.to(device_of(network))).cpu() + inputs[:, context:, :channels]
            parts.append(found.double().numpy() * frames.scales[:, None, None])
    whole = np.concatenate(parts)
    planes = whole.reshape(-1, members, *whole.shape[1:]).swapaxes(1, 2)
    usual = np.stack([frames.usual(origin)[context:] for origin in frames.origins.tolist()])
    anomalies = frames.grid.state.from_planes(planes.reshape(-1, *planes.shape[2:])).reshape(usual.shape)
    return usual + anomalies
