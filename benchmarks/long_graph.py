"""Graph attention on long sequences against full and linear attention: `python -m benchmarks long_graph`.

Each layer takes one step, forward and backward, in a process of its own, so that its peak memory is its own.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import nn

from benchmarks.peak import peak_bytes
from benchmarks.rows import aligned, machine, times_slower
from benchmarks.volume_memory import peak_of
from multiway import nn as mnn
from multiway_papers.bench import median

DIM = 64
OURS = "graph"
LAYERS: dict[str, Callable[[], nn.Module]] = {
    OURS: lambda: mnn.TensorGraphAttention(DIM),
    "full": lambda: mnn.FullAttention(DIM, num_heads=1, num_modes=1),
    "linear": lambda: mnn.FullKernelAttention(DIM, num_heads=1, num_modes=1, feature_map="elu"),
}
"""Full attention is torch's own, which forms no matrix where it can help it."""
LENGTHS = {"1k": 1024, "4k": 4096, "16k": 16_384, "64k": 65_536}
MOST_GB = {"64k": 4.0}
TIMES_FASTER = {"16k": {"full": 10.0}}


def step(case: Mapping[str, Any]) -> dict[str, float]:
    """Median seconds of some steps on one sequence, and the peak of the process."""
    torch.manual_seed(0)
    layer, x = LAYERS[case["layer"]](), torch.randn(1, case["length"], DIM, requires_grad=True)
    before, seconds = peak_bytes(), []
    for _ in range(case["repeats"] + 1):
        start = time.perf_counter()
        out = layer(x)
        out.sum().backward()
        seconds.append(time.perf_counter() - start)
    if not x.grad.isfinite().all():
        raise RuntimeError("a gradient is not finite, so the step is no training step")
    peaks = {"peak_gb": round(peak_bytes() / 1e9, 3), "before_gb": round(before / 1e9, 3)}
    return {"step_s": round(median(seconds[1:]), 4), **peaks}


def run(repeats: int, names: list[str] | None) -> Iterator[dict[str, object]]:
    """A row per length."""
    for name, length in LENGTHS.items():
        if names and name not in names:
            continue
        cases = {layer: {"layer": layer, "length": length, "repeats": min(repeats, 3)} for layer in LAYERS}
        yield _row(
            name, length, {layer: peak_of(case, torch.get_num_threads(), __name__) for layer, case in cases.items()}
        )


def _row(name: str, length: int, found: Mapping[str, Mapping[str, float]]) -> dict[str, object]:
    slower = times_slower({layer: [each["step_s"]] for layer, each in found.items()}, OURS)
    bars = {"peak_gb": MOST_GB.get(name), "times_slower_than_ours": TIMES_FASTER.get(name, {})}
    is_small = None if bars["peak_gb"] is None else found[OURS]["peak_gb"] <= MOST_GB[name]
    return {
        "benchmark": "long_graph",
        "shape": name,
        "length": length,
        "dim": DIM,
        "pass": "forward+backward",
        "step_s": {layer: each["step_s"] for layer, each in found.items()},
        "peak_gb": {layer: each["peak_gb"] for layer, each in found.items()},
        "before_gb": found[OURS]["before_gb"],
        "times_slower_than_ours": slower,
        "bars": bars,
        "met": {"peak_gb": is_small, **{peer: slower[peer] >= bar for peer, bar in TIMES_FASTER.get(name, {}).items()}},
        **machine(),
    }


def table(rows: list[dict]) -> Iterator[str]:
    """Lines of a table: milliseconds of a step and peak memory of every layer."""
    head = ["length", *(f"{layer} {unit}" for layer in LAYERS for unit in ("ms", "GB"))]
    body = [
        [
            f"{row['length']:,}",
            *(
                text
                for layer in LAYERS
                for text in (f"{1e3 * row['step_s'][layer]:.1f}", f"{row['peak_gb'][layer]:.2f}")
            ),
        ]
        for row in rows
    ]
    return aligned(head, body, 1)


if __name__ == "__main__":
    print(json.dumps(step(json.loads(sys.argv[1]))))
