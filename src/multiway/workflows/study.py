"""A search as an Optuna study: where it is kept, which combination is next, and trials whose process was killed.

Optuna keeps the journal, asks and tells. What it cannot promise is here: its locks outlive a killed process for 30
seconds, half a line that a kill left makes the next one unreadable, and no journal has a heartbeat.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import math
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import optuna
import psutil
from optuna.distributions import CategoricalDistribution
from optuna.pruners import HyperbandPruner, NopPruner, SuccessiveHalvingPruner
from optuna.samplers import TPESampler
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import FrozenTrial, TrialState, create_trial

from multiway import files, leftovers
from multiway.errors import MultiwayError, RunError, in_a_line
from multiway.workflows.search import BEST, TRIALS, Trial
from multiway.workflows.space import Fields, Space

JOURNAL = "study.journal"
OPENING, OWNER, OUTCOME = "opening", "owner", "outcome"
"""Attributes: of a study what it searches, of a trial the process that trains it, and what it gave."""
PRUNERS = {"none": NopPruner, "halving": SuccessiveHalvingPruner, "hyperband": HyperbandPruner}
DRAWS = 20
UNDER_WAY = (TrialState.RUNNING, TrialState.WAITING)


@contextlib.contextmanager
def lock_path(path: Path) -> Iterator[None]:
    """Let one process in at a time; the lock goes with the process, whatever ends it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class JournalLock(JournalFileOpenLock):
    """The lock of a journal; half a line that a kill or a full disk left is cut before the next is written."""

    def __init__(self, path: Path) -> None:
        self.path, self._held = path, contextlib.ExitStack()

    def acquire(self) -> bool:
        """Wait for the other processes."""
        self._held.enter_context(lock_path(self.path))
        with self.path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 1, 0))
            if file.read(1) not in (b"", b"\n"):
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        return True

    def release(self) -> None:
        """Let the next process in."""
        self._held.close()


