"""A published table as a grid: what all its cells share, and what a row, a variant, a horizon and a form change.

Each setting has a source: a paper's text, its public code, or ours with the reason. It is written next to what it
covers, under a field or what the field lies in; `*` covers all. The nearest wins. It covers settings of its own file
alone, in the part that states it and in narrower ones. What a narrower part sets to another value needs a source of
its own, unless the wider one is ours or a folder of scripts, `scripts/`.
"""

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from pydantic import ConfigDict, Field, model_validator

from multiway.config import Config, leaves, load_yaml, merge
from multiway.errors import ConfigError

IN_PRINT = "paper"
"""The form of a recipe that is as the paper prints it."""
CODE = Path(__file__).parent / "code.yaml"
OURS = "ours"
SourceText = Annotated[str, Field(pattern=r"^(text: \S|code: \w[\w-]* \S|ours: \S)")]
"""`text: section 5.1`, `code: hot timeseries_main.py`, or `ours: why`."""
Sources = Mapping[str, SourceText]


class Setting(NamedTuple):
    """A setting of a recipe and its source: `text`, `code` or `ours`, and the section, the file or the reason."""

    setting: str
    value: Any
    source: str | None
    where: str | None


class Stated(NamedTuple):
    """What one part of a recipe states.

    settings: Nested fields.
    sources: Its own.
    wider: What its file states of more recipes, the widest last.
    """

    settings: Mapping[str, Any]
    sources: Sources
    wider: "tuple[Stated, ...]" = ()


def traced(parts: Iterable[Stated]) -> list[Setting]:
    """All settings with their sources, later parts winning."""
    known: dict[str, tuple[Any, str | None]] = {}
    for part in parts:
        for name, value in leaves(part.settings).items():
            if name in known and known[name][0] == value and covering(name, part.sources) is None:
                continue
            known = {each: kept for each, kept in known.items() if not _overlap(each, name)}
            known[name] = value, covering(name, part.sources) or _from_wider(name, part.wider)
    return [Setting(name, value, *_read(source)) for name, (value, source) in sorted(known.items())]


def covering(name: str, sources: Sources) -> str | None:
    """The source of the nearest field that a setting lies in."""
    places = [name, *_above(name), "*"]
    return next((sources[place] for place in places if place in sources), None)


