"""Random changes to files: of bytes, and of values where the format is known, which leave the file readable."""

import gzip
import html
import json
import random
import re
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
import yaml
from pyarrow import parquet
from safetensors.torch import load_file, save_file

from resealing import read_state, save_resealed

ODD = (
    *(None, True, -1, 0, 1, 10**9, 10**30, -(10**9), 0.5, 1e308, -1e-300, float("nan"), float("inf")),
    *("", "x", "0", "\x1b[2J", "../../x", "ä" * 300, "=1+1", [], {}, [None], [[1]], {"x": 1}, ["x"] * 3),
)
"""Values that do not belong where they are put."""
HEAD = 400
"""Bytes at the start of a file, where formats say what follows."""
ODD_CELLS = (
    "",
    "NaN",
    "-",
    "1e400",
    "9" * 40,
    "\x00",
    '"',
    "2024-13-45",
    "1,5",
    "x" * 5000,
    "=1",
    "\ud7ff",
    "\r",
    "-0",
)


def change_bytes(path: Path, chance: random.Random) -> str:
    """Flip bits, overwrite, cut, repeat or remove."""
    content = bytearray(path.read_bytes())
    kind = chance.choice(("flip", "flip", "flip", "overwrite", "cut", "repeat", "empty", "remove"))
    size = min(len(content), HEAD) if chance.random() < 0.4 else len(content)
    place = chance.randrange(size) if content else 0
    if kind == "remove":
        path.unlink()
        return kind
    if kind == "flip" and content:
        content[place] ^= 1 << chance.randrange(8)
    elif kind == "overwrite":
        content[place : place + 8] = chance.randbytes(8)
    elif kind == "cut":
        del content[place:]
    elif kind == "repeat":
        content[place:place] = content[place : place + chance.randrange(1, 400)]
    elif kind == "empty":
        content.clear()
    path.write_bytes(bytes(content))
    return f"{kind} at {place}"


def change_file(path: Path, chance: random.Random) -> str:
    """Change a value, where the format of the file is known; else its bytes."""
    changes: dict[str, Callable[[Path, random.Random], str]] = {
        ".json": _json,
        ".jsonl": _jsonl,
        ".yaml": _yaml,
        ".csv": _csv,
        ".parquet": _parquet,
        ".safetensors": _tensors,
        ".npy": _array,
        ".gz": _packed,
        ".xlsx": _members,
        ".npz": _members,
    }
    known = changes.get(path.suffix)
    if known is None or not path.is_file() or chance.random() < 0.15:
        return change_bytes(path, chance)
    return known(path, chance)


def _packed(path: Path, chance: random.Random) -> str:
    """What gzip packs."""
    inner = path.with_suffix("")
    inner.write_bytes(gzip.decompress(path.read_bytes()))
    what = change_file(inner, chance)
    path.write_bytes(gzip.compress(inner.read_bytes()) if inner.exists() else b"")
    inner.unlink(missing_ok=True)
    return what


