"""A loss that also nears the outputs of another network, from which a smaller one came."""

import torch
from torch import Tensor, nn

from multiway.compress.measuring import floats
from multiway.compress.recovering import relative_distance
from multiway.training.config import Batch, Objective
from multiway.training.devices import device_of


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
