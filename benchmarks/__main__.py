"""`python -m benchmarks [NAME ...]`: run benchmarks, print a table, and with --out append JSON lines."""

import argparse
import importlib
import json
import sys
from pathlib import Path

import torch

from benchmarks.comparison import table
from multiway.memory import keep_freed_memory

BENCHMARKS = (
    "nd_linear",
    "tensor_train",
    "attention",
    "small_layers",
    "compiled",
    "additive",
    "graph",
    "long_graph",
    "windows",
    "volumes",
    "stocks",
    "images",
)
"""Modules of this package, each imported on demand: a bare machine has torch and little else."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all if none is given")
    parser.add_argument("--out", type=Path, help="append one JSON line per row")
    parser.add_argument("--repeats", type=int, default=9, help="timed rounds; peers take turns in each")
    parser.add_argument("--shapes", nargs="*", help="only these shapes")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", default="cpu", help="cpu or cuda, for layers against their peers")
    parser.add_argument("--plain-malloc", action="store_true", help="let the C library return memory at once")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    torch.set_num_threads(chosen.threads)
    if chosen.device != "cpu":  # a default is a mode, which graphs cannot follow everywhere
        torch.set_default_device(chosen.device)
    if not chosen.plain_malloc:
        keep_freed_memory()
    for name in chosen.names or BENCHMARKS:
        run_one(name, chosen)


def run_one(name: str, chosen: argparse.Namespace) -> None:
    rows, benchmark = [], importlib.import_module(f"benchmarks.{name}")
    for row in benchmark.run(chosen.repeats, chosen.shapes):
        print(json.dumps(row), file=sys.stderr, flush=True)
        rows.append(row)
        if chosen.out:
            with chosen.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
    own_table = getattr(benchmark, "table", None)
    if rows and (own_table or "times_slower_than_ours" in rows[0]):
        print("\n".join([name, *(own_table or table)(rows), ""]), flush=True)


if __name__ == "__main__":
    main()
