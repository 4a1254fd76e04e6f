"""Rotary positions: against complex numbers, and the properties they are there for."""

import pytest
import torch

from multiway import ops
from tolerances import ROUNDING64, assert_same

SIZE, HEAD_DIM = 7, 6


def vectors(generator, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("theta", [10_000.0, 100.0])
def test_rotation_is_multiplication_by_a_complex_number(theta, generator):
    x = vectors(generator, 2, 3, SIZE, HEAD_DIM)
    half = HEAD_DIM // 2
    pairs = torch.complex(x[..., :half], x[..., half:])
    angles = torch.tensor(
        [[t * theta ** (-2 * f / HEAD_DIM) for f in range(half)] for t in range(SIZE)], dtype=torch.float64
    )
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    assert_same(ops.rotate(x, theta=theta), torch.cat([turned.real, turned.imag], -1))


def test_a_dot_product_depends_on_the_distance_only(generator):
    query, key = (vectors(generator, HEAD_DIM).expand(1, 1, SIZE, -1) for _ in range(2))
    products = (ops.rotate(query) @ ops.rotate(key).mT)[0, 0]
    for distance in range(-SIZE + 1, SIZE):
        diagonal = products.diagonal(distance)
        assert_same(diagonal, diagonal[:1].expand_as(diagonal))
    assert (products[0, 0] - products[0, 1]).abs() > ROUNDING64


def test_the_default_theta_is_the_papers(generator):
    x = vectors(generator, 2, 3, SIZE, HEAD_DIM)
    assert torch.equal(ops.rotate(x), ops.rotate(x, theta=10_000.0))


def test_length_stays(generator):
    x = vectors(generator, 2, 3, SIZE, HEAD_DIM)
    assert_same(ops.rotate(x).norm(dim=-1), x.norm(dim=-1))


def test_turning_a_mode_commutes_with_pooling_over_the_others(generator):
    x = vectors(generator, 2, 3, SIZE, 5, HEAD_DIM)  # batch, heads, the mode that turns, another mode
    slices = [ops.rotate(each) for each in x.unbind(3)]
    assert_same(ops.rotate(x.sum(3)), torch.stack(slices).sum(0))


def test_gradients(generator):
    assert torch.autograd.gradcheck(ops.rotate, vectors(generator, 1, 2, 3, 4).requires_grad_())


def test_low_precision_turns_by_exact_angles():
    x = torch.zeros(1, 1, 2048, 2, dtype=torch.bfloat16)
    x[..., 0] = 1
    position = torch.arange(2048, dtype=torch.float64)
    expected = torch.stack([position.cos(), position.sin()], -1)[None, None].to(torch.bfloat16)
    assert_same(ops.rotate(x), expected)
