"""What samples hold, and all that is wrong with them, in one order: a kind adds its flaws, such as numbers for none."""

import collections
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import CheckReport, Findings, Unreadable, list_some, quote
from multiway.data.options import Shares
from multiway.data.samples import Cells, Samples
from multiway.data.splitting import Splits, absent_classes, notes_on_draws, split
from multiway.data.targets import note_near_names
from multiway.errors import DataError, Fix, Message

ONE_SIDED = 0.9
"""Share of the largest class from which on a report speaks of balance."""
Facts = Callable[[Samples[Any]], Mapping[str, Any]]
Hook = Callable[[Samples[Any], Findings], Mapping[str, Any] | None]
"""Notes flaws; what it returns are more facts."""
NINES = tuple(sign * float("9" * digits) for digits in range(2, 8) for sign in (-1, 1))
BOUNDS = (-32768.0, 32767.0, 65535.0, -2147483648.0, 2147483647.0, -3.4028235e38, 3.4028235e38)
FILLS = (9.969209968386869e36, 1e20, -1e20, 1e30, -1e30, 1e35, 1e36, -1e36, 1e37, -1e37)
USUAL = np.array(sorted((*NINES, *BOUNDS, *FILLS)))
"""Of spreadsheets and loggers, of whole numbers' ends, and of NetCDF and climate models."""
ALIKE = 1e-5
"""What single precision and printing change of one, as a share."""
EMPTY: Message = ("If it means missing, leave these cells empty.",)
FEWEST, DIFFERENT = 2, 3
"""Cells that hold it, and different other numbers, without which a number is none of these."""


def check_samples(
    source: str,
    read: Callable[[Findings], Samples[Any]],
    how: Shares,
    *,
    facts: Facts,
    missing: Callable[[Samples[Any]], dict[str, int]] = lambda samples: {},
    hooks: Iterable[Hook] = (),
) -> CheckReport:
    """Read, split, and look for repeats, torn targets, rare classes, and what the hooks look for.

    `read` notes flaws, and may raise those that end it; `facts` open the report, and `missing` counts values by column.
    """
    findings, samples = Findings(source), None
    try:
        samples = read(findings)
    except Unreadable:
        pass
    except DataError as error:
        findings.take("source", error)
    if samples is None or not len(samples):
        if samples is not None and not findings.errors():
            findings.add("empty", "error", f"there are no {samples.word}", "Give some.")
        summary = {"encoding": findings.encoding}
        return CheckReport(source=source, summary=summary, findings=findings.by_severity())
    for note in samples.notes:
        findings.add("reading", "note", note)
    splits = {} if findings.errors() else _try_splits(samples, how, findings)
    repeated = check_repeats(samples, splits, findings)
    _check_classes(samples, splits, findings)
    more = {name: fact for hook in hooks for name, fact in (hook(samples, findings) or {}).items()}
    summary = {**facts(samples), **_common(samples, splits, repeated), **more, "encoding": findings.encoding}
    absent = {name: count for name, count in missing(samples).items() if count}
    return CheckReport(source=source, summary=summary, findings=findings.by_severity(), missing=absent)


def warnings_of(samples: Samples[Any], splits: Splits, hooks: Iterable[Hook] = ()) -> tuple[str, ...]:
    """What a check warns of in samples that were read and split, a line each."""
    findings = Findings(samples.source)
    check_repeats(samples, splits, findings)
    _check_classes(samples, splits, findings)
    for hook in hooks:
        hook(samples, findings)
    return tuple(finding.line() for finding in findings.by_severity() if finding.severity == "warning")


def _try_splits(samples: Samples[Any], how: Shares, findings: Findings) -> Splits:
    """The splits, where there is a target and none of them is empty."""
    if samples.target is None and samples.labelling:
        rule = f"no target is named or found, so {samples.word} can be predicted and not trained on"
        findings.add("target", "note", rule, samples.labelling)
        return {}
    try:
        splits = split(samples, how)
    except DataError as error:
        findings.take("split", error)
        return {}
    for note in notes_on_draws(samples, splits):
        findings.add("split", "note", note)
    return splits


def digests(samples: Samples[Any]) -> list[bytes]:
    """A hash of the inputs of each sample; of its key, where it has one."""
    if samples.keys is not None:
        return [key.encode("utf-8", "surrogatepass") for key in samples.keys]
    own = getattr(samples.inputs, "digests", None)
    if own is not None:
        return list(own())
    parts = (np.ascontiguousarray(inputs).data for inputs in samples.inputs)
    return [hashlib.blake2b(part, digest_size=16).digest() for part in parts]


def check_repeats(samples: Samples[Any], splits: Splits, findings: Findings) -> int:
    """Samples that are there before, in another split, or with another target; how many repeat one."""
    same = collections.defaultdict(list)
    for row, key in enumerate(digests(samples)):
        same[key].append(row)
    groups = [rows for rows in same.values() if len(rows) > 1]
    split_of = {int(row): name for name, rows in splits.items() for row in rows}
    target = np.zeros(len(samples)) if samples.target is None else samples.target
    repeats = {row for rows in groups for place, row in enumerate(rows) if target[row] in target[rows[:place]]}
    torn = [row for rows in groups if len(set(target[rows].tolist())) > 1 for row in rows if row not in repeats]
    across = [row for rows in groups for row in rows if split_of.get(row) != split_of.get(rows[0])]
    word, kind = samples.word, "targets" if samples.classes is None else "classes"
    for name, rows, rule, fix in (
        ("leak", across, f"{word} repeat one of another split", "Drop them, or name what belongs together as a group."),
        ("duplicates", repeats, f"{word} repeat an earlier one", "Drop them, or keep each group of them in one split."),
        ("targets", torn, f"{word} have equal inputs and different {kind}", "No model can tell them apart."),
    ):
        if rows:
            places = [samples.place(row) for row in sorted(rows)[:20]]
            findings.add(name, "warning", f"{len(rows)} {rule}", fix, places, len(rows))
    return len(repeats)


