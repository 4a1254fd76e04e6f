"""A report is named after its data and what was learnt of them: the column, or the classes."""

from types import SimpleNamespace

import pytest

from multiway.tasks.lifecycle import load
from multiway.tasks.pages import describe_target
from report_pages import Page
from tasks.finished import finished

TITLES = {
    "series": ("class", "Waves: a or b"), "volumes": ("label", "Scans: high or low"),
    "images": (None, "Shapes: bar or dot"), "segment": ("mask", "Cases: mask"),
    "stocks": ("direction of adj_close", "Market: direction of adj_close"), "tabular": ("ill", "People: ill"),
    "text": ("label", "Notes: day or night"),
}  # fmt: skip


@pytest.mark.parametrize("task", TITLES)
def test_a_title_says_what_was_learnt(task, tmp_path_factory):
    """The column is stored where the data have one; a name such as `class` says less than the classes do."""
    name, title = TITLES[task]
    made = finished(task, tmp_path_factory)
    assert getattr(load(made.run).state, "target_name", None) == name
    assert title in Page(made.page).text


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"target_name": "outcome", "classes": ("bad", "good")}, ["outcome"]),
        ({"target_name": None, "classes": ("bad", "good")}, ["bad or good"]),
        ({"classes": tuple("abcd")}, ["4 classes"]),
        ({"target_name": "label", "classes": ("0", "1")}, ["2 classes"]),
        ({"targets": ("north", "south")}, ["north and south"]),
        ({"targets": ("value",)}, []),
        ({"targets": tuple("abcd")}, ["4 series"]),
        ({"tickers": ("A", "B")}, []),
    ],
)
def test_runs_that_do_not_say_their_column_are_called_by_their_classes(state, words):
    assert describe_target(SimpleNamespace(state=SimpleNamespace(**state))) == words
