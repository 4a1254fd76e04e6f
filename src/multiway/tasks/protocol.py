"""What a task is: what differs from other tasks, and nothing else."""

import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import pandas as pd
from torch import Tensor, nn

from multiway.auditing import AuditReport
from multiway.config import Plain
from multiway.data import datasets
from multiway.data.matching import Far, hold_to_training
from multiway.errors import ConfigError, Message, closest, warn
from multiway.report.scores import Metric as Metric
from multiway.report.scores import Scores
from multiway.tasks.answers import Answer
from multiway.tasks.choice import BLEND, Choice, Evidence, choice_of_settings, choose, find_candidate
from multiway.tasks.declarations import NETWORK as NETWORK
from multiway.tasks.declarations import OURS as OURS
from multiway.tasks.declarations import SPLITS as SPLITS
from multiway.tasks.declarations import VALIDATION as VALIDATION
from multiway.tasks.declarations import Cell as Cell
from multiway.tasks.declarations import ConfigT as ConfigT
from multiway.tasks.declarations import Context as Context
from multiway.tasks.declarations import Fitted as Fitted
from multiway.tasks.declarations import Prepared as Prepared
from multiway.tasks.declarations import PreparedT as PreparedT
from multiway.tasks.declarations import Row as Row
from multiway.tasks.declarations import State as State
from multiway.tasks.declarations import StateT as StateT
from multiway.tasks.declarations import TaskConfig as TaskConfig
from multiway.tasks.kind import Kind
from multiway.tasks.options import AUTO
from multiway.tasks.settings import configure, task_named
from multiway.tasks.stored import Facts as Facts
from multiway.training import RunFolder

ValueT = TypeVar("ValueT")


class Described(Protocol):
    """What a page knows of its task; see `pages.Subject`."""

    @property
    def selected_by(self) -> "Callable[[Run], str]":
        """What chose the epoch of a run, in words."""

    def scores(self, runs: "Sequence[Run]") -> Scores:
        """Scores over runs that differ in their seed, their models in words."""


class Page(Protocol):
    """The report of a task: a module, or an object."""

    @property
    def SUBJECT(self) -> Described:  # a constant where it is a module
        """What every page has to know of the task."""

    def report(self, runs: "Sequence[Run]") -> str:
        """One HTML page on runs that differ in their seed."""

    def compare(self, groups: "Sequence[Sequence[Run]]") -> str:
        """One HTML page that sets groups of runs side by side."""


@dataclasses.dataclass(kw_only=True)
class Run:
    """Fitted models with all that is needed to use them on other data.

    state: What training learnt of the data.
    models: By name, ours first.
    answer: Which of them answers, or a blend of them, and why.
    calibration: What validation decided: thresholds, blends, radii.
    scores: Rows of model, split, metric, value, low, high.
    tables: Predictions and whatever else is kept row by row, by name.
    facts: What a report says of data and fit.
    folder: Where it lies; None for one that was never stored.
    prepared: The data that it was fitted on; None for one that was loaded.
    known: What its models say of parts of these data, until it is finished.
    """

    task: "AnyTask"
    config: Any
    state: Any
    models: Mapping[str, nn.Module]
    answer: Choice = dataclasses.field(default_factory=lambda: choice_of_settings(NETWORK, ""))
    calibration: dict[str, Tensor] = dataclasses.field(default_factory=dict)
    scores: list[Row] = dataclasses.field(default_factory=list)
    tables: dict[str, pd.DataFrame] = dataclasses.field(default_factory=dict)
    facts: Plain = dataclasses.field(default_factory=dict)
    folder: RunFolder | None = None
    prepared: Any = None
    known: dict[str, Any] = dataclasses.field(default_factory=dict, init=False, repr=False)

    def once(self, prepared: object, part: str, compute: Callable[[], ValueT]) -> ValueT:
        """What fitted models say of a part of some data: computed once for the data that the run was fitted on."""
        if prepared is not self.prepared:
            return compute()
        if part not in self.known:
            self.known[part] = compute()
        value: ValueT = self.known[part]
        return value

    @property
    def model(self) -> nn.Module:
        """The model that the run is about."""
        return self.models[self.task.own]

    @property
    def answering(self) -> nn.Module:
        """The model that answers, where that is one."""
        return self.models[self.answer.name]

    @property
    def line(self) -> str:
        """Which model answers, and why: the first line of whatever the run gives."""
        return self.task.answer_line(self)

    @property
    def candidates(self) -> tuple[str, ...]:
        """Names of what can answer: the models, and their blend where that answers."""
        return (*self.task.candidates(self.config, self.state), *((BLEND,) if self.answer.weights else ()))

    def answered_by(self, name: str | None) -> "Run":
        """The same run with another model's answers, by its name or that in words; with its own where none is given."""
        if name is None:
            return self
        if not self.task.has_choice:
            word = self.task.name
            raise ConfigError(
                f"a run of {word} is answered by one model, and no other can be chosen. Leave out the name."
            )
        scores = self.task.page.SUBJECT.scores([self])
        words = {scores.name(model): model for model in self.candidates}
        chosen = find_candidate(words.get(name, name), self.candidates)
        if chosen == self.answer.name:
            return self
        return dataclasses.replace(
            self, answer=choice_of_settings(chosen, f", chosen by name in place of {self.answer.name}")
        )

    def guarded(self, later: Any, source: str, *, far: bool) -> tuple[str, ...]:
        """What is to be said of later data that lie far outside the training; much too far, none has an answer.

        far: Whether they are answered all the same.
        """
        return hold_to_training(self.task.far(self, later), source, is_allowed=far)

    def scored_on(self, source: object) -> Any:
        """Later data with their targets, prepared; what lies far outside the training in them is a warning."""
        prepared = self.task.prepare(self.config, source, self.state)
        for far in self.task.far_scored(self, prepared):
            warn(f"{prepared.source}: {far.words}.")
        return prepared

    @property
    def digest(self) -> str:
        """Hash of the data that it was fitted on."""
        return str(self.facts["data_sha256"])

    def explanation(self, out: Path | None) -> Path:
        """Folder of an explanation: the one that is given, else one in the run's own."""
        own = Path() if self.folder is None else self.folder.path
        return out or own / "explanation"


