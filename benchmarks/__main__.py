"""`python -m benchmarks NAME`: run one benchmark, print a table, and with --out append JSON lines."""

import argparse
import json
from pathlib import Path

import torch

from benchmarks import attention

BENCHMARKS = {"attention": attention.run}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=BENCHMARKS)
    parser.add_argument("--out", type=Path, help="append one JSON line per row")
    parser.add_argument("--repeats", type=int, default=9, help="timed rounds; peers take turns in each")
    parser.add_argument("--shapes", nargs="*", help="only these shapes")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    for row in BENCHMARKS[chosen.name](chosen.repeats, chosen.shapes):
        print(json.dumps(row), flush=True)
        if chosen.out:
            with chosen.out.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
