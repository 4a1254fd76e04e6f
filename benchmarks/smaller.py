"""`python -m benchmarks.smaller RUN SMALL`: a run and what `compress` made of it: scores, sizes, times."""

import argparse
import json
import time
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.comparison import processor
from multiway.compress.budget import count_parameters
from multiway.compress.measuring import count_flops
from multiway.memory import keep_freed_memory
from multiway.tasks.lifecycle import load
from multiway.tasks.protocol import NETWORK, Row
from multiway.tasks.run import Run
from multiway.tasks.scores import score_of

ROUNDS, ROWS = 31, 64


def row_of(paths: list[Path]) -> Row:
    """Both runs at once, their times in turns, on one thread."""
    runs = [load(path) for path in paths]
    networks = [run.task.swappable(run.model).eval() for run in runs]
    inputs = batch_of(runs[0])
    turns = [[processor_time(network, inputs) for network in networks] for _ in range(ROUNDS + 2)][2:]
    metric = runs[0].task.metrics(runs[0].config)[0]
    before, after = (score_of(run, NETWORK, metric)["value"] for run in runs)
    recovery = runs[1].facts["recovery"]
    return {
        "benchmark": "smaller",
        "data": str(runs[0].config.data),
        "metric": metric.name,
        "before": before,
        "after": after,
        "parameters": [count_parameters(network) for network in networks],
        "flops": [count_flops(network, *inputs) for network in networks],
        "ms": [round(1e3 * sorted(times)[ROUNDS // 2], 3) for times in zip(*turns, strict=True)],
        "speed": round(sorted(first / second for first, second in turns)[ROUNDS // 2], 2),
        "epochs": [runs[0].config.training.epochs, recovery["epochs"]],
        "validation": [round(recovery[name], 4) for name in ("before", "after", "recovered")],
        "seed": runs[0].config.training.seed,
        "rounds": ROUNDS,
        "threads": 1,
        "torch": torch.__version__,
        "processor": processor(),
    }


@torch.no_grad()
def processor_time(network: torch.nn.Module, inputs: tuple[Tensor, ...]) -> float:
    """Seconds that a call keeps a processor, whoever else waits for it."""
    start = time.process_time()
    network(*inputs)
    return time.process_time() - start


def batch_of(run: Run) -> tuple[Tensor, ...]:
    """As many rows as are timed, of the sizes that the network takes."""
    sizes = (run.state.channels, *run.state.sizes)
    return (torch.randn(ROWS, *sizes, generator=torch.Generator().manual_seed(0)),)


def main() -> None:
    """Print the row; with --out append it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smaller", description=__doc__)
    parser.add_argument("runs", nargs=2, type=Path, metavar="RUN", help="of images; then what compress made of it")
    parser.add_argument("--out", type=Path, help="append the row to this file")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    row = json.dumps(row_of(chosen.runs))
    print(row)
    if chosen.out:
        with chosen.out.open("a") as file:
            file.write(row + "\n")


if __name__ == "__main__":
    main()
