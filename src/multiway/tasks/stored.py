"""Schemas of what a run stores as JSON: whatever a stranger wrote there is refused before it is used."""

from collections.abc import Mapping, Sized
from typing import Generic, TypeVar

from pydantic import ConfigDict, Field

from multiway.config import Config, Plain
from multiway.tasks.choice import Choice
from multiway.training.run_folder import LogRow

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
    stopped: str | None = None
    """Why the training ended early, where it was far behind another candidate."""


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


class RefitFacts(Config):
    """What the answer was refitted on before it is used."""

    models: list[str]
    rows: int
    fitted: int
    """Training samples that the scores rest on."""


class SplitFacts(Facts, Generic[CountsT]):
    """Of samples that are split: how much there is in each split, and what was refitted on more than training."""

    splits: dict[str, CountsT]
    refitted: RefitFacts | None = None


class Preprocessing(Config):
    """What `preprocessing.json` holds."""

    state: Plain
    facts: Plain
    answer: Choice
    tables: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Types of the columns of every table."""


def same_length(parts: Mapping[str, Sized]) -> None:
    """Whether values that belong together are as many."""
    lengths = {name: len(part) for name, part in parts.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(", ".join(f"{count} {name}" for name, count in lengths.items()))
