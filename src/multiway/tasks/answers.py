"""What predict, explain and backtest give back: data, files, and what a user reads; the command line prints it."""

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

import pandas as pd

from multiway.config import Config, Plain
from multiway.data.findings import list_some, quote
from multiway.data.writing import csv_text, write_table
from multiway.errors import ConfigError, Fix, closest
from multiway.files import atomic_folder
from multiway.training.stored import Sha256

PREDICTIONS = "predictions.parquet"
"""The table of what comes after the data of a training, in its run."""
MOST_UNITS = 5
"""Columns whose units are said."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer of a run.

    frame: The table itself; None where the answer is files alone.
    files: What was written.
    notes: Lines for the reader.
    head: Which model this is of, and why: the first line.
    told: The same with models in words, which is printed.
    words: Names of models in words, by what files call them.
    raw: Print text as it is, though a spreadsheet may run it as a formula.
    """

    frame: pd.DataFrame | None = None
    files: Sequence[Path] = ()
    notes: Sequence[str] = ()
    head: str = ""
    told: str = ""
    words: Mapping[str, str] = dataclasses.field(default_factory=dict)
    raw: bool = False

    def within(self, folder: Path) -> Self:
        """The same answer, its files by the folder that they have come to."""
        return dataclasses.replace(self, files=[folder / file.name for file in self.files])

    def rows(self) -> list[Plain]:
        """The table as rows of plain values."""
        records = [] if self.frame is None else self.frame.to_dict("records")
        return [{str(name): value for name, value in row.items()} for row in records]

    @property
    def is_table(self) -> bool:
        """Whether the table itself is printed, for other programs to read."""
        return self.frame is not None and not self.files

    def lines(self) -> list[str]:
        """What is printed: a table that was not written as CSV; else the notes, and files that no table lists."""
        head = self.told or self.head
        return self._lines() if self.is_table or not head else [head, *self._lines()]

    def _lines(self) -> list[str]:
        if self.frame is None:
            return [*self.notes, *map(str, self.files)]
        if not self.files:
            return [csv_text(self.frame, raw=self.raw).rstrip(), *self.notes]
        head = [f"{len(self.frame)} rows written to {self.files[0]}"] if len(self.files) == 1 else []
        return [*head, *self.notes]


class KeptAnswer(Config):
    """What a training answers to `predict` after its own data, of which `PREDICTIONS` is the table.

    read: Hash of the file that these are in.
    columns: Types of the columns of the table.
    """

    read: Sha256
    head: str
    told: str
    words: dict[str, str]
    columns: dict[str, str]


class ScoreTable(list[Plain]):
    """Rows of scores.

    head: Which models answer, and why: the first lines.
    told: The same with models in words, which is printed.
    words: Names of models in words, by what files call them.
    details: Columns that are printed on request alone.
    """

    def __init__(
        self,
        rows: Iterable[Plain],
        head: Sequence[str],
        told: Sequence[str] = (),
        words: Mapping[str, str] | None = None,
        details: Collection[str] = (),
    ) -> None:
        super().__init__(rows)
        self.head, self.told, self.words = tuple(head), tuple(told or head), dict(words or {})
        self.details = details


def join_own_columns(own: pd.DataFrame, answers: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The user's columns, then the answers; an answer's column that the user has too gets another name, and a note."""
    taken = [name for name in answers.columns if name in own.columns]
    renamed = dict[str, str]()
    for name in taken:
        renamed[name] = f"multiway_{name}"
        while renamed[name] in own.columns:
            renamed[name] += "_"
    frame = pd.concat([own, answers.rename(columns=renamed)], axis=1)
    note = f"the data have columns {list_some(taken)}, so the answers stand in {list_some(renamed.values())}"
    return frame, (note,) if taken else ()


def words_on_units(signs: Mapping[str, str]) -> tuple[str, ...]:
    """What the numbers of columns are in, by the sign without which they are read; of many columns the first."""
    some = itertools.islice(((name, sign) for name, sign in signs.items() if sign), MOST_UNITS)
    return tuple(f"Numbers of '{quote(name)}' are in {sign if sign != '%' else 'percent'}." for name, sign in some)


def write_answer(frame: pd.DataFrame, out: Path | None, notes: Sequence[str] = ()) -> Answer:
    """The answer that is one table, kept at `out` where that is given."""
    if out is None:
        return Answer(frame=frame, notes=notes)
    write_table(frame, out)
    return Answer(frame=frame, files=(out,), notes=notes)


def in_folder(
    frame: pd.DataFrame,
    folder: Path | None,
    name: str,
    notes: Sequence[str] = (),
    more: Mapping[str, pd.DataFrame] | None = None,
) -> Answer:
    """The answer of one table, kept under its name in `folder` where that is given, with more tables next to it."""
    if folder is None:
        return write_answer(frame, None, notes)
    tables = {name: frame, **(more or {})}
    with atomic_folder(folder, replace=True) as made:
        for each, table in tables.items():
            write_table(table, made / each)
    written = [f"{len(table)} rows written to {folder / each}" for each, table in tables.items()] if more else []
    return Answer(frame=frame, files=[folder / each for each in tables], notes=[*written, *notes])


def positions_of(names: Sequence[str], known: Sequence[str], lack: str, *fix: str | Fix) -> list[int]:
    """Positions of names among those that are known; `lack` says that one is not, and the fix what helps."""
    positions = {name: position for position, name in enumerate(known)}
    for name in names:
        if name not in positions:
            raise ConfigError(f"{lack} '{quote(name)}'{closest(name, positions)}", *fix)
    return [positions[name] for name in names]
