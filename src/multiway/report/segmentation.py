"""The one-file HTML report of a segmentation, and the page that compares several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from multiway.errors import DataError
from multiway.report import charts, diagnostics, text
from multiway.report.content import TrainingRow
from multiway.report.html import render_page
from multiway.report.palette import NUM_COLOURS, title
from multiway.report.png import grey_png, palette_png
from multiway.report.scales import Scale, number_ticks

OVERLAY = np.array([[0, 0, 0, 0], [0, 158, 115, 150], [213, 94, 0, 170], [0, 114, 178, 170]], np.uint8)
"""Nothing, marked rightly, marked wrongly, missed; colours that colour-blind readers tell apart."""
MAX_CLASSES = 40
METRICS = {"dice": "Dice", "dice_pooled": "Dice, pooled", "cl_dice": "clDice", "hd95": "HD95", "acc": "voxels right"}


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentationScore:
    """One figure: its mean over seeds, and the interval over cases of the first."""

    model: str
    metric: str
    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    deviation: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SegmentedSlice:
    """A slice of a test case: `(rows, columns)` of greys, of target classes and of predicted ones."""

    case: str
    dice: float
    image: npt.NDArray[np.uint8]
    target: npt.NDArray[np.int16]
    predicted: npt.NDArray[np.int16]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SegmentationReport:
    """What a report of a segmentation says.

    scores: Figures on the test cases.
    headline: Metric that speaks for a model.
    dice_by_case: By model, the mean Dice of every test case where it is defined.
    distance: Unit of HD95.
    """

    title: str
    sentence: str
    headline: str
    scores: Sequence[SegmentationScore]
    classes: Sequence[str]
    splits: Mapping[str, int]
    seeds: Sequence[int]
    distance: str = "voxels"
    source: str = ""
    created: str = ""
    setting: Mapping[str, str] = field(default_factory=dict)
    dice_by_case: Mapping[str, Sequence[float]] = field(default_factory=dict)
    slices: Sequence[SegmentedSlice] = ()
    training: Sequence[TrainingRow] = ()
    notes: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


class ScoreLine(NamedTuple):
    """One model in the table: value, spread over seeds, interval over cases and whether it is best, per metric."""

    model: str
    colour: int
    cells: list[tuple[str, str, str, bool]]


class Picture(NamedTuple):
    """One slice as it is set."""

    case: str
    dice: str
    image: str
    overlay: str


def render_segmentation_report(content: SegmentationReport) -> str:
    """Write the report as one self-contained HTML file."""
    models = list(dict.fromkeys(row.model for row in content.scores))
    colours = {model: index % NUM_COLOURS for index, model in enumerate(models)}
    readouts = charts.Readouts()
    metrics = [metric for metric in METRICS if any(row.metric == metric for row in content.scores)]
    return render_page(
        "segmentation.html.j2",
        content=content,
        metrics=[_heading(metric, content.distance) for metric in metrics],
        lines=[ScoreLine(title(model), colours[model], _cells(content, model, metrics)) for model in models],
        legend=[(title(model), f"s{colours[model]}") for model in models],
        by_class=_by_class(content, models),
        models=[(title(model), colours[model]) for model in models],
        chart=_case_chart(content, colours, readouts),
        pictures=[_picture(item) for item in content.slices],
        training=diagnostics.training_chart(content.training, readouts) if content.training else None,
        readouts=readouts,
    )


def render_segmentation_comparison(contents: Sequence[SegmentationReport]) -> str:
    """Write one self-contained HTML file with the test scores of several runs, each with all its models.

    Raises:
        DataError: There are fewer than two runs, or more than can be told apart.
    """
    if not 2 <= len(contents) <= NUM_COLOURS:
        raise DataError(f"render_comparison: give 2 to {NUM_COLOURS} runs. Got {len(contents)}; name other runs.")
    tables = []
    for content in contents:
        metrics = [metric for metric in METRICS if any(row.metric == metric for row in content.scores)]
        models = list(dict.fromkeys(row.model for row in content.scores))
        lines = [ScoreLine(title(model), index, _cells(content, model, metrics)) for index, model in enumerate(models)]
        tables.append((content, [_heading(metric, content.distance) for metric in metrics], lines))
    same = len({(tuple(content.classes), tuple(content.splits.items())) for content in contents}) == 1
    return render_page("segmentation_comparison.html.j2", tables=tables, is_same=same, readouts=charts.Readouts())


def _heading(metric: str, distance: str) -> str:
    return f"{METRICS[metric]} ({distance})" if metric == "hd95" else METRICS[metric]


def _find(content: SegmentationReport, model: str, metric: str, name: str) -> SegmentationScore | None:
    wanted = (model, metric, name)
    return next((row for row in content.scores if (row.model, row.metric, row.name) == wanted), None)


def _cells(content: SegmentationReport, model: str, metrics: Sequence[str]) -> list[tuple[str, str, str, bool]]:
    cells = []
    for metric in metrics:
        name = "all" if metric == "acc" else "mean"
        row = _find(content, model, metric, name)
        values = [item.value for item in content.scores if (item.metric, item.name) == (metric, name)]
        known = [value for value in values if value is not None]
        best = (min if metric == "hd95" else max)(known, default=None)
        cells.append(_cell(row, metric, row is not None and row.value is not None and row.value == best))
    return cells


def _cell(row: SegmentationScore | None, metric: str, is_best: bool) -> tuple[str, str, str, bool]:
    decimals = 2 if metric == "hd95" else 3
    if row is None or row.value is None:
        return "undefined", "", "", False
    spread = "" if row.deviation is None else text.number(row.deviation, decimals)
    has_ends = row.low is not None and row.high is not None
    interval = f"{text.number(row.low, decimals)} to {text.number(row.high, decimals)}" if has_ends else ""
    return text.number(row.value, decimals), spread, interval, is_best


def _by_class(content: SegmentationReport, models: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Headline metric of each class, one column per model; nothing where there is one class."""
    if len(content.classes) < 2:
        return []
    found = []
    for name in content.classes[:MAX_CLASSES]:
        rows = [_find(content, model, content.headline, name) for model in models]
        values = ["undefined" if row is None or row.value is None else text.number(row.value, 3) for row in rows]
        found.append((name, values))
    return found


