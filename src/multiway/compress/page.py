"""A plan as content for the HTML report."""

import datetime
import platform
import time

import torch

from multiway.compress.layer import Comparison, LayerPlan
from multiway.compress.table import advice_lines, summary
from multiway.report import CompressedLayer, CompressionReport, render_compression_report


def page_of(plan: Comparison, title: str) -> str:
    """One self-contained HTML page."""
    verdict, *remarks = summary(plan)
    return render_compression_report(
        CompressionReport(
            title=title,
            created=datetime.datetime.fromtimestamp(time.time(), datetime.UTC).isoformat(timespec="seconds"),
            verdict=verdict,
            remarks=remarks,
            parameters=plan.parameters,
            output_error=plan.output_error,
            layers=[_layer(layer) for layer in plan.layers],
            advice=advice_lines(plan),
            refused=[(each.name, each.reason) for each in plan.refused],
            environment={
                "torch": torch.__version__,
                "threads": str(torch.get_num_threads()),
                "platform": platform.platform(),
            },
        )
    )


def _layer(layer: LayerPlan) -> CompressedLayer:
    return CompressedLayer(
        name=", ".join(layer.names),
        becomes=layer.becomes,
        parameters=layer.parameters,
        flops=layer.flops,
        seconds=layer.seconds,
        weight_error=layer.weight_error,
        output_error=layer.output_error,
        input_shape=layer.input_shape,
    )
