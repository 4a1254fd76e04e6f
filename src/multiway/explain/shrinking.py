"""Large maps made small enough to show, with a word about what was done to them."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from multiway.explain.maps import ModeMap

MAX_POSITIONS = 48
Rows = npt.NDArray[np.intp]


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
    return [_keep(item, kept_queries, kept_keys) for item in maps], note


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


def _keep(item: ModeMap, queries: Rows, keys: Rows) -> ModeMap:
    return replace(
        item,
        weights=item.weights[:, queries][:, :, keys],
        query_labels=tuple(item.query_labels[int(row)] for row in queries),
        key_labels=tuple(item.key_labels[int(row)] for row in keys),
    )
