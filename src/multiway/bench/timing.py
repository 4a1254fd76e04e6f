"""Timing peers in turns, and the machine's roof."""

import functools
import statistics
import time
from collections.abc import Callable, Hashable
from typing import TypeVar

import torch

Case = Callable[[], object]
Key = TypeVar("Key", bound=Hashable)


def rounds(cases: dict[Key, Case], repeats: int, slow_seconds: float = 0.5) -> dict[Key, list[float]]:
    """Seconds of every case, one timed call of each per round, so that drift hits all alike.

    An untimed call goes before each timed one: the first call after a peer finds the caches full of the peer's
    data. Neither matters to a case slower than `slow_seconds`, which is called once, in every third round only.
    """
    times: dict[Key, list[float]] = {name: [] for name in cases}
    for case in cases.values():
        _finish(case)
    for turn in range(repeats):
        for name, case in cases.items():
            slow = bool(times[name]) and times[name][0] > slow_seconds
            if not slow:
                _finish(case)
            if turn % 3 == 0 or not slow:
                times[name].append(_timed(case))
    return times


def median(times: list[float]) -> float:
    """Of seconds."""
    return statistics.median(times)


@functools.cache
def gemm_flops(dtype: torch.dtype = torch.float32) -> float:
    """Operations per second of a large product."""
    side = 1536 if torch.get_default_device().type == "cpu" else 8192
    a, b = torch.randn(side, side, dtype=dtype), torch.randn(side, side, dtype=dtype)
    best = min(_timed(lambda: a @ b) for _ in range(12))
    return 2 * side**3 / best


@functools.cache
def bandwidth() -> float:
    """Bytes per second of a copy larger than the caches, reads and writes counted."""
    source = torch.randn(2 ** (24 if torch.get_default_device().type == "cpu" else 28))
    target = torch.empty_like(source)
    best = min(_timed(lambda: target.copy_(source)) for _ in range(12))
    return 2 * source.numel() * source.element_size() / best


def _timed(case: Case) -> float:
    start = time.perf_counter()
    _finish(case)
    return time.perf_counter() - start


def _finish(case: Case) -> None:
    """Call, and wait for an accelerator to be done."""
    case()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
