"""Attention per mode as labelled pictures, every layer and head, with the strongest pairs in words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from multiway.explain.maps import ModeMap, Pair, top_pairs
from multiway.report import text
from multiway.report.heatmap import png_data_uri, shrink

MAX_PICTURES = 96
NARROW_PIXELS = 240
WIDE_PIXELS = 430
LABEL_PIXELS = 13


class Picture(NamedTuple):
    """One layer and head."""

    layer: str
    head: str
    source: Markup
    largest: str
    scale: float
    pairs: list[tuple[str, str, str]]


class Label(NamedTuple):
    """A position's label at its place in percent; `is_minor` ones are hidden where there is little room."""

    text: str
    place: float
    is_minor: bool


class Figure(NamedTuple):
    """One mode: its pictures and what stands around them."""

    mode: str
    sample: str
    layers: list[str]
    heads: list[str]
    pictures: list[Picture]
    rows: list[Label]
    columns: list[Label]
    row_names: list[str]
    column_names: list[str]
    width: int
    ratio: str
    even: str
    notes: list[str]


def figures(maps: Sequence[ModeMap]) -> list[Figure]:
    """One figure per mode and sample, in the order given."""
    found: dict[tuple[str, str, int, tuple[int, ...]], list[ModeMap]] = {}
    for item in maps:
        found.setdefault((item.mode, item.sample, item.num_samples, item.weights.shape[1:]), []).append(item)
    return [_figure(group) for group in found.values() if min(group[0].weights.shape) > 0]


def _figure(group: Sequence[ModeMap]) -> Figure:
    shown, note = shrink(group)
    first = shown[0]
    queries, keys = len(first.query_labels), len(first.key_labels)
    width = int(min(WIDE_PIXELS, max(36 * keys, 120)))
    with_heads = sum(item.num_heads + 1 for item in shown) <= MAX_PICTURES
    pictures = [
        picture for full, item in zip(group, shown, strict=True) for picture in _pictures(full, item, with_heads)
    ]
    return Figure(
        mode=first.mode,
        sample=_sample(group[0]),
        layers=list(dict.fromkeys(picture.layer for picture in pictures)),
        heads=list(dict.fromkeys(picture.head for picture in pictures)),
        pictures=pictures,
        rows=_labels(first.query_labels, width * queries / keys),
        columns=_labels(first.key_labels, width),
        row_names=[text.name(label) for label in first.query_labels],
        column_names=[text.name(label) for label in first.key_labels],
        width=width,
        ratio=f"{keys} / {queries}",
        even=_share(1 / len(group[0].key_labels)),
        notes=[line for line in (note, "" if with_heads else "Only the mean over heads is drawn.") if line],
    )


def _pictures(full: ModeMap, item: ModeMap, with_heads: bool) -> list[Picture]:
    layer = "All layers (rollout)" if item.layer is None else f"Layer {item.layer + 1}"
    heads: list[tuple[str, int | None]] = [("Mean", None)]
    if with_heads and item.num_heads > 1:
        heads += [(f"Head {head + 1}", head) for head in range(item.num_heads)]
    pictures = []
    for name, head in heads:
        source, largest = png_data_uri(item.head_mean() if head is None else item.weights[head])
        pictures.append(
            Picture(
                layer,
                name,
                source,
                _share(largest),
                round(largest, 6),
                _in_words(top_pairs(full, 5, head=head)),
            )
        )
    return pictures


def _in_words(pairs: Sequence[Pair]) -> list[tuple[str, str, str]]:
    return [(text.name(pair.query), text.name(pair.key), _share(pair.weight)) for pair in pairs]


def _share(weight: float) -> str:
    return text.percent(100 * weight, 0 if weight >= 0.1 else 1 if weight >= 0.01 else 2)


def _labels(labels: Sequence[str], pixels: float) -> list[Label]:
    """Label every position, or every k-th where they would touch; in narrow places a multiple of that."""
    wide = int(np.ceil(len(labels) * LABEL_PIXELS / pixels))
    narrow = wide * int(np.ceil(len(labels) * LABEL_PIXELS / min(pixels, NARROW_PIXELS) / wide))
    return [
        Label(text.name(labels[index]), round(100 * (index + 0.5) / len(labels), 2), index % narrow != 0)
        for index in range(0, len(labels), wide)
    ]


def _sample(item: ModeMap) -> str:
    if item.sample:
        return item.sample
    return f"mean over {item.num_samples:,} windows" if item.num_samples > 1 else ""
