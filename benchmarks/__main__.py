"""`python -m benchmarks NAME`: run one benchmark, print a table, and with --out append JSON lines."""

import argparse
import json
from pathlib import Path

import torch

from benchmarks import attention, windows
from multiway.memory import keep_freed_memory

BENCHMARKS = {"attention": attention.run, "windows": windows.run}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=BENCHMARKS)
    parser.add_argument("--out", type=Path, help="append one JSON line per row")
    parser.add_argument("--repeats", type=int, default=9, help="timed rounds; peers take turns in each")
    parser.add_argument("--shapes", nargs="*", help="only these shapes")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--plain-malloc", action="store_true", help="let the C library return memory at once")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    if not chosen.plain_malloc:
        keep_freed_memory()
    for row in BENCHMARKS[chosen.name](chosen.repeats, chosen.shapes):
        print(json.dumps(row), flush=True)
        if chosen.out:
            with chosen.out.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
