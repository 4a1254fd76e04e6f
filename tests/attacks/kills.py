"""Kill every command that writes, of every task, at random instants and inside saves; then go on, or run again.

A training that is resumed has to end with the files of one that was left alone, bit for bit, without a stray file. Any
other command must leave what it reads untouched and no half-written answer, and give the same answer when run again.
With `--many` only commands that write many files are killed, over an earlier result where they replace one: at every
instant each result is the earlier or the new one.

    PYTHONPATH=src:tests OMP_NUM_THREADS=1 python -m attacks.kills --folder /dev/shm/kills --count 300
"""

import argparse
import collections
import contextlib
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

from attacks.mutations import OPTIONS, tuning
from attacks.tiny_runs import Task, contents, make, origin, predicting
from forked import forked
from multiway import files
from tasks.tiny import TASKS

CLOCKS = ("manifest.json", "preprocessing.json", "metrics.jsonl", "page.json")
"""Files of a run that hold seconds, or hashes of files that do."""
SEARCHES = ("trials.jsonl", "study.journal")
"""Files of a search that hold seconds, one line a trial."""
RULE = ".*=lowrank:rank=1"
ROWS = Path(__file__).parents[2] / "results" / "forecasting.jsonl"
"""Measured cells of a table of a paper."""


class Command(NamedTuple):
    """A command, and what it writes when nothing disturbs it."""

    name: str
    task: Task
    words: list[object]
    result: Path
    expected: dict[str, str]
    seconds: float
    saves: int
    replaces: bool = False


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m attacks.kills", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="empty folder to work in")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="other instants")
    parser.add_argument("--tasks", nargs="*", default=TASKS, choices=TASKS)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--many", action="store_true", help="only commands that write many files")
    parser.add_argument("--out", type=Path, help="append the summary as a JSON line")
    chosen = parser.parse_args()
    row = measure(chosen.folder, chosen.count, chosen.tasks, chosen.seconds, many=chosen.many, seed=chosen.seed)
    print(json.dumps(row))
    if chosen.out:
        with chosen.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
    sys.exit(row["as_if_undisturbed"] != row["kills"] or row["half_written"] > 0)


def measure(
    folder: Path, count: int, tasks: list[str], seconds: float = float("inf"), *, many: bool = False, seed: int = 0
) -> dict[str, Any]:
    """Kill commands in turn, half of them inside a save; each that goes wrong is a line on stderr."""
    torch.set_num_threads(1)
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    made = [make(name, folder / name) for name in tasks]
    commands = [command for task in made for command in commands_of(task, folder / "result", many)]
    counts: collections.Counter[str] = collections.Counter()
    start = time.monotonic()
    number = 1000 * seed
    while counts["kills"] < count and time.monotonic() - start < seconds:
        command = commands[number % len(commands)]
        counts += one_kill(command, number)
        number += 1
    names = ("kills", "inside_a_save", "as_if_undisturbed", "half_written")
    return {
        "benchmark": "kills",
        **({"over": "an earlier result of many files"} if many else {}),
        **{name: counts[name] for name in names},
        "commands": len(commands),
        "by_command": {name: counts[name] for name in dict.fromkeys(command.name for command in commands)},
        "tasks": tasks,
        "seed": seed,
        "seconds": round(time.monotonic() - start, 1),
        **origin(),
    }


def commands_of(task: Task, result: Path, many: bool) -> list[Command]:
    """Every command of a task, or those that write many files, measured once without a kill."""
    name, data, space = task.tiny.task, task.tiny.data, task.folder / "space.yaml"
    space.write_text(json.dumps(OPTIONS))
    words: dict[str, list[object]] = {
        "train": task.tiny.train(result / "run"),
        "predict": ["predict", *predicting(task.tiny, task.run, _empty(result))[1:], "--overwrite"],
        "report": ["report", task.run, "--out", result / "report.html"],
        "explain": ["explain", task.run, "--out", result / "explained"],
        "tune": tuning(task, space, result / "study", trials=2),
    }
    if name != "stocks":
        words["compress"] = ["compress", task.run, "--rule", RULE, "--out", result / "smaller"]
    else:
        words["encode"] = ["data", "encode", data, "--set", f"text.cache={result / 'vectors'}"]
    if name == "volumes":
        maps = ["--maps", result / "maps", "--out", result / "answer.csv", "--overwrite"]
        words["predict maps"] = ["predict", task.run, "--data", data, *maps]
        words["data make"] = ["data", "make", "lesions", "--from", data, "--out", result / "lesions"]
    if name == "forecast":
        words["reproduce"] = ["reproduce", "hot-table-1", "--from", ROWS, "--report", result / "table.html"]
    if many:
        del words["train"], words["report"]  # a training has a state of its own, and a report is one file
    every = [measured(name, task, each, result) for name, each in words.items()]
    replacing = ("predict", "predict maps", "explain")
    return [command._replace(replaces=many and command.name in replacing) for command in every
            if not many or len(command.expected) > 1]  # fmt: skip


