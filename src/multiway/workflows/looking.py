"""Looking at data: what is in a file, which data sets are known, and making one."""

from pathlib import Path
from typing import Any

from multiway import files
from multiway.data import CheckReport, datasets
from multiway.data.volumes import VolumeSplit, read_cases
from multiway.data.volumes.lesions import LesionOptions
from multiway.data.volumes.lesions import make_lesions as paint
from multiway.tasks.registry import task_of, task_of_data


def check(
    data: Any,
    options: dict[str, Any] | None = None,
    *,
    task: str | None = None,
    overrides: dict[str, Any] | None = None,
) -> CheckReport:
    """Say what is in data and what is wrong with them, all at once.

    Args:
        data: A file, a folder of scans, or the name of a known data set; or data in memory as the estimators take them:
            a frame, arrays `X` or a pair `(X, y)`, or frames of prices and texts as `(prices, texts)`.
        options: Settings of a run that concern reading, such as `{"read": {"missing": "mask"}}`.
        task: What the data are for; seen from the data if not given.
        overrides: More such settings, which win.
    """
    chosen, is_path = task_of(task or task_of_data(data)), isinstance(data, str | Path)
    config = chosen.configure({**(options or {}), "data": str(data) if is_path else None}, overrides)
    return chosen.check(config, chosen.locate(str(data)) if is_path else data)


def fetch_dataset(name: str) -> Path:
    """Download a known data set, check its hash, and return its path."""
    return datasets.fetch_dataset(name)


def make_lesions(source: str, out: Path, options: dict[str, Any] | None = None) -> Path:
    """Paint lesions with exact masks into the volumes of a file or known data set; return the table of the new set."""
    files.check_place(out)
    return paint(
        read_cases(datasets.locate(source), split=VolumeSplit()), out, LesionOptions.parse(options or {}, "lesions")
    )
