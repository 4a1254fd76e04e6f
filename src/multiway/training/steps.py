"""A training step: batches in a seeded order, sums of losses over processes, one gradient; bad numbers are named.

The optimiser has its settings by mode; the weights are averaged.
"""

import contextlib
import dataclasses
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from multiway import ops
from multiway.errors import RunError
from multiway.nn import NdLinear
from multiway.training.config import Batch, Objective, Source, TrainingConfig
from multiway.training.processes import Engine, StopRequest


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
        self.total = self.per_epoch * config.epochs_of(self.count)
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
        rate = learning_rate_at(standing.step, self.total, self.config)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["factor"]
        self.optimizer.zero_grad(set_to_none=True)
        batches = self._rows(standing.step).split(self.config.batch_size)
        totals = torch.zeros(3, dtype=torch.float64)
        for number, part in enumerate(batches, start=1):
            totals[:2] += self._backward(part, standing.step, is_last=number == len(batches))
        totals[2] = float(request.name is not None)
        totals = self.engine.sum(totals)
        # From sums to the mean over every term of the step; processes have been averaged, not added, before
        gradients = [weight.grad for weight in self.engine.model.parameters() if weight.grad is not None]
        torch._foreach_mul_(gradients, self.engine.world / max(float(totals[1]), 1.0))
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

    def average_in_place(self) -> contextlib.AbstractContextManager[None]:
        """Within this block the model holds the average of its weights, where one is kept."""
        return contextlib.nullcontext() if self.average is None else self.average.in_place()

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
        with self.engine.sync_gradients(is_last=is_last):
            batch = self.engine.gather(self.samples, torch.zeros(1, dtype=torch.long) if idle else own)
            total, count = self.objective(self.engine.wrapped, batch)
            value = float(total.detach())
            if not math.isfinite(value):
                raise self._bad_loss(step, own, batch)
            self.engine.backward(total * 0 if idle else total)
        return torch.tensor([0.0, 0.0] if idle else [value, float(count)], dtype=torch.float64)

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


def make_optimizer(model: nn.Module, config: TrainingConfig, modes: "Modes") -> torch.optim.Optimizer:
    """Adam or AdamW over the weights that are trained, one group per factor of the learning rate."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    fused = all(parameter.is_floating_point() for parameter in trained)
    return kind(modes.groups_of(trained), lr=config.learning_rate, weight_decay=config.weight_decay, fused=fused)


class Modes:
    """The trained weights of every `NdLinear` of a model, and a config's settings for them (NdLinear, section 2.3)."""

    def __init__(self, model: nn.Module, config: TrainingConfig) -> None:
        layers = [module for module in model.modules() if isinstance(module, NdLinear)]
        numbered = [(mode, weight) for layer in layers for mode, weight in enumerate(layer.weights)]
        trained = [(mode, weight) for mode, weight in numbered if weight.requires_grad]
        self.modes, self.weights = [mode for mode, _ in trained], [weight for _, weight in trained]
        self.rates = config.mode_rates
        given = {ops.norm_penalty: config.norm_penalty, ops.orthogonality_penalty: config.orthogonality_penalty}
        self.penalties = {penalty: numbers for penalty, numbers in given.items() if numbers and trained}

    def add_penalties(self) -> None:
        """Add the gradient of the penalties to that of the mean loss; processes have exchanged theirs before."""
        for penalty, given in self.penalties.items():
            value = penalty(self.weights, self._by_weight(given))
            for weight, gradient in zip(self.weights, torch.autograd.grad(value, self.weights), strict=True):
                weight.grad = gradient if weight.grad is None else weight.grad + gradient

    def groups_of(self, trained: list[nn.Parameter]) -> list[dict[str, Any]]:
        """Groups of the optimiser: all that have the learning rate as it is, then one for each other factor."""
        rates = self._by_weight(self.rates) if self.rates else []
        rate_of = dict(zip(map(id, self.weights), rates, strict=False))
        factors = (1.0, *sorted(set(rates) - {1.0}))
        groups: dict[float, list[nn.Parameter]] = {factor: [] for factor in factors}
        for parameter in trained:
            groups[rate_of.get(id(parameter), 1.0)].append(parameter)
        return [{"params": group, "factor": factor} for factor, group in groups.items()]

    def _by_weight(self, given: tuple[float, ...]) -> list[float]:
        """The number of each weight's mode; the last one is for all later modes."""
        return [given[min(mode, len(given) - 1)] for mode in self.modes]


class WeightAverage:
    """Averages every floating-point tensor of a model's state, and follows the others.

    After step t the average moves towards the weights by 1 - min(decay, (1 + t) / (10 + t)), so that it forgets the
    first draw fast; the share is a function of the step alone, so that only `values` has to be saved.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay = model, decay
        self.values = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after a step, counted from 1."""
        move = 1.0 - min(self.decay, (1 + step) / (10 + step))
        for name, tensor in self.model.state_dict().items():
            value = self.values[name]
            if value.is_floating_point():
                value.lerp_(tensor.to(value.device), move)
            else:
                value.copy_(tensor)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Within this block the model holds the average."""
        own = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
        self.model.load_state_dict(self.values)
        try:
            yield
        finally:
            self.model.load_state_dict(own)

    def restore(self, values: dict[str, Tensor]) -> None:
        """Continue from saved values."""
        if values.keys() != self.values.keys():
            raise RunError("the saved state holds no average of the weights. Resume the run as it was started.")
        for name, tensor in values.items():
            self.values[name].copy_(tensor)
