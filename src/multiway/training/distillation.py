"""Learning from a teacher's logits beside the labels (Hinton, Vinyals and Dean, 2015)."""

import dataclasses

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.training.class_losses import class_loss
from multiway.training.protocols import Batch, Source

TEACHER = "teacher"
"""Name of the teacher's logits in a batch."""


def divergence(logits: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    r"""How far a student is from its teacher, for each sample.

    $$T^2\, \mathrm{KL}(\mathrm{softmax}(t / T)\,\|\,\mathrm{softmax}(s / T))$$

    The square keeps the size of its gradient as the temperature changes.

    Args:
        logits: Of the student, `(samples, classes)`.
        teacher: Logits of the teacher, alike.
        temperature: T; the higher, the more the classes that the teacher finds unlikely count.
    """
    student = F.log_softmax(logits.float() / temperature, dim=1)
    wanted = F.log_softmax(teacher.float() / temperature, dim=1)
    return temperature**2 * (wanted.exp() * (wanted - student)).sum(1)


def distilled_loss(
    logits: Tensor, teacher: Tensor, labels: Tensor, weights: Tensor | None = None,
    *, temperature: float, alpha: float, smoothing: float = 0.0,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Sum of `alpha` times the divergence and the rest times the cross-entropy, and the number or weight of samples.

    weights: Of the classes; a sample's weight is that of its label, in both parts.
    smoothing: Share of a label that is spread over all classes.
    """
    hard = F.cross_entropy(logits.float(), labels, reduction="none", label_smoothing=smoothing)
    each = alpha * divergence(logits, teacher, temperature) + (1 - alpha) * hard
    shares = torch.ones_like(each) if weights is None else weights.to(labels.device)[labels]
    return (shares * each).sum(), shares.sum()


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class DistillationLoss:
    """`distilled_loss` of a batch with a teacher's logits; cross-entropy of one without, as in validation.

    temperature, alpha, weights, smoothing: As there.
    """

    temperature: float
    alpha: float
    weights: Tensor | None = None
    smoothing: float = 0.0

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the samples, and their number or weight."""
        logits, labels = model(batch["inputs"]), batch["target"]
        if TEACHER not in batch:
            return class_loss(logits, labels)
        return distilled_loss(
            logits, batch[TEACHER], labels, self.weights,
            temperature=self.temperature, alpha=self.alpha, smoothing=self.smoothing,
        )  # fmt: skip


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
