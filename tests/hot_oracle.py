"""Kronecker attention against its transcription: a layer of random parameters, and what the oracle takes of it."""

import torch

from multiway import nn
from reference import hot
from tolerances import LONG64, STEPS64, assert_same

DIM, HEADS = 8, 2


def weights_of(layer):
    """The parameters of `nn.KroneckerAttention` as the oracle wants them, still attached to the layer."""
    halves = [linear.weight.chunk(2) for linear in layer.query_key]
    biases = [linear.bias.chunk(2) for linear in layer.query_key if linear.bias is not None]
    norms = [[(norm.weight, norm.bias) for norm in pair] for pair in layer.norms or []]
    return hot.AttentionWeights(
        query=[query for query, _ in halves],
        key=[key for _, key in halves],
        value=layer.value.weight,
        out=layer.out.weight,
        query_bias=[query for query, _ in biases],
        key_bias=[key for _, key in biases],
        value_bias=layer.value.bias,
        out_bias=layer.out.bias,
        query_norm=[query for query, _ in norms],
        key_norm=[key for _, key in norms],
        log_temperature=layer.log_temperature,
        pool_scores=layer.pool_scores,
    )


def random_layer(generator, num_modes, *, dim=DIM, **settings):
    """In float64, no parameter at its start."""
    layer = nn.KroneckerAttention(dim, num_heads=HEADS, num_modes=num_modes, **settings).double()
    for parameter in layer.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64) / 2
    return layer


def assert_layer_is_paper(layer, x, fast, slow):
    """Output, and gradients with respect to the input and every parameter."""
    assert_same(fast, slow)
    wanted = [x, *(parameter for parameter in layer.parameters() if parameter.requires_grad)]
    cotangent = torch.linspace(-1, 1, fast.numel(), dtype=fast.dtype).reshape(fast.shape)
    fast_grads = torch.autograd.grad(fast, wanted, cotangent, allow_unused=True)
    slow_grads = torch.autograd.grad(slow, wanted, cotangent, allow_unused=True)
    for quick, literal in zip(fast_grads, slow_grads, strict=True):
        assert (quick is None) == (literal is None)
        if quick is not None:
            torch.testing.assert_close(quick, literal, rtol=STEPS64, atol=LONG64)
