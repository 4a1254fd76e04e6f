"""One tiny run per task: its data on disk, its settings, and a change to the data that leaves every size as it was."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tasks.panels import QUICK, make_frame
from tasks.panels import TINY as FORECASTER
from tasks.segmentation.lesion_files import FAST, write_boxes
from tasks.stocks.quotes import settings as stock_settings
from tasks.stocks.quotes import write_stocks
from tasks.volumes.blocks import NETWORK, write_table


@dataclasses.dataclass(frozen=True)
class Tiny:
    """A tiny run as words of the command line.

    change: Alters one value of the data, in place.
    spoil: Makes the data unusable, in place.
    options: Of `predict`.
    """

    task: str
    data: Path
    settings: dict[str, Any]
    change: Callable[[], None]
    spoil: Callable[[], None]
    options: tuple[str, ...]

    def train(self, out: Path, **changes: Any) -> list[str]:
        """Words of `multiway train`; a change is written with two underscores for each dot."""
        named = {name.replace("__", "."): value for name, value in changes.items()}
        leaves = leaves_of(self.settings) | named
        sets = [word for name, value in leaves.items() for word in ("--set", f"{name}={json.dumps(value)}")]
        return ["train", self.task, "--data", str(self.data), "--out", str(out), *sets]

    def predict(self, run: Path, out: Path) -> list[str]:
        """Words of `multiway predict` on the data of the training."""
        return ["predict", str(run), "--data", str(self.data), "--out", str(out), *self.options]


def leaves_of(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as fields: {"training": {"epochs": 2}} to {"training.epochs": 2}."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= leaves_of(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def edit(path: Path, old: str, new: str) -> None:
    """Replace the first of some characters in a text file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def raise_voxel(path: Path) -> None:
    """Change one voxel of an array on disk."""
    values = np.load(path)
    values.flat[0] += 1
    np.save(path, values)


def last_digit(path: Path) -> None:
    """Change the last digit in a text file."""
    text = path.read_text().rstrip("\n")
    path.write_text(text[:-1] + str((int(text[-1]) + 1) % 10) + "\n")


def forecast(folder: Path) -> Tiny:
    path = folder / "loads.csv"
    make_frame(rows=220).to_csv(path, index=False)
    settings = {"lookback": 12, "horizon": 4, "season": 12, "selection": "network"}
    training = {**QUICK, "epochs": 2, "learning_rate": 0.01}
    return Tiny(
        "forecast", path, {**settings, "model": FORECASTER, "training": training},
        change=lambda: last_digit(path), spoil=lambda: edit(path, "2024-01-02", "yesterday"), options=(),
    )  # fmt: skip


def volumes(folder: Path) -> Tiny:
    path = write_table(folder)
    training = {"epochs": 3, "batch_size": 8, "warmup_steps": 2, "learning_rate": 3e-3, "checkpoint_seconds": 1e9}
    settings = {"draws": 20, "model": NETWORK, "baselines": ["majority", "logistic", "cnn"], "training": training}
    return Tiny(
        "volumes", path, settings,
        change=lambda: raise_voxel(folder / "scan03.npy"), spoil=lambda: (folder / "scan03.npy").unlink(), options=(),
    )  # fmt: skip


def segment(folder: Path) -> Tiny:
    path = write_boxes(folder)
    training = {**FAST["training"], "checkpoint_seconds": 1e9}
    return Tiny(
        "segment", path, {**FAST, "training": training},
        change=lambda: raise_voxel(folder / "image3.npy"), spoil=lambda: (folder / "mask3.npy").unlink(), options=(),
    )  # fmt: skip


def stocks(folder: Path) -> Tiny:
    path = write_stocks(folder / "market")
    settings = stock_settings(
        training={"epochs": 3, "checkpoint_seconds": 1e9}, baselines=["majority", "previous", "logistic", "calendar"]
    )
    return Tiny(
        "stocks", path, settings,
        change=lambda: edit(path / "texts.csv", "grow", "grew"),
        spoil=lambda: edit(path / "prices.csv", "2020-01-07", "2020-13-07"), options=(),
    )  # fmt: skip


TINY: dict[str, Callable[[Path], Tiny]] = {
    "forecast": forecast, "volumes": volumes, "segment": segment, "stocks": stocks
}  # fmt: skip
