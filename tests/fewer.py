"""Fewer cases on a page, fewer measurements and draws: where it is looked at that they are there, not what they say."""

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

import pytest

from multiway.compress import measuring
from multiway.explain import figures
from multiway.metrics import resampling
from multiway.tasks import sample_candidate, target_task
from multiway.tasks.forecasting import candidate
from multiway.tasks.scans import class_page as page
from multiway.tasks.scans import explain as scans
from multiway_papers.language import scores
from multiway_papers.stocks import explain, network, showing

FEWER = {
    showing: {"TESTED": 2}, explain: {"EXPLAINED": 1}, scans: {"EXPLAINED": 1}, scores: {"CONTINUED": 1, "AFTER": 4},
    page: {"DELETION_CASES": 1, "SHOWN_CASES": 1, "SHOWN_RIGHT": 1},
    measuring: {"FEWEST": 1, "MODEL_SECONDS": 0.0, "LAYER_SECONDS": 0.0},
    figures: {"MAX_LABELS": 4},  # their places, and the number of dots, are what takes time
}  # fmt: skip
DRAWS, DPI = 20, 30
TWO = ("forecast", "tabular")
"""Tasks that keep their whole contract in the fast suite: one of each base; the costly parts of others are slow."""
CHOSEN_BY = {target_task: {"FOLDS": 2}, sample_candidate: {"FOLDS": 2, "ROUNDS": 5}, candidate: {"SECONDS": 1.0}}
SMOOTHED_BY = {candidate: {"SEARCHES": 0.0}}


def few(names: Iterable[Any], *kept: Any) -> list[Any]:
    """Cases that share their code: some of them always, the others in the slow suite."""
    return [name if name in kept else pytest.param(name, marks=pytest.mark.slow) for name in names]


def of_two(argument: str, names: Iterable[str], *more: str, indirect: bool = True) -> pytest.MarkDecorator:
    """A costly test of every task: of two and of some more always, of the others in the slow suite."""
    return pytest.mark.parametrize(argument, few(names, *TWO, *more), indirect=indirect)


def show_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what a page or a command shows."""
    _set(monkeypatch, FEWER)


def fit_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folds for the choice of an answer, trees, and the seconds of classical models."""
    _set(monkeypatch, CHOSEN_BY)


def search_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Series whose form of smoothing is looked for among all: the others take that of the first."""
    _set(monkeypatch, SMOOTHED_BY)


def _set(monkeypatch: pytest.MonkeyPatch, values: Mapping[ModuleType, Mapping[str, float]]) -> None:
    for module, names in values.items():
        for name, value in names.items():
            monkeypatch.setattr(module, name, value)


def draw_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resamples for an interval, and dots of a picture."""
    many, whole = resampling.intervals, figures.new_figure
    for module in (resampling, network):
        monkeypatch.setattr(module, "intervals", lambda *given, **options: many(*given, **options | {"draws": DRAWS}))
    monkeypatch.setattr(figures, "new_figure", lambda width, height, dpi: whole(width, height, DPI))
