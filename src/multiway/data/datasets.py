"""Known data sets: what is said of each, where it lies on this machine, fetching it, and whether it has changed."""

import contextlib
import hashlib
import os
from pathlib import Path

from multiway.data.catalogue import Dataset, entries
from multiway.errors import ConfigError, DataError, RunError, closest
from multiway.files import add_input, check_regular, sha256_of, write_text
from multiway.lazy import extensions, load_extensions
from multiway.leftovers import is_temporary

NOTES = ".sha256"
"""Folder of the cache with a file for each set that has no sha256 of its authors: that of its first copy."""


def catalogue() -> dict[str, Dataset]:
    """Every known data set by its name."""
    return {**entries(), **load_extensions("datasets")}


def is_dataset(name: str) -> bool:
    """Whether a name is one of the known data sets; a package that adds one is not imported for it."""
    return name in entries() or name in extensions("datasets")


def dataset(name: str) -> Dataset:
    """The known data set of that name."""
    known = catalogue()
    if name not in known:
        raise ConfigError(f"no data set is called {name}{closest(name, list(known))} Known: {', '.join(known)}.")
    return known[name]


def locate(data: str) -> str:
    """Path of a file or folder, or of the known data set of that name."""
    if is_dataset(data):
        path = dataset_path(data)
        add_input(path)
        return str(path)
    add_input(data)
    if not Path(data).exists() and (near := closest(data, catalogue())) != ".":
        raise DataError(f"{data} does not exist{near} `multiway data list` names the known data sets.")
    check_regular(data)
    return data


def dataset_path(name: str) -> Path:
    """Where a data set lies: $MULTIWAY_DATA, then `shared/data` next to a checkout, then the download cache.

    A set without an address is made on first use. A copy in the cache is verified.
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
    return verify(name, found, cache_folder(), known.known_hash)


def fetch_dataset(name: str) -> Path:
    """Download a data set into the cache unless it is there, verify it, and return its path."""
    known, cache = dataset(name), cache_folder()
    is_new = known.find([cache]) is None
    return verify(name, known.fetch(name, cache), cache, known.known_hash, is_new=is_new)


def list_datasets() -> list[dict[str, object]]:
    """One row per data set: name, size, licence, and where it lies on this machine."""
    folders, rows = search_folders(), list[dict[str, object]]()
    for name, known in catalogue().items():
        first = (known.known_hash or ("making" if not known.url else "size")).split(":")[0]  # of a first copy
        verified, path = first if first == "sha256" else f"{first}, then sha256", str(known.find(folders) or "-")
        own = {"name": name, "holds": known.holds, "licence": known.licence}
        rows.append({**own, "verified by": verified, "path": path})
    return rows


def search_folders() -> list[Path]:
    """Folders that are looked through for a local copy, in order: each root, then the folders in it."""
    named = os.environ.get("MULTIWAY_DATA")
    checkout = Path(__file__).parents[3]
    shared = [checkout.parent / "shared" / "data"] if (checkout / "pyproject.toml").is_file() else []
    roots = ([Path(named)] if named else []) + shared + [cache_folder()]
    folders = list[Path]()
    for root in roots:
        inside = sorted(root.iterdir()) if root.is_dir() else []
        folders += [root, *(path for path in inside if path.is_dir() and not path.name.startswith("."))]
    return folders


def cache_folder() -> Path:
    """Where downloads are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "multiway"


def verify(name: str, path: Path, cache: Path, known_hash: str | None, *, is_new: bool = False) -> Path:
    """The path itself, if what lies there is what it should be; copies outside the cache are their owners'.

    `is_new` was fetched just now and verified by other means: its sha256 holds from now on.
    """
    if not path.is_relative_to(cache):
        return path
    entry = cache / path.relative_to(cache).parts[0]
    if known_hash is not None:
        method = known_hash.partition(":")[0]
        with path.open("rb") as file:
            if f"{method}:{hashlib.file_digest(file, method).hexdigest()}" != known_hash:
                raise _error_of_change(name, entry, known_hash)
    if known_hash is None or not known_hash.startswith("sha256:"):
        note, found = cache / NOTES / entry.name, sha256_of_all(entry)
        if is_new or not note.is_file():
            with contextlib.suppress(OSError, RunError):  # a cache that others keep may not be written to
                note.parent.mkdir(parents=True, exist_ok=True)
                write_text(note, found)
        elif note.read_text().strip() != found:
            raise _error_of_change(name, entry, f"sha256:{note.read_text().strip()[:64]}")
    return path


def sha256_of_all(entry: Path) -> str:
    """Hash of a file, or of the names and hashes of all files of a folder."""
    if entry.is_file():
        return sha256_of(entry)
    every = sorted(file for file in entry.rglob("*") if file.is_file() and not is_temporary(file.name))
    lines = (f"{file.relative_to(entry).as_posix()}\0{sha256_of(file)}\n" for file in every)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _error_of_change(name: str, entry: Path, wanted: str) -> DataError:
    return DataError(
        f"{name}: {entry} has changed since it was fetched: it is not that of {wanted}. Remove it, and run "
        f"`multiway data fetch {name}`."
    )
