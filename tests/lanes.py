"""Which tests follow each other in one worker, and which begin, so that the workers of `bin/test` end together.

Tests of one file stay together, as they share what their fixtures make; so do those of the contract of one task, which
share a run, or of one estimator. A file of long tests that share nothing is dealt out test by test.
"""

import re
from typing import Any

from pytest import Config
from xdist.scheduler import LoadScopeScheduling

FIRST = (
    "tests/nn/test_export.py",
    "tests/test_documents.py",
    "tests/test_first_contact.py",
    "tests/test_attacks.py",
    "tests/test_processors.py",
    "tests/test_surroundings.py",
    "contract of ",
    "tests/tasks/test_contract_processes.py",
    "tests/workflows/test_full_disk.py",
    "tests/cli/test_process.py",
    "tests/workflows/test_tuning.py",
    "tests/nn/",
    "tests/training/",
    "tests/papers/stocks/",
    "tests/tasks/scans/classes/",
)
"""Lanes that take longest, by the beginning of their names; the many short ones after them fill what is left."""
DEALT_OUT = ("tests/test_documents.py", "tests/test_surroundings.py", "tests/test_processors.py")
CONTRACT = re.compile(r"tests/tasks/test_(?:contract(?!_processes)\w*|titles)\.py::.*\[(\w+)")
"""Tests of one task that look at one run of it."""


def lane(name: str) -> str:
    """The lane of a test, by its name."""
    if contract := CONTRACT.match(name):
        return f"contract of {contract[1]}"
    return name if name.startswith(DEALT_OUT) else name.split("::")[0]


def rank(name: str) -> int:
    """Place of a lane's kind among those that begin."""
    return next((rank for rank, start in enumerate(FIRST) if name.startswith(start)), len(FIRST))


class Lanes(LoadScopeScheduling):
    """Gives each worker that is free the next lane, long ones first."""

    def __init__(self, config: Config, log: Any) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # which would begin with the lanes of most tests

    def _split_scope(self, nodeid: str) -> str:
        return lane(nodeid)
