"""Attention per mode as labelled pictures, with the strongest pairs in words; a volume as strips of its slices."""

import base64
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from multiway.explain.maps import Floats, ModeMap, shrink, top_pairs
from multiway.explain.planes import Array, Plane, Spacing, grey_levels, overlay, planes, strongest_slice
from multiway.report import text

MAX_PICTURES = 96
NARROW_PIXELS = 240
WIDE_PIXELS = 430
LABEL_PIXELS = 13
MAX_SLICES = 32
MAX_SIDE = 96
LEVELS = 15


class MapPicture(NamedTuple):
    """One layer and head; `pairs` are (query, key, weight), and white is no attention, black the largest."""

    layer: str
    head: str
    source: Markup
    largest: float
    pairs: list[tuple[str, str, float]]


class Axis(NamedTuple):
    """Names of positions; every `wide`-th is labelled, and every `narrow`-th where there is little room."""

    names: list[str]
    wide: int
    narrow: int


class MapFigure(NamedTuple):
    """One mode: its pictures and what stands around them; `even` is the weight of an even look."""

    mode: str
    sample: str
    pictures: list[MapPicture]
    rows: Axis
    columns: Axis
    width: int
    even: float
    notes: list[str]


def figures(maps: Sequence[ModeMap]) -> list[MapFigure]:
    """One figure per mode and sample, in the order given."""
    groups: dict[tuple[str, str, int, tuple[int, ...]], list[ModeMap]] = {}
    for item in maps:
        groups.setdefault((item.mode, item.sample, item.num_samples, item.weights.shape[1:]), []).append(item)
    return [_figure(group) for group in groups.values() if min(group[0].weights.shape) > 0]


def _figure(group: Sequence[ModeMap]) -> MapFigure:
    (shown, note), first = shrink(group), group[0]
    queries, keys = shown[0].query_labels, shown[0].key_labels
    width = int(min(WIDE_PIXELS, max(36 * len(keys), 120)))
    with_heads = sum(item.num_heads + 1 for item in shown) <= MAX_PICTURES
    windows = f"mean over {first.num_samples:,} windows" if first.num_samples > 1 else ""
    return MapFigure(
        mode=first.mode,
        sample=first.sample or windows,
        pictures=[item for pair in zip(group, shown, strict=True) for item in _pictures(*pair, with_heads)],
        rows=_axis(queries, width * len(queries) / len(keys)),
        columns=_axis(keys, width),
        width=width,
        even=1 / len(first.key_labels),
        notes=[line for line in (note, "" if with_heads else "Only the mean over heads is drawn.") if line],
    )


def _pictures(full: ModeMap, shown: ModeMap, with_heads: bool) -> Iterator[MapPicture]:
    """The mean over heads, then the heads; pairs come from the whole map."""
    layer = "All layers (rollout)" if full.layer is None else f"Layer {full.layer + 1}"
    heads = range(full.num_heads) if with_heads and full.num_heads > 1 else []
    for head in (None, *heads):
        weights = shown.head_mean() if head is None else shown.weights[head]
        pairs = [(text.name(pair.query), text.name(pair.key), pair.weight) for pair in top_pairs(full, 5, head=head)]
        yield MapPicture(layer, "Mean" if head is None else f"Head {head + 1}", *picture(weights), pairs)


def picture(weights: Floats) -> tuple[Markup, float]:
    """Draw weights in greys, white for 0 and black for the largest, which is returned with them."""
    largest = float(np.nanmax(weights, initial=0.0))
    level = np.nan_to_num(weights / (largest or 1.0)).clip(0, 1)
    return grey_png(np.round(255 * (1 - level)).astype(np.uint8)), largest


def _axis(labels: Sequence[str], pixels: float) -> Axis:
    """Label every position, or every k-th where they would touch; in narrow places a multiple of that."""
    room = len(labels) * LABEL_PIXELS
    wide = int(np.ceil(room / pixels))
    return Axis(
        [text.name(label) for label in labels], wide, wide * int(np.ceil(room / min(pixels, NARROW_PIXELS) / wide))
    )


def share(weight: float) -> str:
    """Write a weight in percent, small ones with more digits."""
    return text.percent(100 * weight, 0 if weight >= 0.1 else 1 if weight >= 0.01 else 2)


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
        words=[
            f"slice {index + 1} of {len(stack)}"
            + ("" if plane.spacing is None else f", {(index + 0.5) * plane.spacing:.4g} mm")
            for index in kept.tolist()
        ],
        scan=grey_png(strip(levels)),
        overlays={name: palette_png(strip(level), colours) for name, (level, colours) in overlays.items()},
    )


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
    content = b"\x89PNG\r\n\x1a\n"
    for kind, data in chunks:
        content += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return Markup("data:image/png;base64," + base64.b64encode(content).decode())
