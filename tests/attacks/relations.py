"""Tell small data of every task in other words, and compare what is read, what a check says, and what a ridge answers.

A relation is a change after which the data mean what they meant. It differs where a check for the same task has other
facts or no answer. It is silent where nothing is said of that either, no finding and no refusal.

    PYTHONPATH=src:tests OMP_NUM_THREADS=1 python -m attacks.relations --folder /dev/shm/relations --count 500
"""

import argparse
import collections
import contextlib
import io
import json
import math
import platform
import random
import re
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from benchmarks.rows import commit, processor

import multiway
from attacks import arrays
from multiway import workflows
from multiway.errors import MultiwayError
from tasks.later_data import NUMBERS, TABLES, TIME, Later, json_lines, narrow, packed, parquet, usual, workbook
from tasks.tiny import TINY

Rows = Callable[[pd.DataFrame], pd.DataFrame]
Lines = Callable[[str, random.Random], bytes]
FORMATS: dict[str, Callable[[pd.DataFrame, Path], Path]] = {
    "parquet": parquet, "parquet of few bytes": narrow, "xlsx": workbook, "json lines": json_lines, "gzip": packed
}  # fmt: skip
LINES: dict[str, Lines] = {
    "other line ends": lambda text, _: text.replace("\n", "\r\n").encode(),
    "old line ends": lambda text, _: text.replace("\n", "\r").encode(),
    "a mark of UTF-8": lambda text, _: text.encode("utf-8-sig"),
    "UTF-16": lambda text, _: text.encode("utf-16"),
    "no last line end": lambda text, _: text.rstrip("\n").encode(),
    "blank lines at the end": lambda text, _: f"{text}\n\n\n".encode(),
    "blank lines between": lambda text, chance: _between(text, chance, ""),
    "lines of separators at the end": lambda text, _: f"{text}{',' * text.partition(chr(10))[0].count(',')}\n".encode(),
    "the header once more": lambda text, chance: _between(text, chance, text.partition("\n")[0]),
    "a blank line first": lambda text, _: f"\n{text}".encode(),
    "a line sep= first": lambda text, _: f"sep=,\n{text}".encode(),
    "a separator at each end": lambda text, _: text.replace("\n", ",\n").encode(),
}
"""Changes of a text file as a whole."""
SEPARATORS = {"semicolons": ";", "tabs": "\t", "bars": "|"}


