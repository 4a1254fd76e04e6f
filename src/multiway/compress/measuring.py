"""What a layer costs and what a swap changes, measured: FLOPs, time, outputs on the user's data, and their spread."""

import contextlib
import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from multiway.errors import ConfigError

DEFAULT_ROWS = 256
"""Rows of the input on which layers are timed where no data is given."""
FEWEST, MOST = 7, 31
"""Turns that count, at least and at most; the two before them warm up."""
LAYER_SECONDS, MODEL_SECONDS = 0.3, 3.0
"""Time after which no further turn starts."""


class Spread(NamedTuple):
    """Quartiles of measurements; half of them lie between `low` and `high`."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Of one measurement or more."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        return cls(*statistics.quantiles(values, n=4, method="inclusive"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Times:
    """Seconds of a call before and after a swap, taken in turns.

    speed: Time before over time after, turn by turn.
    """

    before: Spread
    after: Spread
    speed: Spread

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]]) -> Self:
        """Of turns: seconds before and after."""
        before, after = zip(*pairs, strict=True)
        return cls(
            before=Spread.of(before),
            after=Spread.of(after),
            speed=Spread.of([first / second for first, second in pairs]),
        )

    @property
    def is_slower(self) -> bool:
        """Whether three turns of four or more were slower after."""
        return self.speed.high < 1

    @property
    def is_faster(self) -> bool:
        """Whether three turns of four or more were faster after."""
        return self.speed.low > 1


def count_flops(module: Callable[..., Any], *inputs: Any) -> int:
    """Floating-point operations of one call, in the products of matrices and convolutions."""
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:  # torch does not count its fused attention of the CPU
        module(*inputs)
    return int(counter.get_total_flops())


def milliseconds(module: nn.Module, batch: Any) -> float:
    """Shortest time of some calls, after two that warm up: what else runs on a machine only adds."""
    return 1e3 * min([_seconds(module, batch) for _ in range(FEWEST + 2)][2:])


def compare_layers(dense: nn.Module, compressed: nn.Module, x: Tensor) -> Times:
    """Seconds of a forward call of each."""
    return _in_turns(lambda: _seconds(dense, x), lambda: _seconds(compressed, x), LAYER_SECONDS)


def compare_models(model: nn.Module, swapped: Callable[[], AbstractContextManager[Any]], data: Any) -> Times:
    """Seconds of the whole model on the data, as it is and while its layers are swapped."""

    def seconds(state: AbstractContextManager[Any]) -> float:
        with state:
            return sum(_seconds(model, batch) for batch in batches_of(data))

    with evaluating(model):
        return _in_turns(lambda: seconds(nullcontext()), lambda: seconds(swapped()), MODEL_SECONDS)


def _in_turns(before: Callable[[], float], after: Callable[[], float], seconds: float) -> Times:
    """Time two calls in turns, so that a machine's drift meets both."""
    for _ in range(2):
        before(), after()
    pairs: list[tuple[float, float]] = []
    stop = time.perf_counter() + seconds
    while len(pairs) < FEWEST or (len(pairs) < MOST and time.perf_counter() < stop):
        pairs.append((before(), after()))
    return Times.of(pairs)


@torch.no_grad()
def _seconds(module: nn.Module, batch: Any) -> float:
    _wait()
    start = time.perf_counter()
    call(module, batch)
    _wait()
    return time.perf_counter() - start


def _wait() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


class Observed:
    """Inputs of one layer on the data, and how far a replacement's outputs are from its own."""

    def __init__(self, replacement: nn.Module | None, *, was_called: bool = False) -> None:
        self.replacement, self.calls = replacement, int(was_called)
        self.shape: tuple[int, ...] | None = None  # of the first call
        self.distance, self.norm = 0.0, 0.0

    def __call__(self, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any], output: Tensor) -> None:
        """Forward hook."""
        x: Tensor = args[0] if args else next(iter(named.values()))
        self.calls += 1
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
        layer_outputs(model, data)
    return watchers


def layer_outputs(model: nn.Module, data: Any) -> list[Tensor]:
    """Every floating tensor that the model returns on the data, in evaluation mode and without gradients."""
    with evaluating(model), torch.no_grad():
        return [tensor for batch in batches_of(data) for tensor in floats(call(model, batch))]


def difference(before: Sequence[Tensor], after: Sequence[Tensor]) -> float:
    """Relative distance of two sets of outputs, taken together."""
    squares = [
        (float((b.double() - a.double()).square().sum()), float(b.double().square().sum()))
        for b, a in zip(before, after, strict=True)
    ]
    distance, norm = (math.fsum(part) for part in zip(*squares, strict=True)) if squares else (0.0, 0.0)
    return math.sqrt(distance / norm) if norm > 0 else math.sqrt(distance)


def spread_of_errors(before: Sequence[Tensor], after: Sequence[Tensor]) -> Spread | None:
    """Relative distances of outputs sample by sample; None where no output has samples."""
    pairs = [(b.double().flatten(1), a.double().flatten(1)) for b, a in zip(before, after, strict=True) if b.ndim > 1]
    if not sum(len(b) for b, _ in pairs):
        return None
    smallest = torch.finfo(torch.float64).tiny
    errors = [(a - b).norm(dim=1) / b.norm(dim=1).clamp(min=smallest) for b, a in pairs]
    return Spread.of(torch.cat([part.cpu() for part in errors]).tolist())


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
    """One batch, or a list of them."""
    batches = data if isinstance(data, list) else [data]
    if not batches or not all(isinstance(batch, Tensor | tuple | Mapping) for batch in batches):
        raise ConfigError(
            f"compress: data is a tensor, a tuple of arguments, a mapping of named arguments, or a list of these. "
            f"Got {type(data).__name__}."
        )
    return batches


def call(model: nn.Module, batch: Any) -> Any:
    """What a model returns on a batch of any of the forms that `batches_of` takes."""
    if isinstance(batch, Tensor):
        return model(batch)
    return model(*batch) if isinstance(batch, tuple) else model(**batch)


def floats(output: Any) -> list[Tensor]:
    """Every floating tensor in what a model returns."""
    if isinstance(output, Tensor):
        return [output] if output.is_floating_point() else []
    parts = output.values() if isinstance(output, Mapping) else output if isinstance(output, tuple | list) else ()
    return [tensor for part in parts for tensor in floats(part)]
