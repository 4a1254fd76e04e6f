"""A candidate: one way to answer, as an object that says when it is allowed, how it is built and how it is fitted."""

import abc
import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from pydantic import AfterValidator

from multiway.lazy import extensions, is_installed, load_extension

if TYPE_CHECKING:  # names of candidates are read without torch
    from torch import nn

NETWORK = "network"
"""Name of the network of a run."""
CONSTANT, LINEAR, TREES, NET, MIXED = range(5)
"""Ranks of candidates, the simplest first: a constant, a closed form or a linear map, trees, networks, a blend."""

FactsT = TypeVar("FactsT")
SizesT = TypeVar("SizesT")
DataT = TypeVar("DataT")
ModelT = TypeVar("ModelT", bound="nn.Module")


class Candidate(abc.ABC, Generic[FactsT, SizesT, DataT, ModelT]):
    """One way to answer. It has no state of its own: what it fits is the module that it builds, whose call predicts.

    name: As in files, settings and scores; also the name of its module.
    words: As in a report; the name itself if empty.
    cost: Its place among the others: the cheaper is fitted first.
    rank: How simple it is; the simpler one answers where validation cannot tell two apart.
    counts_words: Metric that shows, on two splits, whether it counts words that stand in the training; empty if not.
    library: One that it needs, and the extra that has it.
    """

    name: ClassVar[str]
    words: ClassVar[str] = ""
    cost: ClassVar[float]
    rank: ClassVar[int] = NET
    counts_words: ClassVar[str] = ""
    library: ClassVar[tuple[str, str] | None] = None

    def is_installed(self) -> bool:
        """Whether the library that it needs is there."""
        return self.library is None or is_installed(self.library[0])

    def can_answer(self, facts: FactsT) -> bool:
        """Whether data with these facts can be answered so."""
        return True

    @abc.abstractmethod
    def build(self, sizes: SizesT) -> ModelT:
        """The model before it is fitted, or before its weights are loaded."""

    def fit(self, model: ModelT, training: DataT, validation: DataT) -> Any:
        """Fit the model on training data, under settings that validation has a say in; what it found, as facts."""

    def refit(self, model: ModelT, fitted: ModelT | None, data: DataT) -> None:
        """Fit a model on other data, with the settings of one that was `fitted`, where there is one."""


def ranks_of(candidates: Mapping[str, "AnyCandidate"]) -> dict[str, int]:
    """Rank of each candidate by name."""
    return {name: each.rank for name, each in candidates.items()}


def words_of(candidates: Mapping[str, "AnyCandidate"]) -> dict[str, str]:
    """Words of the candidates whose name says too little."""
    return {name: each.words for name, each in candidates.items() if each.words}


def baseline_of(package: str, task: str) -> AfterValidator:
    """For the type of a field: the name of a candidate of a task that is not its network."""

    def check(name: str) -> str:
        names = [each for each in names_of(package, task) if each != NETWORK]
        if name not in names:
            *others, last = map(repr, names)
            raise ValueError(f"Input should be {', '.join(others)} or {last}")
        return name

    return AfterValidator(check)


def names_of(package: str, task: str) -> tuple[str, ...]:
    """Names of the candidates of a task, found without importing any of them."""
    return (*_own_names(package), *_names_added(task))


@functools.cache
def discover(package: str, task: str) -> Mapping[str, Any]:
    """The candidates of a task by name, the cheapest first.

    Each module of a package is one, its `CANDIDATE`; other distributions add theirs by entry points.
    """
    found = [importlib.import_module(f"{package}.{name}").CANDIDATE for name in _own_names(package)]
    found += [load_extension("candidates", f"{task}.{name}") for name in _names_added(task)]
    return {each.name: each for each in sorted(found, key=lambda each: each.cost)}


@functools.cache
def _own_names(package: str) -> tuple[str, ...]:
    """Names of its modules, listed once: every config that names a candidate asks for them."""
    spec = importlib.util.find_spec(package)
    folders = () if spec is None else spec.submodule_search_locations or ()
    return tuple(each.name for each in pkgutil.iter_modules(folders))


def _names_added(task: str) -> list[str]:
    """Names of the candidates of a task that other distributions add, by entry points `TASK.NAME`."""
    return [name.removeprefix(f"{task}.") for name in extensions("candidates") if name.startswith(f"{task}.")]


AnyCandidate = Candidate[Any, Any, Any, Any]
