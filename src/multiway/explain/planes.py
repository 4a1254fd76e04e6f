"""The three planes of a volume as pictures: which axis is cut, how it lies on the page, and as a PNG."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multiway.errors import ShapeError
from multiway.explain.figures import new_figure
from multiway.files import write_with

Array = npt.NDArray[Any]
Spacing = tuple[float, ...]
OPPOSITE = {"R": "L", "L": "R", "A": "P", "P": "A", "S": "I", "I": "S"}
# By the axis that is cut: name, then the letters of the left and the top edge (the patient faces the reader).
_ANATOMY = {"RL": ("sagittal", "A", "S"), "AP": ("coronal", "R", "S"), "IS": ("axial", "R", "A")}
# Colours of an overlay from nothing to the most, red, green, blue, opacity; the style sheet's ramps are the same.
WARM = ((213, 94, 0, 0), (213, 94, 0, 140), (240, 160, 40, 190), (255, 235, 140, 225))
COOL_WARM = ((70, 150, 255, 230), (70, 150, 255, 120), (128, 128, 128, 0), (240, 110, 20, 120), (255, 190, 90, 230))


class Plane(NamedTuple):
    """How one axis is cut: rows of the picture follow `down`, columns `across`.

    edges: Words at the left, right, top and bottom edge.
    ratio: Width of the picture over its height, in millimetres where they are known.
    spacing: Millimetres between slices, if known.
    """

    name: str
    axis: int
    down: int
    across: int
    flip_down: bool
    flip_across: bool
    edges: tuple[str, str, str, str]
    ratio: float
    spacing: float | None

    def stack(self, values: Array) -> Array:
        """All slices as pictures, `(slices, rows, columns)`."""
        slices = values.transpose(self.axis, self.down, self.across)
        return slices[:, :: -1 if self.flip_down else 1, :: -1 if self.flip_across else 1]


def planes(
    sizes: Sequence[int],
    axes: Sequence[str] = ("depth", "height", "width"),
    spacing: Spacing | None = None,
    orientation: str | None = None,
) -> list[Plane]:
    """Three planes of a volume.

    With an orientation, pictures lie as in radiology: the patient's right on the left, front or head at the top.
    Without one, each axis runs as in memory, rightwards or downwards.

    Args:
        sizes: Voxels along each axis.
        axes: Names of the axes, where there is no orientation.
        spacing: Millimetres between voxels along each axis.
        orientation: Towards where each axis runs: "RAS" is right, anterior, superior.
    """
    if len(sizes) != 3:
        raise ShapeError(f"planes: a volume has three axes. Got sizes={tuple(sizes)}.")
    lengths = [size * step for size, step in zip(sizes, spacing or (1.0, 1.0, 1.0), strict=True)]
    letters, cuts = (orientation or "").upper(), []
    for axis in range(3):
        if letters:
            name, left, top = _ANATOMY["".join(sorted((letters[axis], OPPOSITE[letters[axis]]))).replace("LR", "RL")]
            across = next(other for other in range(3) if letters[other] in (left, OPPOSITE[left]))
            down = next(other for other in range(3) if letters[other] in (top, OPPOSITE[top]))
            edges = (left, OPPOSITE[left], top, OPPOSITE[top])
        else:
            name, (down, across) = axes[axis], (other for other in range(3) if other != axis)
            edges = (f"{axes[down]} ↓", "", "", f"{axes[across]} →")
        cut = Plane(
            name=name,
            axis=axis,
            down=down,
            across=across,
            flip_down=bool(letters) and letters[down] == top,
            flip_across=bool(letters) and letters[across] == left,
            edges=edges,
            ratio=lengths[across] / lengths[down],
            spacing=None if spacing is None else spacing[axis],
        )
        cuts.append(cut)
    return cuts


def grey_levels(volume: Array) -> npt.NDArray[np.uint8]:
    """Scale a volume to 0..255 between its 0.5 and 99.5 percentiles; what is not finite is black."""
    values = np.nan_to_num(np.asarray(volume, np.float32), posinf=0.0, neginf=0.0)
    low, high = np.percentile(values, (0.5, 99.5))
    if high <= low:
        low, high = float(values.min()), float(values.max())
    span = float(high - low) or 1.0
    return np.asarray(np.round(255 * ((values - low) / span).clip(0, 1)), np.uint8)


def overlay(name: str, values: Array, count: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Places of "attention" or "gradients" in a ramp of at most 256 colours, and these colours `(count, 4)`.

    Relative attention is at the start up to a uniform look, and at the end at the most. Signed gradients are in the
    middle where there are none, above it where they speak for the class, and below it against.
    """
    stops: Sequence[tuple[int, int, int, int]]
    if name == "gradients":
        strong = float(np.percentile(np.abs(values), 99.5)) or float(np.abs(values).max()) or 1.0
        level, stops = 0.5 + 0.5 * (np.asarray(values, float) / strong).clip(-1, 1), COOL_WARM
    else:
        most = float(values.max())
        level, stops = (np.asarray(values, float) - 1).clip(0) / (most - 1 if most > 1 else 1.0), WARM
    places, known = np.linspace(0, len(stops) - 1, count), np.arange(len(stops))
    colours = np.stack([np.interp(places, known, channel) for channel in zip(*stops, strict=True)], axis=1)
    return np.round((count - 1) * level).astype(np.uint8), colours.astype(np.uint8)


def strongest_slice(values: Array, axis: int) -> int:
    """The slice across an axis where the sum of absolute values is largest."""
    others = tuple(other for other in range(values.ndim) if other != axis)
    return int(np.abs(np.asarray(values, float)).sum(axis=others).argmax())


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
