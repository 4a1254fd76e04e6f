"""How a table of rows is read and split."""

from typing import Literal, Self

from pydantic import Field, model_validator

from multiway.config import Config
from multiway.data.options import ReadOptions
from multiway.data.shares import SplitShares
from multiway.data.unpacking import MAX_BYTES


class TableOptions(Config):
    """Which columns are inputs, which one is the target, and what to do with missing cells."""

    target: str | None = None
    """Column to predict."""
    columns: tuple[str, ...] | None = None
    """Input columns to keep; all but identifiers and constants if not given."""
    drop: tuple[str, ...] = ()
    """Columns to leave out."""
    categories: tuple[str, ...] = ()
    """Columns of numbers to take as categories."""
    kind: Literal["auto", "classes", "number"] = "auto"
    """What the target is; `auto` takes words, truth values and a few whole numbers as classes, all else as a number."""
    group: str | None = None
    """Column of groups, such as patients, whose rows all fall into one split; it is no input."""
    time: str | None = None
    """Column of times: train on the earliest rows, test on the latest; it is no input."""
    missing: Literal["impute", "error"] = "impute"
    """Missing inputs: training median and an indicator for numbers, a level of their own for categories; or refuse."""
    max_levels: int = Field(100, ge=2)
    """Most levels of a category with an input of their own; rarer ones are treated as unknown."""
    encoding: str | None = None
    """Text encoding; UTF-8, else Windows-1252, if not given."""
    decimal: Literal[".", ","] = "."
    """What separates the fraction of a number in a text file."""
    day_first: bool | None = None
    """Whether 01/02/2024 in the column of times is the first of February."""
    max_bytes: int = Field(MAX_BYTES, gt=0)
    """What a packed table may unfold to, and the cells of a Parquet file may take."""

    @model_validator(mode="after")
    def _roles_differ(self) -> Self:
        roles = [name for name in (self.target, self.group, self.time) if name is not None]
        if len(set(roles)) < len(roles):
            raise ValueError(f"target, group and time are three different columns. Got {', '.join(roles)}")
        if self.group is not None and self.time is not None:
            raise ValueError("rows are split by group or by time. Leave out one of them")
        for option, names in (("columns", self.columns or ()), ("drop", self.drop), ("categories", self.categories)):
            if self.target in names:
                raise ValueError(f"{option} holds input columns, and {self.target} is the target")
        return self

    def reading(self) -> ReadOptions:
        """What of it concerns the form of a file."""
        shared = ("encoding", "decimal", "day_first", "max_bytes")
        return ReadOptions.parse({name: getattr(self, name) for name in shared})


class TableSplit(SplitShares):
    """By time or by group where one is named, else at random; classes in their proportions."""
