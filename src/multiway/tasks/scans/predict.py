"""Answers to scans that nobody has labelled, one in memory at a time: classes of cases, or masks on their own grids."""

import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

from multiway import files, leftovers
from multiway.config import Plain
from multiway.data.findings import quote
from multiway.data.sources.scans.cases import Cases
from multiway.data.sources.scans.dicom_seg import write_dicom_seg
from multiway.data.sources.scans.grids import prepare, to_file
from multiway.data.sources.scans.intensity import warn_of_spacings
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scans.nifti import write_grid
from multiway.data.sources.scans.reading import format_of
from multiway.data.sources.scans.volume import Array, Volume
from multiway.data.sources.scenes import is_scene, read_scene
from multiway.data.writing import write_table
from multiway.errors import ConfigError, DataError, Fix, MultiwayError
from multiway.metrics.classes import predicted_classes
from multiway.metrics.confidence import class_sets
from multiway.tasks.answers import Answer, write_answer
from multiway.tasks.protocol import Row
from multiway.tasks.run import Run
from multiway.tasks.sample_task import find_later
from multiway.tasks.scans.explain import explain_case, write_maps
from multiway.tasks.scans.networks import Outputs, output_of, predictor_of
from multiway.tasks.target_task import mix_answer
from multiway.tasks.targets import answer_frame, class_values, few_note, limits_of, probability_frame, thresholds_of
from multiway.terminal import TerminalBar
from multiway.training.processes import best_device

MAX_LISTED = 20
TABLE = "volumes.csv"
OUT = Fix("out", like="FOLDER")
AnswerT = TypeVar("AnswerT")


def answer_cases(
    count: int, answer: Callable[[int], AnswerT], *, keep_going: bool, progress: bool = False
) -> tuple[dict[int, AnswerT], list[str]]:
    """Answers by the index of their case, and why the other cases were left out; a bar says how far it is."""
    answers: dict[int, AnswerT] = {}
    failed: list[str] = []
    with contextlib.closing(TerminalBar("predicting", count, progress)) as bar:
        for index in range(count):
            try:
                answers[index] = answer(index)
            except DataError as error:
                if not keep_going:
                    raise
                failed.append(f"left out: {error}")
            bar.update(completed=index + 1)
    return answers, failed


