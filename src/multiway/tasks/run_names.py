"""What runs are called where they stand side by side: the settings that tell them apart."""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import yaml

from multiway.config import leaves
from multiway.report import text
from multiway.tasks.page_parts import MISSING
from multiway.tasks.pages import title_of
from multiway.tasks.run import Run

Groups = Sequence[Sequence[Run]]
Leaves = Sequence[Mapping[str, Any]]
"""Settings of each run by their place in the config."""
DATA, SEED = ("data",), ("training.seed",)
"""Settings that a title says, and that seeds of one group differ in."""
MOST, LONGEST = 3, 40
"""Settings in a name where fewer tell the runs apart too, and characters of one value."""


def names_of(groups: Groups) -> list[str]:
    """A name for each group of seeds: its data where they differ, and the settings that differ; numbered if equal."""
    firsts = [runs[0] for runs in groups]
    titles = [text.name(title_of(run)) for run in firsts]
    known = [*DATA, *(SEED if any(len(runs) > 1 for runs in groups) else ())]
    settings = apart([run.config.plain() for run in firsts], known)
    data = titles if len(set(titles)) > 1 else [""] * len(titles)
    names = [", ".join(filter(None, pair)) for pair in zip(data, settings, strict=True)]
    return _numbered([name or title for name, title in zip(names, titles, strict=True)])


def apart(configs: Sequence[Mapping[str, Any]], known: Collection[str] = ()) -> list[str]:
    """The settings of each config that differ, all of few, else those that tell the configs apart, the outermost first.

    known: Places that are left out.
    """
    found = [leaves(config) for config in configs]
    places = [place for place in dict.fromkeys(itertools.chain.from_iterable(found)) if place not in known]
    differing = sorted((place for place in places if _kinds(found, [place]) > 1), key=lambda place: place.count("."))
    shown, short = _needed(found, differing), _short(places)
    return [", ".join(_said(short(place), one[place]) for place in shown if place in one) for one in found]


def _needed(found: Leaves, differing: Sequence[str]) -> list[str]:
    """All of a few places, else one after the other each that tells more configs apart than those before it."""
    if len(differing) <= MOST:
        return list(differing)
    kept = list[str]()
    for place in differing:
        if _kinds(found, [*kept, place]) > _kinds(found, kept):
            kept.append(place)
    return kept


def _kinds(found: Leaves, places: Sequence[str]) -> int:
    """How many configs differ at some of the places."""
    return len({repr([one.get(place, MISSING) for place in places]) for one in found})


def _short(places: Sequence[str]) -> Callable[[str], str]:
    """What makes a place as short as it can be, of its last words."""

    def shortened(place: str) -> str:
        words = place.split(".")
        ends = (".".join(words[-count:]) for count in range(1, len(words)))
        return next((end for end in ends if sum(f".{each}".endswith(f".{end}") for each in places) == 1), place)

    return shortened


def _said(name: str, value: Any) -> str:
    """A setting as it is written, cut where it is long."""
    words = value if isinstance(value, str) else yaml.safe_dump(value, default_flow_style=True, width=10**6)
    words = text.name(words.removesuffix("\n").removesuffix("\n..."))
    return f"{name}={words if len(words) <= LONGEST else words[: LONGEST - 1] + '…'}"


def _numbered(names: Sequence[str]) -> list[str]:
    """The same, numbered where two are equal."""
    return [name if names.count(name) == 1 else f"{name} ({place})" for place, name in enumerate(names, start=1)]
