"""Attention maps as PNG figures."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multiway.errors import ShapeError
from multiway.explain.canvas import new_figure
from multiway.explain.maps import ModeMap
from multiway.files import write_with

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_LABELS = 40
MAX_LABEL_LENGTH = 32


def plot_mode_map(item: ModeMap, *, head: int | None = None) -> "Figure":
    """Draw one map as a heat map with its labels.

    Args:
        item: The map.
        head: Which head; `None` for the mean over heads.

    Raises:
        ShapeError: The map has no such head.
        ConfigError: matplotlib is not installed.
    """
    if head is not None and not 0 <= head < item.num_heads:
        raise ShapeError(
            f"plot_mode_map: head must be one of the map's. Got head={head} for {item.num_heads} heads; count from 0."
        )
    queries, keys = item.weights.shape[1:]
    cell = max(0.12, min(0.35, 7 / max(queries, keys)))
    figure = new_figure(cell * keys + 2.6, cell * queries + 1.9, dpi=150)
    axes = figure.add_subplot()
    weights = item.head_mean() if head is None else item.weights[head]
    image = axes.imshow(weights, cmap="Blues", vmin=0, interpolation="nearest", aspect="equal")
    _label(axes, item)
    axes.set_title(_title(item, head), fontsize=9, loc="left")
    bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02)
    bar.ax.tick_params(labelsize=7)
    return figure


def save_mode_map(path: Path, item: ModeMap, *, head: int | None = None) -> None:
    """Write the figure of one map as a PNG, atomically.

    Raises:
        ShapeError: The map has no such head.
        RunError: The file cannot be written.
    """
    figure = plot_mode_map(item, head=head)
    write_with(path, lambda temporary: figure.savefig(temporary, format="png"))


def _label(axes: Any, item: ModeMap) -> None:
    for axis, labels in ((axes.yaxis, item.query_labels), (axes.xaxis, item.key_labels)):
        step = int(np.ceil(len(labels) / MAX_LABELS)) or 1
        axis.set_ticks(np.arange(0, len(labels), step), [_short(label) for label in labels[::step]])
    axes.tick_params(axis="both", labelsize=7, length=2)
    axes.tick_params(axis="x", rotation=90)
    axes.set_ylabel("query", fontsize=8)
    axes.set_xlabel("key", fontsize=8)


def _short(label: str) -> str:
    """Keep printable characters only, and no dollar sign: it would start a formula."""
    shown = "".join(character if character.isprintable() else "\ufffd" for character in label)
    shown = shown if len(shown) <= MAX_LABEL_LENGTH else shown[: MAX_LABEL_LENGTH - 1] + "…"
    return shown.replace("$", r"\$")


def _title(item: ModeMap, head: int | None) -> str:
    layer = "all layers" if item.layer is None else f"layer {item.layer + 1}"
    which = "mean over heads" if head is None else f"head {head + 1}"
    parts = [f"Attention over {item.mode}, {layer}, {which}", item.sample]
    return _short_title("\n".join(part for part in parts if part))


def _short_title(text: str) -> str:
    return "\n".join(line[:90] for line in text.split("\n")).replace("$", r"\$")
