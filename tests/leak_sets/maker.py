"""What a maker of a data set is, and how one is listed."""

import dataclasses
import importlib.util
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

Draw = np.random.Generator
Maker = Callable[[Path, Draw], dict[str, Any]]
Origin = Literal["own", "strange", "held", "fresh", "unseen", "later", "project"]
FAMILIES = {
    "copies": {"duplicates", "near", "overlap", "groups", "lines", "neighbours", "names"},
    "giveaway": {
        "copy",
        "formula",
        "lookup",
        "texts",
        "border",
        "painted",
        "parts",
        "pairs",
        "names",
        "rank",
        "filled",
        "form",
    },
    "future": {
        "shifted",
        "interpolated",
        "smoothed",
        "overlap",
        "quotes",
        "texts",
        "copy",
        "formula",
        "rank",
        "neighbours",
    },
}
"""Kinds of findings by which who knows no check would say that the leak is caught."""


@dataclasses.dataclass(frozen=True, slots=True)
class LeakSet:
    """One data set.

    name: What is in it.
    make: Writes it and gives the settings of its audit.
    kind: Kind of the finding that must say the leak, or a family of kinds; None for a sound set.
    origin: `own` sets were written with the checks, `strange` ones before them, and `held` ones are never tuned on.
        `fresh` and `unseen` ones were written by someone who had not read the checks; the `unseen` half is never
        developed against. `later` and `project` ones were scored once, before any change.
    says: What the line of the finding must name, as an expression; empty for anything.
    """

    name: str
    make: Maker
    kind: str | None = None
    origin: Origin = "own"
    says: str = ""

    @property
    def kinds(self) -> set[str]:
        """Kinds of findings that say the leak."""
        return set() if self.kind is None else FAMILIES.get(self.kind, {self.kind})

    def outcome(self, leaks: Sequence[tuple[str, str]]) -> str:
        """What kinds and lines of leaks make of the set: `caught` or `missed`, `passed` or `flagged`."""
        if self.kind is None:
            return "flagged" if leaks else "passed"
        telling = (re.search(self.says, line) for kind, line in leaks if self.kind == "any" or kind in self.kinds)
        return "caught" if any(telling) else "missed"


def package_folder(name: str) -> Path:
    """Folder of an installed package, which is not imported.

    Raises:
        ModuleNotFoundError: It is not installed.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(name)
    return Path(spec.origin).parent
