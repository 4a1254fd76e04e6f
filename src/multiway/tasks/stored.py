"""Schemas of what a run stores as JSON: whatever a stranger wrote there is refused before it is used."""

import dataclasses
import typing
from collections.abc import Iterator, Mapping, Sized
from typing import Any, Generic, TypeVar

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from multiway.config import Config, Plain
from multiway.training.log import LogRow

Scalar = str | int | float | bool | None


class ScoreRow(Config):
    """One score of one model; a task may tell more of it, such as its scale."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Scalar]

    model: str
    split: str
    metric: str
    value: float | None
    low: float | None = None
    high: float | None = None


class Best(Config):
    """The validation whose weights were kept."""

    epoch: float
    validation_loss: float
    validation_score: float | None
    steps: int


class Facts(Config):
    """What a report says of data and fit; each task adds its own."""

    model_config = ConfigDict(extra="allow")

    data_sha256: str
    source: str
    notes: list[str]
    best: dict[str, Best]
    learnt: dict[str, Plain]
    parameters: dict[str, int]
    flops: int | None = None
    """Of the network on one sample; None where the task gives none."""
    kept: int | None = None
    """Bytes that training keeps of one sample for its gradient; None as for `flops`."""
    histories: dict[str, list[LogRow]]
    seconds: dict[str, float]


CountsT = TypeVar("CountsT", bound=Config)


class SplitFacts(Facts, Generic[CountsT]):
    """Of samples that are split: how much there is in each split."""

    splits: dict[str, CountsT]


class Preprocessing(Config):
    """What `preprocessing.json` holds."""

    state: Plain
    facts: Plain
    tables: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Types of the columns of every table."""


def check_types(value: object, where: str) -> None:
    """Compare the fields of a dataclass, and of those in it, with their annotations; every number has to be finite.

    Raises:
        ValueError: A field is of another type.
    """
    if not dataclasses.is_dataclass(value):
        return
    hints = typing.get_type_hints(type(value))
    for field in dataclasses.fields(value):
        item, place = getattr(value, field.name), f"{where}.{field.name}"
        if dataclasses.is_dataclass(item):
            check_types(item, place)
        else:
            _check_type(item, hints[field.name], place)


def _check_type(item: Any, hint: Any, place: str) -> None:
    kinds = [kind for kind in (typing.get_args(hint) or (hint,)) if not dataclasses.is_dataclass(kind)]
    try:
        if len(kinds) == len(typing.get_args(hint) or (hint,)):
            config = ConfigDict(arbitrary_types_allowed=True, strict=True)
            TypeAdapter(hint, config=config).validate_python(item)
    except ValidationError as error:
        raise ValueError(f"{place}: {error.errors()[0]['msg']}") from None
    if not all(np.isfinite(number).all() for number in _numbers(item)):
        raise ValueError(f"{place} holds a number that is not finite")


def _numbers(item: Any) -> Iterator[Any]:
    if isinstance(item, float) or (isinstance(item, np.ndarray) and item.dtype.kind == "f"):
        yield item


def same_length(parts: Mapping[str, Sized]) -> None:
    """Whether values that belong together are as many.

    Raises:
        ValueError: They are not.
    """
    lengths = {name: len(part) for name, part in parts.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(", ".join(f"{count} {name}" for name, count in lengths.items()))
