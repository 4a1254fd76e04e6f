"""A plan as a page of the HTML report: what each layer became, what it saves and what it loses."""

import datetime
import platform
import time
from collections.abc import Sequence

import torch

from multiway.compress.layer import Comparison, LayerPlan
from multiway.compress.table import advice_lines, speed, summary
from multiway.report import Page, Part, render, text
from multiway.report.sections import Bar, Bars, Cell, Fact, Facts, Section, Table, Text

MAX_BARS = 12
MAX_LINES = 200
HEADS: list[Cell | str] = [
    "Layer",
    Cell("Becomes", style="left"),
    "Parameters",
    "after",
    "share",
    "FLOPs",
    "Time",
    "after",
    "speed",
    "Weight error",
    "Output error",
]


def page_of(plan: Comparison, title: str) -> str:
    """One self-contained HTML page."""
    verdict, *remarks = summary(plan)
    bars = _bars(plan.layers)
    return render(
        Page(
            title=title,
            kicker="Compression report",
            created=datetime.datetime.fromtimestamp(time.time(), datetime.UTC).isoformat(timespec="seconds"),
            verdict=verdict,
            support=remarks,
            overview=[*([bars] if bars is not None else []), Facts(items=_facts(plan), style="figures")],
            parts=[*_layers(plan), *_advice(plan), _environment()],
        )
    )


def _facts(plan: Comparison) -> list[Fact]:
    before, after = plan.parameters
    facts = [
        Fact("Parameters before", text.magnitude(before)),
        Fact("Parameters after", text.magnitude(after)),
        Fact("Share left", text.percent(100 * after / before)),
    ]
    if plan.output_error is not None:
        facts.append(Fact("Change of outputs", text.percent(100 * plan.output_error, 2)))
    if plan.times is not None:
        seconds = (text.duration(each.middle) for each in (plan.times.before, plan.times.after))
        facts.append(Fact("Time of the model", " → ".join(seconds)))
    return facts


def _bars(layers: Sequence[LayerPlan]) -> Bars | None:
    """Parameters of the largest layers, on one scale."""
    if not layers:
        return None
    largest = max(layer.parameters[0] for layer in layers)
    shown = sorted(layers, key=lambda layer: -layer.parameters[0])[:MAX_BARS]
    return Bars(
        title="Parameters",
        remark="of the dense layer, and the mark of what it became",
        bars=[
            Bar(
                ", ".join(layer.names),
                " → ".join(text.magnitude(count) for count in layer.parameters),
                round(100 * layer.parameters[0] / largest, 2),
                colour=3,
                marks=[(layer.becomes, 0, round(100 * min(layer.parameters[1] / largest, 1), 2), "")],
            )
            for layer in shown
        ],
    )


def _layers(plan: Comparison) -> list[Part]:
    side = [
        "Times are medians of calls in turns on this machine, the speed with its quartiles.",
        "Errors are relative: of the weight, and of the layer's outputs on the data.",
    ]
    table = Table(columns=HEADS, rows=[_row(layer) for layer in plan.layers])
    return [Part(id="layers", title="Layers", side=side, content=[table])] if plan.layers else []


def _row(layer: LayerPlan) -> list[Cell | str]:
    (before, after), flops, times = layer.parameters, layer.flops, layer.times
    return [
        ", ".join(layer.names),
        Cell(layer.becomes, style="left"),
        text.count(before),
        text.count(after),
        text.percent(100 * after / before),
        text.percent(100 * flops[1] / flops[0]) if flops[0] else text.MISSING,
        text.duration(times.before.middle if times else None),
        text.duration(times.after.middle if times else None),
        speed(times),
        text.number(layer.weight_error, 3),
        text.number(layer.output_error, 3),
    ]


def _advice(plan: Comparison) -> list[Part]:
    """What speaks against a swap, and which layers could not be swapped."""
    lines: list[Section] = [Text(words=line, style="support") for line in advice_lines(plan)[:MAX_LINES]]
    rows = [[each.name, each.reason] for each in plan.refused[:MAX_LINES]]
    refused = [Table(columns=["Layer", "Why it stays as it is"], rows=rows, style="words")] if rows else []
    side = ["What speaks against a swap, and which layers could not be swapped."]
    return [Part(id="advice", title="Advice", side=side, content=[*lines, *refused])] if lines or rows else []


def _environment() -> Part:
    facts = {"torch": torch.__version__, "threads": str(torch.get_num_threads()), "platform": platform.platform()}
    content = [Facts(items=[Fact(*item) for item in facts.items()], style="listing")]
    return Part(id="environment", title="Environment", content=content)
