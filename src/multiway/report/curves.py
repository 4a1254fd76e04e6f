"""Charts of a classification: ROC, reliability, confusion, and the deletion test."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from multiway.explain.voxels import DeletionCurves
from multiway.report import charts, text
from multiway.report.classification_content import Confusion, ReliabilityBin, RocCurve
from multiway.report.palette import NUM_COLOURS
from multiway.report.scales import Floats, Scale, number_ticks, scale_of

UNIT = Scale(0.0, 1.0)
GRID = np.linspace(0, 1, 101)
MAX_CURVES = NUM_COLOURS
DELETION_STYLES = {"attention": "s0", "gradients": "s1"}


def roc_chart(curves: Sequence[RocCurve], styles: Mapping[str, int], readouts: charts.Readouts) -> Markup:
    """True against false positive rate; the dashed line is an even guess."""
    shown = curves[:MAX_CURVES]
    axis = readouts.axis(GRID, [f"false positive rate {place:.2f}" for place in GRID])
    series = [charts.Series(item.name, f"s{styles[item.name]}", _on_grid(item)) for item in shown]
    lines = [
        charts.curve(np.asarray(item.false_positive), np.asarray(item.true_positive), f"s{styles[item.name]}")
        for item in reversed(shown)
    ]
    return charts.frame(
        [charts.curve(UNIT.place([0, 1]), UNIT.place([0, 1]), "t0"), *lines],
        number_ticks(UNIT, 5),
        number_ticks(UNIT, 5),
        describes=f"ROC curves: {text.listing([_with_auc(item) for item in shown])}.",
        height=300,
        x_title="false positive rate",
        readout=readouts.chart(axis, series),
    )


def roc_legend(curves: Sequence[RocCurve], styles: Mapping[str, int]) -> list[tuple[str, str]]:
    """Names with their AUC, and styles."""
    return [(_with_auc(item), f"s{styles[item.name]}") for item in curves[:MAX_CURVES]]


def _with_auc(item: RocCurve) -> str:
    return f"{item.name}, AUC {text.number(item.auc, 3) if item.auc is not None else 'undefined'}"


def _on_grid(item: RocCurve) -> Floats:
    """The highest true positive rate at each false positive rate."""
    last = np.searchsorted(np.asarray(item.false_positive), GRID + 1e-12, side="right") - 1
    return np.asarray(np.asarray(item.true_positive, float)[last.clip(0)])


def reliability_chart(bins: Sequence[ReliabilityBin], readouts: charts.Readouts) -> Markup:
    """Share named rightly against confidence, with its 95 % interval; larger dots are of more cases."""
    known = [item for item in bins if item.count > 0]
    places = np.array([item.confidence for item in known])
    low, high = _wilson(np.array([item.accuracy for item in known]), np.array([item.count for item in known]))
    accuracy = np.array([item.accuracy for item in known])
    words = [f"confidence {item.confidence:.2f}, {text.count(item.count)} cases" for item in known]
    series = [
        charts.Series("named rightly", "v0", accuracy),
        charts.Series("95 % interval", "b0", low, 0, high),
    ]
    most = max(item.count for item in known)
    marks = [
        Markup('<i class="interval" style="left:{}%;bottom:{}%;height:{}%"></i>').format(*_pct(x, down, up - down))
        for x, down, up in zip(places, low, high, strict=True)
    ]
    marks += [
        Markup('<i class="dot" style="left:{}%;bottom:{}%;--size:{}px"></i>').format(
            *_pct(item.confidence, item.accuracy), round(5 + 9 * (item.count / most) ** 0.5, 1)
        )
        for item in known
    ]
    return charts.frame(
        [charts.curve(UNIT.place([0, 1]), UNIT.place([0, 1]), "t0")],
        number_ticks(UNIT, 5),
        number_ticks(UNIT, 5),
        describes="Share of cases named rightly against the confidence.",
        height=300,
        x_title="confidence",
        marks=marks,
        readout=readouts.chart(readouts.axis(places, words), series),
    )


def _pct(*places: float) -> list[float]:
    return [round(100 * float(place), 2) for place in places]


def _wilson(share: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Interval of a share of `count` cases (Wilson, 1927), at 95 %."""
    z2 = 1.96**2
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = 1.96 * np.sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return centre - half, centre + half


class ConfusionCell(NamedTuple):
    """A number of cases and its share of the row's."""

    cases: str
    share: float
    percent: str
    is_right: bool


class ConfusionTable(NamedTuple):
    """Classes, and a row per actual class: name, cells, cases in all."""

    classes: list[str]
    rows: list[tuple[str, list[ConfusionCell], str]]


def confusion_table(confusion: Confusion) -> ConfusionTable:
    """Set the confusion matrix, each row shaded by its shares."""
    counts = np.asarray(confusion.counts)
    rows = []
    for index, name in enumerate(confusion.classes):
        total = int(counts[index].sum())
        shares = counts[index] / max(total, 1)
        cells = [
            ConfusionCell(
                text.count(int(count)),
                round(float(share), 3),
                text.percent(100 * float(share), 0) if total else "",
                index == column,
            )
            for column, (count, share) in enumerate(zip(counts[index], shares, strict=True))
        ]
        rows.append((name, cells, text.count(total)))
    return ConfusionTable(list(confusion.classes), rows)


class DeletionRow(NamedTuple):
    """What was hidden first, and the mean probability over all shares."""

    name: str
    style: str
    area: str
    against: str


def deletion_chart(
    curves: DeletionCurves, readouts: charts.Readouts, *, hidden: str = "volume", from_zero: bool = True
) -> Markup:
    """Probability of the class named as ever more is hidden, of what `hidden` says."""
    shares = np.asarray(curves.shares, float)
    lines = {**{name: (style_of(name), values) for name, values in curves.marked.items()}}
    lines["at random"] = ("s3", curves.random)
    up = scale_of([values for _, values in lines.values()], from_zero=from_zero)
    axis = readouts.axis(shares, [f"{share:.0%} hidden" for share in shares])
    return charts.frame(
        [charts.curve(shares, charts.places_of(up, values), style) for style, values in reversed(lines.values())],
        number_ticks(UNIT, 5),
        number_ticks(up, 5),
        describes=f"Probability of the class named, by share hidden: {text.listing(list(lines))}.",
        height=230,
        x_title=f"share of the {hidden} hidden",
        readout=readouts.chart(axis, [charts.Series(name, style, values) for name, (style, values) in lines.items()]),
    )


def deletion_rows(curves: DeletionCurves) -> list[DeletionRow]:
    """Area under each curve, beside that of random blocks."""
    chance = curves.area()
    rows = [
        DeletionRow(name, style_of(name), text.number(curves.area(name), 3), text.signed(curves.area(name) - chance, 3))
        for name in curves.marked
    ]
    return [*rows, DeletionRow("at random", "s3", text.number(chance, 3), "")]


def style_of(name: str) -> str:
    """Line style of an importance."""
    return DELETION_STYLES.get(name, "s4")
