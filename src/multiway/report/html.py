"""Set a report's content into one HTML file that needs nothing else: style, script and pictures are inside."""

import base64
import functools
import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from multiway.report import attention, charts, diagnostics, forecasts, text
from multiway.report.content import ForecastReport
from multiway.report.palette import colours, title
from multiway.report.scores import means, primary, reference_of, score_tables
from multiway.report.verdict import supporting_sentences, verdict


def render_forecast_report(content: ForecastReport) -> str:
    """Write the report as one self-contained HTML file.

    It asks the network for nothing, opens from the disk, and a content security policy inside it forbids both
    requests and any script but its own. Names from data are escaped and cleaned of control characters.
    """
    numbers = colours(content)
    readouts = charts.Readouts()
    return render_page(
        "report.html.j2",
        content=content,
        verdict=verdict(content),
        supporting=supporting_sentences(content),
        facts=_facts(content),
        summary_bars=_summary_bars(content, numbers),
        tables=score_tables(content, numbers),
        choice=_choice(content, numbers),
        costs=_costs(content, numbers),
        timeline=diagnostics.timeline(content.splits) if content.splits else None,
        groups=forecasts.groups(content.forecasts, numbers, readouts),
        steps=diagnostics.step_chart(content.step_errors, numbers, readouts) if content.step_errors else None,
        step_models=_legend(content.step_errors.lines if content.step_errors else {}, numbers),
        variates=diagnostics.variate_bars(content.variate_errors, numbers) if content.variate_errors else None,
        open_bars=diagnostics.OPEN_BARS,
        coverage=diagnostics.coverage_lines(content.coverage),
        coverage_chart=diagnostics.coverage_chart(content.coverage, readouts),
        training=diagnostics.training_chart(content.training, readouts) if content.training else None,
        attention=attention.figures(content.maps),
        deletion=_deletion(content),
        readouts=readouts,
    )


def render_page(template: str, **values: Any) -> str:
    """Render a template of this package around the shared style and script."""
    script = _read("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = _environment().get_template(template)
    return page.render(
        style=Markup(_read("style.css")),  # noqa: S704 - a file of this package
        script=Markup(script),  # noqa: S704 - a file of this package
        script_hash=digest,
        **values,
    )


def _facts(content: ForecastReport) -> list[tuple[str, str, str]]:
    """Label, value and remark of each figure in the summary."""
    found: list[tuple[str, str, str]] = []
    test = means(content.scores, "test")
    chosen = content.selection.chosen if content.selection else None
    for (model, scale, metric), mean in test.items():
        if model == chosen and scale == "scaled" and metric in ("MSE", "MAE"):
            decimals = text.decimals_for([mean.mean])
            spread = f"± {text.number(mean.half_width, decimals)}" if mean.half_width is not None else ""
            found.append((f"Test {metric}, scaled", text.number(mean.mean, decimals), spread))
    found += _cost_facts(content, chosen)
    if content.seeds:
        label = "Seed" if len(content.seeds) == 1 else "Seeds"
        found.append((label, ", ".join(str(seed) for seed in content.seeds), ""))
    return found


def _cost_facts(content: ForecastReport, chosen: str | None) -> list[tuple[str, str, str]]:
    cost = next((cost for cost in content.costs if cost.model == chosen), None)
    if cost is None:
        return []
    facts = [
        ("Parameters", text.magnitude(cost.parameters), cost.parameters),
        ("FLOPs per window", text.magnitude(cost.flops), cost.flops),
        ("Latency per window", text.duration(cost.latency_seconds), cost.latency_seconds),
        ("Time to fit", text.duration(cost.fit_seconds), cost.fit_seconds),
    ]
    return [(label, value, "") for label, value, known in facts if known is not None]


def _summary_bars(content: ForecastReport, numbers: Mapping[str, int]) -> dict[str, Any] | None:
    metric, found = primary(content)
    if len(found) < 2:
        return None
    tops = [mean.mean + (mean.half_width or 0.0) for mean in found.values() if mean.mean == mean.mean]
    largest = max(tops, default=1.0) or 1.0
    decimals = text.decimals_for([mean.mean for mean in found.values()])
    chosen = content.selection.chosen if content.selection else None
    bars = [
        {
            "model": title(model),
            "colour": numbers[model],
            "chosen": model == chosen,
            "width": round(100 * mean.mean / largest, 2) if mean.mean == mean.mean else 0,
            "value": text.number(mean.mean, decimals),
            "low": round(100 * (mean.mean - (mean.half_width or 0.0)) / largest, 2),
            "span": round(200 * (mean.half_width or 0.0) / largest, 2),
        }
        for model, mean in sorted(found.items(), key=lambda item: item[1].mean)
    ]
    return {"metric": metric, "bars": bars, "reference": title(reference_of(content))}


def _costs(content: ForecastReport, numbers: Mapping[str, int]) -> dict[str, Any] | None:
    if not content.costs:
        return None
    columns = [
        ("Parameters", [text.magnitude(cost.parameters) for cost in content.costs]),
        ("FLOPs per window", [text.magnitude(cost.flops) for cost in content.costs]),
        ("Latency per window", [text.duration(cost.latency_seconds) for cost in content.costs]),
        ("Time to fit", [text.duration(cost.fit_seconds) for cost in content.costs]),
    ]
    kept = [(label, cells) for label, cells in columns if any(cell != text.MISSING for cell in cells)]
    rows = [
        {"model": title(cost.model), "colour": numbers[cost.model], "cells": [cells[index] for _, cells in kept]}
        for index, cost in enumerate(content.costs)
    ]
    return {"columns": [label for label, _ in kept], "rows": rows}


def _choice(content: ForecastReport, numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    if content.selection is None:
        return []
    candidates = content.selection.candidates
    decimals = text.decimals_for([row.value for row in candidates])
    errors = [row.standard_error for row in candidates if row.standard_error is not None]
    fine = max(decimals, min(text.decimals_for(errors), 6)) if errors else decimals
    return [
        {
            "model": title(row.model),
            "colour": numbers[row.model],
            "chosen": row.model == content.selection.chosen,
            "value": text.number(row.value, decimals),
            "difference": "" if row.difference is None else text.signed(row.difference, fine),
            "error": "" if row.standard_error is None else text.number(row.standard_error, fine),
            "note": row.note,
        }
        for row in candidates
    ]


def _deletion(content: ForecastReport) -> list[dict[str, str]]:
    errors = [value for row in content.deletion for value in (row.error, row.error_random)]
    decimals = text.decimals_for(errors)
    return [
        {
            "mode": row.mode,
            "hidden": row.hidden,
            "error": text.number(row.error, decimals),
            "random": text.number(row.error_random, decimals),
            "intact": "" if row.error_intact is None else text.number(row.error_intact, decimals),
        }
        for row in content.deletion
    ]


def _legend(models: Mapping[str, Any], numbers: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(title(model), numbers[model]) for model in sorted(models, key=lambda model: numbers[model])]


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("multiway.report", "."),
        autoescape=True,
        finalize=text.finalize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["name"] = text.name
    environment.filters["script_json"] = text.script_json
    return environment


def _read(file: str) -> str:
    return resources.files("multiway.report").joinpath(file).read_text(encoding="utf-8")
