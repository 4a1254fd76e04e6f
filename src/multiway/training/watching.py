"""How the weights of a network are spread: what the log may keep at each validation."""

import re

import torch
from torch import Tensor, nn

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
Quantiles = dict[str, list[float]]
"""By the name of a weight, one value for each of `QUANTILES`."""


def check_pattern(pattern: str | None) -> None:
    """Refuse what is no regular expression.

    Raises:
        ValueError: It is none.
    """
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise ValueError(f"weights is a pattern of names, such as hidden. Got {pattern!r}: {error}") from None


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
