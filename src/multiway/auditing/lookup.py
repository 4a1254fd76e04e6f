"""Whether labels can be looked up in what says nothing of the target: the calendar, or what is missing.

A look-up gives every combination of such facts the class that was commonest there in training. Which facts it uses,
one, two or all of them, is chosen by cross-validation within training; the test split is read once. The yardstick is
the commonest class of the test split itself, which no look-up can beat by luck of the shares.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, finding

LEAK = 0.25
"""A look-up that surely removes more than this share of the commonest class's errors is a leak."""
CLOSE = 0.005
"""Look-ups whose accuracies in training differ less than this are alike, and the one of fewest cells is taken."""

Codes = Mapping[str, NDArray[np.int64]]
Ints = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class _Cells:
    """Cell of each case under a choice of facts: training cases, test cases, and how many cells there are."""

    names: tuple[str, ...]
    train: Ints
    test: Ints
    count: int


def check_lookup(
    train: Codes,
    train_labels: Ints,
    test: Codes,
    test_labels: Ints,
    *,
    what: str,
    target: str = "the label",
    held: str = "test",
    groups: tuple[Ints, Ints] | None = None,
    block: int = 1,
    draws: int = 1000,
    seed: int = 0,
    least: float = LEAK,
) -> Verdict | None:
    """Score the best look-up and the commonest class.

    Args:
        train: For each fact, a whole number per training case.
        train_labels: Their classes from 0.
        test: The same facts of the test cases.
        test_labels: Their classes.
        what: What the facts are, in words.
        target: What the classes are, in words.
        held: What the labels that judge are called.
        groups: What belongs together, of training and test cases, such as the day; each case alone if not given.
        block: Neighbouring groups that are drawn together for the interval.
        draws: Bootstrap samples.
        seed: Of the bootstrap.
        least: Share of the errors that a leak surely removes.
    """
    if not len(train_labels) or not len(test_labels):
        return None
    own = groups or (np.arange(len(train_labels)), np.arange(len(test_labels)))
    classes = int(max(train_labels.max(), test_labels.max())) + 1
    chosen = _choose(_candidates(train, test), train_labels, own[0], classes)
    if chosen is None:
        return f"{what} cannot tell {target}: {', '.join(train)} never {'vary' if len(train) > 1 else 'varies'}"
    right = _look_up(chosen.train, train_labels, chosen.test, chosen.count, classes)
    hits, usual = right == test_labels, test_labels == np.bincount(test_labels).argmax()
    low, high = interval_removed(hits, usual, own[1], block, draws, seed)
    names, count = chosen.names, f"{len(test_labels):,} {held}"
    facts = f"{' and '.join(names)} alone" if len(names) < 3 else f"all {len(names)} facts together"
    scores = f"ACC {hits.mean():.4f}, MCC {lookup_mcc(right, test_labels):.4f}"
    baseline = f"the commonest class gives ACC {usual.mean():.4f}"
    if not low > 0:
        return f"{what} does not tell {target}: a look-up of {facts} gives {scores} on {count} labels, {baseline}"
    return finding(
        "lookup",
        "error" if low > least else "warning",
        f"{what} tells {target}: a look-up of {facts}, learnt on train, gives {scores} on {count} labels; "
        f"{baseline}, and of its errors {100 * low:.0f} to {100 * high:.0f} % are removed (95 % interval)",
        "Report this rule with every model; a score near it is no skill.",
    )


def _candidates(train: Codes, test: Codes) -> list[_Cells]:
    """Every fact, every pair, and all facts together, as far as they vary."""
    varying = [name for name in train if len(np.unique(train[name])) > 1]
    sets: list[tuple[str, ...]] = [(name,) for name in varying]
    sets += itertools.combinations(varying, 2)
    if len(varying) > 2:
        sets.append(tuple(varying))
    candidates = []
    for names in sets:
        cut = len(train[names[0]])
        joint = np.zeros(cut + len(test[names[0]]), np.int64)
        for name in names:
            values, codes = np.unique(np.concatenate([train[name], test[name]]), return_inverse=True)
            _, joint = np.unique(joint * len(values) + codes, return_inverse=True)
        candidates.append(_Cells(names=names, train=joint[:cut], test=joint[cut:], count=int(joint.max()) + 1))
    return candidates


def _choose(candidates: Iterable[_Cells], labels: Ints, groups: Ints, classes: int) -> _Cells | None:
    """The look-up of fewest cells among those that are best within training, each half held out in turn."""
    half, scored = half_of(labels, groups), []
    for cells in candidates:
        hits = 0
        for part in (half, ~half):
            looked_up = _look_up(cells.train[~part], labels[~part], cells.train[part], cells.count, classes)
            hits += int((looked_up == labels[part]).sum())
        scored.append((hits / len(labels), cells))
    if not scored:
        return None
    best = max(score for score, _ in scored)
    alike = [(cells.count, -score, code) for code, (score, cells) in enumerate(scored) if score >= best - CLOSE]
    return scored[min(alike)[2]][1]


def half_of(labels: Ints, groups: Ints) -> NDArray[np.bool_]:
    """Every second group of each class, a group being of its commonest class; so both halves hold every class."""
    _, rank = np.unique(groups, return_inverse=True)
    classes = int(labels.max()) + 1
    counts = np.bincount(rank * classes + labels, minlength=(int(rank.max()) + 1) * classes)
    order = np.argsort(counts.reshape(-1, classes).argmax(1), kind="stable")
    chosen = np.empty(len(order), np.bool_)
    chosen[order] = np.arange(len(order)) % 2 == 0
    return np.asarray(chosen[rank])


def _look_up(cells: Ints, labels: Ints, cell_of: Ints, count: int, classes: int) -> Ints:
    """Commonest class of each cell; where training had no such cell, the commonest of all."""
    table = np.bincount(cells * classes + labels, minlength=count * classes).reshape(count, classes)
    table[table.sum(1) == 0] = np.bincount(labels, minlength=classes)
    return np.asarray(table.argmax(1)[cell_of], np.int64)


def lookup_mcc(predicted: Ints, labels: Ints) -> float:
    """Matthews' correlation of classes (Gorodkin 2004); 0 where it is undefined."""
    size = int(max(predicted.max(), labels.max())) + 1
    table = np.bincount(labels * size + predicted, minlength=size * size).reshape(size, size).astype(float)
    total, true, said = table.sum(), table.sum(1), table.sum(0)
    covariance = np.trace(table) * total - true @ said
    spread = np.sqrt((total**2 - said @ said) * (total**2 - true @ true))
    return float(covariance / spread) if spread > 0 else 0.0


def interval_removed(
    hits: NDArray[np.bool_], usual: NDArray[np.bool_], groups: Ints, block: int, draws: int, seed: int
) -> tuple[float, float]:
    """95 % interval of the share of errors that the look-up removes; blocks of groups are resampled."""
    _, code = np.unique(groups, return_inverse=True)
    count = int(code.max()) + 1
    sums = np.stack([np.bincount(code, ~flags, count) for flags in (hits, usual)])  # errors of each group
    around = np.concatenate([np.zeros((2, 1)), np.concatenate([sums, sums], 1).cumsum(1)], 1)
    width = min(block, count)
    starts = np.random.default_rng(seed).integers(0, count, (draws, -(-count // width)))
    ours, theirs = (around[:, starts + width] - around[:, starts]).sum(2)
    share = (theirs - ours) / np.maximum(theirs, 1)
    low, high = np.quantile(share, [0.025, 0.975])
    return float(low), float(high)
