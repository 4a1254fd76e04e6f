"""Small scans on disk for documents and commands: bright blobs in noise, as NIfTI files with a table."""

import csv
import warnings
from pathlib import Path

import numpy as np

SIZES = (16, 16, 8)
SPACING = (1.0, 1.0, 2.0)


def make_volume(generator: np.random.Generator, *, is_lesion: bool) -> np.ndarray:
    """Noise with a soft ball of tissue, and a small bright ball inside it where there is a lesion."""
    grid = np.stack(np.meshgrid(*(np.arange(size) for size in SIZES), indexing="ij"), -1) * np.array(SPACING)
    centre = (np.array(SIZES) * np.array(SPACING) - 1) / 2
    volume = 60 * (np.linalg.norm(grid - centre, axis=-1) < 7) + generator.normal(0, 8, SIZES)
    if is_lesion:
        where = centre + generator.uniform(-3, 3, 3)
        volume += 120 * np.exp(-(np.linalg.norm(grid - where, axis=-1) ** 2) / 8)
    return volume.astype(np.int16)


def write_scan(path: Path, volume: np.ndarray) -> None:
    """One NIfTI file whose axes point left, anterior and superior."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what nibabel says of numpy while it is imported is not ours
        import nibabel

    affine = np.diag([-SPACING[0], *SPACING[1:], 1.0])
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(nibabel.Nifti1Image(volume, affine), path)


def write_scans(folder: Path, *, patients: int = 20, seed: int = 0) -> Path:
    """`scans.csv` with two scans of each patient, every second one with a lesion, and `new-scans/` with four more.

    `ages.csv` has an age of each patient instead, higher with a lesion, and `findings.csv` labels.
    """
    generator = np.random.default_rng(seed)
    rows = []
    for index in range(2 * patients):
        patient, is_lesion = index // 2, index // 2 % 2 == 1
        path = Path("scans") / f"scan-{index:02d}.nii.gz"
        write_scan(folder / path, make_volume(generator, is_lesion=is_lesion))
        rows.append((str(path), "lesion" if is_lesion else "healthy", f"p{patient:02d}"))
    with (folder / "scans.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("path", "label", "patient"), *rows])
    ages = [(path, 30 + 2.5 * int(patient[1:]) + 20 * (label == "lesion"), patient) for path, label, patient in rows]
    with (folder / "ages.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("path", "age", "patient"), *ages])
    findings = [(path, "large|bright" if label == "lesion" else "", patient) for path, label, patient in rows]
    findings = [(path, f"{cell}|old" if patient < "p05" or patient > "p14" else cell, patient)
                for path, cell, patient in findings]  # fmt: skip
    with (folder / "findings.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("path", "findings", "patient"), *findings])
    for index in range(4):
        write_scan(folder / "new-scans" / f"new-{index}.nii.gz", make_volume(generator, is_lesion=index % 2 == 1))
    return folder / "scans.csv"
