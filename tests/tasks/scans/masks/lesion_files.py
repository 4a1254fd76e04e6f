"""Small labelled images for tests: bright boxes in noise, as files or in memory."""

import csv
from pathlib import Path

import numpy as np

from multiway.tasks.scans.config import SegmentConfig
from multiway.tasks.scans.task import MASKS as TASK

FAST = {
    "model": {"channels": [4, 8], "num_blocks": [0, 1], "num_heads": 2},
    "training": {"epochs": 2, "batch_size": 4, "patience": 0, "warmup_steps": 1, "learning_rate": 0.01},
    "draws": 50,
}


def box_case(index: int, sizes=(8, 9, 10), empty=False) -> tuple[np.ndarray, np.ndarray]:
    """An image of bytes and its mask; the box is brighter than the noise."""
    draw = np.random.default_rng(index)
    mask = np.zeros(sizes, np.uint8)
    if not empty:
        low = [int(draw.integers(0, size - 4)) for size in sizes]
        mask[tuple(slice(at, at + 4) for at in low)] = 1
    image = np.clip(60 + 20 * draw.standard_normal(sizes) + 120 * mask, 0, 255)
    return image.astype(np.uint8), mask


def write_boxes(folder: Path, count=12, value=1, **columns) -> Path:
    """A table of .npy files with a given split: 8 to train, 2 to validate, 2 to test; one test case is empty."""
    rows = []
    for index in range(count):
        image, mask = box_case(index, empty=index == count - 1)
        for name, values in (("image", image), ("mask", mask * value)):
            np.save(folder / f"{name}{index}.npy", values)
        split = "train" if index < count - 4 else "validation" if index < count - 2 else "test"
        rows.append({"path": f"image{index}.npy", "mask": f"mask{index}.npy", "split": split, "patient": f"p{index}"})
    path = folder / "cases.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["path", "mask", "split", "patient"])
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_scene(path: Path, bands=5, sizes=(30, 31), classes=3) -> Path:
    """A scene whose labels are stripes with a spectrum each; 0 is unlabelled."""
    draw = np.random.default_rng(3)
    labels = (np.arange(sizes[1])[None] // 3 + np.zeros((sizes[0], 1), int)) % (classes + 1)
    spectra = 3 * draw.standard_normal((classes + 1, bands))
    image = spectra[labels].transpose(2, 0, 1) + 0.5 * draw.standard_normal((bands, *sizes))
    np.savez(path, image=image.astype(np.float32), labels=labels.astype(np.int16))
    return path


def config_of(path, **changes) -> SegmentConfig:
    return SegmentConfig.parse({**FAST, "data": str(path), **changes})


def prepared_at(path, **changes):
    config = config_of(path, **changes)
    return TASK.prepare(config, str(path)), config
