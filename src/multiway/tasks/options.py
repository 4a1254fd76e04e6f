"""What configs and options of tasks share: usual values below given ones, readers, fixes as Python writes them."""

import dataclasses
import functools
import itertools
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from multiway.config import Config, Flag, Plain, Setting, merge, nest, read_whole
from multiway.data.options import Limits, Shares
from multiway.errors import ConfigError, Fix, closest, end_sentence
from multiway.training.config import TrainingConfig

if TYPE_CHECKING:
    from torch import nn

AUTO = "auto"
"""The answer that a config names where validation decides."""
Refit = Literal["all", "closed", "none"]
"""What is refitted on rows that training left out, once it is chosen: everything, all but networks, or nothing."""

Sizes = int | tuple[int, ...]
LAYER = Flag(
    "Maps of the network: nd_linear, linear, tensor_train or low_rank; the last two need a rank of the model.",
    key="layer",
    usual="nd_linear",
    commands=(),
)
"""Of a network whose maps can be of several kinds."""


def starting_from(usual: Plain) -> BeforeValidator:
    """For the type of a field: what is given as a mapping stands above the usual values."""
    return BeforeValidator(lambda given: merge(usual, given) if isinstance(given, dict) else given)


def check_model(model: Mapping[str, object], usual: str, patterns: Sequence[str], set_by_data: Sequence[str]) -> None:
    """Hold the field `model` to the networks of a task.

    `patterns` are as `list_models` takes them; fields that are `set_by_data` are not for the user.
    """
    name, known = model.get("name", usual), [usual]
    if name != usual:
        from multiway.models import list_models  # needs torch, which reading data does not

        known = [known for pattern in patterns for known in list_models(pattern)]
    if name not in known:
        raise ValueError(f"model.name must be one of {', '.join(known)}{closest(str(name), known)}")
    given = [field for field in set_by_data if field in model]
    if given:
        raise ValueError(f"model.{given[0]} is set by the data. Leave it out")


def check_class_losses(*trainings: TrainingConfig) -> None:
    """Hold trainings on classes to the one loss for them."""
    for training in trainings:
        if training.loss != "cross_entropy" or training.validation_loss not in (None, "cross_entropy"):
            raise ValueError("classes are trained with training.loss=cross_entropy")


def network_fields(model: Mapping[str, object], **set_by_data: object) -> Plain:
    """Fields of `create_model`: those of the config, and those that the data set."""
    return {**{name: value for name, value in model.items() if name != "name"}, **set_by_data}


class Answering(Config):
    """The config of a run whose answer is one of its models, or a blend of them."""

    answer: Annotated[
        str,
        Flag("Which model answers: auto, what validation prefers; network; or one by its name.", commands=("train",)),
    ] = AUTO


class Refitting(Config):
    """The config of a run on samples whose answer is refitted before it is used."""

    refit: Annotated[
        Refit,
        Flag(
            "Refit the answer on all rows once it is scored: closed, which is all but networks; all; or none.",
            commands=("train",),
        ),
    ] = "closed"
    """Refit what the answer is made of on training, validation and test rows, with the settings that validation chose;
    rows that the data themselves call test stay out. Scores are of the models before, `predict` uses those after. "all"
    trains a network once more for the epochs that were best; "none" leaves all as scored."""


class RunConfig(Answering):
    """A run on samples: where they lie, how they are read and split, what is trained on them, and how."""

    data: str | None = None
    """A path, or the name of a known data set; None for what is in memory."""
    read: Limits
    split: Shares
    model: Plain = Field(default_factory=dict)
    """Fields of the network without those that the data set; `name` is one of its named sizes."""
    baselines: tuple[str, ...] | None = None
    training: TrainingConfig
    draws: int = Field(200, ge=0)
    """Bootstrap samples, of groups where there are some, behind each interval; 0 gives none."""


