"""Parts of a batch that threads work at side by side, where an operation of torch would use one thread alone."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Part = TypeVar("Part")
Result = TypeVar("Result")


def over_parts(function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Results of a pure function for each part, in their order, the same bits for any number of threads.

    A part has one thread of torch's, and as many parts run at once as it has threads. Gradients do not go through.
    """
    threads = torch.get_num_threads()
    try:
        if min(threads, len(parts)) < 2:
            return [_alone(function, part) for part in parts]
        with ThreadPoolExecutor(min(threads, len(parts))) as pool:
            return list(pool.map(lambda part: _alone(function, part), parts))
    finally:
        torch.set_num_threads(threads)


def _alone(function: Callable[[Part], Result], part: Part) -> Result:
    """Torch counts threads for each thread of Python, but for its matrix products."""
    torch.set_num_threads(1)
    with torch.no_grad():
        return function(part)
