"""A case in three planes: every slice of a plane stands in one strip of a PNG, and the page shows one at a time."""

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from multiway.explain.planes import Array, Plane, Spacing, grey_levels, overlay, planes, strongest_slice

MAX_SLICES = 32
MAX_SIDE = 96
LEVELS = 15


class Film(NamedTuple):
    """One plane: the strip of its slices, strips of overlays by name, and a word for each slice.

    at: The slice shown first, that with the strongest gradients or the most attention.
    """

    name: str
    num_slices: int
    at: int
    ratio: float
    edges: tuple[str, str, str, str]
    words: list[str]
    scan: Markup
    overlays: dict[str, Markup]


def films(
    volume: Array,
    *,
    axes: Sequence[str] = ("depth", "height", "width"),
    spacing: Spacing | None = None,
    orientation: str | None = None,
    attention: Array | None = None,
    gradients: Array | None = None,
) -> list[Film]:
    """Every plane of a volume of one channel, `(*sizes)`, in the orientation that the network saw.

    Args:
        volume: Greys.
        axes: Names of its axes.
        spacing: Distance of its voxels along each, in mm.
        orientation: Directions of its axes, as three letters.
        attention: Relative, 1 is an even look, `(*sizes)`.
        gradients: Signed, `(*sizes)`.
    """
    given = {"attention": attention, "gradients": gradients}
    known = {name: values for name, values in given.items() if values is not None}
    overlays = {name: overlay(name, values, LEVELS) for name, values in known.items()}
    telling = known.get("gradients", known.get("attention", volume))
    levels = grey_levels(volume)
    shown = planes(levels.shape, axes, spacing, orientation)
    return [_film(plane, levels, overlays, strongest_slice(telling, plane.axis)) for plane in shown]


def _film(plane: Plane, levels: Array, overlays: dict[str, tuple[Array, Array]], at: int) -> Film:
    stack = plane.stack(levels)
    kept = np.unique(np.linspace(0, len(stack) - 1, min(len(stack), MAX_SLICES)).round().astype(int))
    step = -(-max(stack.shape[1:]) // MAX_SIDE)

    def strip(values: Array) -> Array:
        slices = plane.stack(values)[kept, ::step, ::step]
        return slices.reshape(-1, slices.shape[2])

    return Film(
        name=plane.name,
        num_slices=len(kept),
        at=int(np.abs(kept - at).argmin()),
        ratio=round(plane.ratio, 4),
        edges=plane.edges,
        words=[_word(plane, int(index), len(stack)) for index in kept],
        scan=grey_png(strip(levels)),
        overlays={name: palette_png(strip(level), colours) for name, (level, colours) in overlays.items()},
    )


def _word(plane: Plane, index: int, count: int) -> str:
    depth = "" if plane.spacing is None else f", {(index + 0.5) * plane.spacing:.4g} mm"
    return f"slice {index} of 0–{count - 1}{depth}"


Bytes = npt.NDArray[np.uint8]


def grey_png(levels: Bytes) -> Markup:
    """Write `(rows, columns)` of greys, 0 black."""
    return _png(levels, colour_type=0, extra=[])


def colour_png(pixels: Bytes) -> Markup:
    """Write `(rows, columns, 3)` of red, green and blue."""
    return _png(pixels.reshape(len(pixels), -1), colour_type=2, extra=[], columns=pixels.shape[1])


def palette_png(indices: Bytes, colours: Bytes) -> Markup:
    """Write `(rows, columns)` of places in `colours`, `(count, 4)` of red, green, blue and opacity."""
    palette = (b"PLTE", np.ascontiguousarray(colours[:, :3]).tobytes())
    return _png(indices, colour_type=3, extra=[palette, (b"tRNS", np.ascontiguousarray(colours[:, 3]).tobytes())])


def _png(values: Bytes, colour_type: int, extra: list[tuple[bytes, bytes]], columns: int | None = None) -> Markup:
    rows: Any = np.concatenate([np.zeros((len(values), 1), np.uint8), values], axis=1)  # each row: "no filter"
    header = struct.pack(">2I5B", columns or values.shape[1], len(values), 8, colour_type, 0, 0, 0)
    chunks = [(b"IHDR", header), *extra, (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")]
    content = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)
    return Markup("data:image/png;base64," + base64.b64encode(content).decode())


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
