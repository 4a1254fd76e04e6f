"""What the report of a forecasting run says: forecasts, the choice, where the error lies, coverage, attention."""

import functools
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.report import text
from multiway.report.diagnostics import step_lines, timeline, variate_bars
from multiway.report.forecasts import groups
from multiway.report.scales import title
from multiway.report.scores import Score, Scores
from multiway.report.sections import Chart, PagePart, Panels, Section, Table, TableCell, Text
from multiway.tasks import pages
from multiway.tasks.comparing import comparison, names_of
from multiway.tasks.forecasting.candidate import candidates
from multiway.tasks.forecasting.choice import OF_EACH, OF_ONE, RULE
from multiway.tasks.forecasting.config import find_published_split
from multiway.tasks.forecasting.encode import PreparedPanel
from multiway.tasks.forecasting.explain import attention_part
from multiway.tasks.forecasting.facts import words_on_refit
from multiway.tasks.forecasting.headline import (
    error_table,
    forecast_panels,
    forecast_values,
    headline,
    rank_panels,
    steps_in_words,
)
from multiway.tasks.forecasting.scores import read_test_errors
from multiway.tasks.lifecycle import if_there, reread
from multiway.tasks.page_parts import split_table
from multiway.tasks.protocol import OURS, Row
from multiway.tasks.run import Run

ERROR = "MSE, scaled"
SAVINGS_HEADS = ("MSE without it", "MSE with all", "Saved")
NEEDS_PLAN = (
    "The next steps need what is known ahead. Append those rows to the data with the target left empty, or give them "
    "to `multiway predict --future-data`."
)


def report(runs: Sequence[Run]) -> str:
    """The HTML report of runs that differ in their seed; the first is shown in detail."""
    prepared: PreparedPanel | None = runs[0].prepared or if_there(lambda: reread(runs[0]))
    return pages.report(SUBJECT, runs, head(runs), sections(runs, prepared))


def compare(runs_of: Sequence[Sequence[Run]]) -> str:
    """Several runs, each with its seeds, on one page, with the error of each by step."""
    return comparison(SUBJECT, runs_of, [_compare_steps(runs_of)])


def head(runs: Sequence[Run]) -> pages.Summary:
    """The choice on validation and what the test rows make of it, the data check and the splits."""
    run, scores = runs[0], SUBJECT.scores(runs)
    return pages.Summary(
        headline=headline(run),
        verdict=_verdict(scores),
        support=list(_support(scores)),
        splits=_splits(run),
        tables=choice_tables(run, pages.colours_of(scores)),
    )


def sections(runs: Sequence[Run], prepared: PreparedPanel | None) -> Iterator[PagePart]:
    """Forecasts first; those parts that need the data are left out when its file is no longer there."""
    run, colours = runs[0], pages.colours_of(SUBJECT.scores(runs))
    content: list[Section | None] = [Text(words="Forecasts need the data, which could not be reread.")]
    if prepared is not None:
        panels = rank_panels(run, forecast_panels(run, prepared))
        shown = [panel for panel in panels if panel.group == panels[0].group]
        order, file = [panel.name for panel in shown], f"{pages.title_of(run)}-forecast.csv"
        content = [
            Panels(groups=groups(panels, {"forecast": 0}), values=forecast_values(shown, file)),
            Text(words=NEEDS_PLAN) if shown[0].actual is not None else None,
            error_table(run, order),
        ]
    side = [
        "History, forecast and bands in the data’s own units; each chart has its own scale.",
        "Point at a chart, or focus it and use the arrow keys, to read its values.",
    ]
    yield PagePart(id="forecasts", title="Forecast", side=side, content=content)
    yield _errors_part(run, colours)
    yield _coverage(run)
    yield attention_part(run, prepared)


def _in_words(model: str) -> str:
    each = candidates().get(model)
    return title(model) if each is None or not each.words else each.words


def _setting(run: Run) -> dict[str, str]:
    steps = functools.partial(steps_in_words, frequency=run.state.frequency)
    return {
        "Look-back": steps(run.config.lookback),
        "Horizon": steps(run.config.horizon),
        "Step": steps(1),
        "Season": steps(run.state.season),
        "Series": str(len(run.state.names)),
        "Model": text.listing([name for name, _ in run.config.kinds(1)]) if run.config.network else "ridge",
    }


