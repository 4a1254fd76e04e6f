"""Charts of a classification: ROC, reliability, confusion, and the deletion test."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from multiway.explain.voxels import DeletionCurves
from multiway.report import charts, text
from multiway.report.palette import NUM_COLOURS
from multiway.report.scales import Floats, Scale, number_ticks, scale_of
from multiway.report.sections import Cell, Chart, Section, Table

UNIT = Scale(0.0, 1.0)
GRID = np.linspace(0, 1, 101)
MAX_CURVES = NUM_COLOURS
CORRECT = "classified correctly"
DIAGONAL = charts.curve(UNIT.place([0, 1]), UNIT.place([0, 1]), "t0")
DELETION_STYLES = {"attention": "s0", "gradients": "s1"}


class RocCurve(NamedTuple):
    """One curve, both rates rising from 0 to 1: of a model, or of one class against the rest."""

    name: str
    false_positive: Floats
    true_positive: Floats
    auc: float | None = None

    def label(self) -> str:
        """Name and area."""
        return f"{self.name}, AUC {'undefined' if self.auc is None else text.number(self.auc, 3)}"


def roc_chart(curves: Sequence[RocCurve], colours: Mapping[str, int]) -> Chart:
    """True against false positive rate; the dashed line is an even guess.

    colours: Numbers by name; curves of other names take them in order.
    """
    shown = curves[:MAX_CURVES]
    styles = {item.name: f"s{colours.get(item.name, index % NUM_COLOURS)}" for index, item in enumerate(shown)}
    words = [f"false positive rate {place:.2f}" for place in GRID]
    series = [charts.Series(item.name, styles[item.name], _on_grid(item)) for item in shown]
    lines = [charts.curve(item.false_positive, item.true_positive, styles[item.name]) for item in reversed(shown)]
    drawing = charts.frame(
        [DIAGONAL, *lines],
        number_ticks(UNIT, 5),
        number_ticks(UNIT, 5),
        describes=f"ROC curves: {text.listing([item.label() for item in shown])}.",
        height=300,
        x_title="false positive rate",
        readout=charts.Readout(GRID, words, series),
    )
    return Chart(
        drawing=drawing,
        title="Receiver operating characteristic: true positive rate at each false positive rate",
        legend=[(item.label(), styles[item.name]) for item in shown],
        note=f"The first {len(shown)} of {len(curves)} curves are drawn." if len(curves) > len(shown) else "",
        is_square=True,
    )


def _on_grid(item: RocCurve) -> Floats:
    """The highest true positive rate at each false positive rate."""
    last = np.searchsorted(np.asarray(item.false_positive), GRID + 1e-12, side="right") - 1
    return np.asarray(np.asarray(item.true_positive, float)[last.clip(0)])


def reliability_chart(bins: Sequence[Mapping[str, float]], unit: str = "cases") -> Chart | None:
    """Share classified correctly against confidence, with its 95 % interval; None where no bin has a case.

    bins: Mean "confidence", "accuracy" and "count" of what has a like confidence; larger dots are of more.
    """
    known = [item for item in bins if item["count"] > 0]
    if not known:
        return None
    places, accuracy, counts = (np.array([item[key] for item in known]) for key in ("confidence", "accuracy", "count"))
    low, high = _wilson(accuracy, counts)
    words = [f"confidence {x:.2f}, {text.count(int(n))} {unit}" for x, n in zip(places, counts, strict=True)]
    series = [charts.Series(CORRECT, "v0", accuracy), charts.Series("95 % interval", "b0", low, 0, high)]
    drawing = charts.frame(
        [DIAGONAL],
        number_ticks(UNIT, 5),
        number_ticks(UNIT, 5),
        describes=f"Share of {unit} {CORRECT} against the confidence.",
        height=300,
        x_title="confidence",
        marks=[*_intervals(places, low, high), *_dots(places, accuracy, counts)],
        readout=charts.Readout(places, words, series),
    )
    return Chart(drawing=drawing, title=f"Share {CORRECT}, by confidence", is_square=True)


def _intervals(places: Floats, low: Floats, high: Floats) -> list[Markup]:
    shape = Markup('<i class="interval" style="left:{}%;bottom:{}%;height:{}%"></i>')
    return [shape.format(*_pct(x, down, up - down)) for x, down, up in zip(places, low, high, strict=True)]


def _dots(places: Floats, heights: Floats, counts: Floats) -> list[Markup]:
    shape = Markup('<i class="dot" style="left:{}%;bottom:{}%;--size:{}px"></i>')
    sizes = np.round(5 + 9 * np.sqrt(counts / counts.max()), 1)
    return [shape.format(*_pct(x, y), size) for x, y, size in zip(places, heights, sizes, strict=True)]


def _pct(*places: float) -> list[float]:
    return [round(100 * float(place), 2) for place in places]


def _wilson(share: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Interval of a share of `count` cases (Wilson, 1927), at 95 %."""
    z2 = 1.96**2
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = 1.96 * np.sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return centre - half, centre + half


def confusion_table(classes: Sequence[str], counts: npt.NDArray[np.int64]) -> Table:
    """Cases by their class (rows) and the predicted one (columns), each row shaded by its shares."""
    totals = counts.sum(axis=1)
    return Table(
        title="Confusion matrix, cases and share of the row",
        columns=["Is", *classes, "Cases"],
        rows=[
            [
                name,
                *(_share_cell(int(count), int(totals[row]), row == column) for column, count in enumerate(counts[row])),
                text.count(int(totals[row])),
            ]
            for row, name in enumerate(classes)
        ],
        style="numbers confusion",
    )


def _share_cell(count: int, total: int, is_right: bool) -> Cell:
    share = count / max(total, 1)
    small = text.percent(100 * share, 0) if total else ""
    return Cell(text.count(count), small=small, style="right" if is_right else "wrong", shade=round(share, 3))


def deletion_sections(
    curves: DeletionCurves, what: str, *, hidden: str = "volume", from_zero: bool = True
) -> list[Section]:
    """Probability of `what` as ever more is hidden: the chart, and the area under each curve.

    hidden: What is hidden, in words.
    """
    styles = {name: DELETION_STYLES.get(name, "s4") for name in curves.marked} | {"at random": "s3"}
    chance = curves.area()
    rows: list[list[Cell | str]] = [
        [
            Cell(name, swatch=styles[name]),
            text.number(curves.area(name), 3),
            text.signed(curves.area(name) - chance, 3),
        ]
        for name in curves.marked
    ]
    return [
        Chart(
            drawing=_deletion_drawing(curves, styles, what, hidden, from_zero),
            title=f"Probability of {what}, by share of the {hidden} hidden",
            legend=list(styles.items()),
        ),
        Table(
            columns=["Hidden first", "Mean probability", "against random"],
            rows=[*rows, [Cell("at random", swatch="s3"), text.number(chance, 3), ""]],
        ),
    ]


def _deletion_drawing(
    curves: DeletionCurves, styles: Mapping[str, str], what: str, hidden: str, from_zero: bool
) -> charts.Drawing:
    shares = np.asarray(curves.shares, float)
    lines = {name: (styles[name], values) for name, values in {**curves.marked, "at random": curves.random}.items()}
    return charts.lines(
        lines,
        shares,
        [f"{share:.0%} hidden" for share in shares],
        scale_of([values for _, values in lines.values()], from_zero=from_zero),
        number_ticks(UNIT, 5),
        describes=f"Probability of {what}, by share hidden",
        x_title=f"share of the {hidden} hidden",
    )
