"""What a language model makes of tokens: how surprising each is after those before it, and how they go on."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.errors import ConfigError
from multiway.models.ngrams import KneserNey


@torch.no_grad()
def token_nats(model: nn.Module, inputs: Tensor, target: Tensor) -> Tensor:
    """Minus the log-probability of each target after the inputs up to its place, `(targets,)`, one after another.

    Args:
        model: Gives logits of the next token, or is one of counts.
        inputs: `(windows, tokens)`.
        target: `(windows, tokens)`; what is negative, as torch's -100, is no token and left out.
    """
    if isinstance(model, KneserNey):
        nats: Tensor = -model(inputs, target)
    else:
        nats = F.cross_entropy(model(inputs).float().transpose(1, 2), target, reduction="none")
    return nats[target >= 0]


def continued(
    model: nn.Module,
    before: Sequence[int],
    context: int,
    tokens: int,
    *,
    end: int,
    temperature: float = 0.0,
    seed: int = 0,
) -> list[int]:
    """Tokens that follow, so many of them, or fewer where the model ends the text.

    Args:
        model: Gives logits of the next token.
        before: Tokens that stand before; the last `context` of all are read.
        context: Of the model.
        tokens: To write at most.
        end: The token after which there is none.
        temperature: 0 takes the most probable token; else tokens are drawn, the more evenly the higher it is.
        seed: Of the draws of this text.

    Raises:
        ConfigError: The temperature is below 0.
    """
    if temperature < 0:
        raise ConfigError(f"temperature counts from 0. Got {temperature}.")
    ids, chance = [*before], torch.Generator().manual_seed(seed)
    while len(ids) < len(before) + tokens:
        ids.append(_next(model, ids[-context:], temperature, chance))
        if ids[-1] == end:
            break
    return ids[len(before) :]


@torch.no_grad()
def _next(model: nn.Module, ids: list[int], temperature: float, chance: torch.Generator) -> int:
    logits: Tensor = model(torch.tensor([ids]))[0, -1]
    if temperature == 0:
        return int(logits.argmax())
    return int(torch.multinomial((logits.double() / temperature).softmax(0), 1, generator=chance))
