"""Maps in an .npz file: arrays and plain text, never pickle, sizes checked before anything is allocated."""

import json
import math
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from multiway.errors import RunError
from multiway.explain.maps import ModeMap
from multiway.files import write_with

MAX_BYTES = 2_000_000_000
_INDEX = "index"
# What zip, numpy and JSON raise on a file that is missing, damaged or not ours.
_DAMAGE = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error),
)


def save_maps(path: Path, maps: Sequence[ModeMap]) -> None:
    """Write maps atomically. Labels stand in one JSON text; no name from data becomes a name in the file.

    Raises:
        RunError: The file cannot be written.
    """
    index = [
        {
            "mode": item.mode,
            "query_labels": item.query_labels,
            "key_labels": item.key_labels,
            "layer": item.layer,
            "num_samples": item.num_samples,
            "sample": item.sample,
            "ordered": item.ordered,
        }
        for item in maps
    ]
    arrays: dict[str, Any] = {
        f"weights_{number:04d}": item.weights.astype(np.float32) for number, item in enumerate(maps)
    }
    arrays[_INDEX] = np.frombuffer(json.dumps(index).encode("ascii"), np.uint8)
    write_with(path, lambda temporary: _write(temporary, arrays))


def load_maps(path: Path) -> list[ModeMap]:
    """Read what `save_maps` wrote; weights come back as float64, rounded to float32.

    Raises:
        RunError: The file is missing, damaged, or claims to be larger than it is.
    """
    try:
        _check_sizes(path)
        with np.load(path, allow_pickle=False) as archive:
            index = json.loads(archive[_INDEX].tobytes())
            return [_read(entry, archive[f"weights_{number:04d}"]) for number, entry in enumerate(index)]
    except _DAMAGE as error:
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise RunError(f"{path} is not a readable file of attention maps: {reason}. Explain the run again.") from error


def _write(path: Path, arrays: dict[str, Any]) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def _check_sizes(path: Path) -> None:
    """Compare the size that each array's header declares with the bytes that are there."""
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
            raise ValueError(f"it unpacks to more than {MAX_BYTES:,} bytes")
        for member in archive.infolist():
            with archive.open(member) as file:
                version = np.lib.format.read_magic(file)
                read_header = {
                    (1, 0): np.lib.format.read_array_header_1_0,
                    (2, 0): np.lib.format.read_array_header_2_0,
                }[version]
                shape, _, dtype = read_header(file)
                if math.prod(shape) * dtype.itemsize != member.file_size - file.tell():
                    raise ValueError(f"{member.filename} declares {shape} of {dtype} but holds other bytes")


def _read(entry: dict[str, Any], weights: Any) -> ModeMap:
    return ModeMap(
        mode=str(entry["mode"]),
        query_labels=tuple(str(label) for label in entry["query_labels"]),
        key_labels=tuple(str(label) for label in entry["key_labels"]),
        weights=np.asarray(weights, np.float64),
        layer=None if entry["layer"] is None else int(entry["layer"]),
        num_samples=int(entry["num_samples"]),
        sample=str(entry["sample"]),
        ordered=bool(entry["ordered"]),
    )
