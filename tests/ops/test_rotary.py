"""Rotary positions: against complex numbers, and the properties they are there for."""

import math

import pytest
import torch

from multiway import ops
from reference.parts import axial_rotary
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


@pytest.mark.parametrize(
    ("sizes", "modes"),
    [((5, 7), (0, 1)), ((5, 7), (1,)), ((3, 5, 2), (0, 1, 2)), ((3, 5, 2), (2, 0)), ((7,), (0,))],
    ids=str,
)
def test_flattened_tokens_turn_by_their_own_positions(sizes, modes, generator):
    """Against the pairs dealt out like cards, in values and gradients; 11 pairs go to no number of modes evenly."""
    x = vectors(generator, 2, 3, math.prod(sizes), 22).requires_grad_()
    slow = torch.stack([torch.stack([axial_rotary(head, sizes, modes) for head in sample]) for sample in x])
    fast, along = ops.rotate_flattened(x, sizes, modes), vectors(generator, *x.shape)
    assert_same(fast, slow)
    assert_same(torch.autograd.grad(fast, x, along)[0], torch.autograd.grad(slow, x, along)[0])


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_one_mode_of_flattened_tokens_turns_as_by_itself(mode, generator):
    x = vectors(generator, 2, 3, 2, 3, 5, HEAD_DIM)
    moved = x.movedim(2 + mode, -2)
    alone = ops.rotate(moved.flatten(1, 3)).reshape(moved.shape).movedim(-2, 2 + mode)
    assert torch.equal(ops.rotate_flattened(x.flatten(2, 4), (2, 3, 5), (mode,)), alone.flatten(2, 4))


def test_products_of_flattened_tokens_depend_on_the_distances_along_every_mode(generator):
    sizes = (3, 5)
    query, key = (vectors(generator, HEAD_DIM).expand(1, 1, 15, -1) for _ in range(2))
    turned = [ops.rotate_flattened(each, sizes, (0, 1))[0, 0] for each in (query, key)]
    products = (turned[0] @ turned[1].mT).reshape(*sizes, *sizes)
    assert_same(products[0, 0, 1, 2], products[1, 2, 2, 4])
    assert (products[0, 0, 1, 2] - products[0, 0, 2, 1]).abs() > ROUNDING64