SUBJECT = pages.Subject(
    kicker="Forecast report",
    rows="rows",
    setting=_setting,
    selected_by=lambda run: "lowest validation loss",
    about=[
        "Scaled scores are in standard deviations of the training rows.",
        "Only the bands of the answer are calibrated, so only the answer has a coverage.",
    ],
    reference="ridge",
)


def _splits(run: Run) -> PagePart:
    parts = run.facts["splits"]
    titles = {"first": "First", "last": "Last", "rows": "Rows", "windows": "Windows"}
    ends = [pd.Index([_time(part["first"]), _time(part["last"])]) for part in parts.values()]
    honest = "In order of time: fitted on the first, chosen on the second, scored once on the last."
    other = find_published_split(run.config.split.protocol)
    side = [honest if other is None else other.note, *words_on_refit(run.facts)]
    content: list[Section] = [timeline(list(parts), ends), split_table(parts, titles, total="rows")]
    return PagePart(id="splits", title="Splits", side=side, content=content)


def _time(words: str) -> int | pd.Timestamp:
    """Stamps and integers come back from JSON as text."""
    return int(words) if words.lstrip("-").isdigit() else pd.Timestamp(words)


def _verdict(scores: Scores) -> str:
    """What the test rows make of the choice."""
    own, ridge = (scores.get(model, "mse", scale="scaled") for model in (OURS, "ridge"))
    if own.value is None:
        return ""
    floors = [model for model in scores.models() if model == "ridge" or "naive" in model]
    relations = [f"{_relative(own, scores.get(name, 'mse', scale='scaled'))} {scores.name(name)}" for name in floors]
    listed = f": {text.listing(relations)}." if relations else "."
    remark = " It is no better than ridge there."
    worse = remark if own.number > ridge.number else ""
    return f"The answer has a test MSE of {text.number(own.value, text.decimals_for([own.number]))}{listed}{worse}"


def _support(scores: Scores) -> Iterator[str]:
    """Whether the network alone beats ridge, and how the weights come to be."""
    network, ridge = (scores.get(model, "mse", scale="scaled") for model in ("network", "ridge"))
    if network.value is not None and ridge.value is not None:
        verb = "is no better than" if network.number >= ridge.number else "beats"
        yield f"The network alone {verb} ridge on the test rows: its MSE is {_relative(network, ridge)} it."
    classical = [name for name, each in candidates().items() if each.is_classical]
    are_apart = any(scores.get(name, "mse", scale="scaled").value is not None for name in classical)
    yield f"{RULE}{OF_EACH if are_apart else OF_ONE}"


def _relative(own: Score, other: Score) -> str:
    """Say "1.8 % below", "0.4 % above" or "within 0.05 % of"."""
    if not (np.isfinite(own.number) and np.isfinite(other.number) and other.number):
        return "not comparable with"
    change = 100 * (own.number / other.number - 1)
    if abs(change) < 0.05:
        return "within 0.05\u202f% of"
    return f"{text.percent(abs(change))} {'below' if change < 0 else 'above'}"


def _errors(run: Run, column: str) -> dict[str, NDArray[np.float64]]:
    """Mean squared test error by model along a column."""
    parts = read_test_errors(run).groupby("model", sort=False)
    return {str(model): part.groupby(column, sort=False)["mse"].mean().to_numpy() for model, part in parts}


def _errors_part(run: Run, colours: dict[str, int]) -> PagePart:
    lines = {_in_words(name): (f"s{colours[name]}", values) for name, values in _errors(run, "step").items()}
    series = {_in_words(name): values for name, values in _errors(run, "variate").items()}
    bars = variate_bars(run.state.targets, series, {_in_words(name): colour for name, colour in colours.items()}, ERROR)
    side = ["Test error by distance into the future and by series."]
    return PagePart(id="errors", title="Where the error lies", side=side, content=[_steps(lines), bars])


def _compare_steps(runs_of: Sequence[Sequence[Run]]) -> PagePart:
    errors = [_errors(runs[0], "step").get(OURS) for runs in runs_of]
    lines = {
        name: (f"s{index}", values)
        for index, (name, values) in enumerate(zip(names_of(runs_of), errors, strict=True))
        if values is not None
    }
    side = ["Test error by distance into the future."]
    return PagePart(id="errors", title="Error by step", side=side, content=[_steps(lines)])