def _empty(result: Path) -> Path:
    shutil.rmtree(result, ignore_errors=True)
    return result


def measured(name: str, task: Task, words: list[object], result: Path) -> Command:
    """Run a command to the end, and count what it saves."""
    prepared(result)
    start = time.monotonic()
    with counted() as done:
        outcome = forked(words, here=True)
    assert outcome.code == 0, outcome.err
    return Command(name, task, words, result, timeless(result), time.monotonic() - start, len(done))


@contextlib.contextmanager
def counted() -> Iterator[list[Path]]:
    """Every file and folder that is saved within this block."""
    originals, done = (files.sync_file, files.sync_folder), []
    files.sync_file, files.sync_folder = (lambda path, save=save: (done.append(path), save(path)) for save in originals)
    try:
        yield done
    finally:
        files.sync_file, files.sync_folder = originals


def prepared(result: Path) -> None:
    """An empty folder for what a command writes."""
    shutil.rmtree(result, ignore_errors=True)
    result.mkdir()


def earlier(command: Command) -> dict[str, str]:
    """What lies there before: nothing, or a result of the same files with other content, and one file more."""
    prepared(command.result)
    for name in command.expected if command.replaces else ():
        path = command.result / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("earlier")
        if path.name == files.RESULT:
            names = [Path(each).name for each in command.expected if Path(each).parent == Path(name).parent]
            path.write_text("".join(f"{each}\n" for each in [*names, "one more"]))
            (path.parent / "one more").touch()
    return timeless(command.result)


def is_half(found: dict[str, str], before: dict[str, str], after: dict[str, str]) -> bool:
    """Whether any of the files and folders of a result is neither as it was nor as it is to be."""
    places = {name: Path(name).parts[0] for name in (*found, *before, *after)}
    return any(
        {name: value for name, value in found.items() if places[name] == place}
        not in [{name: value for name, value in each.items() if places[name] == place} for each in (before, after)]
        for place in set(places.values()) if not files.OWNED.search(place)
    )  # fmt: skip


def one_kill(command: Command, number: int) -> collections.Counter[str]:
    """Kill a command, finish it, and compare."""
    chance = random.Random(number)
    old = earlier(command)
    inside = command.saves > 0 and chance.random() < 0.5
    before = contents(command.task.folder)
    when: dict[str, Any] = (
        {"kill_after_saves": chance.randrange(1, command.saves + 1), "inside_save": True}
        if inside
        else {"kill_after": chance.uniform(0, command.seconds)}
    )
    if not forked(command.words, **when).killed:
        return collections.Counter()
    untouched = contents(command.task.folder) == before
    is_torn = command.name in ("predict", "predict maps", "explain", "compress", "data make", "report") and is_half(
        timeless(command.result), old, command.expected
    )
    is_done = timeless(command.result) == command.expected
    run = command.result / "run"
    goes_on = ["train", "--resume", run] if command.name == "train" and run.exists() else command.words
    outcome = forked(goes_on)
    found = timeless(command.result)
    refused = is_done and "exists already" in outcome.err  # it was whole, and a command makes no second one there
    is_same = (outcome.code == 0 or refused) and untouched and found == command.expected
    if not is_same or is_torn:
        different = sorted(set(found.items()) ^ set(command.expected.items()))[:3]
        last = " | ".join(outcome.err.strip().splitlines()[-2:])
        print(number, command.task.tiny.task, command.name, when, outcome.code, last, different, file=sys.stderr)
    names = (
        "kills",
        command.name,
        *["inside_a_save"][:inside],
        *["as_if_undisturbed"][:is_same],
        *["half_written"][:is_torn],
    )
    return collections.Counter(names)


def timeless(folder: Path) -> dict[str, str]:
    """Hashes of what was written, of a report and of files with clocks in them only their names."""
    found = contents(folder).items()
    plain = {name: "" if Path(name).name in CLOCKS or name.endswith(".html") else value for name, value in found}
    return plain | {name: _trials(folder / name) for name in plain if Path(name).name in SEARCHES}


def _trials(path: Path) -> str:
    """Trials of a search without their times; the journal has lines of every attempt, so only its name counts."""
    if path.suffix != ".jsonl":
        return ""
    rows = ({**json.loads(line), "seconds": None} for line in path.read_text().splitlines())
    return "\n".join(sorted(json.dumps(row, sort_keys=True) for row in rows))


if __name__ == "__main__":
    os.environ["COLUMNS"] = "200"
    main()
