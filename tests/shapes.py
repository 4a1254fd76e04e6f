"""The shapes that `ops` and `nn` state, checked at every call: some thirty per cent of the time of a training."""

import contextlib
from collections.abc import Iterator

import jaxtyping

FOLDERS = frozenset({"kernels", "models", "networks", "nn", "ops"})
"""Folders of tests in which they are always checked; elsewhere once for each task, in the run of its contract."""


def install() -> None:
    """Have the checks compiled in, which has to come before the first import."""
    jaxtyping.install_import_hook(["multiway.ops", "multiway.nn"], "beartype.beartype")


def check(wanted: bool) -> bool:
    """Check from now on, or not; whether it was so before."""
    before = not jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", not wanted)
    return before


@contextlib.contextmanager
def checked(wanted: bool = True) -> Iterator[None]:
    """Check within, or do not, wherever the test stands."""
    before = check(wanted)
    try:
        yield
    finally:
        check(before)