def _above(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _from_wider(name: str, wider: Iterable[Stated]) -> str | None:
    """The nearest source of the file, but not one of a value that is set to another here."""
    for part in wider:
        source = covering(name, part.sources)
        if source and (name not in leaves(part.settings) or source.startswith(OURS) or source.endswith("/")):
            return source
    return None


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _read(source: str | None) -> tuple[str | None, str | None]:
    if source is None:
        return None, None
    kind, _, where = source.partition(": ")
    return kind, _in_code(where) if kind == "code" else where


def _in_code(where: str) -> str:
    """Repository, commit and file."""
    key, _, file = where.partition(" ")
    if key not in repositories():
        raise ConfigError(f"code.yaml: has no repository {key}. Known: {', '.join(repositories())}.")
    repository = repositories()[key]
    read_in = f", read in {repository['read_in']}" if "read_in" in repository else ""
    return f"{repository['name']}@{repository['commit'][:7]}{read_in}, {file}"


@functools.cache
def repositories() -> Mapping[str, Mapping[str, str]]:
    """Public code by its short name: repository, commit, and the copy that was read where it was one."""
    return load_yaml(CODE)


class Reference(Config):
    """Where figures are printed; what is not stated follows from the names of a cell."""

    table: str | None = None
    """The published table; without one a cell has no figures."""
    method: str | None = None
    """Its line: the one that the cell's variant is called after, or the table's own, if not given."""
    column: str | None = None
    """The one that is called as the cell's row or data, if not given."""


class GridPart(Config):
    """Fields of `Recipe` that the whole table, a row or a variant states."""

    row: str | None = None
    """The row's name, if it is not its key."""
    variant: str | None = None
    """The variant's name, if it is not its key."""
    data: str | None = None
    """The data set's name, if it is not the row's key."""
    published: dict[str, str] = Field(default_factory=dict)
    """The source of the figures; they themselves stand in the published table alone."""
    printed: Reference = Reference()
    note: str | None = None
    paper: str | None = None
    """Whose settings it starts from, if not the table's."""
    first: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    sources: dict[str, SourceText] = Field(default_factory=dict)
    """Where settings are from, by field, here and in narrower parts."""


class Paper(Config):
    """What a paper says of all its experiments on one task, and the forms of its model."""

    source: str
    stated: dict[str, Any]
    """Settings that the paper states; what it does not mention, such as a warm-up, is off."""
    open: dict[str, Any] = Field(default_factory=dict)
    """Settings that it leaves open, with our choice; the ledger in docs/papers gives the reason."""
    sources: dict[str, SourceText] = Field(default_factory=dict)
    """Where these settings are from, by field."""
    forms: dict[str, GridPart] = Field(default_factory=dict)
    """Other forms than the one in print, by name, and what each changes."""

    @property
    def settings(self) -> dict[str, Any]:
        """All of them."""
        return merge(self.open, self.stated)


class GridCell(NamedTuple):
    """Where a cell stands: keys of its row and variant, its horizons, and its form if it is not the paper's."""

    row: str
    variant: str | None
    horizons: tuple[int, ...]
    form: str | None = None

    @property
    def steps(self) -> str:
        """The horizons as text."""
        return ",".join(map(str, self.horizons))


class RecipeGrid(Config):
    """The cells of one table: the product of its rows, variants and horizons."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    task: str
    paper: str | None = None
    """Whose settings all cells start from: a file of the folder papers."""
    papers: dict[str, Paper] = Field(default_factory=dict)
    """Those that the table and its variants name."""
    name: str = Field(pattern=r"^([\w-]|\{(row|variant|horizon)\})+$")
    """Name of each recipe, of {row}, {variant} and {horizon}; without {horizon}, a cell is the mean over all.
    Cells of other forms than the paper's have the form's name after it."""
    shared: GridPart
    rows: dict[str, GridPart]
    variants: dict[str, GridPart] = Field(default_factory=dict)
    horizons: tuple[int, ...] = ()
    cells: dict[str, dict[str, GridPart]] = Field(default_factory=dict)
    """What some cells state beyond their row and variant, by row and by variant or column."""

    @model_validator(mode="after")
    def _a_name_is_of_one_cell(self) -> Self:
        names = [self.name_of(cell) for cell in self.all_cells()]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"name: several cells are called {', '.join(twice)}. Got {self.name}")
        return self

    @model_validator(mode="after")
    def _parts_are_of_cells(self) -> Self:
        known = {(cell.row, key) for cell in self.all_cells() for key in (cell.variant, self.column_of(cell))}
        for row, column in ((row, column) for row, line in self.cells.items() for column in line):
            if (row, column) not in known:
                raise ValueError(f"cells.{row}.{column}: the table has no such cell")
        return self

    def all_cells(self) -> Iterator[GridCell]:
        """Row by row, as printed."""
        runs = [(horizon,) for horizon in self.horizons] if "{horizon}" in self.name else [self.horizons]
        for row, variant, horizons in itertools.product(self.rows, self.variants or [None], runs):
            paper = self.paper_of(variant)
            yield from (GridCell(row, variant, horizons, form) for form in (None, *(paper.forms if paper else ())))

    def column_of(self, cell: GridCell) -> str:
        """What tells a cell from the others of its row: a variant, a horizon, or both as variant-horizon."""
        steps = cell.steps if "{horizon}" in self.name or not cell.variant else ""
        return "-".join(filter(None, (cell.variant, steps)))

    def paper_of(self, variant: str | None) -> Paper | None:
        """The paper whose settings a variant starts from."""
        own = self.variants[variant].paper if variant else None
        return self.papers.get(own or self.paper or "")

    def name_of(self, cell: GridCell) -> str:
        """Name of a cell's recipe."""
        name = self.name.format(row=cell.row, variant=cell.variant, horizon=cell.steps)
        return f"{name}-{cell.form}" if cell.form else name


def resolve(grid: RecipeGrid, cell: GridCell) -> dict[str, Any]:
    """Fields of a cell's recipe but its table and figures.

    paper <- form <- shared <- row <- variant <- cell, the later winning.
    """
    paper = grid.paper_of(cell.variant)
    parts: list[dict[str, Any]] = [
        {"task": grid.task, "row": cell.row, "variant": cell.variant, "data": cell.row, "published": {}, "printed": {}},
        {"settings": paper.settings} if paper else {},
        {"form": cell.form or IN_PRINT} if paper and paper.forms else {},
        _given(paper.forms[cell.form]) if paper and cell.form else {},
        *map(_given, _own_parts(grid, cell)),
        {"horizons": cell.horizons},
    ]
    return functools.reduce(merge, parts)


def trace(grid: RecipeGrid, cell: GridCell) -> list[Setting]:
    """The settings of a cell's recipe, each with its source."""
    paper = grid.paper_of(cell.variant)
    of_paper = [Stated(paper.settings, paper.sources)] if paper else []
    forms = [paper.forms[cell.form]] if paper and cell.form else []
    own = list[Stated]()
    for part in _own_parts(grid, cell):
        own.append(Stated(part.settings, part.sources, tuple(reversed(own))))
    return traced([*of_paper, *(Stated(form.settings, form.sources) for form in forms), *own])


def _own_parts(grid: RecipeGrid, cell: GridCell) -> list[GridPart]:
    """What the table itself states of a cell, the narrower later."""
    own = grid.cells.get(cell.row, {})
    variant = [grid.variants[cell.variant]] if cell.variant else []
    narrow = [own[key] for key in (cell.variant, grid.column_of(cell)) if key in own]
    return [grid.shared, grid.rows[cell.row], *variant, *narrow]


def _given(part: GridPart) -> dict[str, Any]:
    return part.model_dump(exclude_unset=True, exclude={"paper", "sources"})
