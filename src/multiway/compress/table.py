"""A plan as text."""

from collections.abc import Sequence

from multiway.compress.advice import LOSSY, TRAIN, advice_of_model
from multiway.compress.layer import Comparison, LayerPlan
from multiway.compress.spread import Spread, Times

MISSING = "-"


def report_text(plan: Comparison) -> str:
    """A table of layers, then totals, how it was measured, advice, and what was refused."""
    head = ["layer", "becomes", "parameters", "share", "FLOPs", "time", "weight error", "output error"]
    lines = _aligned([head, *(_cells(layer) for layer in plan.layers)])
    lines += ["", *summary(plan)]
    lines += [f"advice  {text}" for text in advice_lines(plan)]
    lines += [f"refused {each.name}: {each.reason}" for each in plan.refused]
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
    if plan.output_error is not None:
        said.append(f"The model's outputs on the data change by {plan.output_error:.3g} of their norm{_samples(plan)}.")
    if plan.times is not None:
        said.append(time_sentence(plan.times))
    if not plan.has_data:
        said.append("Time and outputs of the whole model are measured on data; give a batch of it (--data FILE).")
    timed = [layer for layer in plan.layers if layer.times is not None]
    if timed:
        where = "on the layers' inputs of the data" if plan.has_data else f"on inputs of {timed[0].input_shape[0]} rows"
        said.append(
            f"Times of layers are medians of calls in turns {where}, on this machine, and quartiles; below 1x is "
            f"slower than dense."
        )
    return said


def _samples(plan: Comparison) -> str:
    return "" if plan.sample_errors is None else f", of single samples by {plain_range(plan.sample_errors)} (quartiles)"


def time_sentence(times: Times) -> str:
    """Time of the whole model before and after, and whether the difference is more than noise."""
    before, after = (f"{each.middle * 1e3:.3g} ms ({plain_range(each, 1e3)})" for each in (times.before, times.after))
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


def number(value: float | None) -> str:
    """Three digits, or a dash."""
    return MISSING if value is None else f"{value:.3g}"


def _cells(layer: LayerPlan) -> list[str]:
    before, after = layer.parameters
    return [
        layer.name if len(layer.names) == 1 else f"{layer.name} (+{len(layer.names) - 1})",
        layer.becomes,
        f"{before:,} -> {after:,}",
        f"{after / before:.1%}",
        f"{layer.flops[1] / layer.flops[0]:.1%}" if layer.flops[0] else MISSING,
        speed(layer.times),
        number(layer.weight_error),
        number(layer.output_error),
    ]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
