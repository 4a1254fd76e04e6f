"""Class probabilities of cases that nobody has labelled, one at a time."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

from multiway import files, leftovers
from multiway.config import Plain
from multiway.data.sources.scans.cases import Cases
from multiway.data.sources.scans.loading import read_cases
from multiway.errors import DataError
from multiway.metrics.classes import predicted_classes
from multiway.tasks.answers import Answer, write_answer
from multiway.tasks.run import Run
from multiway.tasks.targets import class_values, probability_frame, thresholds_of
from multiway.tasks.volumes.explain import explain_case, write_maps
from multiway.tasks.volumes.network import Probabilities, probabilities_of
from multiway.terminal import TerminalBar
from multiway.training.processes import best_device

MAX_LISTED = 20
AnswerT = TypeVar("AnswerT")


def predict_scans(run: Run, path: str, out: Path | None, options: Plain) -> Answer:
    """The class of every scan of a folder, a table, one scan or a MedMNIST .npz.

    `options`: `maps`, a folder for maps of what the network looked at, whichever model answers, as NIfTI; `keep_going`,
    list scans that cannot be used, and go on; `progress`, show a bar; `far`, answer what lies far outside too.
    """
    maps = None if options.get("maps") is None else Path(options["maps"])
    files.check_place(maps)
    leftovers.remove(maps)
    cases = read_cases(path, run.config.read, opened=False, labelled=False)
    flags = {name: bool(options.get(name, False)) for name in ("keep_going", "progress", "far")}
    frame, told = predict_cases(run, cases, maps=maps, **flags)
    more = len(told) - MAX_LISTED
    notes = [] if maps is None else [f"maps written to {maps}"]
    notes += [*told[:MAX_LISTED], *([f"and {more} more of them"] if more > 0 else [])]
    return write_answer(frame, out, notes)


def predict_cases(
    run: Run, cases: Cases, *, maps: Path | None = None, keep_going: bool = False, progress: bool = False,
    far: bool = False,
) -> tuple[pd.DataFrame, list[str]]:  # fmt: skip
    """Class and probabilities of each case; which lie far outside the training, and why others were left out.

    Columns `case, patient, predicted, predicted_at_threshold, p_CLASS, ...`: `patient` is there if known, and
    `predicted_at_threshold` for two classes, by the threshold chosen on validation.
    """

    def predict(index: int) -> Probabilities:
        volume = cases.inputs.prepared(index)
        told.extend(f"{volume.source}: {words}" for words in run.guarded(volume, volume.source, far=far))
        outputs = {name: probabilities_of(run, model, volume) for name, model in members.items()}
        if maps is not None:
            write_maps(maps, explain_case(run, cases, index, deletion=False), cases.inputs, index)
        return run.answer.mixed(outputs)

    told: list[str] = []
    members = {name: run.models[name] for name in run.answer.shares}
    with contextlib.ExitStack() as moved:
        for model in members.values():
            moved.enter_context(best_device(model))
        outputs, failed = answers_by_case(len(cases), predict, keep_going=keep_going, progress=progress)
    if not outputs:
        raise DataError(
            f"{cases.source}: none of {len(cases)} scans can be used. {failed[0] if failed else ''}".strip()
        )
    return _table(run, cases, outputs), told + failed


def answers_by_case(
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


def _table(run: Run, cases: Cases, probabilities_by_case: dict[int, Probabilities]) -> pd.DataFrame:
    outputs, names = np.stack(list(probabilities_by_case.values())), class_values(run.state.classes)
    answer = run.answer.name
    threshold = thresholds_of(run.calibration, [answer])[answer]
    columns: Plain = {name: [column[row] for row in probabilities_by_case] for name, column in cases.names.items()}
    columns["predicted"] = names[predicted_classes(outputs)]
    if threshold is not None:
        columns["predicted_at_threshold"] = names[predicted_classes(outputs, threshold)]
    return pd.concat([pd.DataFrame(columns), probability_frame(outputs, run.state.classes)], axis=1)
