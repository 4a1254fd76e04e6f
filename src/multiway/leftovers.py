"""Temporary files and folders that killed processes left, and how they are removed: their names say whose they are."""

import contextlib
import glob
import os
import shutil
from pathlib import Path

from multiway.files import MARK, OWNED, RESULT, machine


def remove_all(folder: Path) -> None:
    """Remove what an interrupted `atomic_path` left below `folder`, and nothing that is only called alike."""
    for path in folder.rglob(f"*{MARK}*"):
        if is_temporary(path.name) and path.is_file() and not path.is_symlink():
            path.unlink(missing_ok=True)


def remove(*paths: Path | None) -> None:
    """Remove what killed processes of this machine left next to each path of what was to become it, and inside it.

    A whole result that was moved aside when its process was killed comes back.
    """
    for given in paths:
        for path in () if given is None else dict.fromkeys((given, given.resolve())):
            near = path.parent.glob(f"*{glob.escape(path.name)}{MARK}*")
            inside = [*path.glob(f"*{MARK}*"), *path.glob(f"*/*{MARK}*")]
            names = (path.name, f".{path.name}")
            for stray in [*(near_path for near_path in near if OWNED.sub("", near_path.name) in names), *inside]:
                owner = OWNED.search(stray.name)
                is_ours = owner is not None and owner[1] == machine() and not stray.is_symlink()
                if owner is not None and is_ours and not _runs(int(owner[2], 16)):
                    with contextlib.suppress(OSError):
                        if (stray / RESULT).is_file() and not path.exists():
                            stray.rename(path)
                        elif stray.is_dir():
                            shutil.rmtree(stray)
                        else:
                            stray.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # it is another user's, or no number of a process
        return True
    return True


def is_temporary(name: str) -> bool:
    """Whether a name is one of `temporary_name`."""
    return OWNED.search(name) is not None
