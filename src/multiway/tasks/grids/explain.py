"""What the answer on a grid is made of at each lead, what its network looks at, and what it loses without."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from multiway.config import Plain
from multiway.data.writing import write_table
from multiway.explain import Explanation, draw_explanation, lag_labels, mode_maps, save_explanation, strongest
from multiway.files import atomic_folder
from multiway.models import HOTGridForecaster
from multiway.tasks.answers import Answer
from multiway.tasks.grids.cube import VARIABLE
from multiway.tasks.grids.encode import GridState
from multiway.tasks.grids.model import module_of, shares_of, spread_frames
from multiway.tasks.grids.network import Frames, list_candidates, weigh_error
from multiway.tasks.lifecycle import reread
from multiway.tasks.run import Run
from multiway.training import Batch


def write_explanation(run: Run, out: Path | None, options: Plain) -> Answer:
    """Shares of the answer by lead; of a network, its error without each past field or level, and its attention."""
    module, folder = module_of(run), run.explanation(out)
    candidates = list_candidates(run.config, run.state)
    shares = pd.DataFrame(shares_of(run), columns=candidates)
    shares.insert(0, "lead", np.arange(1, len(shares) + 1))
    notes, maps, tables = list[str](), None, {"shares.csv": shares}
    if module.network is not None:
        frames = spread_frames(run, reread(run))
        tables["without.csv"] = pd.DataFrame(measure_without(module.network, frames))
        worst = tables["without.csv"].sort_values("error", ascending=False).iloc[0]
        notes.append(f"The network errs most without {worst['place']}: by {worst['error']:.1%} more.")
        maps = read_attention(run, frames)
    with atomic_folder(folder, replace=True) as made:
        for name, table in tables.items():
            write_table(table, made / name)
        files = [made / name for name in tables]
        if maps is not None:
            save_explanation(made, maps)
            files += draw_explanation(made, maps)
            notes += strongest(maps.average)
        return Answer(files=files, notes=notes).within(folder)


@torch.no_grad()
def measure_without(network: torch.nn.Module, frames: Frames) -> list[Plain]:
    """How far the squared error on validation rises where one past field, or a level of all of them, is not known."""
    batch, context = frames.gather(torch.arange(len(frames))), frames.grid.context
    channels = frames.grid.state.planes[1]
    usual = error_of(network, batch)
    rows = []
    for mode, place, hidden in list_hidden(batch["inputs"], lag_labels(context), name_channels(frames.grid.state)):
        if mode == "channel" and channels == 1:
            continue
        rise = error_of(network, {**batch, "inputs": hidden}) / usual - 1
        rows.append({"mode": mode, "place": place, "error": rise})
    return rows


def list_hidden(inputs: Tensor, lags: Sequence[str], channels: Sequence[str]) -> Iterator[tuple[str, str, Tensor]]:
    """Inputs where one past field, or one channel of all past ones, is zero as if nothing were known of it."""
    for place, lag in enumerate(lags):
        hidden = inputs.clone()
        hidden[:, place, : len(channels) + 1] = 0.0  # what says that a cell is known, too
        yield "time", lag, hidden
    for place, name in enumerate(channels):
        hidden = inputs.clone()
        hidden[:, : len(lags), place] = 0.0
        yield "channel", name, hidden


def error_of(network: torch.nn.Module, batch: Batch) -> float:
    """Mean squared error by area of corrected fields."""
    total, count = weigh_error(network, batch)
    return float(total / count)


def read_attention(run: Run, frames: Frames) -> Explanation | None:
    """Maps of time, levels, rows and columns under their coordinates; None of a network that has none."""
    network, state = module_of(run).network, run.state
    if not isinstance(network, HOTGridForecaster):
        return None
    steps = [*lag_labels(run.config.context), *(f"step {step}" for step in range(1, run.config.horizon + 1))]
    side, labels = network.config.patch_size, {"time": steps}
    if state.planes[1] > 1:
        labels["channel"] = name_channels(state)
    _, _, plane = state.layout
    axes = [None, *(state.axes[place] for place in plane)][-2:]
    for axis, size in zip(axes, state.planes[2:], strict=True):
        values = None if axis is None else axis.values
        labels["row" if axis is None else axis.name] = name_spans(values or range(size), side)
    with torch.no_grad():
        batch = frames.gather(torch.arange(len(frames)))["inputs"]
        every, last = (network.forward_with_maps(inputs)[1] for inputs in (batch, batch[-1:]))
    when = f"fields until {frames.grid.cube.times.words()[frames.origins[-1]]}"
    modes, names = [*labels], [*labels.values()]
    ordered = [mode for mode in modes if mode != "channel"]
    return Explanation(
        average=mode_maps(every, modes, names, ordered=ordered),
        last=mode_maps(last, modes, names, ordered=ordered, sample=when),
    )


def name_channels(state: GridState) -> list[str]:
    """Each variable or level by its coordinates."""
    axes = [state.axes[place] for place in state.layout[1]]
    if [axis.name for axis in axes] == [VARIABLE] and len(state.targets) > 1:
        return list(state.targets)
    places = np.ndindex(*(axis.size for axis in axes))
    return [
        " ".join(
            f"{axis.name} {axis.values[at] if axis.values else at:g}" for axis, at in zip(axes, place, strict=True)
        )
        for place in places
    ]


def name_spans(values: Sequence[float], side: int) -> list[str]:
    """Squares of cells by the coordinates of their first and last cell."""
    parts = [values[start : start + side] for start in range(0, len(values), side)]
    return [f"{part[0]:g}" if len(part) == 1 else f"{part[0]:g} – {part[-1]:g}" for part in parts]
