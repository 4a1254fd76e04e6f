"""A plan as words, a table and a page of the report: what each layer became, saves and loses, and other plans."""

import dataclasses
import datetime
import platform
import time
from collections.abc import Sequence

import torch

from multiway.compress import measuring
from multiway.compress.budget import count_parameters
from multiway.compress.fits import Compressed, approximation_of
from multiway.compress.kinds import example_input, features_of
from multiway.compress.measuring import Spread, Times
from multiway.compress.targets import Comparison, LayerPlan, Target
from multiway.nn import CPConv, LowRankLinear, NdLinear, TTEmbedding, TuckerConv
from multiway.report import Page, PagePart, render, text
from multiway.report.sections import Bar, Bars, Fact, FactList, Section, Table, TableCell, Text

MAX_BARS = 12
MAX_LINES = 200
MOST_CLASSES = 4
"""Classes that are named among those that hold what no rule touches."""
HEADS: list[TableCell | str] = [
    "Layer",
    TableCell("Becomes", style="left"),
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


def plan_page(plan: Comparison, title: str) -> str:
    """One self-contained HTML page."""
    verdict, *remarks = summary(plan)
    bars = _bars(plan.layers)
    machine = [
        Fact("torch", torch.__version__),
        Fact("threads", str(torch.get_num_threads())),
        Fact("platform", platform.platform()),
    ]
    return render(
        Page(
            title=title,
            kicker="Compression report",
            created=datetime.datetime.fromtimestamp(time.time(), datetime.UTC).isoformat(timespec="seconds"),
            parts=[
                PagePart(
                    id="summary",
                    title="Summary",
                    lead=verdict,
                    support=remarks,
                    content=[FactList(items=_facts(plan), style="figures"), bars],
                ),
                *_layers(plan),
                *_advice(plan),
                PagePart(
                    id="environment",
                    title="Environment",
                    content=[FactList(items=machine, style="listing")],
                    is_method=True,
                ),
            ],
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
        seconds = (text.duration(times.middle) for times in (plan.times.before, plan.times.after))
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


def _layers(plan: Comparison) -> list[PagePart]:
    side = [
        "Times are medians of calls in turns on this machine, the speed with its quartiles.",
        "Errors are relative: of the weight, and of the layer's outputs on the data.",
    ]
    table = Table(columns=HEADS, rows=[_row(layer) for layer in plan.layers])
    return [PagePart(id="layers", title="Layers", side=side, content=[table])] if plan.layers else []


def _row(layer: LayerPlan) -> list[TableCell | str]:
    (before, after), flops, times = layer.parameters, layer.flops, layer.times
    return [
        ", ".join(layer.names),
        TableCell(layer.becomes, style="left"),
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


def _advice(plan: Comparison) -> list[PagePart]:
    """What speaks against a swap, and which layers could not be swapped."""
    lines: list[Section] = [Text(words=line, style="support") for line in advice_lines(plan)[:MAX_LINES]]
    rows = [[layer.name, layer.reason] for layer in plan.refused[:MAX_LINES]]
    refused = [Table(columns=["Layer", "Why it stays as it is"], rows=rows, style="words")] if rows else []
    side = ["What speaks against a swap, and which layers could not be swapped."]
    return [PagePart(id="advice", title="Advice", side=side, content=[*lines, *refused])] if lines or rows else []


SLOWER = 0.95
"""Speed against the dense layer below which a swap is called slower, if it lies outside of the noise."""
LOSSY, MODEL_LOSSY = 0.3, 0.1
"""Relative errors of a layer and of the whole model above which a model usually has to be trained further."""
TRAIN = "train further before use"


def advice_of(layer: LayerPlan, *, is_called: bool = True, rank: int | None = None) -> tuple[str, ...]:
    """Every reason against the swap, worst first; none if there is nothing to say."""
    before, after = layer.parameters
    said: list[str] = []
    if layer.replacement is None:
        return (
            f"left dense: {'no smaller layer is good enough' if rank is None else f'rank {rank} makes it no smaller'}",
        )
    if not is_called:
        said.append("never called on this data: its parent may read its weight instead, or the data may pass it by")
    if after >= before:
        said.append(f"no smaller than dense: {after / before:.2f}x the parameters")
    if layer.times is not None and _is_slower(layer.times):
        said.append(f"swapping is slower here: {layer.times.speed.middle:.2f}x")
    if layer.times is None and layer.flops[1] > layer.flops[0] > 0:
        said.append(f"takes more FLOPs than dense: {layer.flops[1] / layer.flops[0]:.2f}x; measure it before use")
    error = layer.weight_error if layer.output_error is None else layer.output_error
    what = "weight" if layer.output_error is None else "outputs"
    if error > LOSSY:
        said.append(f"changes its {what} by {error:.0%} of the norm: {TRAIN}")
    return tuple(said)


def advice_of_model(plan: Comparison) -> tuple[str, ...]:
    """Every reason against the whole plan."""
    said: list[str] = []
    if plan.times is not None and _is_slower(plan.times):
        said.append(f"the whole model is slower: {plan.times.speed.middle:.2f}x")
    if plan.output_error is not None and plan.output_error > MODEL_LOSSY:
        said.append(f"the model's outputs change by {plan.output_error:.0%} of their norm: {TRAIN}")
    return tuple(said)


def _is_slower(times: Times) -> bool:
    return times.is_slower and times.speed.middle < SLOWER


def measure_layer(target: Target, layer: Compressed | None, seen: measuring.Observed, *, measure: bool) -> LayerPlan:
    """Count, time and compare one layer before and after."""
    in_features, out_features = features_of(target.module)
    x = example_input(target.module, seen.shape, measuring.DEFAULT_ROWS)
    before = measuring.count_flops(target.module, x)
    times = measuring.compare_layers(target.module, layer, x) if measure and layer is not None else None
    numbers = LayerPlan(
        names=target.names,
        kind=type(target.module).__name__,
        in_features=in_features,
        out_features=out_features,
        becomes="dense" if layer is None else becomes(layer),
        parameters=(count_parameters(target.module), count_parameters(layer or target.module)),
        input_shape=tuple(x.shape),
        flops=(before, before if layer is None else measuring.count_flops(layer, x)),
        times=times,
        weight_error=0.0 if layer is None else approximation_of(layer).error,
        output_error=seen.error,
        advice=(),
        replacement=layer,
    )
    return dataclasses.replace(numbers, advice=advice_of(numbers, is_called=seen.calls > 0, rank=target.rule.rank))


def becomes(layer: Compressed) -> str:
    """Kind, sizes and ranks."""
    if isinstance(layer, LowRankLinear):
        return f"low rank {layer.rank}"
    if isinstance(layer, TuckerConv | CPConv):
        return f"{'Tucker' if isinstance(layer, TuckerConv) else 'CP'}, ranks {_sizes(layer.ranks, ', ')}"
    if isinstance(layer, NdLinear):
        return f"NdLinear {_sizes(layer.in_sizes)} to {_sizes(layer.out_sizes)}, rank {layer.rank}"
    inputs, outputs = (
        (layer.words, layer.sizes) if isinstance(layer, TTEmbedding) else (layer.in_sizes, layer.out_sizes)
    )
    ranks = layer.tt_ranks[1:-1]
    if isinstance(layer, TTEmbedding) and (inputs[1:], outputs[:-1]) == ((1,), (1,)):  # a product of two matrices
        return f"low rank {_sizes(ranks)}"
    return f"tensor train {_sizes(inputs)} to {_sizes(outputs)}, rank{'s' * (len(ranks) > 1)} {_sizes(ranks, ', ')}"


def _sizes(sizes: tuple[int, ...], between: str = "×") -> str:
    return between.join(map(str, sizes))


MISSING = "-"


def report_text(plan: Comparison) -> str:
    """A table of layers, then totals, how it was measured, advice, and what was refused."""
    head = ["layer", "becomes", "parameters", "share", "FLOPs", "time", "weight error", "output error"]
    rows = [head, *(_cells(layer) for layer in plan.layers)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines += ["", *summary(plan)]
    lines += [f"advice  {text}" for text in advice_lines(plan)]
    lines += [f"refused {refusal.name}: {refusal.reason}" for refusal in plan.refused]
    return "\n".join(lines)


def advice_lines(plan: Comparison) -> list[str]:
    """Advice on the model, on single layers, and one line for all that have to be trained further."""
    single = {layer.name: [text for text in layer.advice if not text.endswith(TRAIN)] for layer in plan.layers}
    lossy = sum(text.endswith(TRAIN) for layer in plan.layers for text in layer.advice)
    lines = [*advice_of_model(plan), *(f"{name}: {'; '.join(texts)}" for name, texts in single.items() if texts)]
    what = "outputs" if plan.has_data else "weights"
    return [*lines, f"{lossy} layers change their {what} by more than {LOSSY:.0%}: {TRAIN}"] if lossy else lines


def summary(plan: Comparison) -> list[str]:
    """Totals in sentences."""
    before, after = plan.parameters
    swapped = sum(layer.replacement is not None for layer in plan.layers)
    said = [
        f"{swapped} of {len(plan.layers)} layers swapped: {before:,} -> {after:,} parameters ({after / before:.1%})."
    ]
    if sum(plan.left.values()):
        share = sum(plan.left.values()) / before
        holders = [f"{name} {count / before:.1%}" for name, count in list(plan.left.items())[:MOST_CLASSES]]
        more = ", …" * (len(plan.left) > MOST_CLASSES)
        said.append(f"{share:.1%} of the parameters lie in other layers: {', '.join(holders)}{more}.")
    if plan.output_error is not None:
        spread = plan.sample_errors
        single = "" if spread is None else f", of single samples by {plain_range(spread)} (quartiles)"
        said.append(f"The model's outputs on the data change by {plan.output_error:.3g} of their norm{single}.")
    if plan.times is not None:
        said.append(time_sentence(plan.times))
    if not plan.has_data:
        said.append("Time and outputs of the whole model are measured on data; give a batch of it.")
    timed = [layer for layer in plan.layers if layer.times is not None]
    if timed:
        where = "on the layers' inputs of the data" if plan.has_data else f"on inputs of {timed[0].input_shape[0]} rows"
        said.append(
            f"Times of layers are medians of calls in turns {where}, on this machine, and quartiles; below 1x is "
            f"slower than dense."
        )
    return said


def time_sentence(times: Times) -> str:
    """Time of the whole model before and after, and whether the difference is more than noise."""
    before, after = (
        f"{spread.middle * 1e3:.3g} ms ({plain_range(spread, 1e3)})" for spread in (times.before, times.after)
    )
    noise = "" if times.is_faster or times.is_slower else ", no difference beyond noise"
    return f"The whole model takes {before} before and {after} after, median and quartiles: {speed(times)}{noise}."


def plain_range(spread: Spread, unit: float = 1.0) -> str:
    """The quartiles."""
    return f"{spread.low * unit:.3g} to {spread.high * unit:.3g}"


def speed(times: Times | None) -> str:
    """Time before over time after, as a factor, and its quartiles."""
    if times is None:
        return MISSING
    return f"{times.speed.middle:.2f}x ({times.speed.low:.2f} to {times.speed.high:.2f})"


def _cells(layer: LayerPlan) -> list[str]:
    before, after = layer.parameters
    return [
        layer.name if len(layer.names) == 1 else f"{layer.name} (+{len(layer.names) - 1})",
        layer.becomes,
        f"{before:,} -> {after:,}",
        f"{after / before:.1%}",
        f"{layer.flops[1] / layer.flops[0]:.1%}" if layer.flops[0] else MISSING,
        speed(layer.times),
        *(MISSING if error is None else f"{error:.3g}" for error in (layer.weight_error, layer.output_error)),
    ]
