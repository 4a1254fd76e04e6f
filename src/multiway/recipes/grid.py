"""A published table as a grid: what all its cells share, and what a row, a variant and a horizon change."""

import functools
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

from pydantic import ConfigDict, Field, FiniteFloat, model_validator

from multiway.config import Config, merge


class Part(Config):
    """Fields of `Recipe` that the whole table, a row or a variant states."""

    row: str | None = None
    """The row's name, if it is not its key."""
    variant: str | None = None
    """The variant's name, if it is not its key."""
    data: str | None = None
    """The data set's name, if it is not the row's key."""
    published: dict[str, Any] = Field(default_factory=dict)
    note: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class Cell(NamedTuple):
    """Where a cell stands: keys of its row and variant, and its horizons."""

    row: str
    variant: str | None
    horizons: tuple[int, ...]

    @property
    def steps(self) -> str:
        """The horizons as text."""
        return ",".join(map(str, self.horizons))

    @property
    def column(self) -> str:
        """Key of its figures within the row."""
        return self.variant or self.steps


class Grid(Config):
    """The cells of one table: the product of its rows, variants and horizons."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    task: str
    name: str = Field(pattern=r"^([\w-]|\{(row|variant|horizon)\})+$")
    """Name of each recipe, of {row}, {variant} and {horizon}; without {horizon}, a cell is the mean over all."""
    shared: Part
    rows: dict[str, Part]
    variants: dict[str, Part] = Field(default_factory=dict)
    horizons: tuple[int, ...] = ()
    metrics: tuple[str, ...] = ()
    """What the numbers of `figures` are, in order."""
    figures: dict[str, dict[str, tuple[FiniteFloat, ...]]] = Field(default_factory=dict)
    """Published figures by row and column: the key of a variant, or a horizon."""

    @model_validator(mode="after")
    def _a_name_is_of_one_cell(self) -> Self:
        names = [self.name_of(cell) for cell in self.cells()]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"name: several cells are called {', '.join(twice)}. Got {self.name}")
        return self

    @model_validator(mode="after")
    def _figures_are_of_cells(self) -> Self:
        known = {(cell.row, cell.column) for cell in self.cells()}
        given = {(row, column): values for row, line in self.figures.items() for column, values in line.items()}
        for (row, column), values in given.items():
            if (row, column) not in known:
                raise ValueError(f"figures.{row}.{column}: the table has no such cell")
            if len(values) != len(self.metrics):
                wanted = ", ".join(self.metrics)
                raise ValueError(f"figures.{row}.{column}: give one number for each of {wanted}. Got {values}")
        return self

    def cells(self) -> Iterator[Cell]:
        """Row by row, as printed."""
        runs = [(horizon,) for horizon in self.horizons] if "{horizon}" in self.name else [self.horizons]
        return itertools.starmap(Cell, itertools.product(self.rows, self.variants or [None], runs))

    def name_of(self, cell: Cell) -> str:
        """Name of a cell's recipe."""
        return self.name.format(row=cell.row, variant=cell.variant, horizon=cell.steps)


def resolve(grid: Grid, cell: Cell) -> dict[str, Any]:
    """Fields of a cell's recipe but its table: shared <- row <- variant <- horizon, the later winning."""
    figures = dict(zip(grid.metrics, grid.figures.get(cell.row, {}).get(cell.column, ()), strict=False))
    parts = [
        {"task": grid.task, "row": cell.row, "variant": cell.variant, "data": cell.row},
        _given(grid.shared),
        _given(grid.rows[cell.row]),
        _given(grid.variants[cell.variant]) if cell.variant else {},
        {"horizons": cell.horizons, "published": figures},
    ]
    return functools.reduce(merge, parts)


def _given(part: Part) -> dict[str, Any]:
    return part.model_dump(exclude_unset=True)