def check_fillers(samples: Samples[Any], findings: Findings) -> None:
    """Warn of numbers that usually mean missing, among the inputs and the target."""
    inputs, target = samples.inputs, samples.target
    is_table = isinstance(inputs, Cells)
    values = inputs.numbers if is_table else inputs.reshape(-1, inputs.shape[-1])
    columns = list(zip(inputs.of_numbers if is_table else samples.columns, values.T, strict=True))
    if target is not None and samples.classes is None:
        columns.append((samples.target_name or "the target", target))
    note_fillers(columns, findings, EMPTY)


def check_levels(samples: Samples[Cells], findings: Findings, most: int) -> None:
    """Say which categories have more levels than get an input each."""
    for name, column in zip(samples.inputs.of_words, samples.inputs.words.T, strict=True):
        count = len(pd.unique(column))
        if count > most:
            rule = f"'{quote(name)}' has {count:,} levels, more than {most}: each is taken as the mean of its targets"
            fix = ("Set max_levels for an input per level (", Fix("read.max_levels", count), ").")
            findings.add("levels", "note", rule, fix)


def _check_classes(samples: Samples[Any], splits: Splits, findings: Findings) -> None:
    labels, names = samples.labels, samples.classes
    if labels is None or names is None:
        return
    note_near_names(samples.target_name or "the target", names, findings)
    counts = np.bincount(labels, minlength=len(names))
    if counts.max() >= ONE_SIDED * len(labels):
        share, name = 100 * counts.max() / len(labels), quote(names[int(counts.argmax())])
        rule = f"{share:.1f} % of {samples.word} are '{name}'"
        findings.add("balance", "warning", rule, "Accuracy says little here; look at the other scores.")
    for name, rows in splits.items():
        absent = absent_classes(samples, rows)
        if absent:
            rule = f"{name} has no {samples.word} of {list_some(absent)}"
            findings.add("classes", "warning", rule, f"Give more {samples.word} of it, or leave it out.")


def _common(samples: Samples[Any], splits: Splits, repeated: int) -> dict[str, Any]:
    """Facts of any samples."""
    target, labels, names = samples.target, samples.labels, samples.classes or ()
    counts = () if labels is None else np.bincount(labels, minlength=len(names)).tolist()
    classes = list_some((f"{name} {count}" for name, count in zip(names, counts, strict=False)), 12)
    numbers = target if samples.classes is None else None
    return {
        "target": samples.target_name,
        "classes": classes or None,
        "range": None if numbers is None else f"{numbers.min():g} to {numbers.max():g}, mean {numbers.mean():g}",
        "repeated": repeated,
        "groups": None if samples.groups is None else len(set(samples.groups)),
        "splits": ", ".join(f"{name} {len(rows)}" for name, rows in splits.items()) or None,
    }


def fillers_of(values: NDArray[Any]) -> dict[float, NDArray[np.intp]]:
    """Places of each such number: those that lie further from all others than these spread.

    values: `(cells,)`, NaN where missing.
    """
    if not len(values) or not _usual(np.array([np.fmin.reduce(values), np.fmax.reduce(values)], np.float64)).any():
        return {}  # what lies so far out is the least or the greatest, or one of several
    values = values.astype(np.float64)
    usual = _usual(values)
    others = values[~usual & ~np.isnan(values)]
    if not usual.any() or len(np.unique(others)) < DIFFERENT:
        return {}
    low, high = others.min(), others.max()
    places = {float(value): np.flatnonzero(values == value) for value in np.unique(values[usual])}
    return {
        value: rows
        for value, rows in places.items()
        if len(rows) >= FEWEST and max(low - value, value - high) > high - low
    }


def _usual(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values are one of the usual numbers."""
    above = np.searchsorted(USUAL, values).clip(0, len(USUAL) - 1)
    near = np.stack([USUAL[above], USUAL[(above - 1).clip(0)]])
    return np.asarray((np.abs(near - values) <= ALIKE * np.abs(near)).any(0))


def note_fillers(
    columns: Iterable[tuple[str, NDArray[np.float64]]], findings: Findings, fix: Message, known: Collection[float] = ()
) -> None:
    """Warn of such numbers by column, parts of which may come one by one; not of those known to mean missing."""
    counts = collections.Counter[tuple[str, float]]()
    for name, values in columns:
        counts.update({(name, value): len(rows) for value, rows in fillers_of(values).items() if value not in known})
    for (name, value), count in counts.items():
        rule = f"'{quote(name)}' holds {value:g} in {count:,} cells, far from all its other numbers"
        findings.add("sentinel", "warning", rule, fix, count=count)
