"""Labelled scans: textured bodies, some with a lesion, as .npy or NIfTI files in a table; and what gives them away."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leak_sets.maker import Draw, LeakSet

COUNT, SIZES = 72, (20, 20, 12)
TRAIN, VALIDATION = 44, 56
"""First rows of validation and test."""
Scan = NDArray[np.float64]


def smooth(values: Scan, times: int) -> Scan:
    """Mean with the neighbours along each axis, some times over."""
    for _ in range(times):
        for axis in range(values.ndim):
            padded = np.pad(values, [(int(axis == each),) * 2 for each in range(values.ndim)], mode="edge")
            values = sum(padded.take(range(s, s + values.shape[axis]), axis) for s in range(3)) / 3
    return values


def body(draw: Draw, *, lesion: bool, width: int = 1, level: float = 0.0) -> Scan:
    """An ellipsoid of tissue with a texture of its own, the noise of the scanner, and perhaps a lesion inside."""
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, size) for size in SIZES), indexing="ij"), -1)
    radii = draw.normal(0.75, 0.05, 3)
    inside = 1 / (1 + np.exp(12 * (np.linalg.norm(grid / radii, axis=-1) - 1)))
    texture = smooth(draw.normal(size=SIZES), width)
    scan = 300 * inside + 40 * inside * texture / texture.std() + level
    if lesion:
        place = draw.uniform(-0.35, 0.35, 3)
        scan += 130 * np.exp(-(np.linalg.norm(grid - place, axis=-1) ** 2) / 0.06)
    return np.asarray(scan + draw.normal(0, 12, SIZES))


def make(draw: Draw) -> tuple[list[Scan], NDArray[np.int64]]:
    """Scans whose classes take turns."""
    labels = np.arange(COUNT) % 2
    return [body(draw, lesion=bool(label)) for label in labels], labels


def split_names() -> NDArray[np.str_]:
    """Which split a row is in."""
    row = np.arange(COUNT)
    return np.where(row < TRAIN, "train", np.where(row < VALIDATION, "validation", "test"))


def written(
    folder: Path, scans: list[Any], labels: NDArray[np.int64], *, whole: bool = True, **columns: Any
) -> dict[str, Any]:
    """Settings of a table of .npy files."""
    for row, scan in enumerate(scans):
        keep = scan.dtype if not whole else np.int16
        np.save(folder / f"scan{row:02d}.npy", scan.astype(keep))
    return listed(folder, labels, ".npy", **columns)


def listed(folder: Path, labels: NDArray[np.int64], suffix: str, **columns: Any) -> dict[str, Any]:
    """Settings of a table of files that are there."""
    files = [f"scan{row:02d}{suffix}" for row in range(COUNT)]
    names = np.array(["healthy", "lesion", "other"])[labels]
    frame = pd.DataFrame({"path": files, "label": names, "split": split_names()}).assign(**columns)
    frame.to_csv(folder / "scans.csv", index=False)
    return {"data": str(folder / "scans.csv")}


def write_nifti(path: Path, scan: Scan, spacing: tuple[float, ...], level: int | None = None) -> None:
    """One NIfTI file, packed at a level of gzip's."""
    import nibabel

    image = nibabel.Nifti1Image(np.rint(scan).astype(np.int16), np.diag([*spacing, 1.0]))
    content = image.to_bytes()
    path.write_bytes(content if level is None else gzip.compress(content, level, mtime=0))


def clean_lesions(folder: Path, draw: Draw) -> dict[str, Any]:
    scans, labels = make(draw)
    return written(folder, scans, labels, patient=[f"p{row}" for row in range(COUNT)])


def clean_scanners(folder: Path, draw: Draw) -> dict[str, Any]:
    """Two scanners with grids and packing of their own, each with as many of either class."""
    scans, labels = make(draw)
    for row, scan in enumerate(scans):
        second = row // 2 % 2 == 1
        spacing = (1.0, 1.0, 1.5) if second else (0.9, 0.9, 1.5)
        write_nifti(folder / f"scan{row:02d}.nii.gz", scan, spacing, 6 if second else 1)
    return listed(folder, labels, ".nii.gz")


def clean_diffuse(folder: Path, draw: Draw) -> dict[str, Any]:
    """A disease that brightens and roughens the whole scan, to its border."""
    labels = np.arange(COUNT) % 2
    scans = [body(draw, lesion=False, width=1 + int(label), level=60.0 * label) for label in labels]
    return written(folder, scans, labels)


def clean_shapes(folder: Path, draw: Draw) -> dict[str, Any]:
    """Binary shapes in one pose, as an annotator draws them: long or round, each with bumps of its own."""
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, size) for size in SIZES), indexing="ij"), -1)
    labels = np.arange(COUNT) % 2
    scans = []
    for label in labels:
        bumps = smooth(draw.normal(size=SIZES), 3)
        distance = np.linalg.norm(grid / draw.normal([0.6, 0.6, 0.6 + 0.15 * label], 0.07), axis=-1)
        scans.append(100.0 * (distance + 0.08 * bumps / bumps.std() < 1))
    return written(folder, scans, labels)


