"""A row of results: where it was measured, how it is printed and kept, and rows as lines of a table."""

import json
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from multiway_papers.bench import median

MARKS = {True: "*", False: "-", None: ""}
"""Behind a ratio: whether its bar is met, where it has one."""


def processor() -> str:
    """Model of the accelerator, or of the processor with its widest vector unit: what figures depend on."""
    if torch.get_default_device().type == "cuda":
        return torch.cuda.get_device_name()
    info = Path("/proc/cpuinfo")
    if not info.is_file():
        return platform.processor() or platform.machine()
    lines = info.read_text().splitlines()
    name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    flags = next((line for line in lines if line.startswith("flags")), "")
    return f"{name}, {next((unit for unit in ('amx_bf16', 'avx512f', 'avx2') if unit in flags), 'scalar')}"


def machine() -> dict[str, Any]:
    """Where a speed was measured."""
    return {"threads": torch.get_num_threads(), "torch": torch.__version__, "processor": processor()}


def facts() -> dict[str, Any]:
    """Of which commit and where a row of scores was measured."""
    return {
        "commit": commit(),
        "seed": 0,
        "machine": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def commit() -> str:
    """The commit of this checkout."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


def keep(row: Mapping[str, Any], out: Path | None, **measured: Any) -> None:
    """Print a row, and add it to the file with what it was measured on."""
    print(json.dumps(row), flush=True)
    if out is not None:
        with out.open("a") as file:
            file.write(json.dumps({**row, **measured}) + "\n")


def times_slower(times: Mapping[str, Sequence[float]], ours: str) -> dict[str, float]:
    """Median over rounds of each peer's time over ours."""
    return {
        name: round(median([theirs / own for own, theirs in zip(times[ours], each, strict=False)]), 2)
        for name, each in times.items()
        if name != ours
    }


def aligned(head: Sequence[str], body: Sequence[Sequence[str]], names: int) -> Iterator[str]:
    """Lines of a table whose first columns are names, to the left, and whose others are figures."""
    widths = [max(len(line[place]) for line in [head, *body]) for place in range(len(head))]
    for line in [head, *body]:
        cells = enumerate(zip(line, widths, strict=True))
        yield "  ".join(
            cell.ljust(width) if place < names else cell.rjust(width) for place, (cell, width) in cells
        ).rstrip()
