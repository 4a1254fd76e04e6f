"""`python -m benchmarks.checkouts OTHER`: how fast layers here are beside those of another checkout of multiway.

Each checkout has a process of its own, and both take turns with short bursts of calls. Time is the processor's, on one
thread. Above 1, this checkout is faster.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from torch import nn

from benchmarks.rows import aligned, processor
from multiway import nn as mnn
from multiway.memory import keep_freed_memory

BURST = 0.02
"""Seconds of a burst, about."""
PASSES = ("forward", "forward+backward")


def nd_linear(in_sizes: tuple[int, ...], out_sizes: tuple[int, ...]) -> Callable[[], nn.Module]:
    """Build the layer when it is asked for."""
    return lambda: mnn.NdLinear(in_sizes, out_sizes)


def train(side: int, rank: int) -> Callable[[], nn.Module]:
    """Build a train of two square cores when it is asked for."""
    return lambda: mnn.TTLinear((side, side), (side, side), tt_ranks=rank)


def attention(modes: int) -> Callable[[], nn.Module]:
    """Build attention along so many modes when it is asked for."""
    return lambda: mnn.KroneckerAttention(128, num_heads=8, num_modes=modes)


CASES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "NdLinear 4x4, 8 rows": (nd_linear((4, 4), (4, 4)), (8, 4, 4)),
    "NdLinear 8x6": (nd_linear((8, 6), (8, 6)), (64, 8, 6)),
    "NdLinear 16x16": (nd_linear((16, 16), (16, 16)), (64, 16, 16)),
    "NdLinear 32x32": (nd_linear((32, 32), (32, 32)), (64, 32, 32)),
    "NdLinear 4x4x4x4": (nd_linear((4, 4, 4, 4), (4, 4, 4, 4)), (64, 4, 4, 4, 4)),
    "NdLinear 28x28x3 to 64x64x6": (nd_linear((28, 28, 3), (64, 64, 6)), (64, 28, 28, 3)),
    "NdLinear 28x28x3 to 64x64x6, 1 row": (nd_linear((28, 28, 3), (64, 64, 6)), (1, 28, 28, 3)),
    "NdLinear 64x8x8 to 32x8x8": (nd_linear((64, 8, 8), (32, 8, 8)), (64, 64, 8, 8)),
    "NdLinear 96x8 to 2x2, 256 rows": (nd_linear((96, 8), (2, 2)), (256, 96, 8)),
    "NdLinear 8x28x28 to 128x7x7": (nd_linear((8, 28, 28), (128, 7, 7)), (32, 8, 28, 28)),
    "NdLinear 14x1 to 32x64": (nd_linear((14, 1), (32, 64)), (128, 14, 1)),
    "NdLinear 2x512 to 256x512": (nd_linear((2, 512), (256, 512)), (16, 2, 512)),
    "train 64 rank 2": (train(8, 2), (64, 64)),
    "train 256 rank 2": (train(16, 2), (64, 256)),
    "train 1024 rank 2": (train(32, 2), (64, 1024)),
    "train 1024 rank 16": (train(32, 16), (64, 1024)),
    "train 4096 rank 2": (train(64, 2), (64, 4096)),
    "attention 8 of 7x24": (attention(2), (8, 7, 24, 128)),
    "attention 4 of 8x8": (attention(2), (4, 8, 8, 128)),
    "attention 8 of 7x7x7": (attention(3), (8, 7, 7, 7, 128)),
    "attention 8 of 14x14x14": (attention(3), (8, 14, 14, 14, 128)),
    "attention 1 of 64x64": (attention(2), (1, 64, 64, 128)),
    "attention 32 of 21x24": (attention(2), (32, 21, 24, 128)),
}


def main() -> None:
    """Print a table of all cases, or of those whose names hold a word."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkouts", description=__doc__)
    parser.add_argument("other", help="folder of the other checkout, its kernels built")
    parser.add_argument("words", nargs="*", default=[""], help="of names of cases; all if none is given")
    parser.add_argument("--repeats", type=int, default=15, help="bursts of each checkout; they take turns")
    chosen = parser.parse_args()
    if chosen.other == "serve":
        return serve()
    workers = [open_worker(Path(folder)) for folder in (chosen.other, ".")]
    body = []
    for name in (name for name in CASES if any(word in name for word in chosen.words)):
        cells = [name]
        for which in PASSES:
            times = [[ask(worker, f"{name}|{which}") for worker in workers] for _ in range(1 + chosen.repeats)][1:]
            before, now = (median(each) for each in zip(*times, strict=True))
            ratio = median([other / here for other, here in times])
            cells += [f"{1e6 * before:.1f}", f"{1e6 * now:.1f}", f"{ratio:.2f}"]
        body.append(cells)
        print(*cells, file=sys.stderr, sep="  ", flush=True)
    print(processor(), f"torch {torch.__version__}, one thread", sep=", ")
    head = [
        "microseconds of processor time",
        *(f"{who} {which}" for which in ("fwd", "fwd+bwd") for who in "other here ratio".split()),
    ]
    print("\n".join(aligned(head, body, 1)))
    for worker in workers:
        worker.terminate()


def open_worker(checkout: Path) -> "subprocess.Popen[str]":
    """A process with that checkout's multiway, which answers the name of a case and a pass by the time of a call."""
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.checkouts", "serve"]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(worker: "subprocess.Popen[str]", line: str) -> float:
    """Seconds of a call."""
    assert worker.stdin is not None and worker.stdout is not None
    print(line, file=worker.stdin, flush=True)
    return float(worker.stdout.readline())


def serve() -> None:
    """Time a burst of calls of whatever is asked."""
    torch.set_num_threads(1)
    keep_freed_memory()
    calls: dict[str, tuple[Callable[[], object], int]] = {}
    for line in map(str.strip, sys.stdin):
        if line not in calls:
            name, which = line.split("|")
            build, sizes = CASES[name]
            torch.manual_seed(0)
            call = call_of(build(), torch.randn(sizes, requires_grad=True), which)
            call()
            calls[line] = call, max(1, int(BURST / min(seconds(call, 1) for _ in range(5))))
        print(seconds(*calls[line]), flush=True)


def call_of(layer: nn.Module, x: torch.Tensor, which: str) -> Callable[[], object]:
    """A pass of the layer."""
    if which == "forward":
        return torch.no_grad()(lambda: layer(x))
    cotangent = torch.randn_like(layer(x))
    leaves = [x, *layer.parameters()]
    return lambda: torch.autograd.grad(layer(x), leaves, cotangent)


def seconds(call: Callable[[], object], count: int) -> float:
    """Processor time of one call, of so many."""
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


if __name__ == "__main__":
    main()