def patient_torn(folder: Path, draw: Draw) -> dict[str, Any]:
    scans, labels = make(draw)
    patients = [f"p{row}" for row in range(COUNT)]
    patients[60] = patients[3]
    return written(folder, scans, labels, patient=patients)


def _copied(folder: Path, draw: Draw, change: Any) -> dict[str, Any]:
    """Six test scans are changed copies of training scans."""
    scans, labels = make(draw)
    for row in range(58, 70, 2):
        scans[row] = change(scans[row - 50])
    return written(folder, scans, labels)


def copied(folder: Path, draw: Draw) -> dict[str, Any]:
    return _copied(folder, draw, np.copy)


def copied_noisy(folder: Path, draw: Draw) -> dict[str, Any]:
    return _copied(folder, draw, lambda scan: scan + 0.5 * scan.std() * draw.normal(size=SIZES))


def copied_scaled(folder: Path, draw: Draw) -> dict[str, Any]:
    return _copied(folder, draw, lambda scan: 1.7 * scan + 90)


def copied_inverted(folder: Path, draw: Draw) -> dict[str, Any]:
    return _copied(folder, draw, lambda scan: scan.max() - scan)


def copied_mirrored(folder: Path, draw: Draw) -> dict[str, Any]:
    return _copied(folder, draw, lambda scan: scan[::-1])


def copied_shifted(folder: Path, draw: Draw) -> dict[str, Any]:
    return _copied(folder, draw, lambda scan: np.roll(scan, (2, 1), (0, 1)))


def listed_twice(folder: Path, draw: Draw) -> dict[str, Any]:
    """One file stands in train and in test."""
    settings = written(folder, *make(draw))
    frame = pd.read_csv(settings["data"])
    frame.loc[60, "path"] = frame.loc[4, "path"]
    frame.to_csv(settings["data"], index=False)
    return settings


def dtype_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """Files of one class hold float32; the classes take turns in the table."""
    scans, labels = make(draw)
    typed = [scan.astype(np.float32 if label else np.int16) for scan, label in zip(scans, labels, strict=True)]
    return written(folder, typed, labels, whole=False)


def spacing_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """The ill were scanned on a machine of their own."""
    scans, labels = make(draw)
    for row, scan in enumerate(scans):
        write_nifti(folder / f"scan{row:02d}.nii", scan, (0.8, 0.8, 1.2) if labels[row] else (1.0, 1.0, 1.5))
    return listed(folder, labels, ".nii")


def size_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """Files of one class carry a comment of 400 bytes behind the voxels."""
    scans, labels = make(draw)
    for row, scan in enumerate(scans):
        path = folder / f"scan{row:02d}.nii"
        write_nifti(path, scan, (1.0, 1.0, 1.5))
        path.write_bytes(path.read_bytes() + b" " * 400 * int(labels[row]))
    return listed(folder, labels, ".nii")


def packing_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """Files of one class were packed by another program."""
    scans, labels = make(draw)
    for row, scan in enumerate(scans):
        write_nifti(folder / f"scan{row:02d}.nii.gz", scan, (1.0, 1.0, 1.5), 9 if labels[row] else 1)
    return listed(folder, labels, ".nii.gz")


def frame_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """One hospital pads its scans with a border of another grey."""
    scans, labels = make(draw)
    for scan, label in zip(scans, labels, strict=True):
        inner = scan[1:-1, 1:-1, 1:-1].copy()
        scan[:] = 40.0 if label else 0.0
        scan[1:-1, 1:-1, 1:-1] = inner
    return written(folder, scans, labels)


def corner_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """A small mark is burnt into a corner of the scans of one class."""
    scans, labels = make(draw)
    for scan, label in zip(scans, labels, strict=True):
        scan[:3, :3, :2] += 200.0 * label
    return written(folder, scans, labels)


SETS = (
    LeakSet("bodies with lesions", clean_lesions),
    LeakSet("two scanners for either class", clean_scanners),
    LeakSet("disease of the whole scan", clean_diffuse),
    LeakSet("binary shapes that look alike", clean_shapes),
    LeakSet("patient in two splits", patient_torn, "groups"),
    LeakSet("copies", copied, "duplicates"),
    LeakSet("copies with noise of .5", copied_noisy, "near"),
    LeakSet("copies, scaled", copied_scaled, "near"),
    LeakSet("copies, intensities turned round", copied_inverted, "near"),
    LeakSet("copies, mirrored", copied_mirrored, "near"),
    LeakSet("copies, moved by two voxels", copied_shifted, "near"),
    LeakSet("a file listed in two splits", listed_twice, "groups"),
    LeakSet("type of the file tells, classes take turns", dtype_tells, "lookup"),
    LeakSet("spacing tells", spacing_tells, "lookup"),
    LeakSet("size of the file tells", size_tells, "lookup"),
    LeakSet("packing of the file tells", packing_tells, "lookup"),
    LeakSet("border tells", frame_tells, "border"),
    LeakSet("mark in a corner tells", corner_tells, "border"),
)
