"""What to do with the flaws of a file; nothing is repaired unless one of these says so."""

import unicodedata
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from multiway.config import Config

MAX_BYTES = 2**29
"""What data may unfold to behind any door, unless `max_bytes` says otherwise: 512 MiB, a cube of 512 in float32."""
MAX_FILES = 250_000


def composed(text: str) -> str:
    """Text with every accent in its letter (NFC)."""
    return unicodedata.normalize("NFC", text)


Names = Annotated[tuple[str, ...], AfterValidator(lambda names: tuple(map(composed, names)))]
"""A field of names, composed."""


class NamedOptions(Config):
    """Options that name columns and series, composed as the names in tables are."""

    paths: ClassVar[tuple[str, ...]] = ()
    """Fields that are names of files, which stay as the disk has them."""

    @model_validator(mode="before")
    @classmethod
    def _composed(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        return {name: value if name in cls.paths else _each(value) for name, value in values.items()}


def _each(value: Any) -> Any:
    if isinstance(value, str):
        return composed(value)
    return type(value)(map(_each, value)) if type(value) in (list, tuple) else value


class Limits(NamedOptions):
    """How much may be read; each field lifts its limit."""

    max_files: int = Field(MAX_FILES, gt=0)
    """Files that a folder may hold, those of its folders among them."""
    max_seconds: float | None = Field(None, gt=0)
    """What reading may take; unless given, a minute, and a second more for every megabyte and every hundred files. It
    is looked at with each file that is opened."""


class Budget(Limits):
    """Limits of what is read file by file."""

    max_bytes: int = Field(MAX_BYTES, gt=0)
    """What a packed file may unfold to, and a table or an array may take."""


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

    as_text: ClassVar[tuple[str, ...]] = ()
    """Fields that name columns which are text though they may look like numbers."""
    as_names: ClassVar[tuple[str, ...]] = ()
    """Fields that name columns of classes and groups, whose numbers are names where they are written as such."""
    usual_names: ClassVar[tuple[str, ...]] = ()
    """Columns of classes that are found by these names."""


class ReadOptions(FileOptions):
    """How a file or frame of series is read."""

    as_text = ("time_column", "id_column")

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
