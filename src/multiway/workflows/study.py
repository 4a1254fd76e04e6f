"""A search as an Optuna study: where it is kept, which combination is next, and trials whose process was killed."""

import contextlib
import dataclasses
import fcntl
import hashlib
import itertools
import json
import math
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Self

import optuna
import psutil
from optuna.pruners import HyperbandPruner, NopPruner, SuccessiveHalvingPruner
from optuna.samplers import TPESampler
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
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


class Lock:
    """What lets one process in at a time; it goes with the process, whatever ends it."""

    def __init__(self, path: Path) -> None:
        self.path, self._descriptor = path, -1

    def __enter__(self) -> None:
        self._descriptor = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def __exit__(self, *error: object) -> None:
        os.close(self._descriptor)


class Journal(JournalFileBackend):
    """The file of a study, a line per event; half a line that a kill or a full disk left is cut before the next."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
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
        lines = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs).encode()
        with Lock(self.path), files.storing(self.path, lambda: len(lines)), self.path.open("r+b") as file:
            _cut_half_a_line(file)
            file.seek(0, os.SEEK_END)
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())


def _cut_half_a_line(file: BinaryIO) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 1, 0))
    if file.read(1) not in (b"", b"\n"):
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
    """The trials of one search, shared by all processes that work on it.

    opening: What is searched, and how.
    every: Combinations in the order of the search.
    lock: What all processes with the same folder hold while one begins a trial.
    """

    study: optuna.Study
    opening: Mapping[str, Any]
    space: Space
    every: Sequence[Fields]
    lock: Lock | None

    @classmethod
    def opened(
        cls, folder: Path | None, storage: str | None, opening: Mapping[str, Any], space: Space, every: Sequence[Fields]
    ) -> Self:
        """The study of a search, made unless it is there: in the folder, or at a URL that several machines reach.

        Raises:
            RunError: The folder holds something else, or the storage cannot be opened.
        """
        if folder is not None:
            _check_place(folder, storage)
        kept = _storage(folder, storage)
        if folder is not None and storage is None:
            _check_same(kept, opening, folder)
        pruner = PRUNERS[opening["pruner"]]()
        with _quietly():
            study = optuna.create_study(study_name=_name(opening), storage=kept, load_if_exists=True, pruner=pruner)
        if OPENING not in study.user_attrs:
            study.set_user_attr(OPENING, dict(opening))
        lock = None if folder is None else Lock(folder)
        return cls(study=study, opening=opening, space=space, every=every, lock=lock)

    @property
    def outcomes(self) -> list[Trial]:
        """What the trials gave that ended, in the order they were begun."""
        kept = (trial.user_attrs.get(OUTCOME) for trial in self._trials())
        return [_parsed(outcome) for outcome in kept if outcome is not None]

    @property
    def under_way(self) -> int:
        """How many trials other processes train."""
        return sum(_runs(trial) for trial in self._trials(*UNDER_WAY))

    def begin(self, count: int) -> optuna.Trial | None:
        """The next trial; None where `count` are measured or under way, or nothing is left to try.

        Two processes that take the same combination at once both see it: the later one tries another.
        """
        with self.lock or contextlib.nullcontext():
            self._end_killed()
            while (fields := self._next(count)) is not None:
                if not self._trials(TrialState.WAITING):
                    self.study.enqueue_trial(self.space.encoded(fields), user_attrs={OWNER: _owner()})
                trial = self.study.ask(self._distributions())
                if _key(self.fields_of(trial)) not in self._taken(before=trial.number):
                    trial.set_user_attr(OWNER, _owner())
                    return trial
                self.give_up(trial.number)
        return None

    def _next(self, count: int) -> Fields | None:
        """The combination to try next."""
        ended = [trial for trial in self.outcomes if trial.refused is None]
        if len(ended) + len(self._trials(TrialState.RUNNING)) >= count:
            return None
        for waiting in self._trials(TrialState.WAITING):  # its process was killed before it began
            return self._planned(waiting)
        taken = self._taken()
        proposed = self._proposed() if self.opening["sampler"] == "tpe" else iter(())
        return next((fields for fields in itertools.chain(proposed, self.every) if _key(fields) not in taken), None)

    def _proposed(self) -> Iterator[Fields]:
        """What TPE proposes after the trials so far: some draws, as it may repeat what was tried."""
        sampler = TPESampler(seed=self.opening["seed"] + len(self.outcomes))
        unborn, fields = create_trial(state=TrialState.RUNNING), self._distributions()
        for _ in range(DRAWS):
            drawn = {name: sampler.sample_independent(self.study, unborn, name, each) for name, each in fields.items()}
            yield self.space.decoded(drawn)

    def ended(self, trial: optuna.Trial, outcome: Trial) -> None:
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

    @contextlib.contextmanager
    def giving_up(self, number: int) -> Iterator[None]:
        """Give a trial up whatever ends its training."""
        try:
            yield
        except BaseException:
            self.give_up(number)
            raise

    def give_up(self, number: int) -> None:
        """End a trial that gave nothing: its combination is tried anew."""
        self.study.tell(number, state=TrialState.FAIL)

    def fields_of(self, trial: optuna.Trial) -> Fields:
        """The combination of a trial."""
        return self.space.decoded(trial.params)

    def _taken(self, before: float = math.inf) -> set[str]:
        """Combinations that ended or are under way, of the trials before one."""
        kept = (each for each in self._trials() if each.state in UNDER_WAY or OUTCOME in each.user_attrs)
        return {_key(self._planned(each)) for each in kept if each.number < before}

    def _planned(self, trial: FrozenTrial) -> Fields:
        return self.space.decoded(trial.system_attrs["fixed_params"])

    def _end_killed(self) -> None:
        """End the trials of killed processes, with what they gave if that was kept already."""
        for trial in self._trials(TrialState.RUNNING):
            outcome = trial.user_attrs.get(OUTCOME)
            if not _runs(trial):
                self.give_up(trial.number) if outcome is None else self._close(trial.number, _parsed(outcome))

    def _trials(self, *states: TrialState) -> list[FrozenTrial]:
        """Those of a state that name their combination; others may have come into a shared storage."""
        every = self.study.get_trials(deepcopy=False, states=states or None)
        return [trial for trial in every if "fixed_params" in trial.system_attrs]

    def _distributions(self) -> dict[str, Any]:
        return {
            name: optuna.distributions.CategoricalDistribution(values) for name, values in self.space.choices().items()
        }


def _check_place(folder: Path, storage: str | None) -> None:
    """Make the folder unless it is there; of a search nothing but its own files."""
    files.check_place(folder)
    files.make_folder(folder)
    leftovers.remove(folder)
    names = {path.name for path in folder.iterdir() if not leftovers.is_temporary(path.name)}
    if names - {JOURNAL, TRIALS, BEST} or (names and storage is None and JOURNAL not in names):
        raise RunError(f"{folder} exists already and holds no search. Choose another folder.")


def _storage(folder: Path | None, storage: str | None) -> BaseStorage:
    try:
        if storage is not None or folder is None:
            return optuna.storages.get_storage(storage)
        return JournalStorage(Journal(folder / JOURNAL))
    except MultiwayError:
        raise
    except Exception as error:  # whatever a database or a journal that was changed meets
        where = storage or folder
        raise RunError(f"{where} cannot be read as a study: {in_a_line(error)}.") from None


def _check_same(storage: BaseStorage, opening: Mapping[str, Any], folder: Path) -> None:
    for study in storage.get_all_studies():
        for name, value in study.user_attrs.get(OPENING, {}).items():
            if opening.get(name) != value:
                raise RunError(
                    f"{folder} holds a search with other {name}. Choose another folder, or search as before."
                )


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without what Optuna says of a study that it opens; its own users keep what they set."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(level)


def _name(opening: Mapping[str, Any]) -> str:
    """What processes and machines that search the same agree on."""
    digest = hashlib.blake2b(json.dumps(opening, sort_keys=True).encode(), digest_size=6).hexdigest()
    return f"{opening['task']}-{digest}"


def _owner() -> dict[str, Any]:
    """What a trial says of the process that trains it."""
    return {"machine": files.machine(), "process": os.getpid(), "since": psutil.Process().create_time()}


def _runs(trial: FrozenTrial) -> bool:
    """Whether the process of a trial may still train it; of another machine's nobody here can tell."""
    known = trial.user_attrs.get(OWNER)
    if known is None or known["machine"] != files.machine():
        return True
    try:
        return bool(psutil.Process(known["process"]).create_time() == known["since"])
    except psutil.Error:
        return False


def _parsed(outcome: Any) -> Trial:
    return Trial.parse(outcome, JOURNAL)


def _key(fields: Fields) -> str:
    return json.dumps(fields, sort_keys=True)
