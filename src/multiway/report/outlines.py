"""The edges of regions as paths of SVG: they run between voxels, and are crisp however large the picture is drawn."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

Point = tuple[int, int]
Edges = dict[Point, set[Point]]
"""The neighbours, (column, row), that each corner of a voxel has an edge to."""


def outline(labels: NDArray[np.int16]) -> Markup:
    """Data of a path along every edge between voxels of different labels, `(rows, columns)`; outside all are 0."""
    paths = []
    for line in _lines(_edges(labels)):
        is_ring = line[0] == line[-1]  # its last move is told by z
        moves = [f"h{x - a}" if x != a else f"v{y - b}" for (a, b), (x, y) in pairwise(line)]
        paths.append(f"M{line[0][0]} {line[0][1]}" + "".join(moves[: len(moves) - is_ring]) + "z" * is_ring)
    return Markup("".join(paths))


def _edges(labels: NDArray[np.int16]) -> Edges:
    framed = np.pad(labels, 1)
    sides = np.argwhere(framed[1:-1, 1:] != framed[1:-1, :-1]).tolist()
    tops = np.argwhere(framed[1:, 1:-1] != framed[:-1, 1:-1]).tolist()
    edges: Edges = {}
    for one, other in [((c, r), (c, r + 1)) for r, c in sides] + [((c, r), (c + 1, r)) for r, c in tops]:
        edges.setdefault(one, set()).add(other)
        edges.setdefault(other, set()).add(one)
    return edges


def _lines(edges: Edges) -> Iterator[list[Point]]:
    """Corners of lines that run along each edge once: first those that end where three regions meet, then rings."""
    odd = [point for point, others in edges.items() if len(others) % 2]
    for start in [*odd, *edges]:
        while edges[start]:
            yield _line(edges, start)


def _line(edges: Edges, start: Point) -> list[Point]:
    """Walk from a corner as long as there is an edge, straight on where that is possible."""
    line, point, ahead = [start], start, start
    while edges[point]:
        following = ahead if ahead in edges[point] else min(edges[point])
        edges[point].discard(following)
        edges[following].discard(point)
        if following == ahead:
            line.pop()
        line.append(following)
        point, ahead = following, (2 * following[0] - point[0], 2 * following[1] - point[1])
    return line
