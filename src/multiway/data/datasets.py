"""Known data sets: what is said of each, where it lies on this machine, and fetching it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from multiway.data.catalogue import entries
from multiway.data.verifying import verified
from multiway.errors import ConfigError, DataError, closest
from multiway.lazy import extensions, load_extensions


class Dataset(Protocol):
    """One known data set, as the catalogue of its kind lists it."""

    @property
    def kind(self) -> str:
        """What it holds, in a word or two."""

    @property
    def files(self) -> tuple[str, ...]:
        """Names under which a local copy is looked for, the first being that of a download."""

    @property
    def url(self) -> str:
        """Official address, or the usual one where the authors keep none; empty for a set that is made here."""

    @property
    def known_hash(self) -> str | None:
        """Its hash with the name of the method in front; None where none is pinned."""

    @property
    def licence(self) -> str:
        """Under which terms it is published."""

    @property
    def holds(self) -> str:
        """Its size in words."""

    def find(self, folders: Sequence[Path]) -> Path | None:
        """The first copy that lies in one of the folders."""

    def fetch(self, name: str, folder: Path) -> Path:
        """Download or make it in a folder unless it is there, verify it, and return its path."""


ADDED: dict[str, Dataset] = {}
"""Data sets that rooms above add."""


def catalogue() -> dict[str, Dataset]:
    """Every known data set by its name."""
    load_extensions("data sets")
    return {**entries(), **ADDED}


def is_dataset(name: str) -> bool:
    """Whether a name is one of the known data sets; a room above is not imported for it."""
    return name in entries() or name in ADDED or name in extensions("data sets")


def dataset(name: str) -> Dataset:
    """The known data set of that name."""
    known = catalogue()
    if name not in known:
        raise ConfigError(f"no data set is called {name}{closest(name, list(known))} Known: {', '.join(known)}.")
    return known[name]


def locate(data: str) -> str:
    """Path of a file or folder, or of the known data set of that name."""
    if is_dataset(data):
        return str(dataset_path(data))
    if not Path(data).exists() and (near := closest(data, catalogue())) != ".":
        raise DataError(f"{data} does not exist{near} `multiway data list` names the known data sets.")
    check_regular(data)
    return data


def check_regular(path: str | Path) -> None:
    """Refuse what need not end when it is read.

    Raises:
        DataError: It is neither file nor folder.
    """
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise DataError(f"{path} is a pipe or a device, which need not end. Write what it gives into a file.")


def dataset_path(name: str) -> Path:
    """Where a data set lies: $MULTIWAY_DATA, then `shared/data` beside a checkout, then the download cache.

    A set without an address is made when it is first asked for. A copy in the cache is verified.
    """
    known = dataset(name)
    found = known.find(search_folders())
    if found is None and not known.url:
        return fetch_dataset(name)
    if found is None:
        raise DataError(
            f"the data set {name} is not on this machine. Run `multiway data fetch {name}`, or set MULTIWAY_DATA to "
            f"the folder that holds {known.files[0]}."
        )
    return verified(name, found, cache_folder(), known.known_hash)


def fetch_dataset(name: str) -> Path:
    """Download a data set into the cache unless it is there, verify it, and return its path."""
    known, cache = dataset(name), cache_folder()
    is_new = known.find([cache]) is None
    return verified(name, known.fetch(name, cache), cache, known.known_hash, is_new=is_new)


def list_datasets() -> list[dict[str, object]]:
    """One row per data set: name, size, licence, and where it lies on this machine."""
    folders = search_folders()
    return [
        {
            "name": name,
            "holds": known.holds,
            "licence": known.licence,
            "verified by": _verified_by(known),
            "path": str(known.find(folders) or "-"),
        }
        for name, known in catalogue().items()
    ]


def _verified_by(known: Dataset) -> str:
    """What a first copy is compared with; a later one is by sha256."""
    first = (known.known_hash or ("making" if not known.url else "size")).split(":")[0]
    return first if first == "sha256" else f"{first}, then sha256"


def search_folders() -> list[Path]:
    """Folders that are looked through for a local copy, in order: each root, then the folders in it."""
    named = os.environ.get("MULTIWAY_DATA")
    checkout = Path(__file__).parents[3]
    shared = [checkout.parent / "shared" / "data"] if (checkout / "pyproject.toml").is_file() else []
    roots = ([Path(named)] if named else []) + shared + [cache_folder()]
    return [folder for root in roots for folder in (root, *_folders_in(root))]


def _folders_in(root: Path) -> list[Path]:
    entries = sorted(root.iterdir()) if root.is_dir() else []
    return [entry for entry in entries if entry.is_dir() and not entry.name.startswith(".")]


def cache_folder() -> Path:
    """Where downloads are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "multiway"
