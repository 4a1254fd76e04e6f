"""The table of scores: a row per model, means over seeds with their interval, the best marked."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from multiway.report import text
from multiway.report.content import ForecastReport, ScoreRow
from multiway.report.palette import title

PRIMARY = ("scaled", "MSE")

# 97.5 % points of Student's t for 1 to 30 degrees of freedom; beyond, the normal's is close enough.
_STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL = 1.96


class SeedMean(NamedTuple):
    """Mean over seeds and half the width of its 95 % interval (`None` for one value)."""

    mean: float
    half_width: float | None
    num_seeds: int


class Cell(NamedTuple):
    """One cell as it is set."""

    value: str
    spread: str
    is_best: bool


class TableRow(NamedTuple):
    """One model's row; `against` is its primary score against the reference's, in percent."""

    model: str
    colour: int
    is_chosen: bool
    cells: list[Cell]
    against: str


class ScoreTable(NamedTuple):
    """Scores of one split: `groups` are (scale, metrics), `reference` what "against" compares with."""

    split: str
    groups: list[tuple[str, list[str]]]
    rows: list[TableRow]
    reference: str
    has_spread: bool


def seed_mean(values: Sequence[float]) -> SeedMean:
    """Average over seeds, with the 95 % interval of the mean by Student's t."""
    count = len(values)
    if count < 2:
        return SeedMean(float(values[0]) if values else math.nan, None, count)
    student = _STUDENT[count - 2] if count - 2 < len(_STUDENT) else _NORMAL
    return SeedMean(float(np.mean(values)), float(student * np.std(values, ddof=1) / math.sqrt(count)), count)


def means(rows: Sequence[ScoreRow], split: str) -> dict[tuple[str, str, str], SeedMean]:
    """Mean over seeds per (model, scale, metric) of one split."""
    values: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if row.split == split:
            values.setdefault((row.model, row.scale, row.metric), []).append(row.value)
    return {key: seed_mean(found) for key, found in values.items()}


def primary(content: ForecastReport, split: str = "test") -> tuple[str, dict[str, SeedMean]]:
    """Find the metric that decides (scaled MSE, or else the first given) and its mean per model."""
    found = means(content.scores, split)
    keys = [(scale, metric) for _, scale, metric in found]
    wanted = PRIMARY if PRIMARY in keys else keys[0] if keys else PRIMARY
    return wanted[1], {model: mean for (model, *key), mean in found.items() if tuple(key) == wanted}


def reference_of(content: ForecastReport) -> str:
    """Name the model that others are compared with: ridge, unless the selection says otherwise."""
    return content.selection.reference if content.selection else "ridge"


def score_tables(content: ForecastReport, colours: Mapping[str, int]) -> list[ScoreTable]:
    """One table per split, test first."""
    splits = sorted({row.split for row in content.scores}, key=lambda split: (split != "test", split))
    return [_table(content, split, colours) for split in splits]


def groups_of(columns: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Columns (scale, metric), those of one scale side by side, as (scale, metrics)."""
    return [
        (scale, [metric for group, metric in columns if group == scale])
        for scale in dict.fromkeys(scale for scale, _ in columns)
    ]


def _table(content: ForecastReport, split: str, colours: Mapping[str, int]) -> ScoreTable:
    found = means(content.scores, split)
    columns = list(dict.fromkeys((scale, metric) for _, scale, metric in found))
    columns.sort(key=lambda column: column[0] != "scaled")
    _, main = primary(content, split)
    models = list(dict.fromkeys(model for model, _, _ in found))
    models.sort(key=lambda model: main[model].mean if model in main else math.inf)
    set_columns = [_column(found, models, column) for column in columns]
    chosen = content.selection.chosen if content.selection else None
    reference = reference_of(content)
    rows = [
        TableRow(
            model=title(model),
            colour=colours.get(model, 0),
            is_chosen=model == chosen,
            cells=[column[index] for column in set_columns],
            against=_against(main, model, reference),
        )
        for index, model in enumerate(models)
    ]
    has_spread = any(mean.half_width is not None for mean in found.values())
    return ScoreTable(split, groups_of(columns), rows, title(reference) if reference in main else "", has_spread)


def _column(
    found: Mapping[tuple[str, str, str], SeedMean], models: Sequence[str], column: tuple[str, str]
) -> list[Cell]:
    cells = [found.get((model, *column)) for model in models]
    values = [cell.mean for cell in cells if cell is not None]
    decimals = text.decimals_for(values)
    shown = [text.number(cell.mean if cell else None, decimals) for cell in cells]
    best = text.number(min((value for value in values if math.isfinite(value)), default=None), decimals)
    return [
        Cell(
            value=value,
            spread="" if cell is None or cell.half_width is None else text.number(cell.half_width, decimals),
            is_best=value == best and value != text.MISSING,
        )
        for cell, value in zip(cells, shown, strict=True)
    ]


def _against(main: Mapping[str, SeedMean], model: str, reference: str) -> str:
    if model == reference or model not in main or reference not in main:
        return ""
    return text.relative(main[model].mean, main[reference].mean)
