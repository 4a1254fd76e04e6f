"""Hold values to the bit over a change that should not touch them.

A tiny seeded run of each task is made through the command line, and every layer is run in a few configurations. What
comes out is written as one JSON object of named entries: hashes of weights, predictions and explanations, scores, and
what the commands say, refusals of spoilt data among it.

    PYTHONPATH=src python tests/frozen.py write /tmp/before.json      # on the commit before the change
    PYTHONPATH=src python tests/frozen.py compare /tmp/before.json    # after it
    PYTHONPATH=src python tests/frozen.py compare /tmp/before.json series layers    # some of it

`compare` counts the entries that are equal, lists those that are changed, missing or new, and those whose value is now
found under another name; it exits with 1 if one is changed or missing. The values are those of one machine: never
compare files of two.
"""

import contextlib
import hashlib
import json
import os
import re
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import multiway
from command import outcome, printed
from frozen_layers import layers
from papers.stocks.quotes import write_stocks
from tasks.forecasting.panels import make_frame
from tasks.scans.classes.blocks import write_npz
from tasks.scans.masks.lesion_files import FAST, write_scene
from tasks.tiny import OUT, TASKS, TINY, Tiny, forecast, segment, stocks, volumes

Entries = dict[str, Any]


def scene(folder: Path) -> Tiny:
    network = {"dim": 8, "num_blocks": 1, "num_heads": 2, "bands_per_token": 2}
    path = write_scene(folder / "scene.npz")
    return replace(segment(folder), data=path, settings={**FAST, "ignore": 0, "block": 6, "model": network})


def classes(folder: Path) -> Tiny:
    usual = volumes(folder)
    path = write_npz(folder / "blocks.npz", (18, 9, 9), num_classes=3)
    training = {**usual.settings["training"], "average": 0.9, "epochs": 2}
    return replace(usual, data=path, settings={**usual.settings, "training": training, "evaluate_flips": True})


def blend(folder: Path) -> Tiny:
    usual = forecast(folder)
    frame = make_frame(rows=220, variates=2, seed=8)
    frame.iloc[20:24, 1] = None
    frame.to_csv(folder / "gaps.csv", index=False)
    settings = {**usual.settings, "answer": "auto", "read": {"missing": "mask"}}
    return replace(usual, data=folder / "gaps.csv", settings=settings)


def quantiles(folder: Path) -> Tiny:
    usual = stocks(folder)
    path = write_stocks(folder / "prices-only", texts=False)
    return replace(usual, data=path, settings={**usual.settings, "target": "quantiles", "baselines": ["majority"]})


RUNS: dict[str, Callable[[Path], Tiny]] = {
    **{name: TINY[name] for name in TASKS},
    "forecast-blend": blend, "volumes-classes": classes, "segment-scene": scene, "stocks-quantiles": quantiles
}  # fmt: skip
BACKTESTED = ("forecast", "stocks")
"""Tasks that look back from past moments."""
MEASURED = re.compile(r"\b\d+(\.\d+)? ?(s|ms|GB|MB|KB|min)\b|commit \w+|/\S*/tmp\w+|\b\d{4}-\d\d-\d\dT[\d:.+]+")
"""Times, sizes and folders, which differ from run to run."""


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]


def array_digest(values: Any) -> str:
    array = np.ascontiguousarray(values)
    return digest(f"{array.dtype}{array.shape}".encode() + array.tobytes())


def weights(run: Path) -> Iterator[tuple[str, str]]:
    """Hash of every tensor under a run, but those of an unfinished training."""
    from safetensors.numpy import load_file

    for path in sorted(run.rglob("*.safetensors")):
        for name, tensor in load_file(path).items():
            yield f"weights/{path.relative_to(run).with_suffix('')}/{name}", array_digest(tensor)


def rows_in(content: Any) -> Iterator[dict[str, Any]]:
    """Rows of scores, however deep in a JSON file they lie."""
    for item in content.values() if isinstance(content, dict) else content:
        if isinstance(item, dict) and ("value" in item or "metric" in item):
            yield item
        elif isinstance(item, dict | list):
            yield from rows_in(item)


def scores(run: Path) -> Iterator[tuple[str, float | None]]:
    """Every number of every row of scores, under the words of the row in a fixed order."""
    for row in rows_in(json.loads((run / "scores.json").read_text())):
        first = [row.pop(name) for name in ("model", "split", "metric") if name in row]
        words = [row[name] for name in sorted(row) if isinstance(row[name], str)]
        for name, value in row.items():
            if not isinstance(value, str):
                yield "/".join(map(str, ["scores", *first, *words, name])), value


