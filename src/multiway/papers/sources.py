"""Where each setting of a recipe is from: a paper's text, its public code, or ours with the reason.

A source is written beside what it covers, under a field or what the field lies in; `*` covers all. The nearest wins.
It covers settings of its own file alone, in the part that states it and in narrower ones. What a narrower part sets to
another value needs a source of its own, unless the wider one is ours or a folder of scripts, `scripts/`.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from multiway.config import leaves, load_yaml
from multiway.errors import ConfigError

CODE = Path(__file__).parent / "code.yaml"
OURS = "ours"
SourceText = Annotated[str, Field(pattern=r"^(text: \S|code: \w[\w-]* \S|ours: \S)")]
"""`text: section 5.1`, `code: hot timeseries_main.py`, or `ours: why`."""
Sources = Mapping[str, SourceText]


class Setting(NamedTuple):
    """A setting of a recipe and its source: `text`, `code` or `ours`, and the section, the file or the reason."""

    setting: str
    value: Any
    source: str | None
    where: str | None


class Stated(NamedTuple):
    """What one part of a recipe states.

    settings: Nested fields.
    sources: Its own.
    wider: What its file states of more recipes, the widest last.
    """

    settings: Mapping[str, Any]
    sources: Sources
    wider: "tuple[Stated, ...]" = ()


def traced(parts: Iterable[Stated]) -> list[Setting]:
    """All settings with their sources, later parts winning."""
    known: dict[str, tuple[Any, str | None]] = {}
    for part in parts:
        for name, value in leaves(part.settings).items():
            if name in known and known[name][0] == value and covering(name, part.sources) is None:
                continue
            known = {each: kept for each, kept in known.items() if not _overlap(each, name)}
            known[name] = value, covering(name, part.sources) or _from_wider(name, part.wider)
    return [Setting(name, value, *_read(source)) for name, (value, source) in sorted(known.items())]


def covering(name: str, sources: Sources) -> str | None:
    """The source of the nearest field that a setting lies in."""
    places = [name, *_above(name), "*"]
    return next((sources[place] for place in places if place in sources), None)


def _above(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _from_wider(name: str, wider: Iterable[Stated]) -> str | None:
    """The nearest source of the file, but not one of a value that is set to another here."""
    for part in wider:
        source = covering(name, part.sources)
        if source and (name not in leaves(part.settings) or source.startswith(OURS) or source.endswith("/")):
            return source
    return None


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _read(source: str | None) -> tuple[str | None, str | None]:
    if source is None:
        return None, None
    kind, _, where = source.partition(": ")
    return kind, _in_code(where) if kind == "code" else where


def _in_code(where: str) -> str:
    """Repository, commit and file."""
    key, _, file = where.partition(" ")
    if key not in repositories():
        raise ConfigError(f"code.yaml: has no repository {key}. Known: {', '.join(repositories())}.")
    repository = repositories()[key]
    read_in = f", read in {repository['read_in']}" if "read_in" in repository else ""
    return f"{repository['name']}@{repository['commit'][:7]}{read_in}, {file}"


@functools.cache
def repositories() -> Mapping[str, Mapping[str, str]]:
    """Public code by its short name: repository, commit, and the copy that was read where it was one."""
    return load_yaml(CODE)
