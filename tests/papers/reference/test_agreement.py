"""How closely the printed form of the layer agrees with its transcription, of the largest entry, in float64."""

import functools
import math

import pytest
import torch

from hot_oracle import DIM, HEADS, random_layer, weights_of
from reference import hot

VALUES, GRADIENTS = 3e-15, 4e-14


def largest(tensors):
    """The largest magnitude in several tensors."""
    return max(float(each.detach().abs().max()) for each in tensors)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", [(5,), (3, 5), (2, 3, 5), (2, 3, 5, 7)], ids=str)
@pytest.mark.parametrize("feature_map", ["softmax", "smreg"])
def test_the_printed_form_agrees_to_rounding(feature_map, sizes, seed):
    generator = torch.Generator().manual_seed(seed)
    layer = random_layer(generator, len(sizes), preset="paper", feature_map=feature_map)
    x = (torch.randn(2, *sizes, DIM, generator=generator, dtype=torch.float64) / 4).requires_grad_()
    for parameter in layer.query_key.parameters():  # logits of ordinary size: a sum grows them, and rounding with them
        parameter.data /= math.prod(sizes)
    features = functools.partial(hot.smreg_features, projection=layer.projection) if feature_map == "smreg" else None
    slow, _ = hot.kronecker_attention(x, weights_of(layer), num_heads=HEADS, form="paper", features=features)
    fast = layer(x)
    assert largest([fast - slow]) <= VALUES * largest([slow])
    wanted = [x, *layer.parameters()]
    cotangent = torch.randn(slow.shape, generator=generator, dtype=torch.float64)
    quick, literal = (torch.autograd.grad(out, wanted, cotangent) for out in (fast, slow))
    gaps = [one - other for one, other in zip(quick, literal, strict=True)]
    assert largest(gaps) <= GRADIENTS * largest(literal)
