"""Whether the first command understands files as people have them: the command that `check` prints is run unedited.

    PYTHONPATH=src OMP_NUM_THREADS=1 python -m corpora.first_contact --out results/first_contact.jsonl

A case holds where `check`, with the options that a user gives, exits with 0 and says the task, the sizes and the target
that are meant, and where the command that it prints exits with 0. Trainings are cut to one epoch.
"""

import argparse
import functools
import json
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from corpora.first_files import CASES, Case
from forked import forked

SHORT = ("--quiet", "--set", "training.epochs=1")


def checked(case: Case, folder: Path) -> dict[str, Any]:
    """What `check` says, and how it differs from what is meant."""
    words = ["check", case.write(folder), *shlex.split(case.words)]
    plain, structured = forked(words), forked([*words, "--json"])
    printed = [line.removeprefix("train: ") for line in plain.out.splitlines() if line.startswith("train: ")]
    row: dict[str, Any] = {"case": case.name, "exit": plain.code, "command": next(iter(printed), None)}
    if plain.code != 0 or not printed:
        return {**row, "wrong": (plain.out + plain.err).strip().splitlines()[-3:]}
    document = json.loads(structured.out)
    found = {"task": document["task"], **{name: document["summary"].get(name) for name in case.facts}}
    meant = {"task": case.task, **case.facts}
    wrong = {name: found[name] for name in meant if str(found[name]) != str(meant[name])}
    return {**row, "task": document["task"], "wrong": wrong or None}


@functools.cache
def import_for(task: str) -> None:
    """Run the commands of a task here, so that no child imports what they use."""
    case = next(case for case in CASES if case.task == task)
    with tempfile.TemporaryDirectory() as name:
        train = forked(["check", case.write(Path(name)), *shlex.split(case.words), "--json"], here=True)
        forked([*shlex.split(json.loads(train.out)["train"])[1:], *SHORT, "--out", Path(name) / "run"], here=True)


def measured(case: Case) -> dict[str, Any]:
    """The same, and how the printed command ended."""
    import_for(case.task)
    with tempfile.TemporaryDirectory() as name:
        row = checked(case, Path(name))
        if row["command"] is None:
            return {**row, "holds": False}
        done = forked([*shlex.split(row["command"])[1:], *SHORT, "--out", Path(name) / "run"])
        last = done.err.strip().splitlines()[-1:] if done.code else []
        command = row["command"].replace(name + "/", "")
        return {
            **row,
            "command": command,
            "train": done.code,
            "said": last,
            "holds": row["wrong"] is None and done.code == 0,
        }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m corpora.first_contact", description=__doc__)
    parser.add_argument("names", nargs="*", help="words in the names of cases; all if none is given")
    parser.add_argument("--out", type=Path, help="write the rows as JSON lines")
    chosen = parser.parse_args()
    cases = [case for case in CASES if not chosen.names or any(name in case.name for name in chosen.names)]
    rows = []
    for case in cases:
        rows.append(measured(case))
        print(json.dumps(rows[-1]), flush=True)
    if chosen.out:
        chosen.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    good = sum(row["holds"] for row in rows)
    print(f"{good} of {len(rows)} cases: read as they are meant, and the printed command runs", file=sys.stderr)
    sys.exit(good < len(rows))


if __name__ == "__main__":
    main()