class Journal(JournalFileBackend):
    """The file of a study, a line per event; what is wrong with it or its disk is said in a line."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), JournalLock(path))
        self.path = path

    def read_logs(self, log_number_from: int) -> Generator[dict[str, Any]]:
        """Events from a number on.

        Raises:
            RunError: A line was changed; that of the last one shows when another follows it.
        """
        try:
            yield from super().read_logs(log_number_from)
        except ValueError as error:
            raise RunError(f"{self.path.parent} cannot be read as a study: {in_a_line(error)}.") from None

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Add events.

        Raises:
            StorageError: They cannot be written.
        """
        with files.storing(self.path, lambda: sum(len(json.dumps(log, separators=(",", ":"))) + 1 for log in logs)):
            super().append_logs(logs)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
    """The trials of one search, shared by all processes that work on it.

    opening: What is searched, and how.
    every: Combinations in the order of the search.
    folder: What all processes lock while one begins a trial.
    """

    study: optuna.Study
    opening: Mapping[str, Any]
    space: Space
    every: Sequence[Fields]
    folder: Path | None

    @classmethod
    def open(
        cls, folder: Path | None, storage: str | None, opening: Mapping[str, Any], space: Space, every: Sequence[Fields]
    ) -> Self:
        """The study of a search, made unless it is there: in the folder, or at a URL that several machines reach.

        Raises:
            RunError: The folder holds something else, or the storage cannot be opened.
        """
        kept = _open_storage(folder, storage)
        if folder is not None and storage is None:
            for known in kept.get_all_studies():
                for name, value in known.user_attrs.get(OPENING, {}).items():
                    if opening.get(name) != value:
                        raise RunError(
                            f"{folder} holds a search with other {name}. Choose another folder, or search as before."
                        )
        digest = hashlib.blake2b(json.dumps(opening, sort_keys=True).encode(), digest_size=6).hexdigest()
        name, pruner = f"{opening['task']}-{digest}", PRUNERS[opening["pruner"]]()  # what all that search the same say
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)  # it says that it opens a study
        try:
            study = optuna.create_study(study_name=name, storage=kept, load_if_exists=True, pruner=pruner)
        finally:
            optuna.logging.set_verbosity(level)
        if OPENING not in study.user_attrs:
            study.set_user_attr(OPENING, dict(opening))
        return cls(study=study, opening=opening, space=space, every=every, folder=folder)

    @property
    def outcomes(self) -> list[Trial]:
        """What the trials gave that ended, in the order they were begun."""
        kept = (trial.user_attrs.get(OUTCOME) for trial in self._trials())
        return [Trial.parse(outcome, JOURNAL) for outcome in kept if outcome is not None]

    @property
    def under_way(self) -> int:
        """How many trials other processes train."""
        return sum(_may_run(trial) for trial in self._trials(*UNDER_WAY))

    def begin(self, count: int) -> optuna.Trial | None:
        """The next trial; None where `count` are measured or under way, or nothing is left to try.

        Two processes that take the same combination at once both see it: the later one tries another.
        """
        with contextlib.nullcontext() if self.folder is None else lock_path(self.folder):
            self._end_killed()
            choices = {name: CategoricalDistribution(values) for name, values in self.space.choices().items()}
            while (fields := self._next_fields(count, choices)) is not None:
                owner = {
                    "machine": files.machine(),
                    "process": os.getpid(),
                    "since": psutil.Process().create_time(),
                }
                if not self._trials(TrialState.WAITING):
                    self.study.enqueue_trial(self.space.encode(fields), user_attrs={OWNER: owner})
                trial = self.study.ask(dict(choices))
                if _key(self.fields_of(trial)) not in self._find_taken(before=trial.number):
                    trial.set_user_attr(OWNER, owner)
                    return trial
                self.give_up(trial.number)
        return None

    def _next_fields(self, count: int, choices: Mapping[str, CategoricalDistribution]) -> Fields | None:
        """The combination to try next."""
        ended = [trial for trial in self.outcomes if trial.refused is None]
        if len(ended) + len(self._trials(TrialState.RUNNING)) >= count:
            return None
        for waiting in self._trials(TrialState.WAITING):  # its process was killed before it began
            return self._plan_fields(waiting)
        taken, draw = self._find_taken(), TPESampler(seed=self.opening["seed"] + len(self.outcomes)).sample_independent
        unborn = create_trial(state=TrialState.RUNNING)
        for _ in range(DRAWS if self.opening["sampler"] == "tpe" else 0):  # it may propose what was tried
            draws = {name: draw(self.study, unborn, name, each) for name, each in choices.items()}
            if _key(fields := self.space.decode(draws)) not in taken:
                return fields
        return next((fields for fields in self.every if _key(fields) not in taken), None)

    def end(self, trial: optuna.Trial, outcome: Trial) -> None:
        """Keep what a trial gave."""
        trial.set_user_attr(OUTCOME, outcome.plain())
        self._close(trial.number, outcome)

    def _close(self, number: int, outcome: Trial) -> None:
        if outcome.refused is not None:
            self.study.tell(number, state=TrialState.FAIL)
        elif outcome.pruned:
            self.study.tell(number, state=TrialState.PRUNED)
        else:
            self.study.tell(number, outcome.rank[0])

    def give_up(self, number: int) -> None:
        """End a trial that gave nothing: its combination is tried anew."""
        self.study.tell(number, state=TrialState.FAIL)

    def fields_of(self, trial: optuna.Trial) -> Fields:
        """The combination of a trial."""
        return self.space.decode(trial.params)

    def _find_taken(self, before: float = math.inf) -> set[str]:
        """Combinations that ended or are under way, of the trials before one."""
        kept = (each for each in self._trials() if each.state in UNDER_WAY or OUTCOME in each.user_attrs)
        return {_key(self._plan_fields(each)) for each in kept if each.number < before}

    def _plan_fields(self, trial: FrozenTrial) -> Fields:
        return self.space.decode(trial.system_attrs["fixed_params"])

    def _end_killed(self) -> None:
        """End the trials of killed processes, with what they gave if that was kept already."""
        for trial in self._trials(TrialState.RUNNING):
            outcome = trial.user_attrs.get(OUTCOME)
            if not _may_run(trial) and outcome is None:
                self.give_up(trial.number)
            elif not _may_run(trial):
                self._close(trial.number, Trial.parse(outcome, JOURNAL))

    def _trials(self, *states: TrialState) -> list[FrozenTrial]:
        """Those of a state that name their combination; others may have come into a shared storage."""
        every = self.study.get_trials(deepcopy=False, states=states or None)
        return [trial for trial in every if "fixed_params" in trial.system_attrs]


def _open_storage(folder: Path | None, storage: str | None) -> BaseStorage:
    """A journal in the folder, which may hold nothing but a search; or what the URL says."""
    if folder is not None:
        files.check_place(folder)
        files.make_folder(folder)
        leftovers.remove(folder)
        names = {path.name for path in folder.iterdir() if not leftovers.is_temporary(path.name)}
        if names - {JOURNAL, TRIALS, BEST} or (names and storage is None and JOURNAL not in names):
            raise RunError(f"{folder} exists already and holds no search. Choose another folder.")
    try:
        if storage is not None or folder is None:
            return optuna.storages.get_storage(storage)
        return JournalStorage(Journal(folder / JOURNAL))
    except MultiwayError:
        raise
    except Exception as error:  # whatever a database or a journal that was changed meets
        where = storage or folder
        raise RunError(f"{where} cannot be read as a study: {in_a_line(error)}.") from None


def _may_run(trial: FrozenTrial) -> bool:
    """Whether the process of a trial may still train it; of another machine's nobody here can tell."""
    owner = trial.user_attrs.get(OWNER)
    if owner is None or owner["machine"] != files.machine():
        return True
    try:
        return bool(psutil.Process(owner["process"]).create_time() == owner["since"])
    except psutil.Error:
        return False


def _key(fields: Fields) -> str:
    return json.dumps(fields, sort_keys=True)
