"""Scores of additive attention."""

import torch
from jaxtyping import Float
from torch import Tensor

from multiway.kernels.additive import by_kernel


def additive_scores(
    query: Float[Tensor, "*batch heads queries features"],
    key: Float[Tensor, "*batch heads keys features"],
    weight: Float[Tensor, "heads features"],
) -> Float[Tensor, "*batch heads queries keys"]:
    r"""Score every query against every key by a small network: $\theta_{ij} = w^\top \tanh(q_i + k_j)$.

    Source: Bahdanau et al. 2015, without its matrices, which the caller has applied.

    Cost: queries · keys · features values of tanh. In ops of torch all of them are in memory, and are kept for the
    gradient; the compiled form keeps none.
    """
    return by_kernel(_plain, query, key, weight)


def _plain(query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    heads = zip(query.unbind(-3), key.unbind(-3), weight, strict=True)
    return torch.stack([torch.tanh(q[..., :, None, :] + k[..., None, :, :]) @ w for q, k, w in heads], -3)
