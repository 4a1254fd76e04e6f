"""The outline of a mask runs along the edges of its voxels, each once, and encloses just the mask."""

import re

import numpy as np
import pytest

from multiway.report.outlines import outline


def edges_of(data):
    """Unit edges of a path, as (column, row) of their two ends, in the order of drawing."""
    found = []
    for ring in re.findall(r"M[^M]+", data):
        start = point = tuple(map(int, re.match(r"M(\d+) (\d+)", ring).groups()))
        for way, far, closed in re.findall(r"([hv])(-?\d+)|(z)", ring):
            end = start if closed else (point[0] + int(far) * (way == "h"), point[1] + int(far) * (way == "v"))
            assert end[0] == point[0] or end[1] == point[1]
            length = abs(end[0] - point[0]) + abs(end[1] - point[1])
            step = ((end[0] - point[0]) // length, (end[1] - point[1]) // length)
            for _ in range(length):
                after = (point[0] + step[0], point[1] + step[1])
                found.append(tuple(sorted([point, after])))
                point = after
    return found


def filled(data, sizes):
    """Voxels with an odd number of edges to their left."""
    crossed = np.zeros((sizes[0], sizes[1] + 1), int)
    for (column, row), (other, _) in edges_of(data):
        if column == other:
            crossed[row, column] += 1
    return (crossed.cumsum(1)[:, :-1] % 2).astype(bool)


def between(labels):
    """Edges where neighbours differ, voxel by voxel; what is outside has label 0."""
    (rows, columns), found = labels.shape, set()

    def label(r, c):
        return labels[r, c] if 0 <= r < rows and 0 <= c < columns else 0

    for r in range(rows + 1):
        for c in range(columns + 1):
            found |= {((c, r), (c, r + 1))} if label(r, c) != label(r, c - 1) else set()
            found |= {((c, r), (c + 1, r))} if label(r, c) != label(r - 1, c) else set()
    return found


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_an_outline_encloses_just_the_mask(share):
    mask = np.random.default_rng(5).random((13, 17)) < share
    np.testing.assert_array_equal(filled(outline(mask.astype(np.int16)), mask.shape), mask)


def test_each_edge_between_classes_is_drawn_once():
    labels = np.random.default_rng(6).integers(-1, 4, (11, 9)).astype(np.int16)
    drawn = edges_of(outline(labels))
    assert len(drawn) == len(set(drawn)) and set(drawn) == between(labels)


def test_a_region_is_one_ring_of_its_corners_and_nothing_has_no_outline():
    mask = np.zeros((6, 7), np.int16)
    assert outline(mask) == ""
    mask[1:4, 2:6] = 1
    assert outline(mask) == "M2 1v3h4v-3z"


def test_even_the_outline_of_noise_takes_less_than_one_and_a_half_bytes_a_voxel():
    noise = np.random.default_rng(7).random((128, 128)) < 0.5
    assert len(outline(noise.astype(np.int16))) < 1.5 * noise.size
