"""What options of all readers have: one budget of files, seconds and bytes, and one spelling of names.

A folder may hold millions of files. An accent of its own (Unicode's decomposed form) makes no other name.
"""

import contextlib
import contextvars
import os
import time
from collections.abc import Iterator
from pathlib import Path

from multiway import files
from multiway.data.findings import quoted
from multiway.data.options import MAX_FILES, Limits
from multiway.errors import Fix, OverBudgetError

SECONDS, PER_FILE, PER_BYTE = 60.0, 0.01, 1e-6
"""What reading may take, and what every file that is opened and each of its bytes add to that."""


class _Spending:
    """Seconds of the reading that is under way."""

    def __init__(self, options: Limits) -> None:
        self.start, self.given, self.earned = time.monotonic(), options.max_seconds, SECONDS

    def open(self, path: Path) -> None:
        """Count a file, and refuse it where the time is over."""
        with contextlib.suppress(OSError):
            self.earned += PER_FILE + PER_BYTE * path.stat().st_size
        allowed, spent = self.given or self.earned, time.monotonic() - self.start
        if spent > allowed:
            fix = Fix("read.max_seconds", round(10 * max(allowed, 1)))
            rule = f"reading has taken {spent:,.3g} s so far, and {allowed:,.3g} s are allowed"
            raise OverBudgetError(f"{quoted(path, 200)}: {rule}. Raise max_seconds if that is meant (", fix, ").")


_UNDER_WAY: contextvars.ContextVar[_Spending | None] = contextvars.ContextVar("spending", default=None)


@contextlib.contextmanager
def within(options: Limits, *sources: object) -> Iterator[None]:
    """While some sources are read; a reading within another counts as part of it.

    Raises:
        OverBudgetError: A folder holds too many files.
    """
    if _UNDER_WAY.get() is not None:
        yield
        return
    for source in sources:
        if isinstance(source, str | Path):
            check_folder(source, options.max_files)
    token = _UNDER_WAY.set(_Spending(options))
    try:
        yield
    finally:
        _UNDER_WAY.reset(token)


def spend(path: Path) -> None:
    """Say that a file is opened: to the reading that is under way, and to the command, which writes nothing onto it.

    Raises:
        OverBudgetError: The reading's time is over.
    """
    files.add_input(path)
    spending = _UNDER_WAY.get()
    if spending is not None:
        spending.open(path)


def check_folder(path: str | Path, most: int = MAX_FILES) -> None:
    """Refuse a folder with too many files, hidden ones not counted, before anything is made of their names.

    Raises:
        OverBudgetError: It has more.
    """
    count, folders = 0, [os.fspath(path)]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                count += 1
                if count > most:
                    raise OverBudgetError(
                        f"{quoted(path, 200)}: it holds more than {most:,} files. Give the folder of the data alone; "
                        f"or name the task, and raise max_files (", Fix("read.max_files", 10 * most), ").",
                    )  # fmt: skip
