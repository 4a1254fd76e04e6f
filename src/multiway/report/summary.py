"""The figures at the head of the report, and the small tables about models: cost, choice, deletion."""

from collections.abc import Mapping, Sequence
from typing import Any

from multiway.report import text
from multiway.report.content import ForecastReport, ModelCost, RunReport
from multiway.report.palette import title
from multiway.report.scores import means, primary, reference_of


def facts(content: ForecastReport) -> list[tuple[str, str, str]]:
    """Label, value and remark of each figure in the summary."""
    found: list[tuple[str, str, str]] = []
    test = means(content.scores, "test")
    chosen = content.selection.chosen if content.selection else None
    for (model, scale, metric), mean in test.items():
        if model == chosen and scale == "scaled" and metric in ("MSE", "MAE"):
            decimals = text.decimals_for([mean.mean])
            spread = f"± {text.number(mean.half_width, decimals)}" if mean.half_width is not None else ""
            found.append((f"Test {metric}, scaled", text.number(mean.mean, decimals), spread))
    return found + _cost_facts(content, chosen) + seed_facts(content)


def seed_facts(content: RunReport) -> list[tuple[str, str, str]]:
    """Seeds of the network, where there are any."""
    label = "Seed" if len(content.seeds) == 1 else "Seeds"
    return [(label, ", ".join(str(seed) for seed in content.seeds), "")] if content.seeds else []


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


def summary_bars(content: ForecastReport, numbers: Mapping[str, int]) -> dict[str, Any] | None:
    """Set the deciding score of every model as bars, best first; `None` for a single model."""
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
            "span": _visible(200 * (mean.half_width or 0.0) / largest),
        }
        for model, mean in sorted(found.items(), key=lambda item: item[1].mean)
    ]
    return {"metric": metric, "bars": bars, "reference": title(reference_of(content))}


def _visible(span: float) -> float:
    """Leave out an interval narrower than the strokes that would mark it."""
    return round(span, 2) if span >= 1 else 0.0


def costs(content: ForecastReport, numbers: Mapping[str, int]) -> dict[str, Any] | None:
    """Set the table of costs."""
    return cost_table(content.costs, numbers, "window")


def cost_table(costs: Sequence[ModelCost], numbers: Mapping[str, int], unit: str) -> dict[str, Any] | None:
    """Set the table of costs per window or volume; columns that nobody filled are left out."""
    if not costs:
        return None
    columns = [
        ("Parameters", [text.magnitude(cost.parameters) for cost in costs]),
        (f"FLOPs per {unit}", [text.magnitude(cost.flops) for cost in costs]),
        (f"Latency per {unit}", [text.duration(cost.latency_seconds) for cost in costs]),
        ("Time to fit", [text.duration(cost.fit_seconds) for cost in costs]),
    ]
    kept = [(label, cells) for label, cells in columns if any(cell != text.MISSING for cell in cells)]
    rows = [
        {"model": title(cost.model), "colour": numbers[cost.model], "cells": [cells[index] for _, cells in kept]}
        for index, cost in enumerate(costs)
    ]
    return {"columns": [label for label, _ in kept], "rows": rows}


def choice(content: ForecastReport, numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """Set the table of candidates on validation, in the order given."""
    if content.selection is None:
        return []
    candidates = content.selection.candidates
    decimals = text.decimals_for([row.value for row in candidates])
    errors = [row.standard_error for row in candidates if row.standard_error is not None]
    fine = max((text.decimals_of_error(error) for error in errors), default=decimals)
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


def deletion(content: ForecastReport) -> list[dict[str, str]]:
    """Set the table of the deletion test."""
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


def legend(models: Mapping[str, Any], numbers: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names and colours of models, the chosen first."""
    return [(title(model), numbers[model]) for model in sorted(models, key=lambda model: numbers[model])]
