"""Attention per mode as labelled pictures, every layer and head, with the strongest pairs in words."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from multiway.explain.maps import Floats, ModeMap, shrink, top_pairs
from multiway.report import text
from multiway.report.slices import grey_png

MAX_PICTURES = 96
NARROW_PIXELS = 240
WIDE_PIXELS = 430
LABEL_PIXELS = 13


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
