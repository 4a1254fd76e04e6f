"""What to do with the flaws of a file; nothing is repaired unless one of these says so."""

from typing import Annotated, Literal

from pydantic import BeforeValidator

from multiway.data.sources.budget import Budget


def several(given: object) -> object:
    """One name as a list of one."""
    return (given,) if isinstance(given, str) else given


class FileOptions(Budget):
    """How the bytes of a table become columns, whatever it is a table of."""

    encoding: str | None = None
    """Text encoding; UTF-8, else Windows-1252, if not given."""
    decimal: Literal["auto", ".", ","] = "auto"
    """What separates the fraction of a number; "auto" takes a comma where a cell can mean nothing else, as 1.203,27."""
    day_first: bool | None = None
    """Whether 01/02/2024 is the first of February; needed only where both readings make sense."""
    sheet: str | None = None
    """Sheet of an Excel file; the first if not given."""

    @property
    def labels(self) -> tuple[str | None, ...]:
        """Columns that are text though they may look like numbers, besides those with usual names."""
        return ()

    @property
    def names(self) -> tuple[str | None, ...]:
        """Columns of classes and groups, whose numbers are names where they are written as such."""
        return ()


class ReadOptions(FileOptions):
    """How a file or frame of series is read."""

    time_column: str | None = None
    """Column of times; found by name and content if not given."""
    id_column: Annotated[tuple[str, ...], BeforeValidator(several)] | None = None
    """Columns of series names, in a long table: one, or several that name a series together."""
    value_column: str | None = None
    """Column of values, in a long table."""
    variates: tuple[str, ...] | None = None
    """Series to keep, in this order; all if not given."""
    missing: Literal["error", "mask", "ffill"] = "error"
    """Missing cells: refuse, keep out of scaler, loss and attention, or repeat the last value."""
    sentinels: tuple[float, ...] = (-9999.0,)
    """Numbers that mean missing; an empty list takes every number as it is."""
    duplicates: Literal["error", "first", "last", "mean", "keep"] = "error"
    """Rows with one time stamp: refuse, keep one, average, or take them as successive steps."""
    gaps: Literal["error", "fill", "ignore"] = "error"
    """Absent time stamps: refuse, insert missing rows, or take rows as successive steps."""
    unsorted: Literal["error", "sort"] = "error"
    """Rows not in the order of time: refuse or sort."""
    frequency: str | None = None
    """Step between times as a pandas alias (h, 10min, D, MS); inferred if not given."""
    resample: Literal["last", "mean", "sum"] | None = None
    """What a step of `frequency` has of several rows, or of rows off it: the last value up to it, or the mean or sum of
    those from it to the next; the end of a month (ME), quarter or year has its own rows. A step without a row is
    missing, and masked. "last" if not given and gaps are filled."""

    @property
    def labels(self) -> tuple[str | None, ...]:
        """The columns of times and of names."""
        return (self.time_column, *(self.id_column or ()))
