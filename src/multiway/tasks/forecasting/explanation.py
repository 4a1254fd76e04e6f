"""What the network attended to, per mode, under the user's own names and times."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from multiway.data import Panel, Windows, last_window
from multiway.errors import ConfigError, RunError
from multiway.explain import Explanation as Explanation
from multiway.explain import (
    ModeMap,
    draw_explanation,
    lag_labels,
    load_explanation,
    mode_maps,
    save_explanation,
    strongest,
    time_labels,
)
from multiway.models import HOTForecaster
from multiway.models.blocks import need_maps
from multiway.models.mean_of_networks import members_of
from multiway.tasks.answers import Answer
from multiway.tasks.forecasting.model import model_of
from multiway.tasks.run import Run

FOLDER = "explanation"
MODES = ("variate", "time")
MAX_WINDOWS = 256


def explain(run: Run, panel: Panel, windows: Windows | None) -> Explanation:
    """One map per mode and block: of the last window of a panel, and averaged over at most 256 windows, evenly spread.

    Raises:
        RunError: The run has no network.
        ConfigError: The network has no map per mode.
    """
    patch, lookback = network_of(run).config.patch_length, run.config.lookback
    times = time_labels(panel.times[-lookback:], patch)
    last = _maps(run, *last_window(panel, run.state.scaler, lookback), times, sample="last window")
    if windows is None:
        return Explanation(average=last, last=last)
    batch = windows.spread(MAX_WINDOWS)
    average = _maps(run, batch["past"], batch.get("past_observed"), lag_labels(lookback, patch))
    return Explanation(average=average, last=last)


def mapped(run: Run) -> list[HOTForecaster]:
    """The networks of a run that have a map per mode."""
    members = members_of(model_of(run).network)
    return [each for each in members if isinstance(each, HOTForecaster) and each.config.has_maps]


def network_of(run: Run) -> HOTForecaster:
    """The first network of a run, which must have a map per mode.

    Raises:
        RunError: There is none.
        ConfigError: It has no map per mode.
    """
    members = members_of(model_of(run).network)
    if not members:
        raise RunError(
            "explain: the run has no network, and ridge attends to nothing. "
            "Set network to true in training (--set network=true)."
        )
    network = members[0]
    if not isinstance(network, HOTForecaster):
        raise ConfigError(
            f"explain: a {type(network).__name__} has no map of variates and times. "
            "Set model.name to hot_forecaster in training (--set model.name=hot_forecaster)."
        )
    need_maps(network, network.config)
    return network


@torch.no_grad()
def _maps(run: Run, past: Tensor, observed: Tensor | None, times: Sequence[str], **facts: Any) -> list[ModeMap]:
    """Maps of every network of a run, its heads beside those of the others."""
    found = [network.forward_with_maps(past, observed)[1] for network in mapped(run)]
    maps = [[torch.cat(modes, 1) for modes in zip(*blocks, strict=True)] for blocks in zip(*found, strict=True)]
    return mode_maps(maps, MODES, (run.state.names, times), **facts)


def write_explanation(run: Run, out: Path | None) -> Answer:
    """Write the stored maps as arrays and PNG files, beside the run or elsewhere; say what is strongest."""
    assert run.folder is not None
    network_of(run)
    stored = run.folder.path / FOLDER
    maps = load_explanation(stored)
    if out is not None:
        save_explanation(out, maps)
    return Answer(files=draw_explanation(out or stored, maps), notes=strongest(maps.average))
