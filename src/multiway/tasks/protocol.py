"""What a task is to the workflows: a module `tasks/<name>/task.py` with these functions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from multiway.auditing import AuditReport
from multiway.data import CheckReport
from multiway.training import RunFolder, TrainingConfig

Row = dict[str, Any]
"""A row of a table: column names to plain values."""


class TaskConfig(Protocol):
    """A frozen `Config` with at least these fields."""

    @property
    def data(self) -> str | None:
        """Path of the data, or the name of a known data set; None for arrays in memory."""

    @property
    def training(self) -> TrainingConfig:
        """How the model is trained, its seed among it."""

    def replace(self, **changes: Any) -> Self:
        """Copy with some fields changed."""

    def plain(self) -> dict[str, Any]:
        """Fields as YAML and JSON can hold them."""


class Run(Protocol):
    """A finished run; whatever else it holds is its task's own affair."""

    @property
    def config(self) -> TaskConfig:
        """What determines the run."""

    @property
    def folder(self) -> RunFolder | None:
        """Where it lies; None for one that was never stored."""


class Cell(Protocol):
    """A cell of a published table, as a recipe describes it."""

    @property
    def row(self) -> str:
        """Name of the row, a data set."""

    @property
    def variant(self) -> str | None:
        """What tells cells of one row apart."""

    @property
    def horizons(self) -> tuple[int, ...]:
        """Horizons that the cell is the mean of; empty where there are none."""

    @property
    def figures(self) -> Mapping[str, float]:
        """Published scores by metric."""


ConfigT = TypeVar("ConfigT", bound=TaskConfig)
RunT = TypeVar("RunT", bound=Run)


class Task(Protocol[ConfigT, RunT]):
    """The functions of a task's module; every list of runs holds runs that differ in their seed only."""

    NAME: str
    """Name in `multiway train NAME`, and in the config of its runs."""

    def make_config(self, settings: dict[str, Any], overrides: dict[str, Any]) -> ConfigT:
        """Overrides over settings over what a known data set brings."""

    def start(self, config: ConfigT, path: Path, *, progress: bool = False) -> RunT:
        """Read the data, then make the folder, then fit and store."""

    def resume(self, path: Path, *, progress: bool = False) -> RunT:
        """Continue an interrupted run; only load a finished one."""

    def load(self, path: Path) -> RunT:
        """Take up a finished run."""

    def sentence(self, run: RunT) -> str:
        """What came out, in one sentence."""

    def score_table(self, runs: Sequence[RunT], split: str) -> list[Row]:
        """One row per model, its mean scores over the runs, beside the baselines."""

    def evaluate(self, runs: Sequence[RunT], data: str | None, split: str) -> list[Row]:
        """Stored scores of a split, or fresh ones on other data."""

    def predict(self, run: RunT, data: str | None, out: Path | None, options: dict[str, Any]) -> list[str]:
        """Predict and write to `out`; return what the user reads. Options are those that were given."""

    def explain(self, run: RunT, out: Path | None, options: dict[str, Any]) -> list[str]:
        """Write explanations; return what is strongest and the paths."""

    def report(self, runs: Sequence[RunT]) -> str:
        """One self-contained HTML page."""

    def compare(self, groups: Sequence[Sequence[RunT]]) -> str:
        """One self-contained HTML page that sets groups of runs side by side."""

    def cell_row(self, name: str, cell: Cell, runs: Sequence[RunT], seeds: int) -> Row:
        """Published beside measured, and how it was measured; plain values for a line of JSON."""

    def check(self, path: str | Path, options: dict[str, Any]) -> CheckReport:
        """Say what is in the data and what is wrong with it, under the settings of a run that concern reading."""

    def audit(self, config: ConfigT, run: RunT | None = None) -> AuditReport:
        """Say whether the data and the split of a config leak; with a run, also what its scaling learnt."""
