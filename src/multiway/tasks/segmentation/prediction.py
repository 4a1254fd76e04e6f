"""Masks of images nobody has labelled, on each image's own grid, one image in memory at a time."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway import files
from multiway.data.scenes import Scene, is_scene, read_scene
from multiway.data.volumes import Volume, prepare, read_cases
from multiway.errors import ConfigError, DataError, RunError
from multiway.tasks.answers import Answer, write_frame
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.segmentation.fitting import network_predictor
from multiway.tasks.segmentation.predictors import Predictor

TABLE = "volumes.csv"
SLAB = 4_000_000
"""Voxels brought back to the image's own grid at once."""


def predict_masks(run: Run, data: str | None, out: Path | None, *, keep_going: bool = False) -> Answer:
    """Write a mask per image into the folder `out`, and `volumes.csv` with the size of every class in each.

    A mask lies on the grid of its image as the file has it, whatever the run resampled to: NIfTI with the image's
    affine, or .npy where the image has none. Its values are those of the training masks.

    Args:
        run: A finished run.
        data: Folder or table of images, one image, or a scene.
        out: Folder to write into, made if need be.
        keep_going: List images that cannot be read and go on.

    Raises:
        ConfigError: `data` or `out` is missing.
        DataError: An image is not sound or has other channels than those of the training; it is named.
    """
    if data is None or out is None:
        raise ConfigError("predict: a segmentation run needs images and a folder: --data IMAGES --out FOLDER.")
    if out.exists() and not out.is_dir():
        raise RunError(f"{out} is a file. Give a folder for the masks with --out.")
    source = run.task.locate(data)
    return _predict_scene(run, source, out) if is_scene(source) else _predict_cases(run, source, out, keep_going)


def _predict_scene(run: Run, source: str, out: Path) -> Answer:
    mask = predict_scene(run, read_scene(source, run.config.read.max_bytes))
    files.make_folder(out)
    path = out / f"{Path(source).stem}.npy"
    files.write_array(path, mask)
    frame = pd.DataFrame([{"case": Path(source).stem, "file": path.name, **_sizes(run, mask, None)}])
    write_frame(frame, out / TABLE)
    return Answer(frame=frame, files=(path, out / TABLE), notes=[f"1 mask and {TABLE} written to {out}"])


def _predict_cases(run: Run, source: str, out: Path, keep_going: bool) -> Answer:
    cases = read_cases(source, run.config.read, None, same_sizes=False)
    rows: list[dict[str, Any]] = []
    failed: list[str] = []
    for index in range(cases.count):
        try:
            volume = cases.read(index)
            mask = predict_volume(run, volume)
        except DataError as error:
            if not keep_going:
                raise
            failed.append(str(error))
            continue
        files.make_folder(out)
        path = out / (cases.names[index] + (".npy" if volume.affine is None else ".nii.gz"))
        _save(path, mask, volume.affine)
        rows.append({"case": cases.names[index], "file": path.name, **_sizes(run, mask, volume.spacing)})
    frame, written = pd.DataFrame(rows), [out / row["file"] for row in rows]
    if rows:
        write_frame(frame, out / TABLE)
        written.append(out / TABLE)
    head = f"{len(rows)} masks and {TABLE} written to {out}" if rows else "no mask was written"
    return Answer(frame=frame, files=written or [out], notes=[head, *(f"left out: {reason}" for reason in failed)])


def predictor_of(run: Run, name: str) -> Predictor:
    """From an image to a class per voxel, by a model of the run."""
    model: Any = run.models[name]
    if hasattr(model, "predict"):
        return functools.partial(model.predict, scale=run.state.scale)
    return network_predictor(model, run.config, run.state)


def _network(run: Run) -> Predictor:
    return predictor_of(run, OURS)


def predict_scene(run: Run, scene: Scene) -> NDArray[Any]:
    """Mask of a whole scene, in the values of the training labels.

    Raises:
        DataError: It has other channels or axes than the training.
    """
    _check(run, scene.values, scene.source, num_modes=2)
    return _values(run, _network(run)(scene.values))


