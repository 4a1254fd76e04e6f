"""Classes of scans that nobody has labelled; one volume in memory."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from multiway import leftovers
from multiway.data.volumes import Cases, read_cases
from multiway.data.writing import check_target
from multiway.errors import ConfigError, DataError
from multiway.metrics.classes import predicted_classes
from multiway.tasks.answers import Answer, written
from multiway.tasks.classes import class_values, probability_frame, thresholds_of
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.volumes.evaluation import Probabilities, probabilities_of
from multiway.tasks.volumes.explanation import explain_case, write_maps
from multiway.terminal import TerminalBar
from multiway.training.devices import best_device

MAX_LISTED = 20
Found = TypeVar("Found")


def predict_scans(run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
    """The class of every scan of a folder, a table, one scan or a MedMNIST .npz.

    Args:
        run: A finished run.
        data: Where the scans are.
        out: A .csv, .csv.gz, .parquet or .xlsx.
        options: `maps`, a folder for maps of what the network looked at, as NIfTI; `keep_going`, list scans that
            cannot be used, and go on; `progress`, show a bar.

    Raises:
        ConfigError: No data was given, or the ending of `out` is unknown.
        DataError: A scan is not sound or of another size than the training's; it is named.
    """
    if data is None:
        raise ConfigError("predict: a run of volumes needs scans. Give a folder, a table or a file with --data.")
    check_target(out)
    maps = None if options.get("maps") is None else Path(options["maps"])
    leftovers.remove(maps)
    cases = read_cases(run.task.locate(data), run.config.read, same_sizes=False)
    frame, failed = predict_cases(
        run, cases, maps=maps, keep_going=bool(options.get("keep_going", False)),
        progress=bool(options.get("progress", False)),
    )  # fmt: skip
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
        found, failed = each_case(cases, predict, keep_going=keep_going, progress=progress)
    if not found:
        raise DataError(
            f"{cases.source}: none of {cases.count} scans can be used. {failed[0] if failed else ''}".strip()
        )
    return _table(run, cases, found), failed


def each_case(
    cases: Cases, answer: Callable[[int], Found], *, keep_going: bool, progress: bool = False
) -> tuple[dict[int, Found], list[str]]:
    """Answers by the place of their case, and why the other cases were left out; a bar says how far it is.

    Raises:
        DataError: A case cannot be used and `keep_going` is not set.
    """
    found: dict[int, Found] = {}
    failed: list[str] = []
    with contextlib.closing(TerminalBar("predicting", cases.count, progress)) as bar:
        for index in range(cases.count):
            try:
                found[index] = answer(index)
            except DataError as error:
                if not keep_going:
                    raise
                failed.append(f"left out: {error}")
            bar.update(completed=index + 1)
    return found, failed


def _table(run: Run, cases: Cases, found: dict[int, Probabilities]) -> pd.DataFrame:
    outputs, names = np.stack(list(found.values())), class_values(run.state.classes)
    threshold = thresholds_of(run.calibration, [OURS])[OURS]
    columns: dict[str, Any] = {"case": [cases.names[row] for row in found]}
    if cases.patients is not None:
        columns["patient"] = [cases.patients[row] for row in found]
    columns["predicted"] = names[predicted_classes(outputs)]
    if threshold is not None:
        columns["predicted_at_threshold"] = names[predicted_classes(outputs, threshold)]
    return pd.concat([pd.DataFrame(columns), probability_frame(outputs, run.state.classes)], axis=1)
