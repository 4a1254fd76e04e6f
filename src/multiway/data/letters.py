"""One spelling of every letter: an accent of its own (Unicode's decomposed form) makes no other name."""

import unicodedata
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, model_validator

from multiway.config import Config


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
