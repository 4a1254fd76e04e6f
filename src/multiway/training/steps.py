"""A training step: batches in a seeded order, sums of losses over processes, one gradient; bad numbers are named.

The model is on its device, in its precision and on several processes; the optimiser has its settings by mode.
"""

import contextlib
import copy
import dataclasses
import math
import os
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
from multiway.training.processes import StopRequest, end_at_exit, fastest, world


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

    def keep_if_best(self, steps: "Steps", loss: float, score: float | None) -> None:
        """Keep the weights of a validation that is the best so far, or of each where the settings keep the last.

        The score decides where there is one, and of equal scores the lower loss; one that is not a number never does.
        """
        best = -math.inf if self.best_score is None else self.best_score
        is_better = loss < self.best_loss if score is None else (score, -loss) > (best, -self.best_loss)
        if not is_better and steps.config.keep == "best":
            self.bad_validations += 1
            return
        self.best_loss, self.best_score, self.bad_validations = loss, score, 0
        self.best, self.best_epoch = steps.engine.weights(), self.step / steps.per_epoch


class Engine:
    """A model on its device, as Accelerate wraps it for several processes and for the precision of a training.

    Attributes:
        model: The model itself, or a copy of it whose weights lie in parts on all processes.
        wrapped: What a training step calls.
        sharded: Whether they do: FSDP2, where the launcher sets FSDP.
        world: Number of processes.
        rank: Which of them this is.
        backward: Adds the gradient of a loss.
    """

    def __init__(self, model: nn.Module, config: TrainingConfig) -> None:
        from accelerate import Accelerator
        from accelerate.state import AcceleratorState

        if world() > 1:
            end_at_exit()
        AcceleratorState._reset_state()  # another precision earlier in this process is none of ours
        precision = "bf16" if config.precision == "bf16" else "no"
        self._accelerator = Accelerator(mixed_precision=precision, cpu=fastest(model) == "cpu")
        self.device, self.is_main = self._accelerator.device, self._accelerator.is_main_process
        self.world, self.rank = self._accelerator.num_processes, self._accelerator.process_index
        self.backward: Callable[[Tensor], None] = self._accelerator.backward
        self.sharded = self.world > 1 and os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true"
        self.model = shard(copy.deepcopy(model).to(self.device), config) if self.sharded else model.to(self.device)
        compiled: nn.Module = torch.compile(self.model) if config.compile else self.model  # type: ignore[assignment]
        self.wrapped: nn.Module = compiled if self.sharded else self._accelerator.prepare_model(compiled)

    def gather(self, source: Source, index: Tensor) -> Batch:
        """Samples on the device."""
        batch = source.gather(index)
        return batch if self.device.type == "cpu" else {name: part.to(self.device) for name, part in batch.items()}

    def share(self, index: Tensor, source: Source) -> Tensor:
        """Part of a global batch that is this process's: what it alone holds, else as much as each other has."""
        held = getattr(source, "held", None)
        own: Tensor = index.tensor_split(self.world)[self.rank] if held is None else held(index)
        return own

    def sync_gradients(self, *, is_last: bool) -> contextlib.AbstractContextManager[Any]:
        """Processes exchange gradients once per step, with the last batch."""
        if self.sharded:
            self.model.set_requires_gradient_sync(is_last)  # type: ignore[operator]  # of FSDP's module
            return contextlib.nullcontext()
        return contextlib.nullcontext() if is_last else self._accelerator.no_sync(self.wrapped)

    def sum(self, totals: Tensor) -> Tensor:
        """Sums over all processes."""
        if self.world == 1:
            return totals
        summed: Tensor = self._accelerator.reduce(totals.to(self.device), reduction="sum")
        return summed.cpu()

    def weights(self) -> dict[str, Tensor]:
        """A copy of the whole state of the model; all processes take part where it lies in parts."""
        state = {name: tensor.detach() for name, tensor in self.model.state_dict().items()}
        whole = {name: part.full_tensor() if hasattr(part, "full_tensor") else part for name, part in state.items()}
        return {name: tensor.cpu().clone() for name, tensor in whole.items()}

    def unwrap(self) -> None:
        """Leave the model in its own precision, which is a matter of the training."""
        if not self.sharded:
            self._accelerator.unwrap_model(self.wrapped, keep_fp32_wrapper=False)


def shard(model: nn.Module, config: TrainingConfig) -> nn.Module:
    """The model with its weights in parts on all processes: those of each outermost list of layers one by one."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16 if config.precision == "bf16" else None)
    for layer in _outermost(model):
        if any(parameter.requires_grad for parameter in layer.parameters()):
            fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return model


def _outermost(module: nn.Module) -> Iterator[nn.Module]:
    """Members of lists of layers that are in no other list."""
    for child in module.children():
        yield from child if isinstance(child, nn.ModuleList) else _outermost(child)


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
        trained = [parameter for parameter in engine.model.parameters() if parameter.requires_grad]
        kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
        self.optimizer: torch.optim.Optimizer = kind(
            self.modes.groups_of(trained),  # one for each factor of the learning rate
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            fused=all(parameter.is_floating_point() for parameter in trained),
        )
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
        bad = find_bad_tensor(self.engine.model, self.objective, batch)
        return RunError(
            f"the loss is not finite in epoch {epoch + 1}, batch {position + 1} of {self.per_epoch} (samples "
            f"{shown}): first in {bad}. Lower training.learning_rate, or look at these rows; the best "
            f"weights so far are kept."
        )


def find_bad_tensor(model: nn.Module, objective: Objective, batch: Batch) -> str:
    """Name the first non-finite tensor in the order in which a step meets them: batch, weights, activations."""
    bad = [f"the batch's {name}" for name, tensor in batch.items() if not _is_finite(tensor)]
    bad += [f"the weight {name}" for name, tensor in model.named_parameters() if not _is_finite(tensor)]
    if bad:
        return bad[0]

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
    return bad[0] if bad else "the loss itself"


def _is_finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())


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