def _case_chart(content: SegmentationReport, colours: Mapping[str, int], readouts: charts.Readouts) -> Markup | None:
    """Dice of the test cases, worst to best, one line per model."""
    lines = {model: np.sort(np.asarray(values, float)) for model, values in content.dice_by_case.items() if len(values)}
    if not lines:
        return None
    across, up = Scale(0.0, 100.0), Scale(0.0, 1.0)
    shares = np.linspace(0, 100, 101)
    curves, series = [], []
    for model, values in lines.items():
        heights = np.interp(shares, np.linspace(0, 100, len(values)), values) if len(values) > 1 else values.repeat(101)
        curves.append(charts.curve(across.place(shares), charts.places_of(up, heights), f"s{colours[model]}"))
        series.append(charts.Series(title(model), f"s{colours[model]}", heights))
    axis = readouts.axis(across.place(shares), [f"{share:.0f} % of cases" for share in shares])
    return charts.frame(
        curves,
        number_ticks(across, 5),
        number_ticks(up, 5),
        describes="Dice of the test cases from worst to best, one line per model.",
        x_title="share of the test cases, worst first, in percent",
        readout=readouts.chart(axis, series),
    )


def _picture(item: SegmentedSlice) -> Picture:
    right = (item.predicted == item.target) & (item.target > 0)
    wrong = (item.predicted != item.target) & (item.predicted > 0) & (item.target >= 0)
    missed = (item.target > 0) & (item.predicted == 0)
    codes = np.select([right, missed, wrong], [1, 3, 2], 0).astype(np.uint8)
    return Picture(item.case, text.number(item.dice, 3), grey_png(item.image), palette_png(codes, OVERLAY))
