"""The HTML report of a compression: what each layer became, what it saves and what it loses."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from multiway.report import charts, text
from multiway.report.html import render_page


@dataclasses.dataclass(frozen=True, kw_only=True)
class CompressedLayer:
    """One layer before and after; pairs are (before, after), times in seconds, errors relative."""

    name: str
    becomes: str
    parameters: tuple[int, int]
    flops: tuple[int, int]
    seconds: tuple[float, float] | None
    weight_error: float
    output_error: float | None
    input_shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CompressionReport:
    """What the page shows; whatever is empty is left out."""

    title: str
    created: str = ""
    verdict: str
    remarks: Sequence[str] = ()
    parameters: tuple[int, int]
    output_error: float | None = None
    layers: Sequence[CompressedLayer] = ()
    advice: Sequence[str] = ()
    refused: Sequence[tuple[str, str]] = ()
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)


class _Row(NamedTuple):
    name: str
    becomes: str
    cells: list[str]


class _Bar(NamedTuple):
    name: str
    before: float
    after: float
    value: str


def render_compression_report(content: CompressionReport) -> str:
    """Write the report as one self-contained HTML file, as `render_forecast_report` does."""
    return render_page(
        "compression.html.j2",
        content=content,
        facts=_facts(content),
        rows=[_row(layer) for layer in content.layers],
        bars=_bars(content.layers),
        readouts=charts.Readouts(),
    )


def _facts(content: CompressionReport) -> list[tuple[str, str]]:
    before, after = content.parameters
    facts = [
        ("Parameters before", text.magnitude(before)),
        ("Parameters after", text.magnitude(after)),
        ("Share left", text.percent(100 * after / before)),
    ]
    if content.output_error is not None:
        facts.append(("Change of outputs", text.percent(100 * content.output_error, 2)))
    return facts


def _row(layer: CompressedLayer) -> _Row:
    before, after = layer.parameters
    cells = [
        text.count(before),
        text.count(after),
        text.percent(100 * after / before),
        text.percent(100 * layer.flops[1] / layer.flops[0]) if layer.flops[0] else text.MISSING,
        *(text.duration(layer.seconds[side] if layer.seconds else None) for side in (0, 1)),
        f"{layer.seconds[0] / layer.seconds[1]:.2f}×" if layer.seconds else text.MISSING,
        text.number(layer.weight_error, 3),
        text.number(layer.output_error, 3),
    ]
    return _Row(layer.name, layer.becomes, cells)


def _bars(layers: Sequence[CompressedLayer]) -> list[_Bar]:
    """Parameters of the largest layers, on one scale."""
    largest = max((layer.parameters[0] for layer in layers), default=1)
    return [
        _Bar(
            layer.name,
            round(100 * layer.parameters[0] / largest, 2),
            round(100 * min(layer.parameters[1] / largest, 1), 2),
            f"{text.magnitude(layer.parameters[0])} → {text.magnitude(layer.parameters[1])}",
        )
        for layer in sorted(layers, key=lambda layer: -layer.parameters[0])[:12]
    ]
