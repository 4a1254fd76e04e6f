"""A linear map per mode in every order and grouping, against Algorithm 1 written out."""

import itertools
import math

import pytest
import torch
from torch.nn import functional as F

from multiway import ops
from multiway.errors import ShapeError
from multiway.ops.plans import FOLDING, every_step, step_cost
from multiway.ops.products import is_in_turn
from tolerances import TIGHT64, assert_same

SIZES = [
    ((7,), (5,)),
    ((2, 7), (5, 3)),
    ((2, 3, 5), (7, 2, 3)),
    ((1, 3, 2, 5), (2, 1, 7, 3)),
    ((2, 3, 1, 2), (1, 1, 5, 2)),
]


def parameters(in_sizes, out_sizes, generator, terms=()):
    def draw(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()

    weights = [draw(*terms, out, in_) for in_, out in zip(in_sizes, out_sizes, strict=True)]
    return draw(3, *in_sizes), weights, [draw(*terms, out) for out in out_sizes]


def every_plan(sizes, out_sizes, done=frozenset()):
    """All plans, the good and the bad."""
    if len(done) == len(sizes):
        yield ()
    for step in every_step(sizes, out_sizes, done):
        modes = range(step.start, step.stop)
        after = tuple(out_sizes[mode] if mode in modes else size for mode, size in enumerate(sizes))
        yield from ((step, *rest) for rest in every_plan(after, out_sizes, done | set(modes)))


def literal(x, weights, biases, descending=False):
    for mode in list(range(len(weights)))[:: -1 if descending else 1]:
        x = F.linear(x.movedim(mode + 1, -1), weights[mode], biases[mode] if biases else None).movedim(-1, mode + 1)
    return x


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("in_sizes", "out_sizes"), SIZES, ids=str)
def test_every_plan_is_the_literal_algorithm(in_sizes, out_sizes, descending, generator):
    x, weights, biases = parameters(in_sizes, out_sizes, generator)
    expected = literal(x, weights, biases, descending)
    plans = list(every_plan(in_sizes, out_sizes))
    assert len(set(plans)) == len(plans) and any(not is_in_turn(plan, descending) for plan in plans) == (
        len(in_sizes) > 1
    )
    chosen = plans if len(plans) < 80 else plans[::7]
    leaves = [x, *weights, *biases]
    cotangent = torch.randn(expected.shape, dtype=torch.float64, generator=generator)
    gradients = torch.autograd.grad(expected, leaves, cotangent)
    for plan in chosen:
        found = ops.multi_mode_linear(x, weights, biases, plan, descending=descending)
        assert_same(found, expected)
        for mine, other in zip(torch.autograd.grad(found, leaves, cotangent), gradients, strict=True):
            assert_same(mine, other)


@pytest.mark.parametrize(("in_sizes", "out_sizes"), SIZES, ids=str)
def test_a_full_bias_comes_last_in_every_plan(in_sizes, out_sizes, generator):
    x, weights, _ = parameters(in_sizes, out_sizes, generator)
    bias = torch.randn(out_sizes, dtype=torch.float64, generator=generator)
    for plan in list(every_plan(in_sizes, out_sizes))[::3]:
        assert_same(ops.multi_mode_linear(x, weights, (), plan, full_bias=bias), literal(x, weights, ()) + bias)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("terms", [(), (3,)], ids=str)
@pytest.mark.parametrize(("in_sizes", "out_sizes"), SIZES, ids=str)
def test_folded_biases_are_the_answer_to_zero(in_sizes, out_sizes, terms, descending, generator):
    """The formula of RECIPES: b1[i] c2[j] c3[k] + b2[j] c3[k] + b3[k], as the algorithm gives it for zeros."""
    _, weights, biases = parameters(in_sizes, out_sizes, generator, terms)
    zeros = torch.zeros(1, *in_sizes, dtype=torch.float64)
    if terms:
        each = [
            literal(zeros, *(list(part) for part in pair), descending)
            for pair in zip(zip(*weights, strict=True), zip(*biases, strict=True), strict=True)
        ]
        expected = sum(each)
    else:
        expected = literal(zeros, weights, biases, descending)
    assert_same(ops.fold_biases(weights, biases, descending=descending), expected[0])


