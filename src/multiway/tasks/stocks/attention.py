"""What the network looked at: attention over stocks and over days, under tickers and dates."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.stocks.prepared import PreparedStocks
from multiway.explain import ModeMap, average_maps, mode_maps
from multiway.tasks.run import Run
from multiway.tasks.stocks.evaluation import INPUTS
from multiway.training.devices import device_of

STREAMS = {"text": "texts", "price": "prices", "cross": "prices to texts"}
"""Where a map is from: the encoder, the decoder, or the decoder's look at the encoder."""
TOKEN, TARGET = "token", "target day"
AVERAGED_DAYS, AT_ONCE = 64, 8


def batch_of(run: Run, prepared: PreparedStocks, rows: Sequence[int] | NDArray[np.int64]) -> dict[str, Tensor]:
    """Inputs of some samples, where the network is."""
    found, device = prepared.every.gather(torch.tensor(rows)), device_of(run.model)
    return {name: found[name].to(device) for name in INPUTS if name in found}


def has_attention(run: Run) -> bool:
    """Whether the network has a map per mode."""
    config: Any = getattr(run.model, "config", None)
    return getattr(config, "has_maps", False) and bool(getattr(config, "attended_modes", ()))


@torch.no_grad()
def maps_of(run: Run, batch: Mapping[str, Tensor], days: Sequence[str], sample: str = "") -> list[ModeMap]:
    """Attention of a batch, averaged over it: per stream, block and attended mode."""
    if not has_attention(run):
        return []
    model: Any = run.model.eval()
    found = model.forward_with_maps(*(batch.get(name) for name in INPUTS))[1]
    attended, labels = model.config.attended_modes, (run.state.tickers, tuple(days))
    maps: list[ModeMap] = []
    for stream, name in STREAMS.items():
        modes = (f"stocks ({name})", f"days ({name})")
        kept = [[block[mode] for mode in attended] for block in found.get(stream, [])]
        names, of = [modes[mode] for mode in attended], [labels[mode] for mode in attended]
        maps += mode_maps(kept, names, of, ordered=modes[1:], sample=sample)
    return maps


def average_attention(run: Run, prepared: PreparedStocks) -> list[ModeMap]:
    """Attention averaged over the test days, at most 64 of them, evenly spread; days are named by their distance."""
    rows = prepared.samples.splits["test"]
    if not has_attention(run) or not len(rows):
        return []
    chosen = rows[np.linspace(0, len(rows) - 1, min(AVERAGED_DAYS, len(rows))).round().astype(int)]
    labels = lag_labels(prepared.samples.slots.shape[1])
    starts = range(0, len(chosen), AT_ONCE)
    groups = [maps_of(run, batch_of(run, prepared, chosen[start : start + AT_ONCE]), labels) for start in starts]
    return average_maps(groups, sample=f"mean over {len(chosen)} test days")


def lag_labels(slots: int) -> list[str]:
    """Name the positions in time of any sample: the stock's token, then the days by their distance."""
    return [TOKEN, *(f"{lag} before" for lag in range(slots - 1, 0, -1)), TARGET]


def partners(maps: Sequence[ModeMap], tickers: Sequence[str], stock: int, count: int = 5) -> list[tuple[str, float]]:
    """Tickers that one looks at most, itself left out: the mean of its maps over stocks, all blocks and heads."""
    over_stocks = [item.head_mean()[stock] for item in maps if item.mode.startswith("stocks")]
    if not over_stocks:
        return []
    weights = np.mean(over_stocks, axis=0)
    order = [place for place in np.argsort(-weights, kind="stable") if place != stock][:count]
    return [(tickers[place], float(weights[place])) for place in order]