class NetworkConfig(RunConfig):
    """One whose network is one of the models of a task, whatever the data."""

    NETWORK: ClassVar[str]
    """Name of the network, and of its sizes the beginning."""
    NETWORKS: ClassVar[Sequence[str]] = ()
    """Patterns of the names that it may have, where they are more than these."""
    BY_DATA: ClassVar[Mapping[str, Sizes]]
    """Fields of the network that the data set, with values that it can have."""

    @model_validator(mode="after")
    def _network_fits(self) -> Self:
        if self.model:
            from multiway.models import model_config  # the usual network is one, and needs no torch to say so

            check_model(self.model, self.NETWORK, self.NETWORKS or (f"{self.NETWORK}*",), tuple(self.BY_DATA))
            model_config(self.model_name, **self.network_fields(**self.BY_DATA))
        return self

    @property
    def model_name(self) -> str:
        """Name of the network."""
        return str(self.model.get("name", self.NETWORK))

    def network_fields(self, **set_by_data: Sizes) -> Plain:
        """Fields of `create_model` on this data."""
        return network_fields(self.model, **set_by_data)

    def network(self, **set_by_data: Sizes) -> "nn.Module":
        """Draw the network for this data."""
        from multiway.models import create_model

        return create_model(self.model_name, **self.network_fields(**set_by_data))


def hold_moments(cutoffs: int, step: int) -> None:
    """Hold a backtest to past moments that there are."""
    if cutoffs < 1 or step < 1:
        raise ConfigError(f"backtest: cutoffs and step are at least 1. Got cutoffs={cutoffs}, step={step}.")


def percentages(text: str) -> tuple[float, ...]:
    """Split "80,95" into percentages."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError("give percentages such as 80,95") from None


def check_percentages(levels: Iterable[float]) -> None:
    """Refuse levels that are no percentages; a share is answered with the percentage that it would be."""
    for level in levels:
        if not 1 <= level < 100:
            meant = f"; did you mean {100 * level:g}?" if 0 < level < 1 else ""
            raise ValueError(f"levels are percentages, from 1 to less than 100. Got {level:g}{meant}")


def hold_levels(command: str, levels: Iterable[float]) -> None:
    """The same for the levels of a command: an error in one line."""
    try:
        check_percentages(levels)
    except ValueError as error:
        raise ConfigError(end_sentence(f"{command}: {error}")) from None


def read_shares(text: str) -> tuple[float, ...]:
    """Split "0.1,0.9" into numbers between 0 and 1."""
    try:
        shares = tuple(float(part) for part in text.split(","))
    except ValueError:
        shares = ()
    if not shares or not all(0 < share < 1 for share in shares):
        raise ValueError("give numbers between 0 and 1 such as 0.1,0.9")
    return shares


UNITS = {"s": 1, "m": 60, "h": 3600}


def read_seconds(given: object) -> float | None:
    """Seconds of "60s", "10m" or "1h", or of a number."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(given))
    if given is not None and (match is None or not float(match[1])):
        raise ValueError("give a time such as 60s, 10m or 1h")
    return None if match is None else float(match[1]) * UNITS[match[2] or "s"]


def read_every(text: str) -> int:
    """How often, "every=4"."""
    word, _, count = text.partition("=")
    if word != "every":
        raise ValueError("give every=N, such as every=1")
    return read_whole(count)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spelling:
    """How the settings of a task are written in a call of Python.

    options: Of the task.
    arguments: Arguments of the constructor by their place in the config; other fields go into `settings`.
    own: Arguments of the method that was called, which win.
    """

    options: Sequence[Setting]
    arguments: Mapping[str, str]
    own: Collection[str] = ()

    def of(self, message: Iterable[str | Fix]) -> str:
        """A sentence whose fixes are arguments, those of one call together, and which calls fields as Python does."""
        groups = itertools.groupby(message, lambda part: isinstance(part, Fix) or part == " ")
        return "".join(self._call(parts) if is_fix else self._words(parts) for is_fix, parts in groups)

    def _call(self, parts: Iterable[str | Fix]) -> str:
        given = functools.reduce(merge, (self._given(part) for part in parts if isinstance(part, Fix)), Plain())
        return ", ".join(f"{name}={_literal(value)}" for name, value in given.items())

    def _given(self, fix: Fix) -> Plain:
        value = fix.like or fix.value
        if fix.field in self.own:
            return {fix.field: value}
        name = next((option.name for option in self.options if option.field == fix.field), fix.field)
        if name in self.own:
            return {name: value}
        own = self.arguments.get(fix.field)
        return {own: value} if own is not None else {"settings": nest(fix.field, value)}

    def _words(self, parts: Iterable[str | Fix]) -> str:
        words = "".join(map(str, parts))
        for place, name in self.arguments.items():
            words = re.sub(rf"(?<![\w.]){re.escape(place)}(?![\w.]*\w)", name, words)
        return words


def _literal(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
