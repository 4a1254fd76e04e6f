"""The figures in docs/papers are drawn from the rows of results/."""

import re

import numpy as np
import pytest
from docs.build.pictures import FOLDER, differences, digest, pictures
from docs.build.rows import recipe_rows
from scipy import stats


def test_every_figure_with_curves_is_drawn_from_the_rows_that_are_kept():
    drawn = dict(pictures())
    assert set(drawn) == {"hot-figure-3", "tga-figure-2"}
    for name, panels in drawn.items():
        text = (FOLDER / f"{name}.svg").read_text()
        assert f">{digest(panels)}<" in text, f"{name}: python -m docs.build.pictures draws it"
        assert len(set(re.findall(r'id="(axes_\d+)"', text))) == len(panels), name
        assert all(panel.row in text and panel.words in text for panel in panels), name
        assert any(f"({name}.svg)" in page.read_text() for page in FOLDER.glob("*.md")), name


def test_bands_are_students_intervals_over_seeds():
    (panel,) = (
        each for each in dict(pictures())["tga-figure-2"] if (each.row, "testing" in each.words) == ("mr", True)
    )
    for kind, method in (("tga", "Tensorized"), ("dpa", "Dot-Product")):
        values = [run["acc"] for run in recipe_rows()[f"tga-mr-{kind}-256"]["each"]]
        low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        (name,) = (each for each in panel.halves if method in each)
        assert panel.lines[name][256] == pytest.approx((low + high) / 2, rel=1e-12)
        assert panel.halves[name][256] == pytest.approx((high - low) / 2, rel=1e-12)


def test_each_papers_printed_figures_are_compared_with_ours():
    drawn = dict(differences())
    assert set(drawn) == {"hot", "hot-stocks", "ndlinear"}  # TGA prints no figure
    for name, points in drawn.items():
        text = (FOLDER / f"{name}-differences.svg").read_text()
        assert f">{digest(points)}<" in text, f"{name}: python -m docs.build.pictures draws it"
        assert len(points) >= 12 and all(
            point.words in text and point.low <= point.value <= point.high for point in points
        )
        assert f"({name}-differences.svg)" in (FOLDER / f"{name}.md").read_text(), name
