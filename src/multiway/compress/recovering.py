"""Train a compressed model further: on a loss of one's own, or towards the outputs of the model that it came from."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from multiway.compress.measuring import call, evaluating, floats
from multiway.errors import ConfigError

Loss = Callable[[nn.Module, Any], Tensor]
"""Of a model on a batch."""


def finetune(
    model: nn.Module, batches: Sequence[Any], loss: Loss, *, epochs: int = 1, rate: float = 1e-3
) -> list[float]:
    """Train what may learn by AdamW, its rate falling along half a cosine; the model is in evaluation mode afterwards.

    Args:
        model: Trained in place.
        batches: Seen once in each epoch, in their order.
        loss: Of the model on a batch.
        epochs: Passes over the batches.
        rate: Learning rate at first.

    Returns:
        The mean loss of each epoch.

    Raises:
        ConfigError: No batch, no epoch, a model of which nothing may learn, or a loss that is not finite.
    """
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not len(batches) or epochs < 1 or not learning:
        raise ConfigError(
            f"compress: recovery needs batches, epochs and parameters that may learn. Got {len(batches)} batches, "
            f"epochs={epochs} and {len(learning)} parameters."
        )
    optimiser = torch.optim.AdamW(learning, lr=rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs * len(batches))
    losses: list[float] = []
    model.train()
    for batch in itertools.chain.from_iterable(itertools.repeat(batches, epochs)):
        value = loss(model, batch)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        schedule.step()
        losses.append(value.item())
        if not math.isfinite(losses[-1]):
            raise ConfigError(f"compress: the loss of batch {len(losses) - 1} is {losses[-1]}. Lower the rate.")
    model.eval()
    return torch.tensor(losses, dtype=torch.float64).reshape(epochs, -1).mean(1).tolist()


def distil(
    model: nn.Module,
    teacher: nn.Module,
    batches: Sequence[Any],
    *,
    loss: Loss | None = None,
    epochs: int = 1,
    rate: float = 1e-3,
) -> list[float]:
    """Train a compressed model towards the outputs of the uncompressed one; batches need no labels.

    Args:
        model: Trained in place.
        teacher: The model that it came from; left as it is.
        batches: As the models take them: tensors, tuples of arguments, or mappings of named ones.
        loss: Added to the distance of the outputs.
        epochs: Passes over the batches.
        rate: Learning rate at first.

    Returns:
        The mean loss of each epoch.

    Raises:
        ConfigError: As `finetune`.
    """

    def nearing(learner: nn.Module, batch: Any) -> Tensor:
        with evaluating(teacher), torch.no_grad():
            expected = floats(call(teacher, batch))
        distance = relative_distance(floats(call(learner, batch)), expected)
        return distance if loss is None else distance + loss(learner, batch)

    return finetune(model, batches, nearing, epochs=epochs, rate=rate)


def relative_distance(outputs: Iterable[Tensor], expected: Iterable[Tensor]) -> Tensor:
    """Mean of squared distances over the mean square of what is expected, added over outputs."""
    smallest = torch.finfo(torch.float32).tiny
    parts = [
        (output - target).square().mean() / target.square().mean().clamp_min(smallest)
        for output, target in zip(outputs, expected, strict=True)
    ]
    return torch.stack(parts).sum()
