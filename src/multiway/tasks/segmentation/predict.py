"""Masks of images nobody has labelled, on each image's own grid, one image in memory at a time."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway import files
from multiway.data.sources.scans.encoding import warn_of_spacings
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scans.nifti import write_grid
from multiway.data.sources.scans.preparing import prepare, to_scan
from multiway.data.sources.scans.volume import Array, Volume
from multiway.data.sources.scenes import AXES, Scene, is_scene, read_scene
from multiway.data.writing import write_table
from multiway.errors import ConfigError, DataError, Fix, MultiwayError, RunError
from multiway.tasks.answers import Answer
from multiway.tasks.protocol import Row
from multiway.tasks.run import Run
from multiway.tasks.segmentation.network import predictor_of
from multiway.tasks.volumes.predict import answers_by_case

TABLE = "volumes.csv"
OUT = Fix("out", like="FOLDER")


def predict_masks(
    run: Run, data: str | None, out: Path | None, *, keep_going: bool = False, progress: bool = False,
    far: bool = False,
) -> Answer:  # fmt: skip
    """Write a mask per image into the folder `out`, and `volumes.csv` with the size of every class in each.

    A mask lies on the grid of its image as the file has it, whatever the run resampled to: NIfTI with the image's
    affine, or .npy where the image has none. Its values are those of the training masks.

    With `keep_going`, images that cannot be read are listed and left out; with `far`, those are answered too that lie
    far outside the training.
    """
    if data is None or out is None:
        raise ConfigError(
            "predict: a segmentation run needs images (", Fix("data", like="IMAGES"), ") and a folder (", OUT, ")."
        )
    if out.exists() and not out.is_dir():
        raise RunError(f"{out} is a file. Give a folder for the masks (", OUT, ").")
    source = run.task.locate(data)
    if is_scene(source):
        mask, words = predict_scene(run, read_scene(source, run.config.read.max_bytes), far=far)
        return _answer(out, [_written(run, out, Path(source).stem, mask)], "1 mask", words)
    cases = read_cases(source, run.config.read, opened=False, labelled=False)
    _add_training(run)
    files.check_place(out / TABLE)
    spacings: dict[str, tuple[float, ...] | None] = {}
    told: list[str] = []

    def predict(index: int) -> Row:
        volume, name = cases.inputs.read(index), cases.names["case"][index]
        spacings[name] = cases.inputs.spacing(index)
        mask, words = predict_volume(run, volume, far=far)
        told.extend(words)
        return _written(run, out, name, mask, volume)

    rows, failed = answers_by_case(len(cases), predict, keep_going=keep_going, progress=progress)
    warn_of_spacings(spacings, run.state.spacings)
    return _answer(out, list(rows.values()), f"{len(rows)} masks", told + failed)


def _add_training(run: Run) -> None:
    """The scans of the training, as far as they are still there, are no place for masks either."""
    if run.config.data is not None:
        with contextlib.suppress(MultiwayError):
            read_cases(run.task.locate(run.config.data), run.config.read, opened=False, labelled=False)


def _written(run: Run, out: Path, name: str, mask: Array, volume: Volume | None = None) -> Row:
    """Write a mask; its row of the table."""
    path = write_grid(out, name, mask, None if volume is None else volume.affine)
    return {"case": name, "file": path.name, **_sizes(run, mask, None if volume is None else volume.spacing)}


def _answer(out: Path, rows: list[Row], written: str, told: Sequence[str] = ()) -> Answer:
    frame = pd.DataFrame(rows)
    if not rows:
        return Answer(frame=frame, files=[out], notes=["no mask was written", *told])
    write_table(frame, out / TABLE)
    paths = [*(out / row["file"] for row in rows), out / TABLE]
    return Answer(frame=frame, files=paths, notes=[f"{written} and {TABLE} written to {out}", *told])


def predict_scene(run: Run, scene: Scene, *, far: bool = False) -> tuple[Array, list[str]]:
    """Mask of a whole scene, in the values of the training labels, and how far the scene lies outside the training."""
    classes, told = _classes(run, Volume(values=scene.values, affine=None, axes=AXES, source=scene.source), far=far)
    return _values(run, classes), told


def predict_volume(run: Run, volume: Volume, *, far: bool = False) -> tuple[Array, list[str]]:
    """Mask of one volume on its own grid, in the values of the training masks, and how far it lies outside of it."""
    classes, told = _classes(run, prepare(volume, run.config.read), far=far)
    return _values(run, to_scan(classes, volume, run.config.read, nearest=True)), told


def _classes(run: Run, volume: Volume, *, far: bool) -> tuple[NDArray[np.int64], list[str]]:
    values, source = volume.values, volume.source
    num_modes = values.ndim - 1
    if run.state.num_modes != num_modes or values.shape[0] != run.state.channels:
        raise DataError(
            f"{source}: the run segments images of {run.state.num_modes} axes and {run.state.channels} channels. Got "
            f"{num_modes} axes and {values.shape[0]} channels. Give images like those of the training."
        )
    told = [f"{source}: {words}" for words in run.guarded(volume, source, far=far)]
    return predictor_of(run, run.answer.name)(values), told


def _values(run: Run, classes: NDArray[np.int64]) -> Array:
    """Values of the training masks, in the smallest type that holds them."""
    table = np.array(run.state.values)
    kind = np.uint8 if 0 <= table.min() and table.max() <= 255 else np.int16 if abs(table).max() < 2**15 else np.int32
    return table.astype(kind)[classes]


def _sizes(run: Run, mask: Array, spacing: tuple[float, ...] | None) -> Row:
    """Voxels of each class but the background, and millilitres where a spacing is known."""
    sizes: Row = {}
    for name, value in zip(run.state.classes, run.state.values, strict=True):
        if value == 0 and run.state.background:
            continue
        voxels = int((mask == value).sum())
        sizes[f"voxels {name}"] = voxels
        if spacing is not None:
            sizes[f"ml {name}"] = round(voxels * float(np.prod(spacing)) / 1000, 6)
    return sizes
