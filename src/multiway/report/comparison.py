"""Runs side by side: scores with differences to the first run, error by step, and what else differs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from multiway.errors import DataError
from multiway.report import charts, diagnostics, text
from multiway.report.content import ForecastReport
from multiway.report.html import render_page
from multiway.report.palette import NUM_COLOURS, title
from multiway.report.scores import SeedMean, groups_of, means, primary, reference_of

MAX_RUNS = NUM_COLOURS


class ComparedRow(NamedTuple):
    """One run: its scores, and for each its difference to the first run's in percent."""

    run: str
    model: str
    colour: int
    cells: list[tuple[str, str, bool]]
    against: str


class Difference(NamedTuple):
    """A fact that is not the same in all runs."""

    name: str
    values: list[str]


def render_comparison(contents: Sequence[ForecastReport]) -> str:
    """Write one self-contained HTML file that compares runs; each run stands for the model it chose.

    Raises:
        DataError: There are fewer than two runs, or more than can be told apart.
    """
    if not 2 <= len(contents) <= MAX_RUNS:
        raise DataError(f"render_comparison: give 2 to {MAX_RUNS} runs. Got {len(contents)}; name other runs.")
    names = _names(contents)
    readouts = charts.Readouts()
    columns = _columns(contents)
    return render_page(
        "comparison.html.j2",
        names=names,
        columns=columns,
        groups=groups_of(columns),
        starts=[index for index, pair in enumerate(columns) if index == 0 or pair[0] != columns[index - 1][0]],
        rows=_rows(contents, names, columns),
        steps=_steps(contents, names, readouts),
        step_metric=next((item.step_errors.metric for item in contents if item.step_errors), ""),
        differences=_differences(contents),
        warning=_warning(contents),
        readouts=readouts,
    )


def _names(contents: Sequence[ForecastReport]) -> list[str]:
    """Titles, numbered where two runs have the same."""
    titles = [text.name(content.title) for content in contents]
    return [name if titles.count(name) == 1 else f"{name} ({index + 1})" for index, name in enumerate(titles)]


def _chosen(content: ForecastReport) -> str:
    """Name the model a run stands for: the chosen one, else the best on the test rows."""
    if content.selection:
        return content.selection.chosen
    _, found = primary(content)
    return min(found, key=lambda model: found[model].mean, default="")


def _scores(content: ForecastReport) -> dict[tuple[str, str], SeedMean]:
    chosen = _chosen(content)
    found = means(content.scores, "test").items()
    return {(scale, metric): mean for (model, scale, metric), mean in found if model == chosen}


def _columns(contents: Sequence[ForecastReport]) -> list[tuple[str, str]]:
    found = dict.fromkeys(column for content in contents for column in _scores(content))
    return sorted(found, key=lambda column: column[0] != "scaled")


def _rows(
    contents: Sequence[ForecastReport], names: Sequence[str], columns: Sequence[tuple[str, str]]
) -> list[ComparedRow]:
    scores = [_scores(content) for content in contents]
    cells = [_cells([run.get(column) for run in scores]) for column in columns]
    return [
        ComparedRow(
            run=names[index],
            model=title(_chosen(content)),
            colour=index,
            cells=[column[index] for column in cells],
            against=_against_reference(content),
        )
        for index, content in enumerate(contents)
    ]


def _cells(means_of_runs: Sequence[SeedMean | None]) -> list[tuple[str, str, bool]]:
    """Value, difference to the first run and whether it is the best, for one column."""
    values = [mean.mean if mean else np.nan for mean in means_of_runs]
    decimals = text.decimals_for(values)
    shown = [text.number(value, decimals) for value in values]
    best = text.number(float(np.nanmin(values)), decimals) if np.isfinite(values).any() else ""
    return [
        (
            word,
            text.relative(value, values[0]) if index else "",
            word == best,
        )
        for index, (value, word) in enumerate(zip(values, shown, strict=True))
    ]


def _against_reference(content: ForecastReport) -> str:
    _, found = primary(content)
    chosen, reference = _chosen(content), reference_of(content)
    if chosen == reference or chosen not in found or reference not in found:
        return ""
    return text.relative(found[chosen].mean, found[reference].mean)


def _steps(contents: Sequence[ForecastReport], names: Sequence[str], readouts: charts.Readouts) -> Markup | None:
    lines = {
        names[index]: (f"s{index}", np.asarray(content.step_errors.lines[_chosen(content)], float))
        for index, content in enumerate(contents)
        if content.step_errors and _chosen(content) in content.step_errors.lines
    }
    return diagnostics.step_lines(lines, "error by step of the horizon", readouts, from_zero=True) if lines else None


def _differences(contents: Sequence[ForecastReport]) -> list[Difference]:
    facts = [{**content.setting, **content.environment, "command": content.command} for content in contents]
    found = [
        Difference(name, [text.name(fact.get(name, "")) or text.MISSING for fact in facts])
        for name in dict.fromkeys(name for fact in facts for name in fact)
    ]
    return [item for item in found if len(set(item.values)) > 1]


def _warning(contents: Sequence[ForecastReport]) -> str:
    """Scores of other test rows cannot be compared, and the page says so."""
    spans = {
        (str(split.first), str(split.last), split.windows)
        for content in contents
        for split in content.splits
        if split.name == "test"
    }
    hashes = {value for content in contents for key, value in content.environment.items() if key == "data sha256"}
    if len(spans) > 1:
        return "These runs were scored on different test rows: their scores cannot be compared."
    if len(hashes) > 1:
        return "These runs read different data: their scores can only be compared if the test rows are the same."
    return ""
