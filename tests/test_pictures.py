"""The figures in docs/papers are drawn from the rows of results/."""

import re

import pytest
from benchmarks.pictures import FOLDER, digest, pictures

DRAWN = dict(pictures())


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_a_picture_shows_the_rows_that_are_kept(name):
    text = (FOLDER / f"{name}.svg").read_text()
    assert f">{digest(DRAWN[name])}<" in text, "python -m benchmarks.pictures draws it"


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_a_picture_has_a_panel_per_set_and_value_and_stands_on_a_page(name):
    text = (FOLDER / f"{name}.svg").read_text()
    assert len(set(re.findall(r'id="(axes_\d+)"', text))) == len(DRAWN[name])
    assert all(panel.row in text and panel.words in text for panel in DRAWN[name])
    assert any(f"({name}.svg)" in page.read_text() for page in FOLDER.glob("*.md"))


def test_the_rows_of_every_figure_with_curves_are_drawn():
    assert set(DRAWN) == {"hot-figure-3", "tga-figure-2"}
