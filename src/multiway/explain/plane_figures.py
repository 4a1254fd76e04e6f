"""A volume in three planes as a PNG figure, alone and under what the network made of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multiway.explain.figures import new_figure
from multiway.explain.planes import Array, Plane, Spacing, grey_levels, overlay, planes, strongest_slice
from multiway.files import write_with

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_planes(
    volume: Array,
    overlays: dict[str, Array],
    *,
    title: str = "",
    axes: Sequence[str] = ("depth", "height", "width"),
    spacing: Spacing | None = None,
    orientation: str | None = None,
) -> "Figure":
    """Draw the slices with the strongest gradients (or attention) in three planes, a row alone and one per overlay.

    Args:
        volume: `(*sizes)`.
        overlays: "attention" (relative, 1 is even) or "gradients" (signed), `(*sizes)` each.
        title: Set above; control characters do not reach the page.
        axes: Names of the axes, where there is no orientation.
        spacing: Millimetres between voxels along each axis.
        orientation: Towards where each axis runs, as in `planes`.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    shown = planes(volume.shape, axes, spacing, orientation)
    telling = overlays.get("gradients", overlays.get("attention", volume))
    rows: list[tuple[str, Array | None]] = [("volume", None), *overlays.items()]
    figure = new_figure(7.5, 2.5 * len(rows) + 0.4, dpi=130)
    grid = figure.subplots(len(rows), 3, squeeze=False)
    levels = grey_levels(volume)
    for row, (name, values) in enumerate(rows):
        for column, plane in enumerate(shown):
            _draw(grid[row, column], plane, levels, name, values, strongest_slice(telling, plane.axis))
    figure.suptitle("".join(c for c in title if c.isprintable())[:90].replace("$", r"\$"), fontsize=9)
    return figure


def save_planes(path: Path, volume: Array, overlays: dict[str, Array], **more: Any) -> None:
    """Write `plot_planes` as a PNG, atomically.

    Raises:
        RunError: The file cannot be written.
    """
    figure = plot_planes(volume, overlays, **more)
    write_with(path, lambda temporary: figure.savefig(temporary, format="png"))


def _draw(axes: Any, plane: Plane, levels: Array, name: str, values: Array | None, index: int) -> None:
    picture = plane.stack(levels)[index]
    aspect = picture.shape[1] / picture.shape[0] / plane.ratio
    axes.imshow(picture, cmap="gray", vmin=0, vmax=255, aspect=aspect, interpolation="nearest")
    if values is not None:
        places, colours = overlay(name, values, 256)
        axes.imshow(colours[plane.stack(places)[index]], aspect=aspect, interpolation="nearest")
    axes.set_title(f"{plane.name} {index}, {name}", fontsize=8)
    axes.set_xticks([]), axes.set_yticks([])
    left, right, top, bottom = plane.edges
    for text, x, y in ((left, 0.02, 0.5), (right, 0.98, 0.5), (top, 0.5, 0.97), (bottom, 0.5, 0.02)):
        side = {0.02: "left", 0.98: "right"}.get(x, "center")
        axes.text(x, y, text, transform=axes.transAxes, color="#e0a030", fontsize=7, ha=side, va="center")