def predict_classes(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """The class or number of every scan of a folder, a table, one scan or a MedMNIST .npz.

    `options`: `maps`, a folder for maps of what the network looked at, whichever model answers, as NIfTI; `keep_going`,
    list scans that cannot be used, and go on; `progress`, show a bar; `far`, answer what lies far outside too.
    """
    path = find_later(run.task, data, out)
    maps = None if options.get("maps") is None else Path(options["maps"])
    files.check_place(maps)
    leftovers.remove(maps)
    cases = read_cases(path, run.config.read, opened=False, labelled=False)
    flags = {name: bool(options.get(name, False)) for name in ("keep_going", "progress", "far")}
    with contextlib.nullcontext() if maps is None else files.atomic_folder(maps, replace=True) as made:
        frame, lines = predict_cases(run, cases, maps=made, **flags)
    more = len(lines) - MAX_LISTED
    notes = [] if maps is None else [f"maps written to {maps}"]
    if run.state.kind == "classes":
        notes += few_note(limits_of(run.tables, run.answer.name, run.state.classes), run.state.classes)
    notes += [*lines[:MAX_LISTED], *([f"and {more} more of them"] if more > 0 else [])]
    return write_answer(frame, out, notes)


def predict_cases(
    run: Run,
    cases: Cases,
    *,
    maps: Path | None = None,
    keep_going: bool = False,
    progress: bool = False,
    far: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Answer to each case; which lie far outside the training, and why others were left out.

    Columns `case, patient, predicted`, where `patient` is there if known. Of classes also `predicted_at_threshold`,
    `p_CLASS, ..., set`: the first for two classes, by the threshold chosen on validation. `set` has the classes that
    the case may have, by validation.
    """

    def predict(index: int) -> Outputs:
        volume = cases.inputs.prepare(index)
        lines.extend(f"{volume.source}: {words}" for words in run.check_far(volume, volume.source, far=far))
        outputs = {name: output_of(run, model, volume)[None] for name, model in members.items()}
        if maps is not None:
            write_maps(maps, explain_case(run, cases, index, deletion=False), cases.inputs, index)
        return np.asarray(mix_answer(run, outputs)[0])

    lines: list[str] = []
    members = {name: run.for_prediction.models[name] for name in run.answer.shares}
    with contextlib.ExitStack() as moved:
        for model in members.values():
            moved.enter_context(best_device(model))
        answers, failed = answer_cases(len(cases), predict, keep_going=keep_going, progress=progress)
    if not answers:
        raise DataError(
            f"{cases.source}: none of {len(cases)} scans can be used. {failed[0] if failed else ''}".strip()
        )
    outputs, classes = np.stack(list(answers.values())), run.state.classes
    frame = pd.DataFrame({name: [column[row] for row in answers] for name, column in cases.names.items()})
    if run.state.kind != "classes":
        said = answer_frame(outputs, classes, several=run.state.several)
        return pd.concat([frame, said], axis=1), lines + failed
    names, threshold = class_values(classes), thresholds_of(run.calibration, [run.answer.name])[run.answer.name]
    frame["predicted"] = names[predicted_classes(outputs)]
    if threshold is not None:
        frame["predicted_at_threshold"] = names[predicted_classes(outputs, threshold)]
    frame = pd.concat([frame, probability_frame(outputs, classes)], axis=1)
    inside = class_sets(outputs, limits_of(run.tables, run.answer.name, classes))
    frame["set"] = [" | ".join(itertools.compress(classes, row)) for row in inside]
    return frame, lines + failed


def predict_masks(run: Run, data: str | None, out: Path | None, flags: Plain) -> Answer:
    """Write a mask per image into the folder `out`, and `volumes.csv` with the size of every class in each.

    A mask lies on the grid of its image as the file has it, whatever the run resampled to: NIfTI with the image's
    affine, or .npy where the image has none. Its values are those of the training masks.

    `flags`: with `keep_going`, images that cannot be read are listed and left out; with `progress`, a bar is shown;
    with `far`, those are answered too that lie far outside the training; with `dicom_seg`, each image is a DICOM series
    and its mask is written as an object of its study too.
    """
    far, keep_going, progress = (bool(flags.get(name)) for name in ("far", "keep_going", "progress"))
    if data is None or out is None:
        raise ConfigError(
            "predict: a segmentation run needs images (", Fix("data", like="IMAGES"), ") and a folder (", OUT, ")."
        )
    source, options, lines = run.task.locate(data), run.config.read, list[str]()
    spacings, objects = dict[str, tuple[float, ...] | None](), list[Path]()

    def predict(index: int) -> Row:
        volume, name, file = cases.inputs.read(index), cases.names["case"][index], cases.inputs.file(index)
        spacings[name] = cases.inputs.spacing(index)
        mask, words = predict_mask(run, volume, far=far)
        lines.extend(words)
        if flags.get("dicom_seg"):
            objects.append(_write_object(run, made, name, mask, file))
        return _write_mask(run, made, name, mask, volume)

    if is_scene(source):
        image = read_scene(source, options.max_bytes).image
    else:
        cases = read_cases(source, options, opened=False, labelled=False)
        if run.config.data is not None:  # the scans of the training are no place for masks, as far as they are there
            with contextlib.suppress(MultiwayError):
                read_cases(run.task.locate(run.config.data), options, opened=False, labelled=False)
    with files.atomic_folder(out, replace=True) as made:
        if is_scene(source):
            mask, lines = predict_mask(run, image, far=far)
            rows = [_write_mask(run, made, Path(source).stem, mask, image)]
        else:
            answers, failed = answer_cases(len(cases), predict, keep_going=keep_going, progress=progress)
            warn_of_spacings(spacings, run.state.spacings)
            rows, lines = list(answers.values()), lines + failed
        frame = pd.DataFrame(rows)
        if rows:
            write_table(frame, made / TABLE)
    if not rows:
        return Answer(frame=frame, files=[out], notes=["no mask was written", *lines])
    counted = "1 mask" if is_scene(source) else f"{len(rows)} masks"
    paths = [*(made / row["file"] for row in rows), made / TABLE, *objects]
    notes = [f"{counted} and {TABLE} written to {out}", *lines]
    return Answer(frame=frame, files=paths, notes=notes).within(out)


def _write_object(run: Run, out: Path, name: str, mask: Array, file: Path | None) -> Path:
    """Write the mask of a DICOM series as a DICOM-SEG object."""
    if file is None or format_of(file) != "dicom":
        shown = "an array" if file is None else quote(file.name, 80)
        raise DataError(f"{shown}: a DICOM-SEG object belongs to a DICOM series. Give series, or leave out dicom_seg.")
    state, path = run.state, out / f"{name}.dcm"
    names = dict(zip(state.values, state.classes, strict=True))
    segments = {value: title for value, title in names.items() if value != 0 or not state.background}
    write_dicom_seg(path, mask, file, segments, run.config.read.series)
    return path


def _write_mask(run: Run, out: Path, name: str, mask: Array, image: Volume) -> Row:
    """Write a mask; its file, voxels of each class but the background, and millilitres where a spacing is known."""
    row: Row = {"case": name, "file": write_grid(out, name, mask, image.affine).name}
    for title, value in zip(run.state.classes, run.state.values, strict=True):
        if value == 0 and run.state.background:
            continue
        voxels = int((mask == value).sum())
        row[f"voxels {title}"] = voxels
        if image.spacing is not None:
            row[f"ml {title}"] = round(voxels * float(np.prod(image.spacing)) / 1000, 6)
    return row


def predict_mask(run: Run, image: Volume, *, far: bool = False) -> tuple[Array, list[str]]:
    """Mask of a volume or a scene on its own grid, in the values of the training masks.

    The other part of the answer are lines on how far the image lies outside the training.
    """
    options, state, num_modes = run.config.read, run.state, len(image.axes)
    seen = prepare(image, options) if num_modes == 3 else image
    if state.num_modes != num_modes or seen.channels != state.channels:
        raise DataError(
            f"{image.source}: the run segments images of {state.num_modes} axes and {state.channels} channels. Got "
            f"{num_modes} axes and {seen.channels} channels. Give images like those of the training."
        )
    lines = [f"{image.source}: {words}" for words in run.check_far(seen, image.source, far=far)]
    classes = predictor_of(run, run.answer.name)(seen.values)
    if num_modes == 3:
        classes = to_file(classes, image.header, options, image.source, nearest=True)
    values = np.array(state.values)
    small = np.int16 if abs(values).max() < 2**15 else np.int32
    return values.astype(np.uint8 if 0 <= values.min() and values.max() <= 255 else small)[classes], lines
