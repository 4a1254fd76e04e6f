"""What a task is: what differs from other tasks, and nothing else."""

import dataclasses
import pkgutil
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import pandas as pd
from torch import Tensor, nn

from multiway.auditing import AuditReport
from multiway.config import Plain
from multiway.data import datasets
from multiway.data.matching import Far, hold_to_training
from multiway.errors import ConfigError, Message, warn
from multiway.report.scores import Metric as Metric
from multiway.report.scores import Scores
from multiway.tasks.answers import Answer
from multiway.tasks.candidate import ranks_of
from multiway.tasks.choice import BLEND, Choice, Evidence, choice_of_settings, choose, find_candidate
from multiway.tasks.declarations import NETWORK as NETWORK
from multiway.tasks.declarations import OURS as OURS
from multiway.tasks.declarations import SPLITS as SPLITS
from multiway.tasks.declarations import VALIDATION as VALIDATION
from multiway.tasks.declarations import Context as Context
from multiway.tasks.declarations import Encoding as Encoding
from multiway.tasks.declarations import Fitted as Fitted
from multiway.tasks.declarations import Prepared as Prepared
from multiway.tasks.declarations import Row as Row
from multiway.tasks.declarations import State as State
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
    refits: What the answer is made of as refitted on all rows once it was chosen, by name; those that were not stay.
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
    refits: Mapping[str, nn.Module] = dataclasses.field(default_factory=dict)
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
    def for_prediction(self) -> "Run":
        """The same run with the models that predict for later data, where these were refitted after the choice."""
        if not self.refits:
            return self
        models = ChainMap[str, nn.Module](dict(self.refits), cast(dict[str, nn.Module], self.models))
        return dataclasses.replace(self, models=models)

    @property
    def line(self) -> str:
        """Which model answers, and why: the first line of whatever the run gives."""
        return self.task.answer_line(self)

    @property
    def candidates(self) -> tuple[str, ...]:
        """Names of what can answer: the models, and their blend where that answers."""
        return (*self.task.name_answers(self.config, self.state), *((BLEND,) if self.answer.weights else ()))

    def with_answer(self, name: str | None) -> "Run":
        """The same run with another model's answers, by its name or that in words; with its own where none is given."""
        if name is None:
            return self
        if self.task.choose is None:
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

    def check_far(self, later: Any, source: str, *, far: bool) -> tuple[str, ...]:
        """What is to be said of later data that lie far outside the training; much too far, none has an answer.

        far: Whether they are answered all the same.
        """
        return hold_to_training(self.task.far(self, later), source, is_allowed=far)

    def prepare_scored(self, source: object) -> Any:
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


class Settled(NamedTuple):
    """What a run is trained with, once its data are known.

    config: With what it left open filled in; the run keeps it so.
    state: Classes, sizes, scales of the training rows: what the models are built from.
    notes: On what was filled in, a line each.
    """

    config: Any
    state: Any
    notes: Sequence[str] = ()


def keep_settings(config: Any, prepared: Any, spent: float, *, progress: bool = False) -> Settled:
    """Nothing is left open."""
    return Settled(config, prepared.state)


def nothing(*given: object) -> tuple[Any, ...]:
    """Nothing to say."""
    return ()


def do_nothing(*given: object) -> None:
    """Nothing to do."""


def no_facts(*given: object) -> Plain:
    """No facts."""
    return {}


def refuse(words: str) -> Callable[..., Any]:
    """What a task without such an answer says; `{}` is its name."""

    def refusal(run: Run, *given: object) -> Any:
        raise ConfigError(words.format(run.task.name))

    return refusal


NO_SAMPLE = refuse("compress: runs of {} give no sample. Use multiway.compress.plan in Python.")
NO_EXPLANATION = refuse("explain: a run of {} has no explanation. Use `multiway report`.")
NO_BACKTEST = refuse("backtest: a run of {} has no past moments to start from. Use `multiway evaluate`.")
NO_ANOMALIES = refuse("anomalies: a run of {} has no bands around past values. Use `multiway evaluate`.")
NO_UPDATE = refuse("update: a run of {} takes in no later rows. Train it on all of them.")


