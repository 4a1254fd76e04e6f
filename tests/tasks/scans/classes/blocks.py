"""Small sets of volumes whose class can be seen: a bright block, early or late along the first axis."""

import dataclasses

import numpy as np
import pandas as pd

from multiway.tasks.scans import VolumeConfig

SIZES = (8, 9, 10)
NETWORK = {"dim": 16, "num_heads": 2, "stem_channels": 4, "num_blocks": 1}


def make_volumes(count, seed=0, sizes=SIZES, num_classes=2, contrast=60, channels=None):
    """uint8 volumes of noise with the block, and their labels."""
    chance = np.random.default_rng(seed)
    labels = np.arange(count) % num_classes
    shape = sizes if channels is None else (channels, *sizes)
    volumes = chance.integers(0, 120, (count, *shape)).astype(np.uint8)
    step = sizes[0] // num_classes
    for row, label in enumerate(labels):
        volumes[row, ..., label * step : (label + 1) * step, 2:7, 2:7] += np.uint8(contrast)
    return volumes, labels


def write_npz(path, counts=(40, 20, 30), **more):
    """A file as MedMNIST's, its volumes all different."""
    parts = {}
    for seed, (part, count) in enumerate(zip(("train", "val", "test"), counts, strict=True)):
        volumes, labels = make_volumes(count, seed, **more)
        parts |= {f"{part}_images": volumes, f"{part}_labels": labels[:, None].astype(np.uint8)}
    np.savez_compressed(path, **parts)
    return path


def write_table(folder, count=30, words=("low", "high"), sizes=SIZES):
    """A CSV of .npy files, two for each patient."""
    volumes, labels = make_volumes(count, sizes=sizes)
    for row, volume in enumerate(volumes):
        np.save(folder / f"scan{row:02d}.npy", volume)
    frame = pd.DataFrame(
        {
            "path": [f"scan{row:02d}.npy" for row in range(count)],
            "label": [words[label] for label in labels],
            "patient": [f"p{row // 2}" for row in range(count)],
        }
    )
    frame.to_csv(folder / "scans.csv", index=False)
    return folder / "scans.csv"


def make_config(data=None, **changes):
    training = {"epochs": 3, "batch_size": 8, "warmup_steps": 2, "learning_rate": 3e-3}
    usual = {"data": None if data is None else str(data), "draws": 20, "model": NETWORK, "baselines": ("majority",)}
    return VolumeConfig.parse({**usual, **changes, "training": {**training, **changes.get("training", {})}})


@dataclasses.dataclass
class FakeCell:
    """A cell of a table, as a recipe has it."""

    row: str = "adrenal"
    variant: str | None = None
    form: str | None = None
    horizons: tuple[int, ...] = ()
    figures: dict[str, float] = dataclasses.field(default_factory=lambda: {"auc": 0.886, "acc": 0.852})
