"""Class probabilities of cases: scored where they are labelled, answered where nobody has labelled them."""

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import nn

from multiway import leftovers
from multiway.config import Plain
from multiway.data.sources.scans.cases import Cases
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scans.volume import Volume
from multiway.errors import DataError
from multiway.metrics import resampling
from multiway.metrics.classes import predicted_classes
from multiway.tasks.answers import Answer, written
from multiway.tasks.protocol import OURS, Row
from multiway.tasks.run import Run
from multiway.tasks.targets import Predictions, class_metrics, class_values, probability_frame, thresholds_of
from multiway.tasks.volumes.encode import PreparedVolumes
from multiway.tasks.volumes.explain import explain_case, write_maps
from multiway.tasks.volumes.network import Probabilities, all_probabilities, scan_probabilities
from multiway.terminal import TerminalBar
from multiway.training.devices import best_device

MAX_LISTED = 20
AnswerT = TypeVar("AnswerT")


@dataclasses.dataclass(frozen=True, kw_only=True)
class VolumePredictions(Predictions):
    """Cases with the probabilities of every model.

    thresholds: Of the second of two classes, by model, chosen on validation.
    """

    thresholds: dict[str, float | None]

    def scores(self, split: str, draws: int) -> list[Row]:
        """One row per model and metric: value, and its 95 % interval over cases, or over patients where known.

        A value is None where it is undefined. Every model and seed is measured on the same draws.
        """
        units = None if self.groups is None else np.array(self.groups, dtype=str)
        rows: list[Row] = []
        for model, threshold in self.thresholds.items():
            metrics = class_metrics(threshold)
            scores = resampling.score_rows(metrics, self.truth, self.outputs[model], units=units, draws=draws)
            rows += [{"model": model, "split": split, **row} for row in scores]
        return rows


def predict_split(run: Run, prepared: PreparedVolumes, split: str) -> VolumePredictions:
    """What every model says of the cases of a split."""
    cases, rows = prepared.cases, prepared.rows(split)
    if prepared.store is None:
        outputs = _one_by_one(run, cases, rows)
    else:
        source = prepared.part(split)
        outputs = {name: all_probabilities(model, source, run.config) for name, model in run.models.items()}
    patients = None if cases.patients is None else tuple(cases.patients[row] for row in rows)
    names = {"case": tuple(cases.names[row] for row in rows), "patient": patients or (None,) * len(rows)}
    return VolumePredictions(
        samples=names, names=run.state.classes, truth=prepared.labels[rows], outputs=outputs, groups=patients,
        thresholds=thresholds_of(run.calibration, list(run.models)),
    )  # fmt: skip


def _one_by_one(run: Run, cases: Cases, rows: NDArray[np.int64]) -> dict[str, Probabilities]:
    """Probabilities of cases that are read one at a time, `(cases, classes)` by model."""
    outputs: dict[str, list[Probabilities]] = {name: [] for name in run.models}
    with contextlib.ExitStack() as moved:
        for model in run.models.values():
            moved.enter_context(best_device(model))
        for row in rows:
            volume = cases.prepared(int(row))
            for name, model in run.models.items():
                outputs[name].append(probabilities_of(run, model, volume))
    return {name: np.stack(parts) for name, parts in outputs.items()}


def probabilities_of(run: Run, model: nn.Module, volume: Volume) -> Probabilities:
    """Class probabilities of one prepared volume, `(classes,)`.

    Raises:
        DataError: It is of another size than the training's, or the network gives no finite number.
    """
    output = np.asarray(scan_probabilities(model.eval(), run.state.normalised(volume), run.config)[0].numpy())
    if not np.isfinite(output).all():
        raise DataError(f"{volume.source}: the network gives no finite number. Look at the scan's intensities.")
    return output


def predict_scans(run: Run, path: str, out: Path | None, options: Plain) -> Answer:
    """The class of every scan of a folder, a table, one scan or a MedMNIST .npz.

    Args:
        run: A finished run.
        path: Where the scans are.
        out: A .csv, .csv.gz, .parquet or .xlsx.
        options: `maps`, a folder for maps of what the network looked at, as NIfTI; `keep_going`, list scans that
            cannot be used, and go on; `progress`, show a bar.

    Raises:
        DataError: A scan is not sound or of another size than the training's; it is named.
    """
    maps = None if options.get("maps") is None else Path(options["maps"])
    leftovers.remove(maps)
    cases = read_cases(path, run.config.read, same_sizes=False)
    flags = {name: bool(options.get(name, False)) for name in ("keep_going", "progress")}
    frame, failed = predict_cases(run, cases, maps=maps, **flags)
    more = len(failed) - MAX_LISTED
    notes = [] if maps is None else [f"maps written to {maps}"]
    notes += [*failed[:MAX_LISTED], *([f"and {more} more were left out"] if more > 0 else [])]
    return written(frame, out, notes)


def predict_cases(
    run: Run, cases: Cases, *, maps: Path | None = None, keep_going: bool = False, progress: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    """Class and probabilities of each case, and why the cases that are not in the table were left out.

    Columns `case, patient, predicted, predicted_at_threshold, p_CLASS, ...`: `patient` is there if known, and
    `predicted_at_threshold` for two classes, by the threshold chosen on validation.

    Raises:
        DataError: A scan cannot be used and `keep_going` is not set, or none can be.
    """

    def predict(index: int) -> Probabilities:
        outputs = probabilities_of(run, run.model, cases.prepared(index))
        if maps is not None:
            write_maps(maps, explain_case(run, cases, index, deletion=False), cases, index)
        return outputs

    with best_device(run.model):
        outputs, failed = answers_by_case(cases, predict, keep_going=keep_going, progress=progress)
    if not outputs:
        raise DataError(
            f"{cases.source}: none of {cases.count} scans can be used. {failed[0] if failed else ''}".strip()
        )
    return _table(run, cases, outputs), failed


def answers_by_case(
    cases: Cases, answer: Callable[[int], AnswerT], *, keep_going: bool, progress: bool = False
) -> tuple[dict[int, AnswerT], list[str]]:
    """Answers by the index of their case, and why the other cases were left out; a bar says how far it is.

    Raises:
        DataError: A case cannot be used and `keep_going` is not set.
    """
    answers: dict[int, AnswerT] = {}
    failed: list[str] = []
    with contextlib.closing(TerminalBar("predicting", cases.count, progress)) as bar:
        for index in range(cases.count):
            try:
                answers[index] = answer(index)
            except DataError as error:
                if not keep_going:
                    raise
                failed.append(f"left out: {error}")
            bar.update(completed=index + 1)
    return answers, failed


def _table(run: Run, cases: Cases, probabilities_by_case: dict[int, Probabilities]) -> pd.DataFrame:
    outputs, names = np.stack(list(probabilities_by_case.values())), class_values(run.state.classes)
    threshold = thresholds_of(run.calibration, [OURS])[OURS]
    columns: Plain = {"case": [cases.names[row] for row in probabilities_by_case]}
    if cases.patients is not None:
        columns["patient"] = [cases.patients[row] for row in probabilities_by_case]
    columns["predicted"] = names[predicted_classes(outputs)]
    if threshold is not None:
        columns["predicted_at_threshold"] = names[predicted_classes(outputs, threshold)]
    return pd.concat([pd.DataFrame(columns), probability_frame(outputs, run.state.classes)], axis=1)