def score_later(run: Run, data: str, split: str) -> list[Row]:
    """Scores on other data with everything as it was fitted."""
    task = run.task
    return task.score(run, task.predict(run, run.prepare_scored(task.locate(data)), split), split)


def write_headline(run: Run) -> str:
    """The sentence on a run for a reader, models in words."""
    return run.task.page.SUBJECT.scores([run]).name_models(run.task.sentence(run))


def choose_by(measure: Callable[..., Evidence], run: Run, prepared: Any, *, refit: bool = True) -> Choice:
    """Which model answers: what the evidence prefers, or the config names.

    Args:
        measure: Gives the losses of every model on rows that none was fitted on.
        run: Fitted, but for what validation decides.
        prepared: Its data.
        refit: Whether models may be fitted anew on other rows, where validation has few. Where the config names the
            answer, none is: that would decide nothing.
    """
    answer = run.config.answer
    evidence = measure(run, prepared, refit=refit and answer == AUTO)
    return choose(evidence, ranks_of(run.task.candidates()), answer=answer)


class Placed:
    """A field that is given a page, or its place as `module` or `module:name`, which is imported when it is read."""

    def __get__(self, task: Any, owner: type | None = None) -> Page:
        given = task._page  # None has none, so the field has no default
        return cast(Page, pkgutil.resolve_name(given) if isinstance(given, str) else given)

    def __set__(self, task: Any, given: Page | str) -> None:
        task._page = given


