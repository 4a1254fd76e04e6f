"""Images with masks: bright lesions in texture, fields in a scene; and masks that the image gives away."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leak_sets.maker import Draw, LeakSet
from leak_sets.scans import SIZES, smooth

COUNT, TRAIN, VALIDATION = 36, 22, 28
Case = tuple[NDArray[Any], NDArray[np.uint8]]


def case(draw: Draw, *, empty: bool = False) -> Case:
    """A textured image of bytes whose lesion is brighter than most of the rest, and the lesion's mask."""
    grid = np.stack(np.meshgrid(*(np.arange(size) for size in SIZES), indexing="ij"), -1)
    texture = smooth(draw.normal(size=SIZES), 1)
    image = 90 + 18 * texture / texture.std() + draw.normal(0, 6, SIZES)
    place = [draw.uniform(4, size - 4) for size in SIZES]
    mask = (np.linalg.norm((grid - place) / draw.uniform(2.0, 3.5, 3), axis=-1) < 1) & (not empty)
    return np.clip(image + 80 * mask, 0, 255).astype(np.uint8), mask.astype(np.uint8)


def make(draw: Draw) -> list[Case]:
    """One in six has no lesion."""
    return [case(draw, empty=row % 6 == 5) for row in range(COUNT)]


def written(folder: Path, cases: list[Case], **read: Any) -> dict[str, Any]:
    """Settings of a table of .npy files."""
    for row, (image, mask) in enumerate(cases):
        np.save(folder / f"image{row:02d}.npy", image)
        np.save(folder / f"mask{row:02d}.npy", mask)
    rows = np.arange(COUNT)
    names = {
        "path": [f"image{row:02d}.npy" for row in rows],
        "mask": [f"mask{row:02d}.npy" for row in rows],
        "split": np.where(rows < TRAIN, "train", np.where(rows < VALIDATION, "validation", "test")),
    }
    pd.DataFrame(names).to_csv(folder / "cases.csv", index=False)
    return {"data": str(folder / "cases.csv"), **({"read": read} if read else {})}


def clean_lesions(folder: Path, draw: Draw) -> dict[str, Any]:
    return written(folder, make(draw))


def clean_scene(folder: Path, draw: Draw) -> dict[str, Any]:
    """Fields with a spectrum each, in a scene that is cut into blocks."""
    labels = np.kron(draw.integers(0, 4, (6, 6)), np.ones((10, 10), int))
    spectra = draw.normal(0, 1, (4, 8))
    image = spectra[labels].transpose(2, 0, 1) + 0.6 * draw.normal(size=(8, 60, 60))
    np.savez(folder / "scene.npz", image=image.astype(np.float32), labels=labels.astype(np.int16))
    return {"data": str(folder / "scene.npz"), "block": 10}


def copied(folder: Path, draw: Draw) -> dict[str, Any]:
    cases = make(draw)
    cases[30] = cases[4]
    return written(folder, cases)


def copied_noisy(folder: Path, draw: Draw) -> dict[str, Any]:
    """Four test images are training images with noise of half their deviation."""
    cases = make(draw)
    for row in range(29, 33):
        image, mask = cases[row - 25]
        noisy = image + 0.5 * image.std() * draw.normal(size=SIZES)
        cases[row] = np.clip(noisy, 0, 255).astype(np.uint8), mask
    return written(folder, cases)


def listed_twice(folder: Path, draw: Draw) -> dict[str, Any]:
    settings = written(folder, make(draw))
    frame = pd.read_csv(settings["data"])
    frame.loc[30, ["path", "mask"]] = frame.loc[4, ["path", "mask"]].to_numpy()
    frame.to_csv(settings["data"], index=False)
    return settings


def painted(folder: Path, draw: Draw) -> dict[str, Any]:
    """A reader's annotation was saved into the image."""
    return written(folder, [(np.where(mask > 0, np.uint8(255), image), mask) for image, mask in make(draw)])


def outlined(folder: Path, draw: Draw) -> dict[str, Any]:
    """The outline of the annotation was saved into the image."""
    cases = []
    for image, mask in make(draw):
        inner = mask.astype(bool)
        for axis in range(3):
            inner = inner & np.roll(inner, 1, axis) & np.roll(inner, -1, axis)
        cases.append((np.where((mask > 0) & ~inner, np.uint8(255), image), mask))
    return written(folder, cases)


def as_channel(folder: Path, draw: Draw) -> dict[str, Any]:
    """The second channel is the mask in other numbers."""
    return written(folder, [(np.stack([image, 40 + 100 * mask]), mask) for image, mask in make(draw)], channels=True)


def grid_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """Images without a lesion are of another type."""
    cases = [(image.astype(np.int16) if not mask.any() else image, mask) for image, mask in make(draw)]
    return written(folder, cases)


SETS = (
    LeakSet("bright lesions in texture", clean_lesions),
    LeakSet("fields of a scene", clean_scene),
    LeakSet("an image twice", copied, "duplicates"),
    LeakSet("images again, noise of .5", copied_noisy, "near"),
    LeakSet("an image listed in two splits", listed_twice, "groups"),
    LeakSet("mask painted into the image", painted, "painted"),
    LeakSet("outline painted into the image", outlined, "painted"),
    LeakSet("mask as a channel", as_channel, "painted"),
    LeakSet("type of the file tells empty masks", grid_tells, "lookup"),
)
