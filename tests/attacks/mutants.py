"""Change files at random and use them: data in every format, recipes, spaces, strangers' networks, runs, states.

Every mutant is one command in a process of its own, forked after the imports. It fails where it ends in a traceback,
takes more than 2 GB or 20 s, or ends well with other predictions than the unchanged files give. The last is not needed
of data, recipes, spaces, strangers' networks and resealed runs: nothing tells them from files that somebody meant.

    PYTHONPATH=src:tests OMP_NUM_THREADS=1 python -m attacks.mutants --folder /dev/shm/mutants --count 1000
"""

import argparse
import collections
import json
import os
import random
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import torch

from attacks.mutations import MEANT, MUTATIONS, OPTIONS, Mutant, tuning
from attacks.strangers import STRANGERS, make_network
from attacks.tiny_runs import Task, contents, done_here, make, origin
from forked import Outcome, forked
from multiway import files
from tasks.tiny import TASKS

MOST_BYTES, MOST_SECONDS = 2_000_000_000, 20


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m attacks.mutants", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="empty folder to work in")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--kinds", nargs="*", default=list(MUTATIONS), choices=list(MUTATIONS))
    parser.add_argument("--tasks", nargs="*", default=TASKS, choices=TASKS)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--out", type=Path, help="append the summary as a JSON line")
    chosen = parser.parse_args()
    row = measure(
        chosen.folder, range(chosen.first, chosen.first + chosen.count), chosen.kinds, chosen.tasks, chosen.seconds
    )
    print(json.dumps(row))
    if chosen.out:
        with chosen.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
    sys.exit(any(row[name] for name in ("tracebacks", "over_memory", "over_time", "silent_differences")))


def measure(
    folder: Path, numbers: range, kinds: list[str], tasks: list[str], seconds: float = float("inf")
) -> dict[str, Any]:
    """Try mutants and count what went wrong; each failure is a line on stderr."""
    torch.set_num_threads(1)
    made = {name: prepared(name, folder / name, kinds) for name in tasks}
    counts: collections.Counter[str] = collections.Counter()
    start = time.monotonic()
    for number in numbers:
        if time.monotonic() - start > seconds:
            break
        name, kind = tasks[number % len(tasks)], kinds[number // len(tasks) % len(kinds)]
        if kind == "stranger" and name not in STRANGERS:
            kind = "data"
        counts += judged(number, made[name], kind, folder / "mutant")
    names = ("tried", "refused", "tracebacks", "over_memory", "over_time", "silent_differences")
    return {
        "benchmark": "mutants",
        **{name: counts[name] for name in names},
        "by_kind": {kind: counts[kind] for kind in kinds},
        "tasks": tasks,
        "first": numbers.start,
        "seconds": round(time.monotonic() - start, 1),
        **origin(),
    }


def prepared(name: str, folder: Path, kinds: list[str]) -> Task:
    """A tiny run, and what the kinds of mutants need besides."""
    task = make(name, folder)
    if "space" in kinds:
        (folder / "space.yaml").write_text(json.dumps(OPTIONS))
        done_here(tuning(task, folder / "space.yaml", folder / "study", trials=1))
    if "stranger" in kinds:
        make_network(task)
    return task


def judged(number: int, task: Task, kind: str, folder: Path) -> collections.Counter[str]:
    """Try one mutant; what it is counted as."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    mutant = MUTATIONS[kind](task, folder, random.Random(number))
    outcome = forked(mutant.words, seconds=MOST_SECONDS)
    differs = outcome.code == 0 and kind not in MEANT and not same(task, mutant)
    found = {
        "tracebacks": outcome.crashed,
        "over_memory": outcome.bytes > MOST_BYTES,
        "over_time": outcome.timed_out,
        "silent_differences": differs,
    }
    for fault in (name for name, is_so in found.items() if is_so):
        print(described(number, task, kind, mutant, outcome, fault), file=sys.stderr, flush=True)
    return collections.Counter(
        ["tried", kind, *["refused"][: outcome.code == 1], *(key for key in found if found[key])]
    )


def described(number: int, task: Task, kind: str, mutant: Mutant, outcome: Outcome, fault: str) -> str:
    last = " | ".join(outcome.err.strip().splitlines()[-3:])[-300:]
    return f"{number} {task.tiny.task} {kind} {mutant.words[0]} [{mutant.change}] {fault}: {last}"


def same(task: Task, mutant: Mutant) -> bool:
    """Whether a command that ended well gave what the unchanged files give; a table or a page is no prediction."""
    if mutant.words[0] == "predict":
        return contents(mutant.result) == task.expected
    if mutant.result.name == "run" and "stopped" in mutant.change:
        return files.sha256_of(mutant.result / "weights.safetensors") == files.sha256_of(
            task.run / "weights.safetensors"
        )
    return True


if __name__ == "__main__":
    os.environ["COLUMNS"] = "200"
    main()