@dataclasses.dataclass(kw_only=True, eq=False)
class Task:
    """One task, as a record: its config, data, models, scores, report and answers. All else is the lifecycle's.

    It is pickled by its name.
    """

    name: str
    """As in `multiway train NAME`."""
    purpose: str = ""
    """What the task does, in a sentence without a verb."""
    example: str
    """What follows `multiway train NAME` in a usual command."""
    config: type[Any]
    """Every setting of a run."""
    state: type[Any]
    """What training learnt of the data, and a loaded run needs."""
    facts: type[Facts] = Facts
    """What is stored of a run in addition to its state."""
    own: str = NETWORK
    """Name of the model that a run is about."""
    fields_of_validation: tuple[str, ...] = VALIDATION
    """Fields of the config that decide what validation measures, and on which rows: a search leaves them alone."""
    encoding: Encoding | None = None
    """How samples are learnt from and encoded; None where data are no samples."""
    needs: str = ""
    """What `predict` is given, and how, to say where there is none."""

    # Data.

    kind: Kind
    """What is known of its data before any model: whether a source holds them, and what is in it."""
    prepare: Callable[..., Any]
    """Read and check everything, before anything is written.

    With a `state`, what training learnt, the data is a later one, and nothing is learnt from it.
    """
    warnings: Callable[[Any, Any], Sequence[str | Message]] = nothing
    """What a check of prepared data warns of, a line each: a training says it too."""
    audit: Callable[..., AuditReport]
    """Whether the data and the split of a config leak; with a run, also what its scaling learnt."""

    # Models.

    candidates: Callable[[], Mapping[str, Any]] = dict
    """What can answer, by name."""
    settle: Callable[..., Settled] = keep_settings
    """Fill in what a config leaves open, by prepared data; given the seconds that they took."""
    names: Callable[[Any, Any], tuple[str, ...]]
    """Names of the models of a run by its config and state: its own, then the baselines."""
    build: Callable[[Any, Any, str], nn.Module]
    """Draw a model by config, state and name; the lifecycle has seeded."""
    fit: Callable[[Run, str, Any, Context], Fitted]
    """Fit a model of the run on the training rows; what a closed form found is returned as facts."""
    choose: Callable[..., Choice] | None = None
    """Which model answers, by the run and its prepared data; None where its own does in any case."""
    answers: Callable[[Any, Any], tuple[str, ...]] | None = None
    """Names of what can answer, where these are not the models."""
    refit: Callable[[Run, Any, Context], None] = do_nothing
    """Refit, with all that validation decided, what answers on rows that training left out."""
    calibrate: Callable[[Run, Any], dict[str, Tensor]] = no_facts
    """What validation decides after the training: thresholds, blends, radii of intervals."""
    join: Callable[[Run], None] = do_nothing
    """Bring together in the first process what several hold of a fitted run, before it is stored."""
    check_stored: Callable[[Run], None] = do_nothing
    """Whether parts of a stored run fit each other; ValueError or RuntimeError where not."""

    # Predictions and scores.

    outputs: Callable[..., Any] = do_nothing
    """What a model of a run says of samples, by its name."""
    predict: Callable[[Run, Any, str], Any]
    """What every model of the run says of a split."""
    score: Callable[[Run, Any, str], list[Row]]
    """Rows of model, split, metric, value, low and high."""
    tables: Callable[[Run, Any, str], dict[str, pd.DataFrame]] = no_facts
    """Tables to keep of the predictions of a split, by the name of their file."""
    describe: Callable[[Run, Any, Any], Plain] = no_facts
    """Facts of prepared data, and of the predictions of their test rows, for the report."""
    keep: Callable[[Run, Any, RunFolder], None] = do_nothing
    """Write what else is kept in the run's folder."""
    evaluate: Callable[[Run, str, str], list[Row]] = score_later
    """Scores on other data with everything as it was fitted."""
    metrics: Callable[[Any], tuple[Metric, ...]]
    """Columns of the score table by the config; the first one decides."""

    # Words.

    page: Placed = Placed()
    """The report."""
    sentence: Callable[[Run], str]
    """What came out, in one sentence."""
    headline: Callable[[Run], str] = write_headline
    """The same for a reader: models in words, or what the report begins with."""
    answer_line: Callable[[Run], str] = lambda run: run.answer.line()
    """Which model answers for a run, and why."""
    score_name: Callable[[Run], str] = lambda run: run.answer.name
    """Name that the scores of the answer stand under."""
    cautions: Callable[[Run], list[str]] = lambda run: []
    """What nobody should miss who reads scores or predictions of a run, one line each."""
    cell_facts: Callable[[Sequence[Run]], Row] = no_facts
    """What else a row of results says."""

    # Answers.

    far: Callable[[Run, Any], Sequence[Far]] = nothing
    """What lies far outside the training in later data, as the task reads them."""
    far_scored: Callable[[Run, Any], Sequence[Far]] = nothing
    """What lies far outside the training in later data that are scored."""
    answer: Callable[..., Answer]
    """Predict for data that nobody has labelled; written to `out` where it is given."""
    explain: Callable[[Run, Path | None, Plain], Answer] = NO_EXPLANATION
    """Write what the model looked at."""
    backtest: Callable[[Run, str | None, Path | None, Plain], Answer] = NO_BACKTEST
    """Predict from past moments."""
    anomalies: Callable[[Run, str | None, Path | None, Plain], Answer] = NO_ANOMALIES
    """Past values that are not as the run expects."""
    update: Callable[[Run, str], Run] = NO_UPDATE
    """The run with later rows taken in; its models are changed in place."""

    # Compression.

    prepare_compression: Callable[[Run], None] = do_nothing
    """Leave out of a loaded run what a smaller network does not go with."""
    network_in: Callable[[nn.Module], nn.Module] = lambda model: model
    """The part of our model whose layers `compress` may swap."""
    trained_part: Callable[[nn.Module], nn.Module] = lambda model: model
    """The part of a model whose trained numbers are counted."""
    sample: Callable[[Run, Any], tuple[Tensor | None, ...]] = NO_SAMPLE
    """Validation inputs of the network, evenly spread, to measure a compression on."""

    def __reduce__(self) -> "tuple[Callable[[str], AnyTask], tuple[str]]":
        return task_named, (self.name,)

    configure = configure

    def name_answers(self, config: Any, state: Any) -> tuple[str, ...]:
        """Names of what can answer: all models where one of them is chosen, and its own elsewhere."""
        names = self.answers or self.names
        return (self.own,) if self.choose is None else names(config, state)

    def locate(self, data: str) -> str:
        """Path of a file, or of the known data set of that name."""
        return datasets.locate(data)


AnyTask = Task