def predict_volume(run: Run, volume: Volume) -> NDArray[Any]:
    """Mask of one volume on its own grid, in the values of the training masks.

    Raises:
        DataError: It has other channels or axes than the training, or is not sound.
    """
    read = run.config.read
    is_regridded = any(option is not None for option in (read.orientation, read.spacing, read.size, read.resample_to))
    if is_regridded and volume.affine is None and read.orientation is None and read.spacing is None:
        placed = dataclasses.replace(volume, affine=np.eye(4))  # so that the way back to its grid is known
    else:
        placed = volume
    prepared = prepare(placed, read)
    _check(run, prepared.values, volume.source, num_modes=3)
    classes = _network(run)(prepared.values)
    if is_regridded and prepared.affine is not None and placed.affine is not None:
        classes = to_grid(classes, prepared.affine, volume.sizes, placed.affine)
    return _values(run, classes)


def to_grid(
    classes: NDArray[np.int64], affine: NDArray[np.float64], sizes: tuple[int, ...], wanted: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Bring classes to another grid by the nearest voxel; what lies outside is class 0.

    Args:
        classes: `(x, y, z)`.
        affine: From their voxels to millimetres.
        sizes: Of the other grid.
        wanted: From its voxels to millimetres.
    """
    matrix = np.linalg.inv(affine) @ wanted
    result = np.zeros(sizes, np.int64)
    plane = np.stack(np.meshgrid(*(np.arange(size) for size in sizes[1:]), indexing="ij")).reshape(2, -1)
    thickness = max(SLAB // max(plane.shape[1], 1), 1)
    for start in range(0, sizes[0], thickness):
        first = np.arange(start, min(start + thickness, sizes[0]))
        index = np.concatenate([np.repeat(first, plane.shape[1])[None], np.tile(plane, len(first))])
        places = np.floor(matrix[:3, :3] @ index + matrix[:3, 3:] + 0.5).astype(np.int64)
        inside = np.all((places >= 0) & (places < np.array(classes.shape)[:, None]), axis=0)
        flat = np.zeros(index.shape[1], np.int64)
        flat[inside] = classes[tuple(places[:, inside])]
        result[first[0] : first[-1] + 1] = flat.reshape(len(first), *sizes[1:])
    return result


def _check(run: Run, values: NDArray[Any], source: str, num_modes: int) -> None:
    if run.state.num_modes != num_modes or values.shape[0] != run.state.channels:
        raise DataError(
            f"{source}: the run segments images of {run.state.num_modes} axes and {run.state.channels} channels. Got "
            f"{num_modes} axes and {values.shape[0]} channels. Give images like those of the training."
        )


def _values(run: Run, classes: NDArray[np.int64]) -> NDArray[Any]:
    """Values of the training masks, in the smallest type that holds them."""
    table = np.array(run.state.values)
    kind = np.uint8 if 0 <= table.min() and table.max() <= 255 else np.int16 if abs(table).max() < 2**15 else np.int32
    return table.astype(kind)[classes]


def _sizes(run: Run, mask: NDArray[Any], spacing: tuple[float, ...] | None) -> dict[str, Any]:
    """Voxels of each class but the background, and millilitres where a spacing is known."""
    found: dict[str, Any] = {}
    for name, value in zip(run.state.classes, run.state.values, strict=True):
        if value == 0 and run.state.background:
            continue
        voxels = int((mask == value).sum())
        found[f"voxels {name}"] = voxels
        if spacing is not None:
            found[f"ml {name}"] = round(voxels * float(np.prod(spacing)) / 1000, 6)
    return found


def _save(path: Path, mask: NDArray[Any], affine: NDArray[np.float64] | None) -> None:
    if affine is None:
        files.write_array(path, mask)
        return
    from multiway.data.volumes.nifti import write_nifti

    write_nifti(path, mask, affine)