def written(part: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Hash of every array and of every column of every table in a folder; pictures are left out."""
    for path in sorted(folder.rglob("*")):
        name = f"{part}/{path.relative_to(folder)}"
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                yield from ((f"{name}/{key}", array_digest(arrays[key])) for key in arrays.files)
        elif path.suffix == ".npy":
            yield name, array_digest(np.load(path))
        elif path.suffix == ".csv":
            lines = [line.split(",") for line in path.read_text().splitlines()]
            for head, *column in zip(*lines, strict=False):
                yield f"{name}/{head}", digest("\n".join(column).encode())
        elif path.is_file() and path.suffix != ".png":
            yield name, digest(path.read_bytes())


def messages_of(tiny: Tiny, run: Path) -> Entries:
    """What a check and an audit say, and how a wrong setting and spoilt data are refused; it spoils the data."""
    train = tiny.train(run.with_name("refused"))
    wrong = [*train[:2], "--data", tiny.data, "--set", "training.epoch=2"]
    said = {
        "check": outcome("check", tiny.data),
        "audit": outcome("audit", run),
        "report": outcome("report", run, "--out", run.with_name("page.html")),
        "unknown setting": outcome(*wrong),
        "no such file": outcome("predict", run, "--data", "absent.csv"),
    }
    tiny.spoil()
    said["spoilt"] = outcome(*train)
    return {f"says/{part}": MEASURED.sub("#", " | ".join(map(str, words))) for part, words in said.items()}


def entries_of(name: str, folder: Path) -> Entries:
    """Train, evaluate, predict, explain and, where there is one, backtest, in the current folder; then what is said."""
    tiny, run = RUNS[name](folder), folder / "run"
    found: Entries = {"train": MEASURED.sub("#", printed(*tiny.train(run)))}
    found |= dict(scores(run)) | {"evaluate": printed("evaluate", run)}
    found |= {"evaluate validation": printed("evaluate", run, "--split", "validation")}
    for step in ("predict", "explain", "backtest"):
        target = folder / step
        answer = OUT.get(tiny.task, "table.csv")
        is_file = step == "backtest" or (step == "predict" and "." in answer)
        target.mkdir()
        if step != "backtest" or tiny.task in BACKTESTED:
            data = () if step == "explain" else ("--data", tiny.data)
            found[f"{step} says"] = printed(step, run, *data, "--out", target / answer if is_file else target)
            found |= dict(written(step, target))
    found |= messages_of(tiny, run)
    return {f"{name}/{key}": value for key, value in {**found, **dict(weights(run))}.items()}


def measure(chosen: Sequence[str] = ()) -> Entries:
    """Every entry of this version of the code, or those of the chosen runs."""
    torch.set_num_threads(1)
    entries = (
        {f"layers/{key}": array_digest(value) for key, value in layers()} if "layers" in (chosen or ["layers"]) else {}
    )
    for name in [name for name in chosen if name != "layers"] if chosen else RUNS:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Path(name).mkdir()
            entries |= entries_of(name, Path(name))
    return entries


def compare(before: Entries, now: Entries) -> int:
    """Print what differs; 1 if something is changed or missing."""
    names = defaultdict(list)
    for name, value in now.items():
        names[str(value)].append(name)
    gone = [name for name in before if name not in now]
    moved = {name: names[before[name]] for name in gone if isinstance(before[name], str) and names[before[name]]}
    changed = [name for name in before if name in now and now[name] != before[name]]
    groups = {
        "changed": [f"{name}: {before[name]} -> {now[name]}" for name in changed],
        "missing": [name for name in gone if name not in moved],
        "moved": [f"{name} -> {', '.join(found[:2])}" for name, found in moved.items()],
        "new": [name for name in now if name not in before],
    }  # fmt: skip
    equal = sum(name in now and now[name] == value for name, value in before.items())
    print(f"equal: {equal}", *(f"{group}: {len(lines)}" for group, lines in groups.items()), sep="\n")
    for line in [f"{group}  {line}" for group, lines in groups.items() for line in lines]:
        print(line)
    return int(bool(groups["changed"] or groups["missing"]))


def main(action: str, file: str, *chosen: str) -> int:
    path = Path(file).resolve()
    print(f"measuring {Path(multiway.__file__).parent}", file=sys.stderr)
    now = measure(chosen)
    if action == "write":
        path.write_text(json.dumps(now, indent=0, sort_keys=True) + "\n")
        return 0
    before = json.loads(path.read_text())
    if chosen:
        before = {name: value for name, value in before.items() if name.partition("/")[0] in chosen}
    return compare(before, json.loads(json.dumps(now)))


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("write", "compare"):
        sys.exit(__doc__)
    os.environ["COLUMNS"] = "200"
    sys.exit(main(*sys.argv[1:]))
