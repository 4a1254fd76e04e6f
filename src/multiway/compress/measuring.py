"""What a layer costs and what a swap changes, measured: FLOPs, time, and outputs on the user's own data."""

import contextlib
import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from multiway.errors import ConfigError

DEFAULT_ROWS = 256
"""Rows of the input on which layers are timed where no data is given."""
ROUNDS, SECONDS = 31, 0.3
"""Interleaved rounds at most, and the time after which no further one starts."""


def count_flops(module: nn.Module, x: Tensor) -> int:
    """Floating-point operations of one call."""
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        module(x)
    return int(counter.get_total_flops())


def compare_seconds(dense: nn.Module, compressed: nn.Module, x: Tensor) -> tuple[float, float]:
    """Median seconds of a forward call of each, taken in turns so that a machine's drift meets both."""
    times: tuple[list[float], list[float]] = ([], [])
    stop = math.inf
    with torch.no_grad():
        for turn in range(ROUNDS + 2):
            for module, found in zip((dense, compressed), times, strict=True):
                found.append(_seconds(module, x))
            stop = time.perf_counter() + SECONDS if turn == 1 else stop  # the first two warm up
            if turn > 4 and time.perf_counter() > stop:
                break
    before, after = (statistics.median(found[2:]) for found in times)
    return before, after


def _seconds(module: nn.Module, x: Tensor) -> float:
    _wait(x)
    start = time.perf_counter()
    module(x)
    _wait(x)
    return time.perf_counter() - start


def _wait(x: Tensor) -> None:
    if x.is_cuda:
        torch.cuda.synchronize(x.device)


class Observed:
    """Inputs of one layer on the data, and how far a replacement's outputs are from its own."""

    def __init__(self, replacement: nn.Module | None, *, was_called: bool = False) -> None:
        self.replacement, self.was_called = replacement, was_called
        self.shape: tuple[int, ...] | None = None
        self.distance, self.norm = 0.0, 0.0

    def __call__(self, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any], output: Tensor) -> None:
        """Forward hook."""
        x: Tensor = args[0] if args else next(iter(named.values()))
        self.was_called = True
        if self.shape is None:
            self.shape = tuple(x.shape)
        if self.replacement is not None:
            self.distance += float((self.replacement(x) - output).double().square().sum())
            self.norm += float(output.double().square().sum())

    @property
    def error(self) -> float | None:
        """Relative error of the outputs, biases included."""
        if self.shape is None or self.replacement is None:
            return None
        return math.sqrt(self.distance / self.norm) if self.norm > 0 else math.sqrt(self.distance)


def observe(model: nn.Module, layers: Sequence[tuple[nn.Module, nn.Module | None]], data: Any) -> list[Observed]:
    """Run the model once on the data and watch its layers; the model is left as it was."""
    watchers = [Observed(replacement) for _, replacement in layers]
    with contextlib.ExitStack() as stack:
        for (module, _), watcher in zip(layers, watchers, strict=True):
            stack.callback(module.register_forward_hook(watcher, with_kwargs=True).remove)
        outputs_of(model, data)
    return watchers


def outputs_of(model: nn.Module, data: Any) -> list[Tensor]:
    """Every floating tensor that the model returns on the data, in evaluation mode and without gradients."""
    with evaluating(model), torch.no_grad():
        return [tensor for batch in batches_of(data) for tensor in _floats(_call(model, batch))]


def difference(before: Sequence[Tensor], after: Sequence[Tensor]) -> float:
    """Relative distance of two sets of outputs, taken together."""
    squares = [
        (float((b.double() - a.double()).square().sum()), float(b.double().square().sum()))
        for b, a in zip(before, after, strict=True)
    ]
    distance, norm = (math.fsum(part) for part in zip(*squares, strict=True)) if squares else (0.0, 0.0)
    return math.sqrt(distance / norm) if norm > 0 else math.sqrt(distance)


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put every module into evaluation mode, and each back into its own; draws of random numbers leave no trace."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        with torch.random.fork_rng(devices=[]):
            model.eval()
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def batches_of(data: Any) -> list[Any]:
    """One batch, or a list of them.

    Raises:
        ConfigError: Data is none of a tensor, a tuple of arguments, a mapping of named ones, and a list of these.
    """
    batches = data if isinstance(data, list) else [data]
    if not batches or not all(isinstance(batch, Tensor | tuple | Mapping) for batch in batches):
        raise ConfigError(
            f"compress: data is a tensor, a tuple of arguments, a mapping of named arguments, or a list of these. "
            f"Got {type(data).__name__}."
        )
    return batches


def _call(model: nn.Module, batch: Any) -> Any:
    if isinstance(batch, Tensor):
        return model(batch)
    return model(*batch) if isinstance(batch, tuple) else model(**batch)


def _floats(output: Any) -> list[Tensor]:
    if isinstance(output, Tensor):
        return [output] if output.is_floating_point() else []
    parts = output.values() if isinstance(output, Mapping) else output if isinstance(output, tuple | list) else ()
    return [tensor for part in parts for tensor in _floats(part)]
