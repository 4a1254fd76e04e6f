"""Validation: the loss and score of held-out samples, which choose the weights; what else its log may keep."""

import dataclasses
import functools
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from multiway.errors import ConfigError
from multiway.training.config import Objective, Source
from multiway.training.steps import Engine, Standing, Steps

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
Watched = dict[str, list[float]]
"""Numbers by name, such as one value for each of `QUANTILES` of a weight."""
Stops = Callable[[Sequence[dict[str, Any]], float], str | None]
ACCURACY = "validation_acc"
BATCH = 256


@dataclasses.dataclass(frozen=True, kw_only=True)
class Validation:
    """The held-out samples, and how a model is judged by them.

    batch_size: Samples at once, over all processes.
    score: Of the model as validated, higher for better; the loss chooses without one.
    stops: Why the training ends, by the rows of all validations and how many are left; None where it goes on.
    watch: Numbers of the model as validated, for the log.
    """

    samples: Source
    objective: Objective
    batch_size: int
    score: Callable[[nn.Module], float] | None = None
    watch: Callable[[nn.Module], Watched] | None = None
    stops: Stops | None = None

    @torch.no_grad()
    def judge(self, steps: Steps, standing: Standing, started: float) -> dict[str, Any]:
        """Score the weights, or their average, keep them if they are the best so far; the row of the log.

        It decides whether to go on.
        """
        engine, config = steps.engine, steps.config
        engine.wrapped.eval()
        with steps.average_in_place():
            loss = self._loss(engine)
            score = None if self.score is None else self.score(engine.model)
            watched = None if self.watch is None else self.watch(engine.model)
            standing.keep_if_best(steps, loss, score)
        engine.wrapped.train()
        row = _row(steps, standing, loss, score, time.monotonic() - started)
        row |= {} if watched is None else {"watched": watched}
        standing.rows.append(row)
        standing.loss_sum = standing.loss_count = 0.0
        standing.finished = (
            standing.step == steps.total
            or 0 < config.patience <= standing.bad_validations
            or self.why_stopped(steps, standing) is not None
        )
        return row

    def why_stopped(self, steps: Steps, standing: Standing) -> str | None:
        """Why the training ends before its last step; None where nothing but its own rows would end it."""
        if self.stops is None or not standing.rows or standing.step == steps.total:
            return None
        return self.stops(standing.rows, len(standing.rows) * (steps.total - standing.step) / standing.step)

    @functools.cached_property
    def batches(self) -> tuple[Tensor, ...]:
        """Indices of the samples of each batch."""
        return tuple(torch.arange(len(self.samples)).split(self.batch_size))

    def _loss(self, engine: Engine) -> float:
        """Mean over all samples of all processes."""
        totals = torch.zeros(2, dtype=torch.float64)
        for part in self.batches:
            own = engine.share(part, self.samples)
            if len(own) or engine.sharded:  # all processes call a model whose weights lie in parts
                batch = engine.gather(self.samples, own if len(own) else own.new_zeros(1))
                total, count = self.objective(engine.model, batch)
                totals += torch.tensor([float(total), float(count)], dtype=torch.float64) * bool(len(own))
        totals = engine.sum(totals)
        return float(totals[0] / totals[1].clamp_min(1))


@torch.no_grad()
def mean_loss(
    model: nn.Module,
    objective: Objective,
    samples: Source,
    size: int = BATCH,
    total: Callable[..., list[Tensor]] = lambda *sums: list(sums),
) -> float:
    """Mean of the losses of a model that is not trained here, over all samples; `total` adds up several processes'."""
    model.eval()
    parts = [objective(model, samples.gather(part)) for part in torch.arange(len(samples)).split(size)]
    lost, count = total(*(torch.stack(list(sums)).double().sum() for sums in zip(*parts, strict=True)))
    return float(lost) / max(float(count), 1.0)


def _row(steps: Steps, standing: Standing, loss: float, score: float | None, seconds: float) -> dict[str, Any]:
    """A line of the log."""
    return {
        "step": standing.step,
        "epoch": standing.step / steps.per_epoch,
        "train_loss": standing.loss_sum / max(standing.loss_count, 1.0),
        "validation_loss": loss,
        "best_loss": standing.best_loss,
        **({} if score is None else {"validation_score": score, "best_score": standing.best_score}),
        "learning_rate": steps.optimizer.param_groups[0]["lr"],
        "seconds": round(seconds, 3),
        "samples_per_second": round(standing.step * steps.rows_per_step / max(seconds, 1e-9), 1),
    }


def check_watched(model: nn.Module, pattern: str) -> None:
    """Refuse a pattern that no weight of a network has in its name."""
    if not matrices_of(model, pattern):
        names = ", ".join(name for name, weight in model.named_parameters() if weight.ndim > 1)
        raise ConfigError(f"weights: no weight has {pattern!r} in its name. There are {names}.")


def matrices_of(model: nn.Module, pattern: str) -> dict[str, Tensor]:
    """Weights of two axes or more whose names have the pattern in them."""
    weights = ((name, weight) for name, weight in model.named_parameters() if weight.ndim > 1)
    return {name: weight.detach() for name, weight in weights if re.search(pattern, name)}


def quantiles_of(model: nn.Module, pattern: str) -> Watched:
    """How the values of each of these weights are spread."""
    levels = torch.tensor(QUANTILES)
    return {
        name: torch.quantile(weight.float().cpu().flatten(), levels).tolist()
        for name, weight in matrices_of(model, pattern).items()
    }


def accuracy_of(model: nn.Module, samples: Source) -> Watched:
    """The share of samples whose class the model names, as one value."""
    device, right = next(model.parameters()).device, 0
    for index in torch.arange(len(samples)).split(BATCH):
        batch = samples.gather(index)
        right += int((model(batch["inputs"].to(device)).argmax(-1).cpu() == batch["target"]).sum())
    return {ACCURACY: [right / max(len(samples), 1)]}
