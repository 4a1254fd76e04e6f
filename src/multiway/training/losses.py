"""Losses, of segmentation too, as a sum and a count, so that masks, shards and accumulated batches stay exact."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.errors import ShapeError
from multiway.metrics.overlap import soft_skeleton
from multiway.training.config import Batch, Source, TrainingConfig

NO_TARGET = -100
"""Label of what is not learned from."""
TEACHER = "teacher"
"""Name of a teacher's logits in a batch."""
Loss = Callable[[Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor]]
IGNORED = -1
"""Class of voxels that are neither learned from nor scored."""
SMOOTH = 1.0
"""Added above and below in a soft Dice, so that a sample without a class still has a gradient."""


def squared_error(prediction: Tensor, target: Tensor, observed: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Sum of squared errors over observed cells, and their number."""
    return _reduce(F.mse_loss(prediction, target, reduction="none"), observed)


def absolute_error(prediction: Tensor, target: Tensor, observed: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Sum of absolute errors over observed cells, and their number."""
    return _reduce(F.l1_loss(prediction, target, reduction="none"), observed)


def huber(prediction: Tensor, target: Tensor, observed: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Quadratic up to an error of 0.5, linear beyond."""
    return _reduce(F.huber_loss(prediction, target, reduction="none", delta=0.5), observed)


def pinball_terms(levels: Tensor, target: Tensor, quantiles: Sequence[float]) -> Tensor:
    """Pinball loss of every number, averaged over the quantiles, which are the last axis of `levels`."""
    shares = torch.tensor(quantiles, dtype=levels.dtype, device=levels.device)
    error = target[..., None] - levels
    return torch.maximum(shares * error, (shares - 1) * error).mean(-1)


def double_pinball(
    prediction: Tensor, target: Tensor, observed: Tensor | None = None, *, quantile: float
) -> tuple[Tensor, Tensor]:
    """Sum of twice the pinball losses over observed cells, at 0.5 the absolute errors, and their number."""
    return _reduce(2 * pinball_terms(prediction[..., None], target, [quantile]), observed)


def by_answer(losses: Sequence[Loss]) -> Loss:
    """The loss of several answers, one after another along the batch, each by its own."""

    def loss(prediction: Tensor, target: Tensor, observed: Tensor | None = None) -> tuple[Tensor, Tensor]:
        count = len(losses)
        seen = (None,) * count if observed is None else observed.chunk(count)
        parts = zip(losses, prediction.chunk(count), target.chunk(count), seen, strict=True)
        sums = [each(answer, truth, there) for each, answer, truth, there in parts]
        total, cells = (torch.stack(part).sum() for part in zip(*sums, strict=True))
        return total, cells

    return loss


LOSSES: dict[str, Loss] = {"mse": squared_error, "mae": absolute_error, "huber": huber}


def _reduce(cells: Tensor, observed: Tensor | None) -> tuple[Tensor, Tensor]:
    """Sum and number of the cells that count, or, where `observed` says how much each does, with these as weights."""
    if observed is None:
        return cells.sum(), torch.tensor(float(cells.numel()), device=cells.device)
    if observed.dtype != torch.bool:
        return (observed * cells).sum(), observed.sum()
    return torch.where(observed, cells, 0).sum(), observed.sum().to(cells.dtype)


def class_loss(
    logits: Tensor, labels: Tensor, weights: Tensor | None = None, smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Sum of the cross-entropy over the labels that are not `NO_TARGET`, and their number or weight.

    Args:
        logits: `(*, classes)`, such as one row per case, or one per token of each window.
        labels: `(*)`.
        weights: Of the classes.
        smoothing: Share of a label that is spread over all classes.
    """
    logits, labels = logits.flatten(0, -2), labels.flatten()
    weights = None if weights is None else weights.to(labels.device)
    loss = F.cross_entropy(
        logits.float(), labels, weights, ignore_index=NO_TARGET, label_smoothing=smoothing, reduction="sum"
    )
    known = labels != NO_TARGET
    return loss, known.sum().to(loss.dtype) if weights is None else weights[labels[known]].sum()


class ClassLoss:
    """Cross-entropy of the batch's `target`."""

    def __init__(self, weights: Tensor | None = None, smoothing: float = 0.0) -> None:
        self.weights, self.smoothing = weights, smoothing

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum, and number or weight, as `class_loss` says; weights and smoothing are for training alone."""
        outputs, target = model(batch["inputs"]), batch["target"]
        return (
            class_loss(outputs, target, self.weights, self.smoothing) if model.training else class_loss(outputs, target)
        )


def class_weights(labels: NDArray[np.integer], num_classes: int, training: TrainingConfig) -> Tensor | None:
    """Weights that make every class of the training labels count the same, 1 on average over the cases."""
    if training.class_weights == "none":
        return None
    counts = np.bincount(labels, minlength=num_classes)
    present = int((counts > 0).sum())
    return torch.tensor(len(labels) / (present * np.maximum(counts, 1)), dtype=torch.float32)


def divergence(logits: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    r"""How far a student is from its teacher, for each sample (Hinton, Vinyals and Dean, 2015).

    $$T^2\, \mathrm{KL}(\mathrm{softmax}(t / T)\,\|\,\mathrm{softmax}(s / T))$$

    The square keeps the size of its gradient as the temperature changes.

    Args:
        logits: Of the student, `(samples, classes)`.
        teacher: Logits of the teacher, alike.
        temperature: T; the higher, the more the classes that the teacher finds unlikely count.
    """
    student = F.log_softmax(logits.float() / temperature, dim=1)
    target = F.log_softmax(teacher.float() / temperature, dim=1)
    return temperature**2 * (target.exp() * (target - student)).sum(1)


def distillation_loss(
    logits: Tensor,
    teacher: Tensor,
    labels: Tensor,
    weights: Tensor | None = None,
    *,
    temperature: float,
    alpha: float,
    smoothing: float = 0.0,
    student: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Sum of `alpha` times the divergence and the rest times the cross-entropy, and the number or weight of samples.

    student: Logits that learn from the teacher, where those of the labels are others.
    weights: Of the classes; a sample's weight is that of its label, in both parts.
    smoothing: Share of a label that is spread over all classes.
    """
    hard = F.cross_entropy(logits.float(), labels, reduction="none", label_smoothing=smoothing)
    losses = alpha * divergence(logits if student is None else student, teacher, temperature) + (1 - alpha) * hard
    shares = torch.ones_like(losses) if weights is None else weights.to(labels.device)[labels]
    return (shares * losses).sum(), shares.sum()


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class DistillationLoss:
    """`distillation_loss` of a batch with a teacher's logits; cross-entropy of one without, as in validation.

    A network of two heads gives a pair of logits: of the labels, and of the teacher.

    temperature, alpha, weights, smoothing: As there.
    """

    temperature: float
    alpha: float
    weights: Tensor | None = None
    smoothing: float = 0.0

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the samples, and their number or weight."""
        out, labels = model(batch["inputs"]), batch["target"]
        logits, student = out if isinstance(out, tuple) else (out, None)
        if TEACHER not in batch:
            return class_loss(logits, labels)
        return distillation_loss(
            logits,
            batch[TEACHER],
            labels,
            self.weights,
            temperature=self.temperature,
            alpha=self.alpha,
            smoothing=self.smoothing,
            student=student,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Taught:
    """Samples with what a teacher says of each.

    source: The samples.
    logits: Of the teacher, `(samples, classes)`.
    """

    source: Source
    logits: Tensor

    def __len__(self) -> int:
        return len(self.source)

    def gather(self, index: Tensor) -> Batch:
        """Some samples with the teacher's logits."""
        return {**self.source.gather(index), TEACHER: self.logits[index]}


class TargetLoss:
    """Cross-entropy of the batch's `target`, of each of several labels by itself, or a loss of scaled numbers.

    Where a batch has the `weight` of each sample, it counts as much, in validation too.
    """

    def __init__(self, training: TrainingConfig, names: Sequence[str] | None, labels: NDArray[Any]) -> None:
        self.training, self.has_several = training, labels.ndim == 2
        self.rates: Tensor | None = None
        if self.has_several:  # a label that no training case has counts as one that one case has
            self.rates = torch.from_numpy(np.maximum(labels.mean(0), 1 / len(labels))).float()
        weights = None if names is None or self.has_several else class_weights(labels, len(names), training)
        self.of_classes = None if names is None else ClassLoss(weights, training.label_smoothing)

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the samples, and their number; weights of classes and smoothing are for training alone."""
        weight = batch.get("weight")
        if self.has_several:
            return self._of_labels(model, batch)
        if self.of_classes is None:
            loss = LOSSES.get(self.training.loss, squared_error)  # a task of both has cross-entropy as its usual one
            return loss(model(batch["inputs"])[:, 0], batch["target"], weight)
        if weight is None:
            return self.of_classes(model, batch)
        smoothing = self.of_classes.smoothing if model.training else 0.0
        logits = model(batch["inputs"]).float()
        return _reduce(F.cross_entropy(logits, batch["target"], reduction="none", label_smoothing=smoothing), weight)

    def _of_labels(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Binary cross-entropy of every label, averaged; balanced, those that are there weigh as much as the others."""
        logits, target, balance = model(batch["inputs"]).float(), batch["target"].float(), None
        if model.training:
            target = target + self.training.label_smoothing * (0.5 - target)
        if model.training and self.training.class_weights == "balanced" and self.rates is not None:
            balance = ((1 - self.rates) / self.rates).to(logits.device)
        losses = F.binary_cross_entropy_with_logits(logits, target, pos_weight=balance, reduction="none")
        return _reduce(losses.mean(1), batch.get("weight"))


def segmentation_loss(
    logits: Tensor,
    target: Tensor,
    *,
    background: bool = True,
    dice_weight: float = 1.0,
    cl_dice_weight: float = 0.0,
    class_weights: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Cross-entropy, plus one minus the soft Dice, plus one minus the soft clDice, summed over samples.

    A sample's loss depends on that sample alone.

    Args:
        logits: `(batch, classes, *sizes)`.
        target: `(batch, *sizes)` int64 classes; `IGNORED` marks voxels that do not count.
        background: Class 0 is background and has no Dice of its own.
        dice_weight: Weight of the Dice term.
        cl_dice_weight: Weight of the clDice term, for thin connected structures (Shit et al. 2021).
        class_weights: `(classes,)` weights of the cross-entropy.

    Returns:
        The sum over samples, and the number of samples.
    """
    if logits.shape[:1] + logits.shape[2:] != target.shape:
        raise ShapeError(
            f"segmentation_loss: logits are (batch, classes, *sizes) and target (batch, *sizes). Got "
            f"{tuple(logits.shape)} and {tuple(target.shape)}."
        )
    logits, flat = logits.float(), target.flatten(1)
    losses = F.cross_entropy(logits, target, weight=class_weights, ignore_index=IGNORED, reduction="none").flatten(1)
    seen = flat != IGNORED
    weight = seen.to(losses.dtype) if class_weights is None else class_weights[flat.clamp_min(0)] * seen
    # The mean over the voxels of a sample that count; zero where none does
    total = losses.sum(1) / weight.sum(1).clamp_min(torch.finfo(losses.dtype).tiny)
    if dice_weight or cl_dice_weight:
        predicted, expected = _masks(logits, target, first=int(background))
        total = total + dice_weight * (1 - soft_dice(predicted, expected).mean(1))
        if cl_dice_weight:
            total = total + cl_dice_weight * (1 - soft_cl_dice(predicted, expected).mean(1))
    return total.sum(), torch.tensor(float(len(target)), device=logits.device)


def soft_dice(predicted: Tensor, target: Tensor) -> Tensor:
    """Dice of probabilities, `(batch, classes, *sizes)` to `(batch, classes)`."""
    both, sizes = (predicted * target).flatten(2).sum(2), (predicted + target).flatten(2).sum(2)
    return (2 * both + SMOOTH) / (sizes + SMOOTH)


def soft_cl_dice(predicted: Tensor, target: Tensor, iterations: int = 5) -> Tensor:
    """Centre-line Dice of probabilities, `(batch, classes, *sizes)` to `(batch, classes)` (Shit et al. 2021)."""
    precision = _share(soft_skeleton(predicted, iterations), target)
    sensitivity = _share(soft_skeleton(target, iterations), predicted)
    return 2 * precision * sensitivity / (precision + sensitivity)


def _share(skeleton: Tensor, mask: Tensor) -> Tensor:
    return ((skeleton * mask).flatten(2).sum(2) + SMOOTH) / (skeleton.flatten(2).sum(2) + SMOOTH)


def _masks(logits: Tensor, target: Tensor, first: int) -> tuple[Tensor, Tensor]:
    """Probabilities and one-hot targets of the classes from `first` on, zero where a voxel does not count."""
    seen = (target != IGNORED).unsqueeze(1)
    classes = F.one_hot(target.clamp_min(0), logits.shape[1]).movedim(-1, 1)
    return (logits.softmax(1) * seen)[:, first:], (classes * seen)[:, first:].to(logits.dtype)
