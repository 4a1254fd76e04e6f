"""Planes show the axis they name, the patient the right way round, and colours that say how much."""

import numpy as np
import pytest

from multiway.errors import ShapeError
from multiway.explain import plot_planes, save_planes
from multiway.explain.planes import WARM, grey_levels, overlay, planes, strongest_slice

SIZES = (2, 3, 5)


def marked(corner):
    """A volume whose one bright voxel stands at the given end of each axis."""
    volume = np.zeros(SIZES)
    volume[corner] = 1
    return volume


def test_bare_axes_run_as_in_memory():
    found = planes(SIZES)
    assert [plane.name for plane in found] == ["depth", "height", "width"]
    assert [plane.stack(np.zeros(SIZES)).shape for plane in found] == [(2, 3, 5), (3, 2, 5), (5, 2, 3)]
    volume = np.arange(30).reshape(SIZES)
    np.testing.assert_array_equal(found[1].stack(volume)[2], volume[:, 2])
    assert found[0].edges == ("height ↓", "", "", "width →")


@pytest.mark.parametrize("letters", ["RAS", "LPS", "LAS", "SRP", "ASL", "IPR"])
def test_the_patient_lies_the_same_way_whatever_the_file_says(letters):
    """The voxel furthest right, front and top is at the left and top edges of every picture."""
    wanted = {"R": -1, "L": 0, "A": -1, "P": 0, "S": -1, "I": 0}
    volume = marked(tuple(wanted[letter] for letter in letters))
    found = {plane.name: plane for plane in planes(SIZES, orientation=letters)}
    assert set(found) == {"sagittal", "coronal", "axial"}
    for plane in found.values():
        pictures = plane.stack(volume)
        assert pictures[wanted[letters[plane.axis]], 0, 0] == 1, plane
    assert found["axial"].edges == ("R", "L", "A", "P")
    assert found["coronal"].edges == ("R", "L", "S", "I")
    assert found["sagittal"].edges == ("A", "P", "S", "I")
    assert letters[found["axial"].axis] in "SI"


def test_pictures_have_the_proportions_of_the_body():
    depth, height, width = planes((10, 20, 40), spacing=(5.0, 1.0, 0.5))
    assert (depth.ratio, height.ratio, width.ratio) == (20 / 20, 20 / 50, 20 / 50)
    assert (depth.spacing, width.spacing) == (5.0, 0.5)
    assert planes((10, 20, 40))[0].ratio == 2


def test_four_axes_are_no_volume():
    with pytest.raises(ShapeError, match=r"Got sizes=\(1, 2, 3, 4\)"):
        planes((1, 2, 3, 4))


def test_levels_of_grey_survive_outliers_and_what_is_no_number():
    volume = np.linspace(0, 1, 2000).reshape(10, 10, 20)
    volume[0, 0, 0], volume[0, 0, 1], volume[9, 9, 19] = np.nan, np.inf, 1e9
    levels = grey_levels(volume)
    assert abs(int(levels[5, 0, 0]) - 128) <= 2
    assert (levels.min(), levels.max(), levels.dtype) == (0, 255, np.uint8)
    assert grey_levels(np.full((2, 2, 2), 7.0)).max() == 0
    rare = np.zeros((20, 20, 20))
    rare[3, 3, 3] = 4
    assert grey_levels(rare)[3, 3, 3] == 255


def test_levels_of_overlays():
    def level(name, *values):
        return overlay(name, np.array(values), 101)[0].tolist()

    assert level("attention", 0.2, 1, 2, 3) == [0, 0, 50, 100] and level("attention", 1, 1) == [0, 0]
    assert level("gradients", -2.0, 0, 0, 2) == [0, 50, 50, 100] and level("gradients", 0, 0) == [50, 50]


def test_a_ramp_begins_clear_and_ends_in_its_last_colour():
    colours = overlay("attention", np.ones(3), 16)[1]
    assert colours.shape == (16, 4)
    assert colours[0, 3] == 0
    assert tuple(colours[-1]) == WARM[-1]


def test_the_strongest_slice_is_found_across_each_axis():
    values = np.zeros(SIZES)
    values[0, 1, 4], values[1, 2, 3], values[1, 0, 3] = -3, 2, 2
    assert [strongest_slice(values, axis) for axis in range(3)] == [1, 1, 3]


def test_a_figure_shows_three_planes_per_row_through_the_most(tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    attention = 1 + 90 * marked((1, 2, 4))
    figure = plot_planes(np.random.default_rng(0).random(SIZES), {"attention": attention}, title="case $1\x1b")
    assert [axes.get_title() for axes in figure.axes] == [
        *("depth 1, volume", "height 2, volume", "width 4, volume"),
        *("depth 1, attention", "height 2, attention", "width 4, attention"),
    ]
    overlay = figure.axes[3].images[1].get_array()
    assert tuple(overlay[2, 4]) == WARM[-1]
    assert overlay[0, 0, 3] == 0
    assert figure.get_suptitle() == r"case \$1"
    save_planes(tmp_path / "case.png", np.zeros(SIZES), {"gradients": np.zeros(SIZES)}, orientation="RAS")
    assert (tmp_path / "case.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert dict(matplotlib.rcParams) == before