def _between(text: str, chance: random.Random, line: str) -> bytes:
    """A line in the middle of a text file."""
    head, *rows = text.rstrip("\n").split("\n")
    place = chance.randrange(len(rows) // 4, len(rows))
    return "\n".join([head, *rows[:place], line, *rows[place:], ""]).encode()


def columns(task: str, chance: random.Random) -> dict[str, Rows]:
    """Changes of cells and columns."""
    numbers, time = list(NUMBERS.get(task, ())), TIME.get(task)

    def each(change: Callable[[pd.Series], Any], names: list[str]) -> Rows:
        return lambda rows: rows.assign(**{name: change(rows[name]) for name in names if name in rows})

    every: dict[str, Rows] = {
        "columns in another order": lambda rows: rows[chance.sample([*rows], len(rows.columns))],
        "a column of nothing": lambda rows: rows.assign(remark=""),
        "blanks around names": lambda rows: rows.rename(columns=lambda name: f" {name} "),
        "blanks behind cells": lambda rows: rows.map(lambda cell: f"{cell}  "),
        "blanks before cells": lambda rows: rows.map(lambda cell: f" {cell}"),
        "an index that pandas wrote": lambda rows: (
            rows.rename_axis("").reset_index().rename(columns={"": "Unnamed: 0"})
        ),
    }
    if task not in ("forecast",):
        every["rows in another order"] = lambda rows: rows.sample(frac=1, random_state=chance.randrange(1000))
    if numbers:
        one = chance.choice(numbers)
        every |= {
            "more digits": each(lambda cells: [f"{float(cell):.17e}" for cell in cells], [one]),
            "signs": each(lambda cells: [f"+{cell}" if float(cell) >= 0 else cell for cell in cells], [one]),
            "zeros behind": each(lambda cells: [f"{float(cell):.9f}" for cell in cells], [one]),
        }
    if time is not None and task != "series":
        forms = ("%Y%m%d", "%d.%m.%Y", "%Y/%m/%d", "%d %b %Y", "%Y-%m-%dT00:00:00Z")
        if task == "forecast":
            forms = ("%d.%m.%Y %H:%M", "%Y/%m/%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%d %b %Y %H:%M")
        form, days = chance.choice(forms), pd.Timedelta(days=7 * chance.randrange(1, 500))
        every[f"times as {form}"] = each(lambda cells: pd.to_datetime(cells).dt.strftime(form), [time])
        every["times some weeks later"] = each(lambda cells: (pd.to_datetime(cells) + days).astype(str), [time])
    if task == "tabular":
        every["yes and no of numbers"] = each(lambda cells: cells.map(lambda cell: cell.upper()), ["name"])
    return every


def changed(later: Later, chance: random.Random) -> tuple[str, Path]:
    """The data told in one way that is drawn, or in two; the words for it, and where they are."""
    edits = columns(later.task, chance)
    words = [chance.choice(list(edits))] if chance.random() < 0.6 else []
    write, form = usual, chance.choice(["text", "format", "separator", "quotes", "plain"])
    if form == "text":
        kind = chance.choice(list(LINES))
        words.append(kind)
        write = _lines(LINES[kind], chance)
    elif form == "format":
        kind = chance.choice(list(FORMATS))
        words.append(kind)
        write = FORMATS[kind]
    elif form == "separator":
        kind = chance.choice(list(SEPARATORS))
        decimal = "," if chance.random() < 0.4 else "."
        words.append(kind if decimal == "." else f"{kind} and decimal commas")
        write = _separated(SEPARATORS[kind], decimal, later.task)
    elif form == "quotes" or not words:
        words.append("quotes around all")
        write = _quoted
    edit = next((edits[word] for word in words if word in edits), lambda rows: rows)
    return " and ".join(words), later.rewritten(edit, write)


def _lines(change: Lines, chance: random.Random) -> Callable[[pd.DataFrame, Path], Path]:
    def write(rows: pd.DataFrame, path: Path) -> Path:
        usual(rows, path)
        path.write_bytes(change(path.read_text(), chance))
        return path

    return write


def _separated(separator: str, decimal: str, task: str) -> Callable[[pd.DataFrame, Path], Path]:
    def write(rows: pd.DataFrame, path: Path) -> Path:
        names = [name for name in NUMBERS.get(task, ()) if name in rows and decimal == ","]
        commas = {name: [cell.replace(".", ",") for cell in rows[name]] for name in names}
        return usual(rows.assign(**commas), path, sep=separator)

    return write


def _quoted(rows: pd.DataFrame, path: Path) -> Path:
    return usual(rows, path, quoting=1)


DATES = re.compile(r"\d{4}-\d\d(-\d\d)?( \d\d:\d\d(:\d\d)?)?")
ABOUT = {
    "encoding",
    "numbers",
    "categories",
    "variates",
    "columns",
    "missing cells",
    "time column",
    "calendar",
    "memory",
}
"""Facts that may tell how the data are told."""


SHORT = {"latitude": "lat", "longitude": "lon"}
"""Names of facts that an axis may be called by."""


def looked_at(task: str, data: Path) -> dict[str, Any]:
    """What a check says, or why there is none."""
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            report = workflows.check(str(data), task=task)
    except MultiwayError as error:
        return {"refused": str(error)}
    except Exception as error:  # whatever it is, it is a fault
        return {"fault": f"{type(error).__name__}: {error}"}
    facts = {name: value for name, value in report.summary.items() if name not in ABOUT}
    return {"facts": json.loads(json.dumps(facts, default=str)), "found": collections.Counter(
        (each.kind, each.severity) for each in report.findings
    )}  # fmt: skip


def plain(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts whatever the days are called, and whatever the order of the columns is."""
    known = {
        SHORT.get(name, name): DATES.sub("then", str(fact)) for name, fact in facts.items() if not DATES.fullmatch(name)
    }
    return known | {name: sorted(known[name].split(", ")) for name in ("names",) if name in known}


def verdict(before: dict[str, Any], after: dict[str, Any]) -> str:
    """The same, refused or said where it differs, silent where nothing says so, or a fault."""
    if "fault" in after:
        return "fault"
    if "refused" in after or any(severity == "error" for _, severity in after["found"] - before["found"]):
        return "refused"
    if plain(after["facts"]) == plain(before["facts"]) and same_answers(before, after):
        return "same"
    return "said" if after["found"] - before["found"] else "silent"


def same_answers(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether what was answered is the same but for rounding; also where nothing was."""
    pairs = zip(before["answers"], after["answers"], strict=True) if "answers" in after else ()
    return all(math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-6) for one, other in pairs)


def answers_of(data: Path) -> list[float]:
    """What ridge forecasts of each series, in the order of their names."""
    settings = {"network": False, "answer": "ridge", "lookback": 12, "partner": "none"}
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        forecast = multiway.Forecaster(horizon=4, settings=settings).fit(str(data)).predict()
    names = sorted(name for name in forecast.columns if str(name).startswith("series") and "-" not in str(name))
    return [float(value) for value in forecast[names].to_numpy().ravel()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m attacks.relations", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="empty folder to work in")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--answers", type=int, default=20, help="forecasts by ridge that are compared too")
    parser.add_argument("--out", type=Path, help="append the counts as a JSON line")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    tasks = [task for task in TINY if (TABLES.get(task) and task != "language") or task in arrays.CHANGES]
    counts, chance = collections.Counter[str](), random.Random(given.seed)
    origins = {task: TINY[task](_new(given.folder / task)) for task in tasks}
    before = {task: looked_at(task, tiny.data) for task, tiny in origins.items()}
    before["forecast"]["answers"] = answers_of(origins["forecast"].data)
    for number in range(given.count):
        task = tasks[number % len(tasks)]
        folder = given.folder / "changed"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(origins[task].data.parent, folder)
        try:
            place = folder / origins[task].data.name
            is_table = task not in arrays.CHANGES
            words, data = (
                changed(Later(task, folder, place), chance) if is_table else arrays.changed(task, place, chance)
            )
        except (KeyError, ValueError) as error:
            counts["not made"] += 1
            print(f"not made: {task}: {error!r}", file=sys.stderr)
            continue
        after = looked_at(task, data)
        if task == "forecast" and number < len(tasks) * given.answers and "found" in after:
            after["answers"] = answers_of(data)
        found = verdict(before[task], after)
        counts[found] += 1
        if found != "same":
            print(json.dumps({"task": task, "relation": words, "verdict": found, **_difference(before[task], after)}))
    named = dict.fromkeys(("same", "said", "refused", "silent", "fault"), 0) | counts
    row = {"benchmark": "relations", "relations": given.count, "tasks": tasks, "forecasts": given.answers, **named}
    row |= {"seed": given.seed, "commit": commit(), "machine": f"{processor()}, {platform.system()}"}
    print(json.dumps(row))
    if given.out:
        with given.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
    sys.exit(named["silent"] + named["fault"] > 0)


def _difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What differs, in short."""
    if "facts" not in after:
        return {"why": str(after)[:200]}
    own, other = before["facts"], after["facts"]
    return {
        "was": {name: own.get(name) for name in {*own, *other} if own.get(name) != other.get(name)},
        "is": {name: other.get(name) for name in {*own, *other} if own.get(name) != other.get(name)},
        "found": [each for each in after["found"] - before["found"]],
    }


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


if __name__ == "__main__":
    main()
