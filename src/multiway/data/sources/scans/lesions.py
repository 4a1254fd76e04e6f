"""A segmentation set made from real volumes: smooth lesions painted into them, with exact masks.

What is real is the anatomy of the source and its split by cases; tissue, lesions and noise are drawn. A lesion is a
rough ellipsoid that touches the body; distractors are drawn from the same distribution of size, brightness and
texture, but lie away from it and are no target. So no threshold and no local texture tells the two apart, and a
model has to see where in the body it is. One case in ten or so has no lesion.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from multiway import files, leftovers
from multiway.config import Config
from multiway.data.findings import quote
from multiway.data.options import VolumeSplit
from multiway.data.sources.scans.cases import Cases
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scans.nifti import write_nifti
from multiway.data.splitting import split as split_cases
from multiway.data.writing import write_table
from multiway.errors import RunError

Field3 = NDArray[np.float64]
TABLE = "cases.csv"
FACTS = "lesions.json"
CACHED = (400, 60, 298)
"""Cases of the set in the cache: what two networks can learn from in minutes on two cores."""
TRIES = 50
"""Places tried for a blob before it is left out."""


class LesionOptions(Config):
    """What is painted; brightness runs from 0 to 1."""

    seed: int = Field(0, ge=0)
    lesions: tuple[float, ...] = (0.1, 0.5, 0.4)
    """Probabilities of 0, 1, 2 ... lesions in a case."""
    distractors: tuple[float, ...] = (0.2, 0.4, 0.4)
    """Probabilities of 0, 1, 2 ... distractors in a case."""
    radius: tuple[float, float] = (2.0, 4.0)
    """Least and greatest half axis of a blob, in voxels, each of the three drawn by itself."""
    roughness: float = Field(0.25, ge=0, lt=1)
    """Deviation of a blob's surface from an ellipsoid, over its half axis."""
    body: float = 0.7
    """Brightness of the source's own structure."""
    tissue: float = 0.12
    """Brightness around it."""
    lesion: float = 0.45
    """Brightness of lesions and distractors."""
    contrast_spread: float = Field(0.05, ge=0)
    """Standard deviation of that brightness from blob to blob."""
    noise: float = Field(0.08, ge=0)
    """Standard deviation of the texture."""
    format: Literal["nii.gz", "npy"] = "nii.gz"
    """NIfTI needs the `volumes` extra."""
    limits: tuple[int | None, int | None, int | None] = (None, None, None)
    """Most cases of train, validation and test to use, the first ones of each; all if not given."""


def make_lesions(cases: Cases, out: Path, options: LesionOptions | None = None) -> Path:
    """Write images, masks and the table `cases.csv` (path, mask, split, patient) into a new folder.

    Each case is drawn from the seed and its own position, so fewer cases are the same cases.

    Args:
        cases: Volumes with splits; their first channel is used.
        out: Folder to make; it appears when it is whole.
        options: What to paint.

    Returns:
        The path of the table.

    Raises:
        DataError: A volume is not sound, or there are too few cases to split.
        RunError: `out` exists already, or cannot be written; nothing is left then.
    """
    options = options or LesionOptions()
    if out.exists():
        raise RunError(f"{out} exists already. Choose another folder, or remove it.")
    leftovers.remove(out)
    rows, voxels, names = [], 0, cases.names["case"]
    splits = split_cases(cases, VolumeSplit())
    chosen = [
        (split, row) for split, limit in zip(splits, options.limits, strict=True) for row in splits[split][:limit]
    ]
    with files.all_or_nothing():
        files.make_folder(out.parent)
        with files.atomic_folder(out) as folder:
            for name in ("images", "masks"):
                files.make_folder(folder / name)
            for split, index in chosen:
                volume = cases.inputs.prepare(index)
                image, mask = paint_lesions(volume.values[0], options, int(index))
                name = f"{names[index]}.{options.format}"
                for kind, values in (("images", image), ("masks", mask)):
                    if options.format == "npy":
                        files.write_array(folder / kind / name, values)
                    else:
                        write_nifti(folder / kind / name, values, volume.affine)
                rows.append((f"images/{name}", f"masks/{name}", split, (cases.groups or names)[index]))
                voxels += int(mask.sum())
            write_table(pd.DataFrame(rows, columns=["path", "mask", "split", "patient"]), folder / TABLE)
            facts = {"source": quote(cases.source, 200), "cases": len(rows), "lesion_voxels": voxels}
            files.write_text(folder / FACTS, json.dumps({**facts, "options": options.plain()}, indent=1) + "\n")
    return out / TABLE