class Task(Generic[ConfigT, PreparedT, StateT]):
    """One task: config, data, models, scores, report and answers. Everything else is the lifecycle's.

    A task is a record of its parts, values and functions, and is pickled by its name. A part that is not given is as
    below; one that is only declared has to be given.
    """

    name: str
    """As in `multiway train NAME`."""
    own: str = NETWORK
    """Name of the model that a run is about."""
    purpose: str = ""
    """What the task does, in a sentence without a verb."""
    example: str
    """What follows `multiway train NAME` in a usual command."""
    config: type[ConfigT]
    state: type[StateT]
    facts: type[Facts] = Facts
    """What is stored of a run in addition to its state."""
    page: Page
    fields_of_validation: tuple[str, ...] = VALIDATION
    """Fields of the config that decide what validation measures, and on which rows: a search leaves them alone."""

    def __init__(self, **parts: Any) -> None:
        """Take parts by their names."""
        known = {name for kind in type(self).__mro__ for name in (*vars(kind), *inspect.get_annotations(kind))}
        for name, part in parts.items():
            if name not in known:
                raise TypeError(f"{type(self).__name__} has no part {name}{closest(name, known)}")
            setattr(self, name, part)

    def __reduce__(self) -> "tuple[Callable[[str], AnyTask], tuple[str]]":
        return task_named, (self.name,)

    # Config and data.

    kind: Kind
    """What is known of its data before any model: whether a source holds them, and what is in it."""

    configure = configure

    prepare: Callable[..., Any]
    """Read and check everything, before anything is written.

    With a `state`, what training learnt, the data is a later one, and nothing is learnt from it.
    """

    audit: Callable[..., AuditReport]
    """Whether the data and the split of a config leak; with a run, also what its scaling learnt."""

    def warned(self, config: ConfigT, prepared: PreparedT) -> Sequence[str | Message]:
        """What a check of the data warns of, a line each: a training says it too."""
        return ()

    # Models.

    def sized(self, config: ConfigT, prepared: PreparedT) -> ConfigT:
        """With the sizes that preparing fitted to the data, where none are given."""
        return config

    learn: Callable[..., Any]
    """Classes, sizes, scales of the training rows: what the models are built from."""

    def settle(self, config: ConfigT, state: StateT, *, progress: bool = False) -> ConfigT:
        """Fill in what a config leaves open until the sizes of the data are known; the run keeps it so."""
        return config

    def planned(self, config: ConfigT, prepared: PreparedT, spent: float) -> tuple[ConfigT, Sequence[str]]:
        """What a budget of time leaves to be trained, as settings without one, and notes of it; `spent` in seconds."""
        return config, ()

    names: Callable[..., tuple[str, ...]]
    """Names of the models: ours, then the baselines."""

    build: Callable[..., nn.Module]
    """Draw a model by its name; the lifecycle has seeded."""

    def counted(self, model: nn.Module) -> nn.Module:
        """The part of a model whose trained numbers are counted."""
        return model

    fit: Callable[..., Fitted]
    """Fit a model of the run on the training rows; what a closed form found is returned as facts."""

    evidence: Callable[..., Evidence | None] | None = None
    """Losses of every model that choose the answer, on rows that none was fitted on; none where the network answers.

    It is given the run, fitted but for what validation decides, and its data. With `refit`, models may be fitted anew
    on other rows, where validation has few.
    """

    def choice(self, run: Run, prepared: PreparedT, *, refit: bool = True) -> Choice:
        """Which model answers: what the evidence prefers, or the config names; the network where there is none.

        Where the config names it, no model is fitted anew: that would decide nothing.
        """
        answer = run.config.answer
        if self.evidence is not None:
            evidence = self.evidence(run, prepared, refit=refit and answer == AUTO)
            if evidence is not None:
                return choose(evidence, answer=answer)
        return choice_of_settings(self.own, "")

    def refit(self, run: Run, prepared: PreparedT, context: Context) -> None:
        """Refit, with all that validation decided, what answers on rows that training left out."""

    def check_answer(self, config: ConfigT, names: Collection[str]) -> None:
        """Whether the model that the config names as the answer is there."""
        if config.answer != AUTO:
            find_candidate(config.answer, names)

    def answer_line(self, run: Run) -> str:
        """Which model answers for a run, and why."""
        return run.answer.line()

    def candidates(self, config: ConfigT, state: StateT) -> tuple[str, ...]:
        """Names of what can answer: all models where there is evidence to choose by, and the network elsewhere."""
        return self.names(config, state) if self.has_choice else (self.own,)

    @property
    def has_choice(self) -> bool:
        """Whether another model than the network can answer."""
        return self.evidence is not None or getattr(self.choice, "__func__", self.choice) is not Task.choice

    def calibrate(self, run: Run, prepared: PreparedT) -> dict[str, Tensor]:
        """What validation decides after the training: thresholds, blends, radii of intervals."""
        return {}

    def join(self, run: Run) -> None:
        """Bring together in the first process what several hold of a fitted run, before it is stored."""

    def check_stored(self, run: Run) -> None:
        """Whether parts of a stored run fit each other.

        Such values raise ValueError or RuntimeError.
        """

    # Predictions and scores.

    predict: Callable[..., Any]
    """What every model of the run says of a split."""

    score: Callable[..., list[Row]]
    """Rows of model, split, metric, value, low and high."""

    def tables(self, run: Run, predictions: Any, split: str) -> dict[str, pd.DataFrame]:
        """Tables to keep of the predictions of a split, by the name of their file."""
        return {}

    def test_facts(self, run: Run, predictions: Any) -> Plain:
        """Facts of the predictions of the test rows, besides their scores."""
        return {}

    def describe(self, run: Run, prepared: PreparedT) -> Plain:
        """Facts for the report: splits, sizes."""
        return {}

    def keep(self, run: Run, prepared: PreparedT, folder: RunFolder) -> None:
        """Write what else is kept in the run's folder."""

    def evaluate(self, run: Run, data: str, split: str) -> list[Row]:
        """Scores on other data with everything as it was fitted."""
        return self.score(run, self.predict(run, run.scored_on(self.locate(data)), split), split)

    metrics: Callable[..., tuple[Metric, ...]]
    """Columns of the score table; the first one decides."""

    sentence: Callable[..., str]
    """What came out, in one sentence."""

    def headline(self, run: Run) -> str:
        """The same for a reader: models in words, or what the report begins with."""
        return self.page.SUBJECT.scores([run]).name_models(self.sentence(run))

    def scored_as(self, run: Run) -> str:
        """Name that the scores of the answer stand under."""
        return run.answer.name

    def cautions(self, run: Run) -> list[str]:
        """What nobody should miss who reads scores or predictions of a run, one line each."""
        return []

    def uneven(self, run: Run) -> list[str]:
        """What stored scores say of a leak between the splits of a run, one line each."""
        return []

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """What else a row of results says."""
        return {}

    # Answers.

    def far(self, run: Run, later: Any) -> Sequence[Far]:
        """What lies far outside the training in later data, as the task reads them."""
        return ()

    def far_scored(self, run: Run, prepared: PreparedT) -> Sequence[Far]:
        """What lies far outside the training in later data that are scored."""
        return ()

    answer: Callable[..., Answer]
    """Predict for data that nobody has labelled; written to `out` where it is given."""

    def explain(self, run: Run, out: Path | None, options: Plain) -> Answer:
        """Write what the model looked at."""
        raise ConfigError(f"explain: a run of {self.name} has no explanation. Use `multiway report`.")

    def backtest(self, run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
        """Predict from past moments."""
        raise ConfigError(f"backtest: a run of {self.name} has no past moments to start from. Use `multiway evaluate`.")

    def update(self, run: Run, data: str) -> Run:
        """The run with later rows taken in; its models are changed in place."""
        raise ConfigError(f"update: a run of {self.name} takes in no later rows. Train it on all of them.")

    def report(self, runs: Sequence[Run]) -> str:
        """One self-contained HTML page on runs that differ in their seed."""
        return self.page.report(runs)

    def compare(self, groups: Sequence[Sequence[Run]]) -> str:
        """One self-contained HTML page that sets groups of runs side by side."""
        return self.page.compare(groups)

    # Compression.

    def before_compression(self, run: Run) -> None:
        """Leave out of a loaded run what a smaller network does not go with."""

    def swappable(self, model: nn.Module) -> nn.Module:
        """The part of our model whose layers `compress` may swap."""
        return model

    def sample(self, run: Run, prepared: PreparedT) -> tuple[Tensor | None, ...]:
        """Validation inputs of the network, evenly spread, to measure a compression on."""
        raise ConfigError(f"compress: runs of {self.name} give no sample. Use multiway.compress.plan in Python.")

    def locate(self, data: str) -> str:
        """Path of a file, or of the known data set of that name."""
        return datasets.locate(data)


AnyTask = Task[Any, Any, Any]
