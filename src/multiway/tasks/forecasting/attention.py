"""The part of a report on attention: maps, and whether hiding what is attended to hurts."""

import functools
from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data import Windows
from multiway.explain import ModeMap, deletion_test, load_explanation
from multiway.report import text
from multiway.report.attention import figures
from multiway.report.sections import Cell, HeatMaps, Part, Table
from multiway.tasks.forecasting.explanation import FOLDER, mapped, network_of
from multiway.tasks.forecasting.model import model_of
from multiway.tasks.forecasting.prepared import Prepared
from multiway.tasks.page_parts import NOT_ATTRIBUTION
from multiway.tasks.run import Run

DELETION_WINDOWS = 64


def attention_part(run: Run, prepared: Prepared | None) -> Part:
    """Maps over test windows, and the deletion test where the data are still there."""
    maps = load_explanation(run.folder.path / FOLDER).average if run.folder and mapped(run) else []
    tested = None if prepared is None or not maps else _deletion(run, prepared.windows["test"], maps)
    side = [
        "One map per mode. Each row is a position that looks.",
        "The shade says how much of its look falls on each column.",
        NOT_ATTRIBUTION,
    ]
    content = [HeatMaps(figures=figures(maps)) if maps else None, tested]
    return Part(id="attention", title="Attention", side=side, content=content)


def _deletion(run: Run, windows: Windows, maps: Sequence[ModeMap]) -> Table | None:
    """Hide what the first block attends to most, and as much at random, and see what the forecast loses."""
    batch = windows.spread(DELETION_WINDOWS)
    found = [
        (item, deletion_test(item, functools.partial(_error_without, run, batch, item.mode)))
        for item in maps
        if item.layer == 0 and len(item.key_labels) > 1
    ]
    decimals = text.decimals_for([error for _, test in found for error in (test.error_attended, test.error_random)])
    rows: list[list[Cell | str]] = [
        [
            item.mode,
            Cell(f"{test.num_hidden} of {len(item.key_labels)}", style="left"),
            *(text.number(error, decimals) for error in (test.error_attended, test.error_random, test.error_intact)),
        ]
        for item, test in found
    ]
    words = (
        "If attention marks what matters, hiding what is attended most should hurt more than hiding as much at random."
    )
    heads = ["Error, attended most", "Error, at random", "Error, nothing hidden"]
    table = Table(title="Deletion test", columns=["Mode", Cell("Hidden", style="left"), *heads], rows=rows, note=words)
    return table if rows else None


@torch.no_grad()
def _error_without(run: Run, batch: dict[str, Tensor], mode: str, positions: NDArray[Any]) -> float:
    """Squared error of the network where it cannot see some positions of a mode."""
    network = model_of(run).network
    assert network is not None
    seen = batch.get("past_observed", torch.ones_like(batch["past"], dtype=torch.bool)).clone()
    if mode == "time":
        seen.unflatten(1, (-1, network_of(run).config.patch_length))[:, positions] = False
    else:
        seen[:, :, positions] = False
    return float((network(batch["past"], seen) - batch["future"]).square().mean())
