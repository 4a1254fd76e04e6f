"""What samples hold, and all that is wrong with them, in one order: a kind adds its flaws, such as numbers for none."""

import collections
import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import CheckReport, Findings, Place, Severity, Unreadable, list_some, quote
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
ALIKE = 6
"""Digits of a number that single precision and printing keep."""
FILL = 1e15
"""Size of what NetCDF and climate models write where nothing is."""
MOST_MARKS = 3
"""Of a column."""
APART, NEXT, MANY = 5, 5, 10
"""Widest steps between the nearer others that lie between a mark and them; others of which it is three times as often
as any; and different others that show these steps."""
FEWEST, DIFFERENT = 2, 3
"""Cells that hold it, and different other numbers, without which a number is no mark."""


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
    inputs = pd.factorize(np.array(digests(samples), dtype=object))[0]
    first = np.unique(inputs, return_index=True)[1][inputs]
    split_of = np.full(len(samples), -1)
    for number, rows in enumerate(splits.values()):
        split_of[rows] = number
    target = np.zeros(len(samples)) if samples.target is None else samples.target
    if samples.has_several:
        target = np.unique(target, axis=0, return_inverse=True)[1].reshape(-1)
    is_repeat = pd.DataFrame({"inputs": inputs, "target": target}).duplicated().to_numpy()
    targets = np.bincount(inputs[~is_repeat])[inputs]
    repeats, torn = np.flatnonzero(is_repeat), np.flatnonzero(~is_repeat & (targets > 1))
    across = np.flatnonzero(split_of != split_of[first])
    word, kind = samples.word, "targets" if samples.classes is None else "classes"
    for name, rows, rule, fix in (
        ("leak", across, f"{word} repeat one of another split", "Drop them, or name what belongs together as a group."),
        ("duplicates", repeats, f"{word} repeat an earlier one", "Drop them, or keep each group of them in one split."),
        ("targets", torn, f"{word} have equal inputs and different {kind}", "No model can tell them apart."),
    ):
        if len(rows):
            places = [samples.place(int(row)) for row in rows[:20]]
            findings.add(name, "warning", f"{len(rows)} {rule}", fix, places, len(rows))
    return len(repeats)


def check_levels(samples: Samples[Cells], findings: Findings, most: int) -> None:
    """Say which categories have more levels than get an input each."""
    for name, column in zip(samples.inputs.of_words, samples.inputs.words.T, strict=True):
        count = len(pd.unique(column))
        if count > most:
            rule = f"'{quote(name)}' has {count:,} levels, more than {most}: each is taken as the mean of its targets"
            fix = ("Set max_levels for an input per level (", Fix("read.max_levels", count), ").")
            findings.add("levels", "note", rule, fix)


def _check_classes(samples: Samples[Any], splits: Splits, findings: Findings) -> None:
    counts, names = samples.class_counts(), samples.classes
    if counts is None or names is None:
        return
    note_near_names(samples.target_name or "the target", names, findings)
    if counts.max() >= ONE_SIDED * len(samples):
        share, name = 100 * counts.max() / len(samples), quote(names[int(counts.argmax())])
        rule = f"{share:.1f} % of {samples.word} are '{name}'"
        findings.add("balance", "warning", rule, "Accuracy says little here; look at the other scores.")
    for name, rows in splits.items():
        absent = absent_classes(samples, rows)
        if absent:
            rule = f"{name} has no {samples.word} of {list_some(absent)}"
            findings.add("classes", "warning", rule, f"Give more {samples.word} of it, or leave it out.")


def _common(samples: Samples[Any], splits: Splits, repeated: int) -> dict[str, Any]:
    """Facts of any samples."""
    target, names, counts = samples.target, samples.classes or (), samples.class_counts()
    pairs = () if counts is None else zip(names, counts.tolist(), strict=True)
    classes = list_some((f"{name} {count}" for name, count in pairs), 12)
    numbers = target if samples.classes is None else None
    return {
        "target": samples.target_name,
        "classes": classes or None,
        "range": None if numbers is None else f"{numbers.min():g} to {numbers.max():g}, mean {numbers.mean():g}",
        "repeated": repeated,
        "groups": None if samples.groups is None else len(set(samples.groups)),
        "splits": ", ".join(f"{name} {len(rows)}" for name, rows in splits.items()) or None,
    }


