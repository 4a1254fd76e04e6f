"""Charts of a classification, ROC, reliability, confusion, the deletion test; and of scores over a model's size."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from multiway.explain.voxels import DeletionCurves
from multiway.report import charts, text
from multiway.report.scales import NUM_COLOURS, Floats, Scale, number_ticks, scale_of
from multiway.report.sections import Chart, Section, Table, TableCell

UNIT = Scale(0.0, 1.0)
GRID = np.linspace(0, 1, 101)
MAX_CURVES = NUM_COLOURS
CORRECT = "classified correctly"
DIAGONAL = charts.curve_path(UNIT.place([0, 1]), UNIT.place([0, 1]), "t0")
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
    styles = [f"s{colours.get(item.name, index % NUM_COLOURS)}" for index, item in enumerate(shown)]
    styled = list(zip(shown, styles, strict=True))
    series = []
    for item, style in styled:  # the highest true positive rate at each false positive rate
        last = np.searchsorted(np.asarray(item.false_positive), GRID + 1e-12, side="right") - 1
        rates = np.asarray(item.true_positive, float)[last.clip(0)]
        series.append(charts.ChartSeries(item.name, style, rates))
    drawing = _unit_square(
        GRID,
        [f"false positive rate {rate:.2f}" for rate in GRID],
        series,
        curves=[charts.curve_path(item.false_positive, item.true_positive, style) for item, style in reversed(styled)],
        describes=f"ROC curves: {text.listing([item.label() for item in shown])}.",
        x_title="false positive rate",
    )
    return Chart(
        drawing=drawing,
        title="Receiver operating characteristic: true positive rate at each false positive rate",
        legend=[(item.label(), style) for item, style in styled],
        note=f"The first {len(shown)} of {len(curves)} curves are drawn." if len(curves) > len(shown) else "",
        is_square=True,
    )


def _unit_square(
    at: Floats,
    words: Sequence[str],
    series: Sequence[charts.ChartSeries],
    *,
    curves: Sequence[Markup] = (),
    **rest: Any,
) -> charts.Drawing:
    """Both axes from 0 to 1, and the diagonal."""
    ticks, curves = number_ticks(UNIT, 5), [DIAGONAL, *curves]
    return charts.Drawing(
        curves=curves, x_ticks=ticks, y_ticks=ticks, at=at, words=words, series=series, height=300, **rest
    )


def reliability_chart(bins: Sequence[Mapping[str, float]], unit: str = "cases") -> Chart | None:
    """Share classified correctly against confidence, with its 95 % interval; None where no bin has a case.

    bins: Mean "confidence", "accuracy" and "count" of what has a like confidence; larger dots are of more.
    """
    known = [item for item in bins if item["count"] > 0]
    if not known:
        return None
    places, accuracy, counts = (np.array([item[key] for item in known]) for key in ("confidence", "accuracy", "count"))
    z2 = 1.96**2  # an interval of a share at 95 % (Wilson, 1927)
    centre = (accuracy + z2 / (2 * counts)) / (1 + z2 / counts)
    half = 1.96 * np.sqrt(accuracy * (1 - accuracy) / counts + z2 / (4 * counts**2)) / (1 + z2 / counts)
    low, high = centre - half, centre + half
    drawing = _unit_square(
        places,
        [f"confidence {x:.2f}, {text.count(int(n))} {unit}" for x, n in zip(places, counts, strict=True)],
        [charts.ChartSeries(CORRECT, "v0", accuracy), charts.ChartSeries("95 % interval", "b0", low, high)],
        describes=f"Share of {unit} {CORRECT} against the confidence.",
        x_title="confidence",
        marks=[
            *charts.signs("interval", places, low, "height:{}%", 100 * (high - low)),
            *charts.signs("dot", places, accuracy, "--size:{}px", 5 + 9 * np.sqrt(counts / counts.max())),
        ],
    )
    return Chart(drawing=drawing, title=f"Share {CORRECT}, by confidence", is_square=True)


def confusion_table(classes: Sequence[str], counts: npt.NDArray[np.int64]) -> Table:
    """Cases by their class (rows) and the predicted one (columns), each row shaded by its shares."""
    rows: list[list[TableCell | str]] = []
    for row, name in enumerate(classes):
        total, cells = int(counts[row].sum()), []
        for column, count in enumerate(counts[row].tolist()):
            share = count / max(total, 1)
            small = text.percent(100 * share, 0) if total else ""
            style = "right" if row == column else "wrong"
            cells.append(TableCell(text.count(count), small=small, style=style, shade=round(share, 3)))
        rows.append([name, *cells, text.count(total)])
    return Table(
        title="Confusion matrix, cases and share of the row",
        columns=["Is", *classes, "Cases"],
        rows=rows,
        style="numbers confusion",
    )


def frequent_confusions(classes: Sequence[str], counts: npt.NDArray[np.int64], most: int = 10) -> Table:
    """The most frequent confusions: which class, what was predicted, how many cases and which share of the class."""
    wrong = counts * (1 - np.eye(len(classes), dtype=np.int64))
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    pairs, every = [divmod(int(place), len(classes)) for place in order if wrong.flat[place]], int((wrong > 0).sum())
    rows = [
        [
            classes[row],
            classes[column],
            text.count(int(counts[row, column])),
            text.percent(100 * counts[row, column] / counts[row].sum()),
        ]
        for row, column in pairs
    ]
    title = f"The {len(rows)} most frequent of {every} confusions" if every > len(rows) else "Every confusion"
    return Table(title=title, columns=["Is", "Predicted", "Cases", "Share of the class"], rows=rows)


def benefit_chart(thresholds: Floats, benefits: Mapping[str, Floats], what: str) -> Chart:
    """What acting on `what` is worth by the probability from which on one acts, the first of the lines in front."""
    lines = {name: (f"s{place}", values) for place, (name, values) in enumerate(benefits.items())}
    top = max(float(values.max()) for values in benefits.values())
    scale = Scale(-0.25 * top, 1.05 * top) if top > 0 else UNIT
    shown = {name: (style, values.clip(scale.low)) for name, (style, values) in lines.items()}
    drawing = charts.line_drawing(
        shown,
        thresholds,
        [f"from {threshold:.0%} on" for threshold in thresholds],
        scale,
        number_ticks(Scale(float(thresholds[0]), float(thresholds[-1])), 5),
        describes=f"Net benefit of acting on {what}",
        x_title=f"probability of {what} from which on one acts",
    )
    legend = [(name, style) for name, (style, _) in lines.items()]
    return Chart(drawing=drawing, title=f"Net benefit of acting on {what}, in cases found per case", legend=legend)


def deletion_sections(
    curves: DeletionCurves, what: str, *, hidden: str = "volume", from_zero: bool = True
) -> list[Section]:
    """Probability of `what` as ever more is hidden: the chart, and the area under each curve.

    hidden: What is hidden, in words.
    """
    styles = {name: DELETION_STYLES.get(name, "s4") for name in curves.marked} | {"at random": "s3"}
    lines = {name: (styles[name], values) for name, values in {**curves.marked, "at random": curves.random}.items()}
    shares, chance = np.asarray(curves.shares, float), curves.area()
    drawing = charts.line_drawing(
        lines,
        shares,
        [f"{share:.0%} hidden" for share in shares],
        scale_of([values for _, values in lines.values()], from_zero=from_zero),
        number_ticks(UNIT, 5),
        describes=f"Probability of {what}, by share hidden",
        x_title=f"share of the {hidden} hidden",
    )
    words = f"Probability of {what}, by share of the {hidden} hidden"
    areas = {name: curves.area(name) for name in curves.marked}
    differences = {name: text.with_sign(area - chance, 3) for name, area in areas.items()}
    return [
        Chart(drawing=drawing, title=words, legend=list(styles.items())),
        Table(
            columns=["Hidden first", "Mean probability", "against random"],
            rows=[
                [TableCell(name, swatch=styles[name]), text.number(area, 3), differences.get(name, "")]
                for name, area in (areas | {"at random": chance}).items()
            ],
        ),
    ]
