"""A training step: batches in a seeded order, sums of losses over processes, one gradient; bad numbers are named."""

import dataclasses
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from multiway.errors import RunError
from multiway.training.config import Batch, Objective, Source, TrainingConfig
from multiway.training.devices import Engine
from multiway.training.optimizer import Modes, WeightAverage, make_optimizer
from multiway.training.processes import StopRequest


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def epoch_order(count: int, seed: int, epoch: int) -> Tensor:
    """Permutation of the samples; a function of seed and epoch alone, so that any step can be re-entered."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    return torch.randperm(count, generator=generator)


def learning_rate_at(step: int, total: int, config: TrainingConfig) -> float:
    """Learning rate of a step: a function of the config and the step alone, so nothing has to be saved."""
    warmup = min(config.warmup_steps, total // 3)
    if step < warmup:
        return config.learning_rate * (step + 1) / warmup
    if config.schedule == "constant":
        return config.learning_rate
    if config.schedule == "steps":
        passed = sum(step >= share * total for share in config.milestones)
        return config.learning_rate * config.factor**passed
    done = (step - warmup) / max(total - warmup, 1)
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * done))


@dataclasses.dataclass
class Standing:
    """Where a training stands: the variables that a saved state brings back.

    best: Weights of the best validation; none before the first.
    loss_sum, loss_count: Of the steps since the last validation.
    """

    step: int = 0
    best_loss: float = math.inf
    best_score: float | None = None
    best_epoch: float = 0.0
    bad_validations: int = 0
    loss_sum: float = 0.0
    loss_count: float = 0.0
    seconds: float = 0.0
    finished: bool = False
    rows: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    best: dict[str, Tensor] = dataclasses.field(default_factory=dict)


class Steps:
    """The optimiser's steps through the training samples.

    Attributes:
        per_epoch: Steps in one pass over the samples.
        total: Steps of the whole training.
    """

    def __init__(self, engine: Engine, objective: Objective, samples: Source, config: TrainingConfig) -> None:
        self.engine, self.objective, self.samples, self.config = engine, objective, samples, config
        self.rows_per_step = config.batch_size * config.accumulation
        self.count = len(samples)
        self.per_epoch = math.ceil(self.count / self.rows_per_step)
        self.total = self.per_epoch * config.epochs_of(self.per_epoch)
        self.modes = Modes(engine.model, config)
        self.optimizer = make_optimizer(engine.model, config, self.modes)
        self.average = None if config.average is None else WeightAverage(engine.model, config.average)
        self._order: Tensor | None = None

    def ends_stretch(self, step: int) -> bool:
        """Whether the weights are validated after so many steps."""
        stretch, done = max(self.per_epoch // self.config.validations_per_epoch, 1), step % self.per_epoch
        return done == 0 or (done % stretch == 0 and self.per_epoch - done >= stretch)

    def take(self, standing: Standing, request: StopRequest) -> str | None:
        """One optimiser step; returns the name of a stop signal that any process has seen."""
        self._set_learning_rate(standing.step)
        self.optimizer.zero_grad(set_to_none=True)
        batches = self._rows(standing.step).split(self.config.batch_size)
        totals = torch.zeros(3, dtype=torch.float64)
        for number, part in enumerate(batches, start=1):
            totals[:2] += self._backward(part, standing.step, is_last=number == len(batches))
        totals[2] = float(request.name is not None)
        totals = self.engine.sum(totals)
        self._scale_gradients(float(totals[1]))
        if self.modes.penalties:
            self.modes.add_penalties()
        if self.config.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.engine.model.parameters(), self.config.clip_norm)
        self.optimizer.step()
        standing.step += 1
        if self.average is not None:
            self.average.update(standing.step)
        standing.loss_sum += float(totals[0])
        standing.loss_count += float(totals[1])
        return (request.name or "a signal to another process") if totals[2] else None

    def _rows(self, step: int) -> Tensor:
        """Samples of a step, in the order of its epoch."""
        epoch, position = divmod(step, self.per_epoch)
        if self._order is None or position == 0:
            self._order = epoch_order(self.count, self.config.seed, epoch)
        return self._order[position * self.rows_per_step : (position + 1) * self.rows_per_step]

    def _backward(self, part: Tensor, step: int, is_last: bool) -> Tensor:
        """Add the gradient of one batch's sum of losses; an idle process runs one sample with weight zero."""
        own = self.engine.share(part, self.samples)
        idle = len(own) == 0
        with self.engine.synchronised(is_last=is_last):
            batch = self.engine.gather(self.samples, torch.zeros(1, dtype=torch.long) if idle else own)
            total, count = self.objective(self.engine.wrapped, batch)
            value = float(total.detach())
            if not math.isfinite(value):
                raise self._bad_loss(step, own, batch)
            self.engine.backward(total * 0 if idle else total)
        return torch.tensor([0.0, 0.0] if idle else [value, float(count)], dtype=torch.float64)

    def _scale_gradients(self, count: float) -> None:
        """From sums to the mean over every term of the step; processes have been averaged, not added, before."""
        parameters = self.engine.model.parameters()
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        torch._foreach_mul_(gradients, self.engine.world / max(count, 1.0))

    def _set_learning_rate(self, step: int) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate_at(step, self.total, self.config) * group["factor"]

    def _bad_loss(self, step: int, rows: Tensor, batch: Batch) -> RunError:
        epoch, position = divmod(step, self.per_epoch)
        shown = ", ".join(map(str, rows[:4].tolist())) + (" …" if len(rows) > 4 else "")
        bad = first_bad_tensor(self.engine.model, self.objective, batch)
        return RunError(
            f"the loss is not finite in epoch {epoch + 1}, batch {position + 1} of {self.per_epoch} (samples "
            f"{shown}): first in {bad}. Lower training.learning_rate, or look at these rows; the best "
            f"weights so far are kept."
        )


def first_bad_tensor(model: nn.Module, objective: Objective, batch: Batch) -> str:
    """Name the first non-finite tensor in the order in which a step meets them: batch, weights, activations."""
    for name, tensor in batch.items():
        if not _is_finite(tensor):
            return f"the batch's {name}"
    for name, tensor in model.named_parameters():
        if not _is_finite(tensor):
            return f"the weight {name}"
    return _first_bad_output(model, objective, batch) or "the loss itself"


def _first_bad_output(model: nn.Module, objective: Objective, batch: Batch) -> str | None:
    bad: list[str] = []

    def watch(name: str) -> Callable[[nn.Module, object, object], None]:
        def hook(module: nn.Module, inputs: object, output: object) -> None:
            if not bad and isinstance(output, Tensor) and not _is_finite(output):
                bad.append(f"the output of {name or 'the model'}")

        return hook

    handles = [module.register_forward_hook(watch(name)) for name, module in model.named_modules()]
    try:
        with torch.no_grad():
            objective(model, batch)
    finally:
        for handle in handles:
            handle.remove()
    return bad[0] if bad else None


def _is_finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())
