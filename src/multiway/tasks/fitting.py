"""How a network is fitted as one of several: it stops early where it is far behind, and may near the one it came from.

It is far behind another candidate where its pace cannot close the gap.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from multiway.compress.measuring import floats
from multiway.compress.recovering import relative_distance
from multiway.tasks.options import AUTO
from multiway.training.config import Batch, Objective
from multiway.training.processes import device_of

FIRST, SHARE = 4, 0.2
"""Validations, and the share of the training, before which no network is judged: many take off late."""
FAR, LEAST = 1.0, 0.1
"""How far its loss is above that of the other candidate at least: as a share of this, and by how much."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rival:
    """The best of the candidates that are fitted already.

    loss: On validation, as the training of the network measures itself: its loss, or one less its score.
    """

    name: str
    loss: float

    @classmethod
    def among(cls, losses: Mapping[str, float | None], answer: str) -> Self | None:
        """The one of the lowest loss; none where the settings say who answers, or no loss is known."""
        known = {name: loss for name, loss in losses.items() if loss is not None and loss >= 0}
        if answer != AUTO or not known:
            return None
        best = min(known, key=lambda name: known[name])
        return cls(name=best, loss=known[best])

    def stops(self, rows: Sequence[Mapping[str, Any]], left: float) -> str | None:
        """Why a network stops, by the rows of its validations and how many are left; None where it goes on.

        It stops where it would stay above the other if each doubling of the training gained as much as the last one.
        """
        done, whole = len(rows), len(rows) + left
        if done < FIRST or done < SHARE * whole:
            return None
        best = list(itertools.accumulate(map(loss_of, rows), min))
        half = done // 2
        gain = (best[half - 1] - best[-1]) / math.log2(done / half)
        gap = best[-1] - self.loss
        if gap <= max(FAR * self.loss, LEAST, gain * math.log2(whole / done)):
            return None
        epochs = rows[-1]["epoch"]
        return (
            f"The network stopped after {epochs:g} epochs, far behind {self.name}: {best[-1]:.3g} against "
            f"{self.loss:.3g} on validation. At its pace, what was left of the training would not close the gap."
        )


def loss_of(row: Mapping[str, Any]) -> float:
    """What chooses the epoch: the loss of a validation, or one less its score."""
    score = row.get("validation_score")
    return float(row["validation_loss"] if score is None else 1 - score)


def nearing(teacher: nn.Module, objective: Objective) -> Objective:
    """The objective, and for each of its terms the distance of the model's outputs to the teacher's."""
    teacher.eval().requires_grad_(False)

    def together(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        teacher.to(next(model.parameters()).device)
        calls: list[tuple[tuple[object, ...], dict[str, object], object]] = []
        handle = model.register_forward_hook(lambda _, *call: calls.append(call), with_kwargs=True)
        try:
            total, count = objective(model, batch)
        finally:
            handle.remove()
        for inputs, named, output in calls if model.training else []:
            teacher.to(device_of(model))
            with torch.no_grad():
                expected = floats(teacher(*inputs, **named))
            answers = floats(output)
            expected = [_as_often(*pair) for pair in zip(expected, answers, strict=True)]
            total = total + count * relative_distance(answers, expected) / len(calls)
        return total, count

    return together


def _as_often(expected: Tensor, answers: Tensor) -> Tensor:
    """What the teacher says, once for each network of a mean, which answer one batch after another in training."""
    return expected if expected.shape == answers.shape else torch.cat([expected] * (len(answers) // len(expected)))
