"""Stored values that are not those of a run are said to be so in one line; other errors keep their own."""

from pathlib import Path

import pytest

from multiway.errors import ConfigError, RunError
from multiway.tasks.run_folders import UNREADABLE, readable


@pytest.mark.parametrize("error", [KeyError("scale"), TypeError("scale"), ValueError("scale")])
def test_an_absent_value_is_named(error):
    with pytest.raises(RunError, match=r"^run holds no run of stocks that this version can read \('?scale'?\)\.$"):
        with readable(Path("run"), "run of stocks"):
            raise error


def test_an_error_of_ours_says_what_it_says():
    with pytest.raises(ConfigError, match=r"^model\.dim must be even\.$"), readable(Path("run"), "run of stocks"):
        raise ConfigError("model.dim must be even.")


def test_a_task_may_name_further_errors():
    with pytest.raises(OSError, match="gone"), readable(Path("run"), "run of stocks"):
        raise OSError("gone")
    with pytest.raises(RunError, match=r"holds no segmentation run that this version can read \(gone\)"):
        with readable(Path("run"), "segmentation run", (*UNREADABLE, OSError)):
            raise OSError("gone")