def _members(path: Path, chance: random.Random) -> str:
    """A file in a ZIP archive."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        member = chance.choice([each for each in sorted(Path(folder).rglob("*")) if each.is_file()])
        what = (
            _xml(member, chance) if member.suffix == ".xml" and chance.random() < 0.7 else change_file(member, chance)
        )
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for each in sorted(Path(folder).rglob("*")):
                if each.is_file():
                    archive.write(each, each.relative_to(folder))
    return f"{member.name} {what}"


def _xml(path: Path, chance: random.Random) -> str:
    """A text or a value between two marks of XML."""
    text = path.read_text()
    places = list(re.finditer(r'>([^<>]+)<|"([^"]*)"', text))
    if not places:
        return change_bytes(path, chance)
    place = chance.choice(places)
    group = 1 if place[1] is not None else 2
    new = html.escape(str(chance.choice((*ODD, *ODD_CELLS)))).replace("\x00", "").replace("\ud7ff", "")
    path.write_text(text[: place.start(group)] + new + text[place.end(group) :])
    return f"{place[0][:30]} -> {new[:30]}"


def _leaf(value: Any, chance: random.Random) -> tuple[Any, str]:
    """Change one place of nested values: replace, remove, add, or move a number."""
    if isinstance(value, dict | list) and value and chance.random() < 0.92:
        key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if chance.random() < 0.12:
            del value[key]
            return value, f"{key} removed"
        value[key], what = _leaf(value[key], chance)
        return value, f"{key}.{what}"
    if isinstance(value, int | float) and not isinstance(value, bool) and chance.random() < 0.3:
        new = chance.choice((-value, value + 1, value * 1000, value / 2))
    else:
        new = chance.choice(ODD)
    return new, f"{str(value)[:30]} -> {str(new)[:30]}"


def _json(path: Path, chance: random.Random) -> str:
    value, what = _leaf(json.loads(path.read_text()), chance)
    path.write_text(json.dumps(value))
    return what


def _jsonl(path: Path, chance: random.Random) -> str:
    rows, what = _leaf([json.loads(line) for line in path.read_text().splitlines()], chance)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) if isinstance(rows, list) else json.dumps(rows))
    return what


def _yaml(path: Path, chance: random.Random) -> str:
    value, what = _leaf(yaml.safe_load(path.read_text()), chance)
    path.write_text(yaml.safe_dump(value, sort_keys=False, allow_unicode=True))
    return what


def _csv(path: Path, chance: random.Random) -> str:
    lines = path.read_text().splitlines()
    row = chance.choice((0, chance.randrange(len(lines)), chance.randrange(len(lines))))
    kind = chance.choice(("cell", "cell", "cell", "remove", "repeat", "swap", "column"))
    cells = lines[row].split(",")
    place = chance.randrange(len(cells))
    if kind == "cell":
        cells[place] = chance.choice((*ODD_CELLS, chance.choice(cells)))
        lines[row] = ",".join(cells)
    elif kind == "remove":
        del lines[row]
    elif kind == "repeat":
        lines.insert(row, lines[row])
    elif kind == "swap":
        other = chance.randrange(len(lines))
        lines[row], lines[other] = lines[other], lines[row]
    else:
        lines = [",".join(line.split(",")[:place] + line.split(",")[place + 1 :]) for line in lines]
    path.write_text("\n".join(lines) + "\n", errors="surrogatepass")
    return f"{kind} {row}, {place}"


def _parquet(path: Path, chance: random.Random) -> str:
    table = pd.read_parquet(path)
    name = chance.choice(list(table))
    kind = chance.choice(("cell", "drop", "rename", "none", "half", "text"))
    if kind == "cell":
        values = table[name].to_numpy(copy=True)
        values[chance.randrange(len(values))] = "x" if values.dtype.kind == "O" else np.zeros(1, values.dtype)[0]
        table[name] = values
    elif kind == "drop":
        table = table.drop(columns=name)
    elif kind == "rename":
        table = table.rename(columns={name: "x"})
    elif kind == "text":
        table[name] = table[name].astype(str)
    else:
        table = table.iloc[: 0 if kind == "none" else len(table) // 2]
    columns = [pa.array(table.iloc[:, place], from_pandas=True) for place in range(table.shape[1])]
    parquet.write_table(pa.table(columns, names=list(table)), path)  # pandas writes no name twice
    return f"{kind} {name}"


def _tensors(path: Path, chance: random.Random) -> str:
    is_state = path.name == "training.safetensors"
    tensors, position = read_state(path) if is_state else (load_file(path), None)
    name = chance.choice(list(tensors))
    kind = chance.choice(("drop", "rename", "shape", "type", "size"))
    value = tensors.pop(name)
    if kind == "rename":
        tensors["x"] = value
    elif kind == "shape":
        tensors[name] = value[None].contiguous()
    elif kind == "type":
        tensors[name] = value.to(torch.float16 if value.dtype != torch.float16 else torch.int64)
    elif kind == "size":
        tensors[name] = torch.zeros(max(2 * value.numel(), 3))
    if is_state:
        save_resealed(path, tensors, position)
    else:
        save_file(tensors, path)
    return f"{kind} {name}"


def _array(path: Path, chance: random.Random) -> str:
    values = np.load(path)
    if values.dtype.kind not in "biuf":
        return change_bytes(path, chance)
    kind = chance.choice(("nan", "size", "axis", "type", "object"))
    if kind == "nan":
        values = values.astype(np.float32)
        values.flat[chance.randrange(values.size)] = chance.choice((np.nan, np.inf, 1e38))
    elif kind == "size":
        values = values[: max(len(values) // 2, 0)]
    elif kind == "axis":
        values = values[None]
    else:
        values = values.astype({"type": np.complex64, "object": object}[kind])
    np.save(path, values, allow_pickle=True)
    return kind
