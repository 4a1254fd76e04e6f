"""What a check says of a grid, and the kind of data that it is."""

import math
from typing import Any

from multiway.data.findings import CheckReport, Findings, Unreadable
from multiway.data.sources.bytes import within
from multiway.errors import Fix
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.cube import Axis, Cube, find_flaws, is_grid, read_cube
from multiway.tasks.grids.fields import Stored
from multiway.tasks.kind import Kind, name_arrays


def describe(cube: Cube) -> dict[str, Any]:
    """Facts of a grid, in words."""
    words, step, values, land = cube.times.words(), cube.times.step()[0], cube.values, cube.facts.counts == 0
    season, size = cube.times.season(step), math.prod(values.shape) * 8 / 1e6
    every = f"{step.length / 3600:g} hours" if cube.times.calendar else f"{step.length:g}"
    every = every if not step.months else "month" if step.months == 1 else f"{step.months} months"
    return {
        "target": f"{cube.name} in {cube.units}" if cube.units else cube.name,
        "other variables": ", ".join(cube.others) or None,
        cube.time: f"{len(words)} from {words[0]} to {words[-1]}, every {every}",
        **{axis.name: _span(axis) for axis in cube.axes},
        "calendar": cube.times.calendar or None,
        "season": f"{season} steps" if season > 1 else "none",
        "cells": f"{land.size:,}",
        "cells without values": f"{land.sum():,} ({land.mean():.1%})" if land.any() else "none",
        "values": f"{cube.facts.low:.6g} to {cube.facts.high:.6g}",
        "chunks": " x ".join(map(str, cube.chunks)) or None,
        "memory": f"{size:,.1f} MB" + (f", read by {values.length} times" if isinstance(values, Stored) else ""),
    }


def _span(axis: Axis) -> str:
    """How many places an axis has, where it begins and ends, and what it is."""
    ends = "" if axis.values is None else f" from {axis.values[0]:g} to {axis.values[-1]:g}"
    return f"{axis.size}{ends}, {axis.role}"


class GridKind(Kind):
    """Variables on a grid, in the order of time."""

    def check(self, config: GridConfig, source: object) -> CheckReport:
        """What is in a source: its axes, times, units and cells, and all that is wrong with it."""
        findings, facts = Findings(name_arrays(source)), dict[str, Any]()
        try:
            with within(config.read, source):
                cube = read_cube(config.read, source, findings, is_first=True)
                find_flaws(cube, config.read, findings)
                facts = describe(cube)
        except Unreadable:
            pass
        return CheckReport(source=findings.source, summary=facts, findings=findings.by_severity())


def propose_target(config: GridConfig, source: object) -> tuple[Fix, ...]:
    """A variable, where none is named and the file has several."""
    if config.read.target is not None:
        return ()
    cube = read_cube(config.read, source, Findings(""), is_first=True)
    return (Fix("read.target", cube.names[0]),) if cube.others else ()


GRID = GridKind(recognises=is_grid, proposal=propose_target)