def marks_of(values: NDArray[Any], *, is_sure: bool = False) -> dict[float, NDArray[np.intp]]:
    """Places of each number that marks what is missing: it stands apart from all others, and repeats.

    Numbers that nobody measures lie further from the others than these spread: a negative one among others, 999.9,
    -32768, 1e20. Unless it has to be sure, they lie five of their steps apart and are three times as often as any of
    the next ones.

    values: `(cells,)`, NaN where missing.
    """
    is_whole = values.dtype.kind in "iu" or bool(np.isfinite(values).all())
    rest = values if is_whole else values[np.isfinite(values)]
    marks = list[float]()
    while len(rest) and len(marks) < MOST_MARKS:
        ends = (float(end) for end in (rest.min(), rest.max()))
        mark = next((end for end in ends if _is_mark(end, rest, is_sure=is_sure)), None)
        if mark is None:
            break
        marks.append(mark)
        rest = rest[rest != mark]
    return {mark: np.flatnonzero(values == mark) for mark in marks}


def _is_mark(mark: float, values: NDArray[Any], *, is_sure: bool) -> bool:
    if mark >= 0 and not _is_odd(mark):
        return False
    is_other = values != mark
    count = len(values) - int(is_other.sum())
    if count < FEWEST or count == len(values):
        return False
    low = float(values.min(where=is_other, initial=values.max()))
    high = float(values.max(where=is_other, initial=values.min()))
    gap, is_alone = max(low - mark, mark - high), mark < 0 <= low
    is_far = gap > high - low
    if not (is_alone or _is_odd(mark)) or (not is_far and (is_sure or count < DIFFERENT)):
        return False
    different, counts = np.unique(values[is_other], return_counts=True)
    different = different.astype(np.float64)
    if is_far or len(different) < MANY:
        return is_far and len(different) >= DIFFERENT
    near = slice(None, (len(different) + 1) // 2) if mark < low else slice(len(different) // 2, None)
    around = counts[:NEXT] if mark < low else counts[-NEXT:]
    is_apart = gap >= APART * np.diff(different[near]).max() or is_alone
    return bool(is_apart and count >= 3 * around.max())


def _is_odd(value: float) -> bool:
    """Whether nobody measures a number: of nines or another digit alone, an end of whole numbers, or beyond all."""
    digits = f"{abs(value):.{ALIKE}g}".replace(".", "").strip("0")
    is_end = abs(value) >= 2**15 - 1 and any(math.log2(abs(value) + more).is_integer() for more in (0, 1))
    return abs(value) >= FILL or is_end or (len(digits) > 1 and len(set(digits)) == 1 and digits[0] in "6789")


def _lowest(values: NDArray[Any]) -> tuple[float, NDArray[Any]]:
    """The lowest number of a column, and the others; NaN where there is none."""
    known = values[np.isfinite(values)]
    return (float(known.min()), known[known > known.min()]) if len(known) else (math.nan, known)


def zeros_of(values: NDArray[np.float64]) -> int:
    """How often a number is 0 where none of the others is near it; 0 where one is, or none."""
    others = values[np.isfinite(values) & (values != 0)]
    count = int((values == 0).sum())
    if count < DIFFERENT or len(others) < MANY or others.min() <= 0:
        return 0
    different = np.unique(others)
    steps = np.diff(different[: (len(different) + 1) // 2])
    return count if len(steps) >= NEXT and different[0] >= APART * steps.max() else 0


def judge_marks(
    columns: Iterable[tuple[str, NDArray[np.float64]]], named: tuple[float, ...] | None, findings: Findings
) -> None:
    """Refuse such numbers, by the columns that hold them, until it is said which mean missing.

    Those beside the named ones, and zeros, which may be numbers, are warned of.

    columns: Names and values; parts of one may come one by one.
    """
    severity: Severity = "error" if named is None else "warning"
    found, lone = (collections.defaultdict[float, collections.Counter[str]](collections.Counter) for _ in range(2))
    for name, values in columns:
        for value, rows in marks_of(values).items():
            found[value][name] += len(rows)
        least, others = _lowest(values)
        if least < 0 and _is_odd(least) and (not len(others) or others.min() - least > np.ptp(others)):
            lone[least][name] += int((values == least).sum())
        if count := zeros_of(values):
            found[0.0][name] += count
    for value, counts in lone.items():  # once in a column, and elsewhere too
        if len(counts) > 1:
            found[value] |= counts
    apart = [int(value) if value.is_integer() else value for value in sorted(found) if value] or [0]
    fix: Message = (
        f"If {'they mean' if len(apart) > 1 else 'it means'} missing, name {'all' if len(apart) > 1 else 'it'} (",
        Fix("read.sentinels", apart),
        "); if it is a number like any other, name none (",
        Fix("read.sentinels", []),
        ").",
    )
    for value, counts in found.items():
        places = [Place(column=name, detail=f"{count:,} cells") for name, count in counts.items()]
        rule = f"{value:.6g} stands apart from all other numbers, {counts.total():,} times over"
        findings.add("sentinel", severity if value else "warning", rule, fix, places)
