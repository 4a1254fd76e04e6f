"""What audits of samples look for: copies and groups in two splits, what codes tell, the scale; and that of series."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.agreement import check_statistics
from multiway.auditing.duplicates import by_split, check_duplicates, check_groups, check_one_label, sample_digest
from multiway.auditing.giveaways import check_names
from multiway.auditing.lookup import LEAK, check_lookup
from multiway.auditing.marks import Faces, bounds_of, ends_of
from multiway.auditing.near import thin_rows
from multiway.auditing.near_series import check_near_series, check_pieces
from multiway.auditing.parts import decimals_of
from multiway.auditing.probes import class_numbers, split_halves
from multiway.auditing.report import AuditReport, Verdict
from multiway.auditing.worth import Question
from multiway.data import Finding
from multiway.data.findings import quote
from multiway.data.samples import Cells, Prepared
from multiway.data.scaling import Scaler
from multiway.data.sources.series import Values, lengths_of, missing_of

SETTLED, MOSTLY, TELLING = 1e-6, 0.5, 0.75
"""Share of a range that is nothing, of steps that are most, and of errors that a leaking clock surely removes."""
MOST_STEPS, FEWEST_BENDS = 60, 4
"""Of a series, by whose digits its form is judged; and steps that lie on lines, of which a few say nothing."""


def report_on_samples(prepared: Prepared[Any, Any], verdicts: Iterable[Verdict | None], word: str = "") -> AuditReport:
    """The report on samples, which says how many are in each split; with a word, first how many there are."""
    size = f"{len(prepared.raw):,} {word}; " if word else ""
    counts = ", ".join(f"{name} {len(rows):,}" for name, rows in prepared.splits.items())
    return AuditReport.of(f"{prepared.source}: {size}{counts}", verdicts)


def check_copies(
    prepared: Prepared[Any, Any], digests: Sequence[bytes | None], what: str, *, tolerated: float = 0.0
) -> Iterator[Verdict]:
    """Whether copies, or samples of one group, are in two splits; arguments as those of `check_duplicates`."""
    samples, splits = prepared.raw, prepared.splits
    names = samples.labels_of(prepared.rows(""))
    yield check_duplicates(by_split(digests, splits), by_split(names, splits), what, tolerated=tolerated)
    if samples.groups is not None:
        yield check_groups(by_split(samples.groups, splits), "group")


def check_codes(
    prepared: Prepared[Any, Any],
    codes: Mapping[str, NDArray[np.int64]],
    what: str,
    target: str = "the class",
    *,
    each: bool = False,
    judged: Sequence[str] = ("test",),
    least: float = LEAK,
) -> Verdict | None:
    """What whole numbers of each sample tell of its class on rows held out, by a table of the training rows.

    judged: Splits that are held out.
    each: Also whether they tell one class of several from the rest, where a word may do so honestly and a form may not.
    least: Share of the errors that a leak surely removes.
    """
    train, test = prepared.rows("train"), np.concatenate([prepared.rows(split) for split in judged])
    seen, later = ({name: column[rows] for name, column in codes.items()} for rows in (train, test))
    truth, classes = prepared.raw.truth, prepared.raw.classes or ()

    def ask(labels: NDArray[np.int64], target: str) -> Verdict | None:
        held = " and ".join(judged)
        return check_lookup(
            seen, labels[train], later, labels[test], what=what, target=target, held=held, draws=200, least=least
        )

    alone = [(truth == place, quote(name)) for place, name in enumerate(classes)] if each and len(classes) > 2 else []
    every = [ask(truth, target), *(ask(is_one.astype(np.int64), f"class {name}") for is_one, name in alone)]
    return next((one for one in every if isinstance(one, Finding) and one.severity == "error"), every[0])


def as_note(verdict: Verdict | None) -> Verdict | None:
    """A finding on what may well tell something, and need not be a leak."""
    if isinstance(verdict, Finding):
        return dataclasses.replace(verdict, severity="note", fix="A network that is no better learnt no more.")
    return verdict


def check_scaling(
    prepared: Prepared[Any, Any], used: Scaler | None, names: Sequence[str], *, rows: str = "training rows"
) -> Verdict:
    """Whether a scale is that of the training samples."""
    training, samples, state = prepared.raw.take(prepared.rows("train")), prepared.raw, prepared.state
    scales = (used or state.scaler, state.fit(training).scaler, state.fit(samples).scaler)
    now, right, of_all = ({"mean": scale.mean, "std": scale.std} for scale in scales)
    return check_statistics(now, right, of_all, names, rows=rows)


def audit_sequences(prepared: Prepared[Values, Any], used: Scaler | None = None) -> AuditReport:
    """Whether series or groups are in two splits, and whether labels, lengths or the scale give a class away."""
    return report_on_samples(prepared, _verdicts(prepared, used), "series")


def _verdicts(prepared: Prepared[Values, Any], used: Scaler | None) -> Iterator[Verdict | None]:
    series, names = prepared.raw, prepared.raw.names["series"]
    digests = [sample_digest(values) for values in series.inputs]
    yield from check_copies(prepared, digests, "series")
    yield check_one_label(digests, series.truth.tolist(), names, "series")
    yield check_near_series(series.inputs, prepared.splits, names, digests)
    yield check_pieces(series.inputs, prepared.splits, names, series.truth, digests)
    facts = {"length": lengths_of(series.inputs), "missing": missing_of(series.inputs).sum(1)}
    facts = {name: codes for name, codes in facts.items() if len(np.unique(codes)) > 1}
    if facts:
        yield check_codes(prepared, facts, "the length of a series and its missing values", each=True)
    else:
        yield "all series have one length, and as many missing values"
    rest = np.concatenate([prepared.rows(split) for split in ("validation", "test")])
    groups = class_numbers(names if series.groups is None else series.groups)
    parts = split_halves(prepared.rows("train"), rest, series.truth, groups)
    clocks = clocks_of(series.inputs)
    if len(np.unique(clocks)) > 1:
        codes = {"where a variate stands that counts steps": clocks}
        yield check_codes(prepared, codes, "the clock of a series", each=True, least=TELLING)
    forms = {name: codes for name, codes in forms_of(series.inputs).items() if len(np.unique(codes)) > 1}
    if forms:
        yield check_codes(prepared, forms, "how a series was stored", each=True)
    means = summaries_of(series.inputs, series.columns)
    yield from check_names(Question(series.truth * 1.0, series.truth, parts, means))
    faces = Faces()  # the first or last step may tell the class as none inside does, where a trigger was left in
    for values in series.inputs:
        faces.add(values.T)
    yield faces.check(series.truth, parts, what="series")
    yield check_scaling(prepared, used, series.columns, rows="training series")


def forms_of(values: Values) -> dict[str, NDArray[np.int64]]:
    """What of series `(series, steps, variates)` is no signal: digits, bounds, still variates, level ends."""
    known = np.nan_to_num(values)
    still = (known[:, 1:] == known[:, :-1]) & np.isfinite(values[:, 1:])
    ends = np.array([[ends_of(variate) for variate in each.T] for each in values])
    bounds = np.stack([bounds_of(each) for each in ends.reshape(len(values), -1, 3).swapaxes(0, 1)], 1)
    levels = {"steps that stand still at the end": still[:, ::-1], "steps that stand still at the start": still}
    return {
        "digits after the point": decimals_of(thin_rows(known.swapaxes(0, 1), MOST_STEPS)).max((0, 2)),
        "which variates never change": class_numbers(map(bytes, still.all(1))),
        "the values at which variates stop": class_numbers(map(bytes, bounds)),
        "which variates are drawn up from every second step": class_numbers(map(bytes, are_drawn_up(values))),
        **{name: np.logical_and.accumulate(steps.all(2), 1).sum(1) for name, steps in levels.items()},
    }


def are_drawn_up(values: Values) -> NDArray[np.bool_]:
    """Whether every second step of each variate lies between its neighbours, where the others do not."""
    if values.shape[1] < 4:  # there is no step of either kind
        return np.zeros((len(values), values.shape[2]), dtype=bool)
    bends = np.abs(np.diff(values, 2, axis=1))
    straight = (bends <= SETTLED * np.ptp(values, axis=1, keepdims=True)) & (np.diff(values, axis=1)[:, 1:] != 0)
    odd, even = (straight[:, start::2].sum(1) / max(straight.shape[1] // 2, FEWEST_BENDS) for start in (0, 1))
    return np.asarray(np.abs(odd - even) > MOSTLY)


def clocks_of(values: Values) -> NDArray[np.int64]:
    """Tenths of where series begin by the first variate that goes up by one step in all of them; else 0."""
    steps = np.diff(values, axis=1) if values.shape[1] > 1 else np.zeros_like(values)  # which go up by nothing
    with np.errstate(invalid="ignore"):
        is_clock = (np.ptp(steps, axis=(0, 1)) <= SETTLED * np.abs(steps).max((0, 1))) & (steps.min((0, 1)) > 0)
    if not is_clock.any():
        return np.zeros(len(values), np.int64)
    start = values[:, 0, is_clock.argmax()]
    return np.searchsorted(np.quantile(start, np.linspace(0, 1, 11)[1:-1]), start, "right").astype(np.int64)


def summaries_of(values: Values, columns: Sequence[str]) -> Cells:
    """The mean of each variate of each series, as rows."""
    known = np.isfinite(values)
    means = np.where(known, values, 0).sum(1) / np.maximum(known.sum(1), 1)
    names = tuple(f"mean of {name}" for name in columns)
    return Cells(numbers=means, words=np.empty((len(means), 0), object), of_numbers=names, of_words=())
