"""A file that is looked at from several sides is read once: within a block, what was read of it is kept."""

import contextlib
from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from multiway.data.findings import Findings, Unreadable

T = TypeVar("T")
_KEPT: ContextVar[dict[Hashable, tuple[Any, Findings]] | None] = ContextVar("kept", default=None)


@contextlib.contextmanager
def reading_once() -> Iterator[None]:
    """Keep what is read until the outermost such block ends."""
    token = _KEPT.set({} if (outer := _KEPT.get()) is None else outer)
    try:
        yield
    finally:
        _KEPT.reset(token)


def once(key: Hashable, findings: Findings, read: Callable[[Findings], T]) -> T:
    """What a reader makes of a file; within `reading_once` it reads the first time alone, and notes what it found."""
    kept = _KEPT.get()
    if kept is None:
        return read(findings)
    if key not in kept:
        own = Findings(findings.source)
        try:
            kept[key] = read(own), own
        except Unreadable as end:
            kept[key] = end, own
    result, own = kept[key]
    findings.found += own.found
    findings.encoding = own.encoding
    if isinstance(result, Unreadable):
        raise result
    return cast(T, result)
