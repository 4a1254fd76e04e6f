"""What should be read with care: series too young, intervals on few errors, intervals that did not hold."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from multiway.data import about_young

Facts = Mapping[str, Any]


def cautions(facts: Facts) -> Iterator[str]:
    """One line each, from the facts of a run."""
    if facts["young"]:
        yield f"{about_young(facts['young'])}."
    yield from _on_few_errors(facts)
    yield from _not_held(facts["coverage"])


def _on_few_errors(facts: Facts) -> Iterator[str]:
    windows, shares = facts["intervals"]["windows"], facts["intervals"]["by_student"]
    levels = [row["level"] for row, share in zip(facts["coverage"], shares, strict=True) if share > 0]
    if levels:
        needed = math.ceil(levels[-1] / (100 - levels[-1]))
        where = "" if shares[-1] == 1 else f", for {shares[-1]:.0%} of steps and series"
        yield (
            f"Validation has {windows} window{'s' if windows != 1 else ''} and an interval at {levels[-1]:g} % needs "
            f"{needed}: the width of {_listed(levels)} is Student's t over errors of ridge out of time as well{where}."
        )


def _not_held(coverage: list[Facts]) -> Iterator[str]:
    """Bands that missed at least twice as many test values as they may."""
    for row in coverage:
        if 100 - row["actual"] >= 2 * (100 - row["level"]):
            yield (
                f"The {row['level']:g} % interval held {row['actual']:.0f} % of the test values: "
                "the test rows are harder than validation, and the future may be."
            )


def _listed(levels: list[float]) -> str:
    return " and ".join(f"{level:g} %" for level in levels)
