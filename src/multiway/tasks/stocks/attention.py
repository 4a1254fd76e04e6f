"""What the network looked at: attention over stocks and over days, under tickers and dates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from multiway.explain import ModeMap, average_maps, mode_maps
from multiway.tasks.devices import device_of
from multiway.tasks.run import Run
from multiway.tasks.stocks.attribution import Batch
from multiway.tasks.stocks.explanation_inputs import ExplainedData

STREAMS = {"text": "texts", "price": "prices", "cross": "prices to texts"}
"""Where a map is from: the encoder, the decoder, or the decoder's look at the encoder."""
TOKEN, TARGET = "token", "target day"
AVERAGED_DAYS = 64


def has_attention(run: Run) -> bool:
    """Whether the network has a map per mode."""
    config: Any = getattr(run.model, "config", None)
    return getattr(config, "attention", None) == "kronecker" and bool(getattr(config, "attended_modes", ()))


@torch.no_grad()
def maps_of(run: Run, batch: Batch, days: Sequence[str], sample: str = "") -> list[ModeMap]:
    """Attention of a batch, averaged over it: per stream, block and attended mode."""
    if not has_attention(run):
        return []
    model: Any = run.model.eval()
    inputs = (batch["prices"], batch["price_valid"], batch["dates"], batch.get("text"), batch.get("text_valid"))
    found = model.forward_with_maps(*inputs)[1]
    attended = model.config.attended_modes
    labels = (tuple(run.state.tickers), tuple(days))
    maps: list[ModeMap] = []
    for stream, name in STREAMS.items():
        modes = (f"stocks ({name})", f"days ({name})")
        kept = [[block[mode] for mode in attended] for block in found.get(stream, [])]
        names, of = [modes[mode] for mode in attended], [labels[mode] for mode in attended]
        maps += mode_maps(kept, names, of, ordered=modes[1:], sample=sample)
    return maps


def average_attention(run: Run, data: ExplainedData, samples: NDArray[np.int64]) -> list[ModeMap]:
    """Attention averaged over samples, at most 64 of them, evenly spread; days are named by their distance."""
    if not has_attention(run) or not len(samples):
        return []
    places = np.linspace(0, len(samples) - 1, min(AVERAGED_DAYS, len(samples))).round().astype(int)
    chosen = samples[places]
    labels = lag_labels(data.prepared.samples.slots.shape[1])
    source = data.prepared.inputs(chosen)
    device = device_of(run.model)
    groups = []
    for index in torch.arange(len(chosen)).split(8):
        batch = {name: tensor.to(device) for name, tensor in source.gather(index).items()}
        groups.append(maps_of(run, batch, labels))
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
