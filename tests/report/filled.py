"""One page with a section of every kind, small and seeded."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from multiway.explain import DeletionCurves, lag_labels, mode_maps
from multiway.report import Page, PagePart
from multiway.report import sections as kinds
from multiway.report.attention import figures, films, grey_png
from multiway.report.curves import RocCurve, confusion_table, deletion_sections, reliability_chart, roc_chart
from multiway.report.diagnostics import TrainingRow, step_lines, timeline, training_chart, variate_bars
from multiway.report.forecasts import ForecastPanel, groups
from multiway.report.outlines import outline

NAMES = ("HUFL", "OT", "LULL")
COLOURS = {"blend": 0, "ridge": 1}


def make_panels(names: Sequence[str], past: pd.Index, ahead: pd.Index) -> list[ForecastPanel]:
    chance = np.random.default_rng(1)
    found = []
    for name in names:
        line, spread = chance.normal(size=len(ahead)), chance.random(len(ahead))
        parts = {
            "name": name,
            "times": ahead,
            "history_times": past,
            "history": chance.normal(size=len(past)),
            "lines": {"blend": line, "ridge": line + 0.1},
            "bands": {80: (line - spread, line + spread), 95: (line - 2 * spread, line + 2 * spread)},
        }
        found += [ForecastPanel(**parts, group="Last test window", actual=chance.normal(size=len(ahead)))]
        found += [ForecastPanel(**parts, group="Future")]
    return found


def forecasts(names: Sequence[str] = NAMES, horizon: int = 12) -> kinds.Panels:
    times = pd.date_range("2016-07-01", periods=2 * horizon, freq="h")
    return kinds.Panels(groups=groups(make_panels(names, times[:horizon], times[horizon:]), COLOURS))


def make_planes(**changes: object) -> kinds.Planes:
    """A bright ball, attention next to it, gradients of both signs on it."""
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, size) for size in (7, 8, 10)), indexing="ij"))
    ball = np.exp(-4 * (grid**2).sum(axis=0))
    given = {"attention": 2 * ball, "gradients": ball * np.sign(grid[2]), "spacing": (5.0, 1.0, 1.0), **changes}
    volume = given.pop("volume", (100 * ball).astype(np.int16))
    return kinds.Planes(
        name="case-0", films=films(volume, **given), remark=", patient p0",
        sentence="Is malignant (3 %), predicted benign with 97 %", is_wrong=True,
    )  # fmt: skip


def heat_maps(names: Sequence[str] = NAMES) -> kinds.HeatMaps:
    chance = np.random.default_rng(2)
    maps = [[chance.dirichlet(np.ones(size), (2, 3, size)) for size in (len(names), 3)] for _ in range(2)]
    return kinds.HeatMaps(figures=figures(mode_maps(maps, ["variates", "time"], [names, lag_labels(12, 4)])))


def error_sections(names: Sequence[str] = NAMES) -> list[kinds.Section]:
    chance = np.random.default_rng(3)
    lines = {"blend": ("s0", chance.random(12)), "ridge": ("s1", chance.random(12))}
    drawing = step_lines(lines, "MSE by step", from_zero=True, claims=[(0.5, "v0", "claimed")])
    errors = {model: np.linspace(0.1, 0.9, len(names)) for model in COLOURS}
    bars = variate_bars(names, errors, COLOURS, "MSE")
    rows = [TrainingRow(epoch, 1 / epoch, 1 / epoch + 0.1 * epoch, 1) for epoch in range(1, 6)]
    legend = [("blend", "s0"), ("ridge", "s1")]
    return [kinds.Chart(drawing=drawing, title="By step", legend=legend), bars, training_chart(rows, [3])]


def class_sections(classes: Sequence[str] = ("benign", "malignant")) -> list[kinds.Section]:
    rates, shares = np.linspace(0, 1, 11), np.array([0, 0.2, 0.5, 1])
    bins = [{"confidence": 0.55, "accuracy": 0.5, "count": 20}, {"confidence": 0.95, "accuracy": 0.91, "count": 200}]
    marked = {"attention": np.array([0.9, 0.6, 0.4, 0.2]), "gradients": np.array([0.9, 0.3, 0.2, 0.2])}
    curves = DeletionCurves(shares, marked, np.array([0.9, 0.7, 0.5, 0.2]))
    return [
        confusion_table(classes, np.array([[200, 29], [15, 54]])),
        roc_chart([RocCurve("blend", rates, rates**0.1, 0.886), RocCurve("ridge", rates, rates, 0.5)], COLOURS),
        reliability_chart(bins),
        *deletion_sections(curves, "the predicted class"),
    ]


def every_page(name: str = "OT", **changes: object) -> Page:
    """Sections of every kind, with `name` wherever data could have put it."""
    cell = kinds.TableCell(name, small="0.1–0.2", is_best=True, swatch="s0", tag="chosen", title=name)
    table = kinds.Table(
        title=name, columns=["Model", kinds.TableCell(name, style="left")],
        rows=[[cell, name], ["b", kinds.TableCell(width=40.0)]],
        groups=[("", 1), (name, 1)], strong=[0], note=name, style="numbers scores",
    )  # fmt: skip
    times = pd.date_range("2016-07-01", periods=2, freq="D")
    finding = kinds.CheckLine("warning", name, where="row 411", fix=name)
    layers = [grey_png(np.zeros((4, 5), np.uint8))] * 2
    outlines = [("mask-true", outline(np.eye(4, 5, dtype=np.int16)))]
    picture = kinds.Picture(name, layers, "Dice 0.667", layers, outlines, (4, 5))
    marked = kinds.Marked([(name, 0.5), ("b", -1.0), ("c", 0.0)])
    values = kinds.Values(("time", ["1", "2"]), [name], {name: [["1.5"], ["2"]], "b": [["3"], ["4"]]}, name, title=name)
    answer = kinds.CaseAnswer(name=name, sentence=name, is_wrong=True, content=[kinds.Text(words=name), table, marked])
    contents: dict[str, list[kinds.Section]] = {
        "text": [kinds.Text(words=name, style=style) for style in ("support", "note", "heading", "warning", "none")],
        "code": [kinds.Code(words=f"multiway train forecast --data {name}")],
        "facts": [
            kinds.FactList(items=[kinds.Fact(name, name, name)], style=s) for s in ("figures", "setting", "listing")
        ],
        "table": [table, kinds.Table(columns=["a"], rows=[["b"]], fold=name)],
        "errors": error_sections((name, *NAMES)),
        "classes": class_sections((name, "b")),
        "forecasts": [forecasts((name, *NAMES))],
        "images": [kinds.Images(pictures=[picture])],
        "planes": [make_planes()],
        "attention": [heat_maps((name, *NAMES))],
        "splits": [timeline(["train"], [times])],
        "findings": [kinds.CheckLines(findings=[finding])],
        "answers": [answer],
        "values": [values, marked],
    }
    side = [name, ("warm", name)]
    parts = [
        PagePart(id=id, title=id, side=side, content=content, lead=name, support=[name], is_method=id == "splits")
        for id, content in contents.items()
    ]
    page = {"title": name, "kicker": "Report", "source": name, "created": name, "parts": parts}  # fmt: skip
    return Page(**{**page, **changes})
