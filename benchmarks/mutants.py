"""Change files at random and use them: data, recipes, sealed runs, runs whose hashes were made anew, saved states.

Every mutant is one command in a process of its own, forked after the imports. It fails where it ends in a traceback,
takes more than 2 GB or 20 s, or ends well with other predictions than the unchanged files give. The last is not asked
of data, recipes and resealed runs: nothing tells them from files that somebody meant.

    PYTHONPATH=src:tests OMP_NUM_THREADS=1 python -m benchmarks.mutants --folder /dev/shm/mutants --count 1000
"""

import argparse
import collections
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
import yaml

from benchmarks.changes import change_bytes, change_file
from benchmarks.forked import Outcome, forked
from multiway import files
from resealing import reseal
from tasks.tiny import TINY, Tiny

KINDS = ("data", "recipe", "sealed", "resealed", "state")
MOST_BYTES, MOST_SECONDS = 2_000_000_000, 20
MEANT = ("data", "recipe", "resealed")
SEALED_COMMANDS = ("predict", "predict", "predict", "evaluate", "resume", "report")


class Task(NamedTuple):
    """A tiny finished run, the same run stopped half-way, and what the finished one predicts."""

    tiny: Tiny
    folder: Path
    expected: dict[str, str]

    @property
    def run(self) -> Path:
        return self.folder / "run"


class Mutant(NamedTuple):
    """A command on changed files, and what tells which files they are."""

    words: list[object]
    result: Path
    change: str


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="empty folder to work in")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--tasks", nargs="*", default=list(TINY), choices=list(TINY))
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
    made = {name: make(name, folder / name) for name in tasks}
    counts: collections.Counter[str] = collections.Counter()
    start = time.monotonic()
    for number in numbers:
        if time.monotonic() - start > seconds:
            break
        name, kind = tasks[number % len(tasks)], kinds[number // len(tasks) % len(kinds)]
        counts += judged(number, made[name], kind, folder / "mutant")
    names = ("tried", "refused", "tracebacks", "over_memory", "over_time", "silent_differences")
    return {
        "benchmark": "mutants", **{name: counts[name] for name in names},
        "by_kind": {kind: counts[kind] for kind in kinds}, "tasks": tasks, "first": numbers.start,
        "seconds": round(time.monotonic() - start, 1),
    }  # fmt: skip


def make(name: str, folder: Path) -> Task:
    """Train one tiny run to the end and stop another; use the first, so that everything is imported."""
    folder.mkdir(parents=True)
    (folder / "data").mkdir()
    tiny = TINY[name](folder / "data")
    assert forked(tiny.train(folder / "stopped"), kill_after_saves=2).killed
    for words in (tiny.train(folder / "run"), ["report", folder / "run", "--out", folder / "report.html"]):
        outcome = forked(words, here=True)
        assert outcome.code == 0, outcome.err
    out = folder / "expected"
    assert forked(predicting(tiny, folder / "run", out), here=True).code == 0
    return Task(tiny, folder, contents(out))


def predicting(tiny: Tiny, run: Path, out: Path, data: Path | None = None) -> list[object]:
    """Words that predict for the tiny data into a folder that is made first."""
    out.mkdir()
    target = out / "masks" if tiny.task == "segment" else out / "answer.csv"
    return ["predict", run, "--data", data or tiny.data, "--out", target]


def judged(number: int, task: Task, kind: str, folder: Path) -> collections.Counter[str]:
    """Try one mutant; what it is counted as."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    mutant = MUTATIONS[kind](task, folder, random.Random(number))
    outcome = forked(mutant.words, seconds=MOST_SECONDS)
    differs = outcome.code == 0 and kind not in MEANT and not same(task, mutant)
    found = {
        "tracebacks": outcome.crashed, "over_memory": outcome.bytes > MOST_BYTES, "over_time": outcome.timed_out,
        "silent_differences": differs,
    }  # fmt: skip
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


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): files.sha256_of(path) for path in inside(folder)}


def inside(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def of_data(task: Task, folder: Path, chance: random.Random) -> Mutant:
    shutil.copytree(task.folder / "data", folder / "data")
    path = chance.choice([path for path in inside(folder / "data") if path.suffix != ".json"])
    change = change_file(path, chance)
    data = folder / "data" / task.tiny.data.relative_to(task.folder / "data")
    words = ["check", data] if chance.random() < 0.3 else predicting(task.tiny, task.run, folder / "out", data)
    return Mutant(words, folder / "out", f"{path.name}: {change}")


def of_recipe(task: Task, folder: Path, chance: random.Random) -> Mutant:
    settings = {**task.tiny.settings, "data": str(task.tiny.data)}
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump({"task": task.tiny.task, "settings": settings}))
    change = change_file(path, chance)
    return Mutant(["train", "--recipe", path, "--out", folder / "run"], folder / "run", change)


def of_sealed_run(task: Task, folder: Path, chance: random.Random) -> Mutant:
    run = shutil.copytree(task.run, folder / "run")
    path = chance.choice(list(inside(run)))
    change = change_bytes(path, chance) if chance.random() < 0.7 else change_file(path, chance)
    return using(task, run, folder, chance, f"{path.name}: {change}")


def of_resealed_run(task: Task, folder: Path, chance: random.Random) -> Mutant:
    run = shutil.copytree(task.run, folder / "run")
    path = chance.choice([path for path in inside(run) if path.name != "manifest.json"])
    change = change_file(path, chance)
    reseal(run)
    return using(task, run, folder, chance, f"{path.name}: {change}")


def using(task: Task, run: Path, folder: Path, chance: random.Random, change: str) -> Mutant:
    command = chance.choice(SEALED_COMMANDS)
    out = folder / "out"
    words = {
        "evaluate": ["evaluate", run], "resume": ["train", "--resume", run],
        "report": ["report", run, "--out", folder / "report.html"],
    }.get(command) or predicting(task.tiny, run, out)  # fmt: skip
    return Mutant(words, out, change)


def of_state(task: Task, folder: Path, chance: random.Random) -> Mutant:
    run = shutil.copytree(task.folder / "stopped", folder / "run")
    path = chance.choice(list(inside(run)))
    change = change_bytes(path, chance) if chance.random() < 0.6 else change_file(path, chance)
    return Mutant(["train", "--resume", run], run, f"stopped {path.name}: {change}")


MUTATIONS = {
    "data": of_data, "recipe": of_recipe, "sealed": of_sealed_run, "resealed": of_resealed_run, "state": of_state
}  # fmt: skip


if __name__ == "__main__":
    os.environ["COLUMNS"] = "200"
    main()
