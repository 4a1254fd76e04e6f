"""Scores as sections: the table of models with the best marked, and the bars at the head of a page."""

import math
from collections.abc import Mapping, Sequence

from multiway.report import text
from multiway.report.scores import UNDEFINED, Column, Score, Scores
from multiway.report.sections import Bar, Bars, Cell, Table


def score_table(
    scores: Scores,
    colours: Mapping[str, int],
    split: str = "test",
    *,
    title: str = "",
    first: str = "Model",
    reference: str = "",
    differences: bool = False,
) -> Table:
    """One row per model, the best of the deciding metric first, and the best of each column marked.

    Args:
        scores: What is known.
        colours: Number of each model's colour.
        split: Whose scores.
        title: Over the table.
        first: Head of the models.
        reference: Model that a last column compares with, by the deciding metric.
        differences: Whether each score without an interval shows its difference to the reference's.
    """
    models, columns = [model for model, _ in scores.ranked(split)], scores.columns(split)
    cells = [_column(scores, models, column, split, reference if differences else "") for column in columns]
    heads = [Cell(scores.name(model), swatch=f"s{colours.get(model, 0)}") for model in models]
    last = _against(scores, models, reference, split)
    return Table(
        columns=[
            first,
            *(scores.heading(metric) for metric, _ in columns),
            *([f"against {scores.name(reference)}"] if last else []),
        ],
        rows=[list(row) for row in zip(heads, *cells, *([last] if last else []), strict=True)],
        title=title,
        groups=_groups(columns, bool(last)),
        strong=[row for row, model in enumerate(models) if model == scores.chosen],
        style="numbers scores",
    )


def _groups(columns: Sequence[Column], has_last: bool) -> list[tuple[str, int]]:
    """Scales over the columns, where there are any."""
    scales = [scale for _, scale in columns]
    if not any(scales):
        return []
    named = [(f"{scale} values" if scale else "", scales.count(scale)) for scale in dict.fromkeys(scales)]
    return [("", 1), *named, *([("", 1)] if has_last else [])]


def _column(scores: Scores, models: Sequence[str], column: Column, split: str, reference: str) -> list[Cell]:
    decimals, higher = scores.decimals(column, split), scores.higher(column[0])
    found = {model: score for model in models if (score := scores.all.get((model, split, *column))) is not None}
    finite = [score.number for score in found.values() if math.isfinite(score.number)]
    best = text.number((max if higher else min)(finite), decimals) if higher is not None and len(finite) > 1 else None
    base = found[reference].number if reference in found else math.nan
    cells = {}
    for model, score in found.items():
        words = UNDEFINED if score.value is None else text.number(score.value, decimals)
        small = score.spread(decimals) or ("" if model == reference else text.relative(score.number, base))
        cells[model] = Cell(words, small, is_best=words == best)
    return [cells.get(model, Cell()) for model in models]


def _against(scores: Scores, models: Sequence[str], reference: str, split: str) -> list[Cell]:
    """How far each model is from the reference, by the deciding metric."""
    decides = scores.primary()
    if decides is None or reference not in models:
        return []
    values = {model: scores.of(model, decides, split).number for model in models}
    return [
        Cell("" if model == reference else text.relative(value, values[reference])) for model, value in values.items()
    ]


def score_bars(scores: Scores, colours: Mapping[str, int], rows: str) -> Bars | None:
    """The deciding score of every model as bars, best first; None for a single model or scores below zero.

    rows: What is scored, in words: "test cases".
    """
    decides = scores.primary()
    known = [(model, score) for model, score in scores.ranked() if score.value is not None]
    if decides is None or len(known) < 2 or min(score.number for _, score in known) < 0:
        return None
    higher, decimals = scores.higher(decides[0]), scores.decimals(decides)
    tops = [score.number if score.high is None else score.high for _, score in known]
    largest = 1.0 if higher and max(tops) <= 1 else max(tops) or 1.0
    return Bars(
        title=" ".join([decides[1], scores.heading(decides[0])]).strip(),
        remark=f"on the {rows}" + ("" if higher is None else f", {'higher' if higher else 'lower'} is better"),
        bars=[
            _score_bar(scores.name(model), score, largest, decimals, colours.get(model, 0), model == scores.chosen)
            for model, score in known
        ],
    )


def _score_bar(name: str, score: Score, largest: float, decimals: int, colour: int, is_chosen: bool) -> Bar:
    ends = (score.number if end is None else end for end in (score.number, score.low, score.high))
    width, low, high = (round(100 * min(max(end / largest, 0.0), 1.0), 2) for end in ends)
    span = high - low if high - low >= 1 else 0.0  # narrower than the strokes that would mark it
    return Bar(name, text.number(score.value, decimals), width, colour, is_chosen, low=low, span=round(span, 2))
