"""What every test shares: one thread, shapes that are checked, and surroundings that are always the same."""

import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from docs.build.browser import PROGRAM, Browser

import shapes
from lanes import Lanes, lane, rank
from unopened import NO_BROWSER, told

ROOT = Path(__file__).parent.parent
SURROUNDINGS = {
    "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),  # for the processes that tests start
    "PYTHONPATH": str(ROOT / "src"),
    "HOME": str(ROOT / ".cache" / "home"),
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "COLUMNS": "80",
}
TAKEN_AWAY = ("LANG", "LANGUAGE", "LINES", "XDG_CACHE_HOME", "FORCE_COLOR", "NO_COLOR", "GITHUB_ACTIONS")

gc.disable()  # until all is collected

for name in TAKEN_AWAY:
    os.environ.pop(name, None)
os.environ |= SURROUNDINGS
time.tzset()
os.umask(0o022)
torch.set_num_threads(1)
shapes.install()
os.fsync = lambda descriptor: None  # what it is for, a loss of power, no test can see; and there are thousands


def pytest_configure(config: pytest.Config) -> None:
    """Let tiny data have the flaws that a training warns of."""
    config.addinivalue_line("filterwarnings", "ignore::multiway.errors.CheckWarning")


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(20261)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of benchmark files, where there is one next to the checkout; the fast suite does without."""
    folder = Path(os.environ.get("MULTIWAY_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("benchmark data absent: set MULTIWAY_DATA to its folder")
    return folder


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Chromium, where there is one."""
    if PROGRAM is None:
        pytest.skip(NO_BROWSER)
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.hookimpl(tryfirst=True)  # before marks choose
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "real_data" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
    items.sort(key=lambda item: rank(lane(item.nodeid)))


def pytest_collection_finish() -> None:
    """Keep what was collected out of sight of the garbage collector, which would look through it all the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # tests make many objects that live no longer than they do
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    shapes.check(not shapes.FOLDERS.isdisjoint(item.path.relative_to(ROOT / "tests").parts))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Lanes:
    return Lanes(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say that no page was opened, which letters in a row do not."""
    for line in told(terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(line)