def paint_lesions(
    volume: NDArray[Any], options: LesionOptions, index: int = 0
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Image and lesion mask of one volume, `(size, size, size)` both; the mask is 1 in lesions.

    The body are the voxels of at least half the greatest value. A volume without one gets no lesion.
    """
    draw = np.random.default_rng([options.seed, index])
    values = volume.astype(np.float64) - float(volume.min())
    body = values / values.max() if values.max() > 0 else values
    near = _smooth(body, 0.7)
    far = _smooth(body, 2.0) < 0.02
    image = options.tissue + (options.body - options.tissue) * near + options.noise * _texture(draw, values.shape, 1.2)
    is_body = body >= 0.5
    distractors = _blobs(draw, options.distractors, far, options, lambda blob: bool(far[blob].all()))
    lesions = _blobs(draw, options.lesions, is_body, options, lambda blob: bool(is_body[blob].any()))
    mask = np.zeros(values.shape, np.uint8)
    for blob, is_lesion in [(blob, False) for blob in distractors] + [(blob, True) for blob in lesions]:
        brightness = options.lesion + options.contrast_spread * draw.standard_normal()
        image[blob] = (brightness + options.noise * _texture(draw, values.shape, 0.5))[blob]
        mask[blob] = is_lesion
    return np.clip(np.rint(255 * image), 0, 255).astype(np.uint8), mask


def _blobs(
    draw: np.random.Generator,
    chances: tuple[float, ...],
    allowed: NDArray[np.bool_],
    options: LesionOptions,
    fits: Callable[[NDArray[np.bool_]], bool],
) -> list[NDArray[np.bool_]]:
    """As many blobs as the chances say, centred on allowed voxels, that fit; fewer where there is no room."""
    centres = np.argwhere(allowed)
    count = int(draw.choice(len(chances), p=np.array(chances) / sum(chances)))
    blobs: list[NDArray[np.bool_]] = []
    for _ in range(TRIES):
        if len(blobs) == count or not len(centres):
            break
        blob = _blob(draw, allowed.shape, centres[draw.integers(len(centres))], options)
        if fits(blob):
            blobs.append(blob)
    return blobs


def _blob(
    draw: np.random.Generator, sizes: tuple[int, ...], centre: NDArray[np.int64], options: LesionOptions
) -> NDArray[np.bool_]:
    """A rough ellipsoid about a centre; its own voxel always belongs to it."""
    radii = draw.uniform(*options.radius, len(sizes))
    grid = np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij")
    far = np.sqrt(sum(((axis - at) / radius) ** 2 for axis, at, radius in zip(grid, centre, radii, strict=True)))
    rough = options.roughness * _texture(draw, sizes, 1.5)
    blob = (far + np.clip(rough, -0.5, 0.5) < 1) & (far < 1.5)
    blob[tuple(centre)] = True
    return np.asarray(blob)


def _texture(draw: np.random.Generator, sizes: tuple[int, ...], width: float) -> Field3:
    """Smooth noise of mean 0 and deviation 1."""
    noise = _smooth(draw.standard_normal(sizes), width)
    return np.asarray((noise - noise.mean()) / noise.std())


def _smooth(values: Field3, width: float) -> Field3:
    """Convolve with a Gaussian of this deviation in voxels, edges joined."""
    spectrum = np.fft.fftn(values)
    for axis, size in enumerate(values.shape):
        shape = [-1 if axis == other else 1 for other in range(values.ndim)]
        spectrum *= np.exp(-2 * (np.pi * width * np.fft.fftfreq(size)) ** 2).reshape(shape)
    return np.asarray(np.fft.ifftn(spectrum).real)


def cache_lesions(source: Path, cache: Path) -> Path:
    """Table of the lesion set of a source, made in a cache on first use."""
    folder = cache / f"lesions-{source.stem}"
    if not (folder / TABLE).is_file():
        make_lesions(read_cases(source, opened=False), folder, LesionOptions(format="npy", limits=CACHED))
    return folder / TABLE
