"""How a table of texts and their classes is read and split, and what of a text a network sees."""

from typing import Literal, Self

from pydantic import Field, model_validator

from multiway.config import Config
from multiway.data.options import ReadOptions
from multiway.data.shares import SplitShares
from multiway.data.unpacking import MAX_BYTES

InputKind = Literal["words", "vectors", "tokens"]


class LabelledTextOptions(Config):
    """Which columns hold the texts and their classes, and which rows are kept."""

    text: str | None = None
    """Column of texts; found by name or content if not given."""
    second: str | None = None
    """Column of a second text of each row, such as the answer to a question."""
    target: str | None = None
    """Column of classes; found by name if not given."""
    group: str | None = None
    """Column of groups, such as authors, whose rows all fall into one split."""
    split: str | None = None
    """Column that says which split a row is in: train, validation or dev, test. Without test rows, dev is the test."""
    where: dict[str, str] = Field(default_factory=dict)
    """Rows to keep, by the cell of a column: {dataset: mr}."""
    first: int | None = Field(None, ge=1)
    """Only so many of these rows, from the top."""
    empty: Literal["error", "keep"] = "error"
    """Rows without a text: refuse, or keep as texts without words."""
    encoding: str | None = None
    """Text encoding; UTF-8, else Windows-1252, if not given."""
    max_bytes: int = Field(MAX_BYTES, gt=0)
    """What a packed table may unfold to, and the cells of a Parquet file may take."""

    @model_validator(mode="after")
    def _roles_differ(self) -> Self:
        given = [self.text, self.second, self.target, self.group, self.split]
        named = [name for name in given if name is not None]
        if len(set(named)) < len(named):
            raise ValueError(f"text, second, target, group and split are different columns. Got {', '.join(named)}")
        if self.group is not None and self.split is not None:
            raise ValueError("rows are split by group or by a column of splits. Leave out one of them")
        return self

    def reading(self) -> ReadOptions:
        """What of it concerns the form of a file."""
        return ReadOptions(encoding=self.encoding, max_bytes=self.max_bytes)


class TextSplit(SplitShares):
    """By the column of splits where one is named; else at random, classes in their proportions.

    Copies of a text, whatever its case and blanks, are never in two splits.
    """

    folds: int | None = Field(None, ge=2)
    """Test on one of so many equal parts in place of the share `test`."""
    fold: int = Field(0, ge=0)
    """Which of them, from 0."""
    copies: Literal["drop", "keep"] = "drop"
    """With a column of splits: leave out training rows whose text is in a later split, or keep the split as it is."""

    @model_validator(mode="after")
    def _fold_is_one_of_them(self) -> Self:
        if self.fold >= (self.folds or 1):
            raise ValueError(f"fold counts from 0 and is below folds. Got {self.fold} and {self.folds}")
        return self


class WordOptions(Config):
    """The vocabulary of the training rows."""

    max_words: int = Field(20_000, ge=2)
    """Most words with an id of their own; the most frequent ones."""
    min_count: int = Field(2, ge=1)
    """Training texts that a word is in at least; rarer ones are one unknown word."""
