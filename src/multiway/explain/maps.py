"""Attention per mode as labelled arrays: built from a model's maps, averaged, rolled out, shrunk, put in words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from torch import Tensor

from multiway.errors import DataError, ShapeError

Floats = npt.NDArray[np.float64]
Labels = Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ModeMap:
    """How much each position of one mode attends to each other position of it, head by head.

    mode: Name of the mode, such as "variates" or "time".
    query_labels: Names of the positions that attend, one per row.
    key_labels: Names of the positions attended to, one per column.
    weights: `(heads, queries, keys)`; each row sums to one, or to zero where nothing may be attended to.
    layer: Block the map comes from, counted from 0; `None` for a map over all layers (`rollout`).
    num_samples: How many samples `weights` is the mean of.
    sample: What the map belongs to, in words: "window from 2018-02-20 to 2018-02-23", or "".
    ordered: The positions have an order, so that neighbours may be merged when a map is too large to show.

    Raises:
        ShapeError: The weights are not `(heads, queries, keys)` for these labels.
    """

    mode: str
    query_labels: tuple[str, ...]
    key_labels: tuple[str, ...]
    weights: Floats
    layer: int | None = 0
    num_samples: int = 1
    sample: str = ""
    ordered: bool = False

    def __post_init__(self) -> None:
        sizes = (len(self.query_labels), len(self.key_labels))
        if self.weights.ndim != 3 or self.weights.shape[1:] != sizes:
            raise ShapeError(
                f"ModeMap: weights of mode {self.mode!r} must be (heads, queries, keys), one label per query "
                f"and key. Got weights {self.weights.shape} for {sizes[0]} query and {sizes[1]} key labels."
            )

    @property
    def num_heads(self) -> int:
        """Number of heads."""
        return int(self.weights.shape[0])

    def head_mean(self) -> Floats:
        """Mean over the heads, `(queries, keys)`."""
        return np.asarray(self.weights.mean(axis=0))


def mode_maps(
    maps: Sequence[Sequence[Any]],
    mode_names: Sequence[str],
    labels: Sequence[Labels],
    *,
    ordered: Sequence[str] = ("time",),
    sample: str = "",
) -> list[ModeMap]:
    """Label what `forward_with_maps` returns, averaged over the batch.

    Args:
        maps: One list per block of one `(batch, heads, queries, keys)` tensor or array per mode.
        mode_names: Name of each mode, in the model's order.
        labels: Labels of the positions of each mode; self-attention, so queries and keys share them.
        ordered: Names of the modes whose positions have an order.
        sample: What the maps belong to, in words.

    Raises:
        ShapeError: A block has another number of modes, or a map another size than its labels.
    """
    labelled = []
    for layer, block in enumerate(maps):
        if not len(block) == len(mode_names) == len(labels):
            raise ShapeError(
                "mode_maps: give one name and one list of labels per mode. "
                f"Got {len(block)} maps in a block, {len(mode_names)} names and {len(labels)} lists of labels."
            )
        for mode, name, names in zip(block, mode_names, labels, strict=True):
            array = np.asarray(mode.detach().to("cpu").double() if isinstance(mode, Tensor) else mode, float)
            if array.ndim != 4:
                raise ShapeError(
                    f"mode_maps: a map must be (batch, heads, queries, keys). Got shape {tuple(array.shape)}."
                )
            labelled.append(
                ModeMap(
                    mode=name,
                    query_labels=tuple(names),
                    key_labels=tuple(names),
                    weights=array.mean(axis=0),
                    layer=layer,
                    num_samples=len(array),
                    sample=sample,
                    ordered=name in ordered,
                )
            )
    return labelled


def average_maps(groups: Sequence[Sequence[ModeMap]], *, sample: str = "") -> list[ModeMap]:
    """Average lists of maps from several batches, each map counting by its number of samples.

    The labels are those of the first group, so give labels that hold for all (see `lag_labels`).

    Raises:
        ShapeError: There is no group, or the groups do not hold the same modes, layers and sizes.
    """
    if not groups:
        raise ShapeError("average_maps: nothing to average. Got no group; give the maps of one batch or more.")
    keys = [[(item.mode, item.layer, item.weights.shape) for item in group] for group in groups]
    if any(key != keys[0] for key in keys):
        raise ShapeError(
            "average_maps: every group must hold the same modes, layers and sizes in the same order. "
            f"Got {keys[0]} and {next(key for key in keys if key != keys[0])}."
        )
    averaged = []
    for items in zip(*groups, strict=True):
        counts = [item.num_samples for item in items]
        weights = np.average(np.stack([item.weights for item in items]), axis=0, weights=counts)
        averaged.append(replace(items[0], weights=weights, num_samples=sum(counts), sample=sample))
    return averaged


def rollout(maps: Sequence[ModeMap], mode: str) -> ModeMap:
    """Follow the attention of one mode through all layers: the product of (A + I) / 2, last layer leftmost.

    Abnar & Zuidema (2020), sec. 3, heads averaged. It sees one mode alone: what crosses to other modes, and
    what the feed-forward layers do, is left out.

    Raises:
        DataError: No map is of that mode.
        ShapeError: The mode's maps are not all square and of one size.
    """
    layers = sorted((item for item in maps if item.mode == mode and item.layer is not None), key=_layer)
    if not layers:
        raise DataError(
            f"rollout: no map of mode {mode!r}. Got maps of {sorted({item.mode for item in maps})}; name one of these."
        )
    size = len(layers[0].query_labels)
    if any(item.weights.shape[1:] != (size, size) for item in layers):
        raise ShapeError(
            f"rollout: the maps of mode {mode!r} must be square and of one size. "
            f"Got {[item.weights.shape[1:] for item in layers]}."
        )
    total = np.eye(size)
    for item in layers:
        total = (item.head_mean() + np.eye(size)) / 2 @ total
    return replace(layers[0], weights=total[None], layer=None)


class Pair(NamedTuple):
    """One position attending to another, with its weight and that of uniform attention."""

    query: str
    key: str
    weight: float
    even: float

    def __str__(self) -> str:
        return f"{self.query} attends to {self.key} ({self.weight:.0%}; uniform would be {self.even:.0%})"


def top_pairs(item: ModeMap, count: int = 5, *, head: int | None = None, include_self: bool = False) -> list[Pair]:
    """List the strongest pairs of a map, each query at most once, strongest first.

    Args:
        item: The map.
        count: How many at most.
        head: Which head; `None` for the mean over heads.
        include_self: Let a position's look at itself count.
    """
    weights = np.array(item.head_mean() if head is None else item.weights[head])
    if not include_self and item.query_labels == item.key_labels:
        np.fill_diagonal(weights, -np.inf)
    best = weights.argmax(axis=1)
    strength = weights[np.arange(len(best)), best]
    order = [row for row in np.argsort(-strength, kind="stable") if np.isfinite(strength[row])][:count]
    even = 1 / weights.shape[1]
    return [Pair(item.query_labels[row], item.key_labels[best[row]], float(strength[row]), even) for row in order]


def strongest(maps: Sequence[ModeMap], count: int = 3) -> list[str]:
    """The strongest pairs of each map in words, a line each."""
    return [f"{item.mode}, block {item.layer}: {pair}" for item in maps for pair in top_pairs(item, count)]


def last_block(maps: Sequence[ModeMap]) -> list[ModeMap]:
    """Maps of the last block."""
    last = max(map(_layer, maps), default=0)
    return [item for item in maps if item.layer == last]


def _layer(item: ModeMap) -> int:
    return item.layer or 0


MAX_POSITIONS = 48


def shrink(maps: Sequence[ModeMap], most: int = MAX_POSITIONS) -> tuple[list[ModeMap], str]:
    """Bring maps of one mode and size to at most `most` positions a side, all in the same way.

    Positions with an order are merged with their neighbours (queries averaged, keys summed, so that rows
    still sum to one); of positions without, those looked at most are kept. The words are "" where nothing was done.
    """
    queries, keys = maps[0].weights.shape[1:]
    if max(queries, keys) <= most:
        return list(maps), ""
    if maps[0].ordered:
        note = f"{keys} positions are merged into {min(keys, most)} groups of neighbours."
        return [_merge(item, most) for item in maps], note
    received = np.mean([item.head_mean().mean(axis=0) for item in maps], axis=0)
    kept_keys = np.sort(np.argsort(-received, kind="stable")[:most])
    kept_queries = kept_keys if maps[0].query_labels == maps[0].key_labels else np.arange(min(queries, most))
    share = received[kept_keys].sum() / max(received.sum(), 1e-12)
    note = (
        f"Shown are the {len(kept_keys)} of {keys} {maps[0].mode} looked at most; "
        f"they receive {share:.0%} of all attention."
    )
    kept = [
        replace(
            item,
            weights=item.weights[:, kept_queries][:, :, kept_keys],
            query_labels=tuple(item.query_labels[int(row)] for row in kept_queries),
            key_labels=tuple(item.key_labels[int(row)] for row in kept_keys),
        )
        for item in maps
    ]
    return kept, note


def _merge(item: ModeMap, most: int) -> ModeMap:
    rows, row_labels = _groups(item.query_labels, most)
    columns, column_labels = _groups(item.key_labels, most)
    averaged = np.stack([item.weights[:, group].mean(axis=1) for group in rows], axis=1)
    weights = np.stack([averaged[:, :, group].sum(axis=2) for group in columns], axis=2)
    return replace(item, weights=weights, query_labels=row_labels, key_labels=column_labels)


def _groups(labels: Sequence[str], most: int) -> tuple[list[slice], tuple[str, ...]]:
    edges = np.linspace(0, len(labels), min(len(labels), most) + 1).round().astype(int)
    groups = [slice(int(start), int(stop)) for start, stop in pairwise(edges)]
    names = tuple(
        labels[group.start] if group.stop == group.start + 1 else f"{labels[group.start]} … {labels[group.stop - 1]}"
        for group in groups
    )
    return groups, names