def _steps(lines: dict[str, tuple[str, NDArray[np.float64]]]) -> Chart | None:
    if not lines:
        return None
    return Chart(
        drawing=step_lines(lines, f"{ERROR} by step of the horizon", from_zero=True),
        title=f"{ERROR}, by step of the horizon",
        legend=[(name, style) for name, (style, _) in lines.items()],
    )


def _coverage(run: Run) -> PagePart:
    """How often each band held the actual value, in all and by step."""
    coverage = run.facts["coverage"]
    styles = {row["level"]: f"v{min(index, 2)}" for index, row in enumerate(coverage)}
    lines = {f"{row['level']:g} % band": (styles[row["level"]], np.array(row["by_step"])) for row in coverage}
    claims = [(level, style, f"{level:g} % claimed") for level, style in styles.items()]
    words = "Measured coverage in percent, by step of the horizon; the level lines are the claims"
    chart = Chart(drawing=step_lines(lines, "coverage in percent by step of the horizon", claims=claims), title=words)
    side = ["How often the band held the actual value on the test rows, against what it claims."]
    table = _coverage_table(run, styles)
    return PagePart(id="coverage", title="Interval coverage", side=side, content=[table, chart] if coverage else [])


def _coverage_table(run: Run, styles: dict[float, str]) -> Table:
    decimals = text.decimals_for([row["width"] for row in run.facts["coverage"]])
    return Table(
        columns=["Claimed", "Measured", "Difference, points", "Mean width, scaled"],
        rows=[
            [
                TableCell(text.percent(row["level"], 0 if row["level"] % 1 == 0 else 1), swatch=styles[row["level"]]),
                text.percent(row["actual"]),
                text.with_sign(row["actual"] - row["level"], 1),
                text.number(row["width"], decimals),
            ]
            for row in run.facts["coverage"]
        ],
    )


def choice_tables(run: Run, colours: dict[str, int]) -> list[Section]:
    """Errors that were compared and weights that came of it, by candidate; and the weights by step."""
    chosen = run.facts["selection"]
    errors, ridge = chosen["errors"], chosen["errors"]["ridge"]
    decimals = text.decimals_for(errors.values())
    choice = Table(
        title="The choice on validation",
        columns=["Model", chosen["metric"], "against ridge", "Weight"],
        rows=[
            [
                TableCell(_in_words(model), swatch=f"s{colours.get(model, 4)}", tag="answers" if model == OURS else ""),
                text.number(error, decimals),
                "" if model == "ridge" else text.with_sign(error - ridge, decimals),
                "" if model == OURS else text.percent(100 * chosen["weights"].get(model, 0.0), 0),
            ]
            for model, error in errors.items()
        ],
        strong=[0],
    )
    return [choice, *_savings(run), *([_shares(chosen["shares"])] if len(chosen["shares"]) > 1 else [])]


def _savings(run: Run) -> Iterator[Table]:
    """What each covariate saves, the most first, in each model that uses some."""
    rows = sorted(run.facts.get("covariates", ()), key=lambda row: -row["saved"])
    if rows:
        decimals = text.decimals_for([row["error"] for row in rows])
        yield Table(
            title="What covariates save",
            columns=["Covariate", *(TableCell(head, style="left") for head in ("Known", "Model")), *SAVINGS_HEADS],
            rows=[
                [
                    row["name"],
                    TableCell("ahead" if row["known"] else "to the last value", style="left"),
                    TableCell(_in_words(row["model"]), style="left"),
                    text.number(row["without"], decimals),
                    text.number(row["error"], decimals),
                    text.percent(100 * row["saved"], 1),
                ]
                for row in rows
            ],
            note="MSE on validation.",
        )


def _shares(shares: Sequence[Row]) -> Table:
    """Weights from the first steps to the last, and the blocks that they rest on."""
    starts = [0, *(share["stop"] for share in shares)]
    names = [name for name in shares[0]["weights"] if any(share["weights"][name] for share in shares)]
    rows = [
        [
            f"{start + 1} to {share['stop']}",
            *(text.percent(100 * share["weights"][name], 0) for name in names),
            str(share["blocks"]),
        ]
        for start, share in zip(starts, shares, strict=False)
    ]
    return Table(title="Weights by step", columns=["Steps", *map(_in_words, names), "Blocks"], rows=rows)