@pytest.mark.parametrize("way", ["right", "left", "dense"])
@pytest.mark.parametrize(("in_sizes", "out_sizes"), SIZES[1:], ids=str)
def test_terms_add_up(in_sizes, out_sizes, way, generator):
    x, weights, biases = parameters(in_sizes, out_sizes, generator, (3,))
    bias = ops.fold_biases(weights, biases)
    expected = sum(
        literal(x, [weight[term] for weight in weights], [each[term] for each in biases]) for term in range(3)
    )
    leaves = [x, *weights, *biases]
    for position in range(1, len(in_sizes)):
        found = ops.multi_mode_linear_terms(x, weights, bias, ops.Cut(position, way))
        assert_same(found, expected)
        pairs = zip(
            *(torch.autograd.grad(out.square().sum(), leaves, retain_graph=True) for out in (found, expected)),
            strict=True,
        )
        for mine, other in pairs:
            assert_same(mine, other)


def test_an_early_expansion_waits():
    """(8, 28, 28) to (128, 7, 7): the mode that grows sixteen times is taken last."""
    plan = ops.cheapest_plan((8, 28, 28), (128, 7, 7))
    assert plan[-1].start == 0 and plan[-1].stop == 1


def test_multiply_adds_of_the_formula_in_print_of_the_algorithm_and_of_the_cheapest_order():
    sizes, out_sizes = (8, 28, 28), (128, 7, 7)

    def count(order):
        grown, total = list(sizes), 0
        for mode in order:
            total += math.prod(grown) * out_sizes[mode]
            grown[mode] = out_sizes[mode]
        return total

    assert sum(math.prod(sizes) * size for size in out_sizes) == 890_624
    assert count((0, 1, 2)) == 1_680_896
    assert min(map(count, itertools.permutations(range(3)))) == count((1, 2, 0)) == 105_056


def test_small_neighbours_are_joined_and_large_ones_are_not():
    assert len(ops.cheapest_plan((4, 4, 4, 4), (4, 4, 4, 4), 64)) < 4
    assert len(ops.cheapest_plan((64, 64), (64, 64), 64)) == 2


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("has_biases", [False, True])
@pytest.mark.parametrize(("in_sizes", "out_sizes"), SIZES, ids=str)
def test_the_plan_is_the_cheapest_of_all(in_sizes, out_sizes, has_biases, descending):
    def price(plan):
        folding = len(in_sizes) * FOLDING * (has_biases and not is_in_turn(plan, descending))
        return sum(step_cost(step, 16) for step in plan) + folding

    found = ops.cheapest_plan(in_sizes, out_sizes, 16, has_biases, descending)
    assert price(found) == pytest.approx(min(map(price, every_plan(in_sizes, out_sizes))), rel=TIGHT64)


def test_steps_tell_the_true_sizes():
    for in_sizes, out_sizes in SIZES:
        for plan in every_plan(in_sizes, out_sizes):
            done = list(itertools.chain.from_iterable(range(step.start, step.stop) for step in plan))
            assert sorted(done) == list(range(len(in_sizes)))


W, B = [torch.zeros(7, 2), torch.zeros(11, 3)], [torch.zeros(7), torch.zeros(11)]
MISFITS = {
    "modes in another order": (torch.zeros(4, 3, 2), W, (), None),
    "as many numbers": (torch.zeros(4, 6), W, (), None),
    "a bias too short": (torch.zeros(4, 2, 3), W, [B[0], B[1][:4]], None),
    "a bias too few": (torch.zeros(4, 2, 3), W, B[:1], None),
    "a bias turned": (torch.zeros(4, 2, 3), W, (), torch.zeros(11, 7)),
    "two kinds of bias": (torch.zeros(4, 2, 3), W, B, torch.zeros(7, 11)),
    "unlike terms": (torch.zeros(4, 2, 3), [torch.zeros(2, 7, 2), torch.zeros(3, 11, 3)], (), None),
}


@pytest.mark.parametrize("name", MISFITS)
@pytest.mark.parametrize("rows", [1, 500])
def test_what_does_not_fit_mode_by_mode_is_refused(name, rows):
    x, weights, biases, full_bias = MISFITS[name]
    with pytest.raises(ShapeError, match=r"nd_linear: every mode of x takes a weight .* Got sizes \(\d") as caught:
        ops.nd_linear(x.repeat(rows, *[1] * (x.ndim - 1)), weights, biases, full_bias=full_bias)
    assert "\n" not in str(caught.value)
