"""Classes of scans that nobody has labelled, and scores on labelled ones that came later; one volume in memory."""

import contextlib
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch import nn

from multiway.data.volumes import Cases, Volume, read_cases
from multiway.errors import ConfigError, DataError
from multiway.metrics.classes import predicted_classes
from multiway.tasks.tables import check_target, write_frame
from multiway.tasks.volumes.evaluation import (
    Probabilities,
    best_device,
    cases_of,
    probabilities,
    probability_frame,
    score_rows,
    to_input,
)
from multiway.tasks.volumes.fitting import OURS
from multiway.tasks.volumes.prepared import locate
from multiway.tasks.volumes.run import VolumeRun, baselines_of

MAX_LISTED = 20


@dataclasses.dataclass(kw_only=True)
class Predicted:
    """A table of classes, and why the cases that are not in it were left out."""

    frame: pd.DataFrame
    failed: list[str]


def predict_scans(
    run: VolumeRun,
    data: str | None,
    out: Path | None,
    *,
    maps: Path | None = None,
    keep_going: bool = False,
) -> list[str]:
    """Write a table of the class of every scan; return what the user reads.

    Args:
        run: A finished run.
        data: A folder or table of scans, one scan, or a MedMNIST .npz.
        out: A .csv, .csv.gz or .parquet; the rows themselves are returned if not given.
        maps: Folder for maps of what the network looked at, as NIfTI.
        keep_going: List scans that cannot be used, and go on.

    Raises:
        ConfigError: No data was given, or the ending of `out` is unknown.
        DataError: A scan is not sound or of another size than the training's; it is named.
    """
    if data is None:
        raise ConfigError("predict: a run of volumes needs scans. Give a folder, a table or a file with --data.")
    if out is not None:
        check_target(out)
    cases = read_cases(locate(data), run.config.read, same_sizes=False)
    found = predict_cases(run, cases, maps=maps, keep_going=keep_going)
    lines = _written(found.frame, out) + ([] if maps is None else [f"maps written to {maps}"])
    more = len(found.failed) - MAX_LISTED
    return [*lines, *found.failed[:MAX_LISTED], *([f"and {more} more were left out"] if more > 0 else [])]


def _written(frame: pd.DataFrame, out: Path | None) -> list[str]:
    if out is None:
        return [frame.to_csv(index=False).rstrip()]
    write_frame(frame, out)
    return [f"{len(frame)} rows written to {out}"]


def predict_cases(run: VolumeRun, cases: Cases, *, maps: Path | None = None, keep_going: bool = False) -> Predicted:
    """Class and probabilities of each case: `case, patient, predicted, predicted_at_threshold, p_CLASS, ...`.

    `patient` is there if known, and `predicted_at_threshold` for two classes, by the threshold chosen on validation.

    Raises:
        DataError: A scan cannot be used and `keep_going` is not set, or none can be.
    """
    rows, found, failed = [], [], []
    with _on_best_device(run.model):
        for index in range(cases.count):
            try:
                found.append(_probabilities(run, run.model, cases.prepared(index)))
            except DataError as error:
                if not keep_going:
                    raise
                failed.append(f"left out: {error}")
                continue
            rows.append(index)
            if maps is not None:
                _write_maps(run, cases, index, maps)
    if not rows:
        raise DataError(
            f"{cases.source}: none of {cases.count} scans can be used. {failed[0] if failed else ''}".strip()
        )
    return Predicted(frame=prediction_table(run, cases, rows, np.stack(found)), failed=failed)


def prediction_table(run: VolumeRun, cases: Cases, rows: Sequence[int], found: Probabilities) -> pd.DataFrame:
    """The table of `predict_cases`."""
    names = np.array(run.classes, dtype=object)
    columns: dict[str, Any] = {"case": [cases.names[row] for row in rows]}
    if cases.patients is not None:
        columns["patient"] = [cases.patients[row] for row in rows]
    columns["predicted"] = names[predicted_classes(found)]
    if run.threshold is not None:
        columns["predicted_at_threshold"] = names[predicted_classes(found, run.threshold)]
    return pd.concat([pd.DataFrame(columns), probability_frame(found, run.classes)], axis=1)


def evaluate_cases(run: VolumeRun, cases: Cases, split: str) -> list[dict[str, Any]]:
    """Scores of the network and its baselines on labelled cases, with thresholds as they were chosen.

    Raises:
        DataError: There are no labels, a label is none of the run's classes, or a scan cannot be used.
    """
    if cases.labels is None:
        raise DataError(f"{cases.source}: scores need labels, and there are none. Name their column (read.label).")
    known = cases.with_classes(run.classes)
    rows = known.splits.get(split, np.arange(known.count))
    models = {OURS: run.model, **baselines_of(run)}
    found: dict[str, list[Probabilities]] = {name: [] for name in models}
    with contextlib.ExitStack() as moved:
        for model in models.values():
            moved.enter_context(_on_best_device(model))
        for row in rows:
            volume = known.prepared(int(row))
            for name, model in models.items():
                found[name].append(_probabilities(run, model, volume))
    scored = cases_of(known, rows, {name: np.stack(each) for name, each in found.items()})
    return score_rows(scored, split, run.thresholds, run.config.draws)


def evaluate_data(run: VolumeRun, data: str, split: str) -> list[dict[str, Any]]:
    """`evaluate_cases` on the split of that name, if the data has splits of its own, else on all of it."""
    return evaluate_cases(run, read_cases(locate(data), run.config.read, same_sizes=False), split)


def _probabilities(run: VolumeRun, model: nn.Module, volume: Volume) -> Probabilities:
    x = to_input(volume, run.scale, run.channels, run.sizes)
    found = np.asarray(probabilities(model.eval(), x, run.config)[0].numpy())
    if not np.isfinite(found).all():
        raise DataError(f"{volume.source}: the network gives no finite number. Look at the scan's intensities.")
    return found


class _on_best_device:
    """Within this block the model is where prediction is fast."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def __enter__(self) -> None:
        """Move it."""
        self.model.to(best_device())

    def __exit__(self, *what: object) -> None:
        """Move it back."""
        self.model.to("cpu")


def _write_maps(run: VolumeRun, cases: Cases, index: int, folder: Path) -> None:
    from multiway.tasks.volumes.explanation_files import write_maps

    write_maps(run, cases, index, folder)
