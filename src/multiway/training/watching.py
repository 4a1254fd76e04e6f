"""How the weights of a network are spread: what the log may keep at each validation."""

import re

import torch
from torch import Tensor, nn

from multiway.errors import ConfigError
from multiway.training.protocols import Source

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
Quantiles = dict[str, list[float]]
"""By the name of a weight, one value for each of `QUANTILES`."""
ACCURACY = "validation_acc"
BATCH = 256


def check_pattern(pattern: str | None) -> None:
    """Refuse what is no regular expression.

    Raises:
        ValueError: It is none.
    """
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise ValueError(f"weights is a pattern of names, such as hidden. Got {pattern!r}: {error}") from None


def check_names(model: nn.Module, pattern: str) -> None:
    """Refuse a pattern that no weight of a network has in its name.

    Raises:
        ConfigError: None has.
    """
    if not matrices_of(model, pattern):
        names = ", ".join(name for name, weight in model.named_parameters() if weight.ndim > 1)
        raise ConfigError(f"weights: no weight has {pattern!r} in its name. There are {names}.")


def matrices_of(model: nn.Module, pattern: str) -> dict[str, Tensor]:
    """Weights of two axes or more whose names have the pattern in them."""
    found = model.named_parameters()
    return {name: weight.detach() for name, weight in found if weight.ndim > 1 and re.search(pattern, name)}


def quantiles_of(model: nn.Module, pattern: str) -> Quantiles:
    """How the values of each of these weights are spread."""
    levels = torch.tensor(QUANTILES)
    return {
        name: torch.quantile(weight.float().cpu().flatten(), levels).tolist()
        for name, weight in matrices_of(model, pattern).items()
    }


def accuracy_of(model: nn.Module, samples: Source) -> dict[str, list[float]]:
    """The share of samples whose class the model names, as one value."""
    device, right = next(model.parameters()).device, 0
    for index in torch.arange(len(samples)).split(BATCH):
        batch = samples.gather(index)
        right += int((model(batch["inputs"].to(device)).argmax(-1).cpu() == batch["target"]).sum())
    return {ACCURACY: [right / max(len(samples), 1)]}
