"""How labelled series are read and split."""

from typing import Literal, Self

from pydantic import Field, model_validator

from multiway.config import Config
from multiway.data.options import ReadOptions
from multiway.data.shares import SplitShares
from multiway.data.unpacking import MAX_BYTES


class SequenceOptions(Config):
    """What the columns of a long table are, and how long series may be; files of archives say the former themselves."""

    target: str | None = None
    """Column of classes; found by name (class, label) if not given."""
    id: str | None = None
    """Column that names the series of each row; found by name if not given."""
    time: str | None = None
    """Column of times, by which the rows of a series are put in order; found by name, else rows are as they stand."""
    group: str | None = None
    """Column of groups, such as patients, whose series all fall into one split; it is no input."""
    columns: tuple[str, ...] | None = None
    """Columns of values to keep; all others if not given."""
    length: int | None = Field(None, gt=0)
    """Steps that every series is padded to; those of the longest if not given. A longer one is refused."""
    missing: Literal["mask", "error"] = "mask"
    """Missing values: leave them out of what a model sees, or refuse."""
    encoding: str | None = None
    """Text encoding; UTF-8, else Windows-1252, if not given."""
    decimal: Literal[".", ","] = "."
    """What separates the fraction of a number in a long table."""
    day_first: bool | None = None
    """Whether 01/02/2024 in the column of times is the first of February."""
    max_bytes: int = Field(MAX_BYTES, gt=0)
    """What a packed file may unfold to, and an array may take."""

    @model_validator(mode="after")
    def _roles_differ(self) -> Self:
        roles = [name for name in (self.target, self.id, self.time, self.group) if name is not None]
        if len(set(roles)) < len(roles):
            raise ValueError(f"target, id, time and group are different columns. Got {', '.join(roles)}")
        return self

    def reading(self) -> ReadOptions:
        """What of it concerns the form of a table."""
        shared = ("encoding", "decimal", "day_first", "max_bytes")
        return ReadOptions.parse({name: getattr(self, name) for name in shared})


class SequenceSplit(SplitShares):
    """Official test series stay the test, and validation takes its share of the rest; without any, all by share.

    Classes keep their proportions, and series of one group stay together.
    """
