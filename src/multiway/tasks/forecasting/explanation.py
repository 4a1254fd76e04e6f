"""What the network attended to, per mode, under the user's own names and times."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from multiway import files
from multiway.data import Panel, Windows
from multiway.errors import RunError
from multiway.explain import ModeMap, lag_labels, load_maps, mode_maps, save_maps, save_mode_map, time_labels
from multiway.tasks.forecasting.future import last_window

if TYPE_CHECKING:
    from multiway.tasks.forecasting.run import ForecastRun

MODES = ("variate", "time")
MAX_WINDOWS = 256


@dataclasses.dataclass(frozen=True, kw_only=True)
class Explanation:
    """Attention averaged over test windows, and of the last window of the data."""

    average: list[ModeMap]
    last: list[ModeMap]


@torch.no_grad()
def explain(run: ForecastRun, panel: Panel, windows: Windows | None) -> Explanation:
    """One map per mode and block; the average is over at most 256 windows, evenly spread.

    Raises:
        RunError: The run has no network.
    """
    network = run.model.network
    if network is None:
        raise RunError(
            "explain: the run has no network, and ridge attends to nothing. "
            "Set network to true in training (--set network=true)."
        )
    patch, lookback = network.config.patch_length, run.config.lookback
    past, observed = last_window(run, panel)
    labels = (run.names, time_labels(panel.times[-lookback:], patch))
    last = mode_maps(network.forward_with_maps(past, observed)[1], MODES, labels, sample="last window")
    if windows is None:
        return Explanation(average=last, last=last)
    rows = torch.linspace(0, len(windows) - 1, min(MAX_WINDOWS, len(windows))).long()
    batch = windows.gather(rows)
    maps = network.forward_with_maps(batch["past"], batch.get("past_observed"))[1]
    return Explanation(average=mode_maps(maps, MODES, (run.names, lag_labels(lookback, patch))), last=last)


def save_explanation(folder: Path, explanation: Explanation) -> None:
    """Write both sets of maps as arrays."""
    folder.mkdir(exist_ok=True)
    files.write_with(folder / "average.npz", lambda path: _save(path, explanation.average))
    files.write_with(folder / "last.npz", lambda path: _save(path, explanation.last))


def load_explanation(folder: Path) -> Explanation:
    """Read what `save_explanation` wrote."""
    return Explanation(average=load_maps(folder / "average.npz"), last=load_maps(folder / "last.npz"))


def draw_explanation(folder: Path, explanation: Explanation) -> list[Path]:
    """Write a PNG per mode and block, heads averaged."""
    paths = []
    for kind, maps in (("average", explanation.average), ("last", explanation.last)):
        for item in maps:
            path = folder / f"{kind}-{item.mode}-block{item.layer}.png"
            save_mode_map(path, item)
            paths.append(path)
    return paths


def _save(path: Path, maps: list[ModeMap]) -> None:
    save_maps(path, maps)
