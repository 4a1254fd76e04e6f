import itertools
import math

import pytest
import torch
from torch import Tensor

from multiway import nn
from multiway.errors import ConfigError, ShapeError
from tolerances import assert_same

CHANNELS = (3, 10, 4)


def literal_convolution(x: Tensor, weight: Tensor) -> Tensor:
    """Stride 2, zeros around, one output voxel at a time; `(channels, *sizes)` in and out."""
    reach = weight.shape[-1] // 2
    padded = torch.nn.functional.pad(x, (reach,) * 6)
    sizes = [-(-size // 2) for size in x.shape[1:]]
    voxels = []
    for i, j, k in itertools.product(*map(range, sizes)):
        side = 2 * reach + 1
        patch = padded[:, 2 * i : 2 * i + side, 2 * j : 2 * j + side, 2 * k : 2 * k + side]
        voxels.append((weight * patch).sum((1, 2, 3, 4)))
    return torch.stack(voxels, 1).reshape(-1, *sizes)


def literal_norm(x: Tensor, groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    parts = [(part - part.mean()) / (part.var(unbiased=False) + 1e-5).sqrt() for part in x.chunk(groups)]
    return torch.cat(parts) * weight.view(-1, 1, 1, 1) + bias.view(-1, 1, 1, 1)


def literal_gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def literal_stem(x: Tensor, stem: nn.ConvStem) -> Tensor:
    samples = []
    for sample in x:
        for layer, groups in zip(stem.layers, (5, 4), strict=True):
            convolution, norm, _ = layer
            sample = literal_gelu(
                literal_norm(literal_convolution(sample, convolution.weight), groups, norm.weight, norm.bias)
            )
        samples.append(sample.permute(1, 2, 3, 0))
    return torch.stack(samples)


@pytest.mark.parametrize("kernel_size", [3, 5])
def test_the_stem_is_what_its_formula_says_in_values_and_gradients(generator, kernel_size):
    stem = nn.ConvStem(CHANNELS[0], CHANNELS[1:], kernel_size=kernel_size, dtype=torch.float64)
    for parameter in stem.parameters():
        torch.nn.init.normal_(parameter, generator=generator)
    x = torch.randn(2, 3, 5, 6, 7, generator=generator, dtype=torch.float64, requires_grad=True)
    fast, slow = stem(x), literal_stem(x, stem)
    assert_same(fast, slow)
    cotangent = torch.randn(fast.shape, generator=generator, dtype=torch.float64)
    inputs = [x, *stem.parameters()]
    for grad, want in zip(
        torch.autograd.grad(fast, inputs, cotangent), torch.autograd.grad(slow, inputs, cotangent), strict=True
    ):
        assert_same(grad, want)


def test_a_kernel_of_even_size_is_refused():
    with pytest.raises(ConfigError, match=r"ConvStem: kernel_size must be one of \(3, 5, 7\)\. Got 4\."):
        nn.ConvStem(1, (2,), kernel_size=4)


def test_another_number_of_channels_is_refused():
    with pytest.raises(ShapeError, match=r"with 3 channels\. Got \(1, 2, 4, 4, 4\)"):
        nn.ConvStem(3, (4,))(torch.zeros(1, 2, 4, 4, 4))
