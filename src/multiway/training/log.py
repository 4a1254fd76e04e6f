"""Rows of a training's log, and where a training stands: what a saved state says besides its tensors."""

from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from multiway.config import Config
from multiway.training.manifest import Sha256


class LogRow(Config):
    """One validation."""

    step: int = Field(ge=0)
    epoch: float = Field(ge=0)
    train_loss: float
    validation_loss: float
    best_loss: float
    validation_score: float | None = None
    best_score: float | None = None
    learning_rate: float = Field(ge=0)
    seconds: float = Field(ge=0)
    samples_per_second: float = Field(ge=0)
    watched: dict[str, list[float]] | None = None

    def plain(self) -> dict[str, Any]:
        """Fields as they were written; a training without a score, or that watches nothing, has none."""
        return self.model_dump(exclude_unset=True)


class Position(Config):
    """Where a training stands, and what it can be continued by.

    config_sha256: Of the run's `config.yaml`.
    rows: Of the log.
    samples: Training samples.
    world: Processes.
    threads, torch: Others give sums in another order.
    """

    config_sha256: Sha256
    step: int = Field(ge=0)
    total_steps: int = Field(ge=0)
    samples: int = Field(ge=0)
    world: int = Field(ge=1)
    threads: int = Field(ge=1)
    torch: str
    best_loss: float
    best_score: float | None
    best_epoch: float = Field(ge=0)
    bad_validations: int = Field(ge=0)
    loss_sum: float
    loss_count: float = Field(ge=0)
    seconds: float = Field(ge=0)
    finished: bool
    rows: list[dict[str, Any]]

    @field_validator("rows")
    @classmethod
    def _rows_are_of_a_log(cls, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [LogRow.parse(row, "rows").plain() for row in rows]

    @model_validator(mode="after")
    def _step_is_within_the_training(self) -> Self:
        if self.step > self.total_steps:
            raise ValueError(f"step {self.step} of {self.total_steps}")
        return self
