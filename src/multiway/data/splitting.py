"""Training, validation and test rows of any samples: as the data name them, by time, by folds or by shares."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import list_some
from multiway.data.options import Folds, Shares, SplitShares
from multiway.data.samples import SPLITS, Rows, Samples
from multiway.data.samples import Splits as Splits
from multiway.errors import DataError, Fix, Message

DRAWN = ("test", "validation")
EMPTY = np.empty(0, np.int64)
FEWEST = 2
"""Samples of a split where the target is a number: R² of one is undefined."""


def split(samples: Samples[Any], how: Shares, *, fix: Fix | None = None) -> Splits:
    """Rows of each split.

    What the data name stays; what they do not is drawn from their training samples. Else samples with times are cut in
    their order, those of one time together, and all others are drawn: copies and groups together, classes in their
    proportions as far as that allows. Of samples with sizes, as of a text in its order, the last are taken, not drawn.

    Where no class is named, training may do without one; `fix` is what helps where the data name the splits and one is
    empty.
    """
    if samples.official is not None:
        splits = _official(samples, samples.official, how)
    elif samples.times is not None:
        shares = (1 - how.test - how.validation, 1 - how.test)
        splits = dict(zip(SPLITS, _cut(samples.times, shares), strict=True))
    elif isinstance(how, Folds) and how.folds:
        every, folds_of = np.arange(len(samples)), [f"fold {place}" for place in range(how.folds)]
        parts = _shares(samples, every, dict.fromkeys(folds_of[1:], 1 / how.folds), how.seed)
        test = {folds_of[0]: parts["train"], **parts}[folds_of[how.fold]]  # one fold tests
        rest = _shares(samples, np.setdiff1d(every, test), {"validation": how.validation}, how.seed)
        splits = {**rest, "test": test}
    else:
        splits = _draw(samples, np.arange(len(samples)), how)
    check_splits(samples, splits, fix)
    return {name: splits[name] for name in SPLITS}


def check_splits(samples: Samples[Any], splits: Splits, fix: Fix | None = None) -> None:
    """Whether every split has samples, and the training all classes."""
    least = FEWEST if samples.target is not None and samples.classes is None else 1
    word, absent = samples.word, absent_classes(samples, splits.get("train", EMPTY))
    if not all(len(splits.get(name, EMPTY)) >= least for name in SPLITS):
        needs = word if least == 1 else f"two {word} or more, as numbers of one have no spread"
        counts = ", ".join(f"{name} {len(splits.get(name, EMPTY))}" for name in SPLITS)
        raise DataError(f"{samples.source}: each split needs {needs}. Got {counts}. ", *_filling(samples, fix))
    if absent:
        rule = f"train has no {word} of {list_some(absent)}. Give more of it, or split otherwise."
        raise DataError(f"{samples.source}: {rule}")


def absent_classes(samples: Samples[Any], rows: Rows) -> list[str]:
    """Classes that none of the rows is of."""
    counts = samples.class_counts(rows)
    return [name for place, name in enumerate(samples.classes or ()) if counts is None or not counts[place]]


def notes_on_draws(samples: Samples[Any], splits: Splits) -> tuple[str, ...]:
    """What was drawn, where the data name some splits, and what is left out of them."""
    if samples.official is None:
        return ()
    left = sum(map(bool, samples.official)) - sum(map(len, splits.values()))
    copies = (f"{left} {samples.word} are left out of a split, as they are in a later one too",) if left else ()
    how = "were drawn" if samples.sizes is None else "were taken, its last"
    drawn = tuple(
        f"{samples.source} names no part {name}: {len(splits[name]):,} of its training {samples.word} {how}"
        for name in SPLITS[1:]
        if name not in samples.official
    )
    return (*drawn, *copies)


def _filling(samples: Samples[Any], fix: Fix | None) -> Message:
    """What fills an empty split: more of the classes that one sample has, which only train; else other shares."""
    classes = samples.classes or ()
    counts = np.bincount(EMPTY if samples.labels is None else samples.labels, minlength=len(classes))
    single = [name for name, count in zip(classes, counts.tolist(), strict=False) if count == 1]
    if samples.official is not None and fix is not None:
        return (f"Give such {samples.word}, or name another column of splits (", fix, ").")
    if single:
        rest = "has one, or drop the class" if len(single) == 1 else "have one each, or drop the classes"
        return (f"Give more {samples.word} of {list_some(single)}, which {rest}.",)
    more = " or groups" if samples.groups is not None else ""
    return (f"Give more {samples.word}{more}, or change the shares (", Fix("split.test", 0.3), ").")


def _official(samples: Samples[Any], official: Sequence[str], how: Shares) -> Splits:
    """As the data say; the rest of the splits is drawn from what trains."""
    names = np.array(official)
    given = {name: np.flatnonzero(names == name) for name in SPLITS if name in official}
    owed = [name for name in ("test", "validation") if name not in given]
    if "train" not in given:
        raise DataError(f"{samples.source}: a part train is needed with {list_some(given)}. Add it.")
    if isinstance(how, Folds) and how.copies == "drop" and samples.keys is not None:
        seen: set[str] = set()
        for name in [name for name in reversed(SPLITS) if name in given]:  # each without what is in a later one too
            rows = given[name].tolist()
            given[name] = np.array([row for row in rows if samples.keys[row] not in seen], dtype=np.int64)
            seen |= {samples.keys[row] for row in rows}
    return {**given, **_draw(samples, given["train"], how, owed)} if owed else given


def _cut(times: pd.Index, shares: Sequence[float]) -> list[Rows]:
    """Rows in the order of time, cut behind these shares of them; a cut inside one time moves to its first row."""
    order = np.argsort(times.to_numpy(), kind="stable")
    ordered = times[order]
    return np.split(order, [int(ordered.searchsorted(ordered[round(share * len(times))])) for share in shares])


def folds(samples: Samples[Any], count: int, validation: float, seed: int) -> Iterator[Splits]:
    """Splits of which each tests on another part of some samples; what is in no part, one of each class, only trains.

    Copies and groups stay together, and every training has all classes. Samples with times are never tested on by
    what was trained on later ones: the later half is cut into parts, and each is preceded by its training.

    `validation` is the share of what is left that validates.
    """
    if samples.times is not None:
        stretches = _cut(samples.times, [0.5 + 0.5 * place / count for place in range(count)])
        for place in range(count, 0, -1):  # the last one first
            earlier = np.concatenate(stretches[:place])
            train, held = _cut(samples.times[earlier], [1 - validation])
            yield {"train": earlier[train], "validation": earlier[held], "test": stretches[place]}
        return
    every, names = np.arange(len(samples)), [f"fold {place}" for place in range(count)]
    parts = _shares(samples, every, dict.fromkeys(names, 1 / count), seed)
    for name in names:
        rest = np.setdiff1d(every, parts[name])
        yield {**_shares(samples, rest, {"validation": validation}, seed), "test": parts[name]}


def _draw(samples: Samples[Any], rows: Rows, how: Shares, names: Sequence[str] = DRAWN) -> Splits:
    shares = {name: getattr(how, name) for name in names}
    if samples.sizes is not None or not isinstance(how, SplitShares):
        return _last(np.ones(len(samples)) if samples.sizes is None else samples.sizes, rows, shares)
    return _shares(samples, rows, shares, how.seed)


def _last(sizes: NDArray[Any], rows: Rows, shares: dict[str, float]) -> Splits:
    """Take the last rows, one at least, for each named split until its share of the sizes is met; the rest trains."""
    total, stop = float(sizes[rows].sum()), len(rows)
    taken: Splits = {}
    for name, share in shares.items():
        due, start = share * total, stop
        while start and (start == stop or due >= sizes[rows[start - 1]] / 2):
            start -= 1
            due -= sizes[rows[start]]
        taken[name], stop = rows[start:stop], start
    return {"train": rows[:stop], **taken}


def _shares(samples: Samples[Any], rows: Rows, shares: dict[str, float], seed: int) -> Splits:
    """Draw shares of some rows, copies and groups together."""
    some = samples.take(rows) if len(rows) < len(samples) else samples
    names: Sequence[str] | None = some.groups or some.keys
    if some.groups is not None and some.keys is not None:
        names = _join_keys(some.keys, some.groups)
    places: dict[object, list[int]] = {}  # of each group, in the order of first appearance
    for row in range(len(rows)):
        places.setdefault(row if names is None else names[row], []).append(row)
    groups = [np.array(group, dtype=np.int64) for group in places.values()]
    labels = some.strata
    commonest = [0 if labels is None else int(np.bincount(labels[group]).argmax()) for group in groups]
    drawn = draw_shares(list(zip(commonest, groups, strict=True)), shares, seed)
    return {name: rows[own] for name, own in drawn.items()}


def _join_keys(keys: Sequence[str], groups: Sequence[str]) -> list[str]:
    """A name for each row that it shares with all rows of its key or its group, and theirs in turn."""
    parent: dict[object, object] = {}

    def root(item: object) -> object:
        while parent.setdefault(item, item) != item:
            parent[item] = item = parent[parent[item]]
        return item

    for key, group in zip(keys, groups, strict=True):
        parent[root(("key", key))] = root(("group", group))
    return [str(root(("key", key))) for key in keys]


def draw_shares(groups: list[tuple[int, NDArray[np.int64]]], shares: dict[str, float], seed: int) -> Splits:
    """Take shuffled groups of each class for the named splits until their shares are met; the rest trains.

    groups: Commonest class and rows of each.
    """
    chance = np.random.default_rng(seed)
    taken: dict[str, list[NDArray[np.int64]]] = {name: [] for name in ("train", *shares)}
    owed = dict.fromkeys(shares, 0.0)
    for label in sorted({label for label, _ in groups}):
        members = [group for one, group in groups if one == label]
        order = [members[row] for row in chance.permutation(len(members))]
        total = sum(map(len, order))
        for name, share in shares.items():
            owed[name] += share * total  # what rounding kept from one class is made up in the next
            while len(order) > 1 and owed[name] >= len(order[-1]) / 2:
                owed[name] -= len(order[-1])
                taken[name].append(order.pop())
        taken["train"] += order
    return {name: np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64) for name, parts in taken.items()}
