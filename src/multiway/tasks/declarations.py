"""What a task is declared with: options, context, and what its config, data, state and page have to give."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, Self

from torch import nn

from multiway.config import Plain
from multiway.data.samples import Rows, Samples, Splits
from multiway.data.splitting import notes_on_draws
from multiway.errors import Fix
from multiway.tasks.candidate import NETWORK as NETWORK
from multiway.training import Callback, History, RunFolder, TrainingConfig

Row = Plain
"""A row of a table: column names to plain values."""
Fitted = History | Plain | None
"""What fitting a model leaves: its history, or the facts that a closed form found."""
OURS = "multiway"
"""Name of the model that a run of forecasts is about: it holds the network among its own candidates."""
SPLITS = ("train", "validation", "test")
VALIDATION = ("data", "read", "split", "training.loss", "training.validation_loss", "training.seed")
"""See `Task.fields_of_validation`; a seed is no setting to choose."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Context:
    """What the work on a model of a run carries along: where the run is kept, and whether progress is shown.

    callbacks: Hear of the training of each network.
    teacher: A network whose outputs the one that is trained nears as well.
    fitted: Models of the run that are fitted already: what a network is measured against.
    """

    folder: RunFolder | None = None
    progress: bool = False
    model: str = NETWORK
    callbacks: tuple[Callback, ...] = ()
    teacher: nn.Module | None = None
    fitted: tuple[str, ...] = ()

    def own_folder(self) -> RunFolder | None:
        """Where a training by steps is kept; that of a baseline in a part of the run's."""
        return self.folder if self.folder is None or self.model in (NETWORK, OURS) else self.folder.part(self.model)


class TaskConfig(Protocol):
    """A frozen `Config` with at least these fields."""

    @property
    def data(self) -> str | None:
        """Path of the data, or the name of a known data set; None for data in memory."""

    @property
    def training(self) -> TrainingConfig:
        """How the model is trained, its seed among it."""

    @property
    def answer(self) -> str:
        """`auto`, or the model that answers."""

    @classmethod
    def parse(cls, values: object, where: str = ..., /) -> Self:
        """Build from plain values; an error names `where`."""

    def replace(self, **changes: Any) -> Self:
        """Copy with some fields changed."""

    def plain(self) -> Plain:
        """Fields as YAML and JSON can hold them."""


class Prepared(Protocol):
    """Data ready to be learnt from."""

    @property
    def source(self) -> str:
        """Where it came from."""

    @property
    def notes(self) -> Sequence[str]:
        """What a reader of the scores should know, one line each."""

    def content(self) -> Iterable[object]:
        """Everything that was read, as arrays, texts and numbers: what the digest is made of."""


class State(Protocol):
    """What training learnt of the data and a loaded run needs to rebuild its models."""

    def plain(self) -> Plain:
        """Values for JSON, exact."""

    @classmethod
    def parse(cls, plain: Plain, /) -> Self:
        """Undo `plain`."""


def encode_by_state(config: Any, samples: Samples[Any], state: Any, *, progress: bool = False) -> Samples[Any]:
    """Samples as the network takes them, by what the state says."""
    encoded: Samples[Any] = state.encode(samples)
    return encoded


@dataclasses.dataclass(frozen=True, kw_only=True)
class Encoding:
    """What training learns of samples, and how they are encoded by it.

    learn: What the training rows say, which is the state: classes, sizes, scales, levels, words.
    encode: Samples as the network takes them; numbers to predict are scaled.
    arrange: Samples of splits, learnt from and encoded at once, where one needs the other.
    split_later: Splits of samples that come after the training; none if not given.
    remarks: What a reader of the scores should know of the splits, one line each.
    split_field: Names the column of splits, where there can be one.
    """

    learn: Callable[[Any, Samples[Any], Rows], Any]
    encode: Callable[..., Samples[Any]] = encode_by_state
    arrange: Callable[..., Any] | None = None
    split_later: Callable[[Any, Samples[Any]], Splits] = lambda config, samples: {}
    remarks: Callable[[Samples[Any], Splits], Iterable[str]] = notes_on_draws
    split_field: Fix | None = None
