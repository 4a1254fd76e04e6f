"""Rules: what they accept, how they are written on a command line, and the sizes they choose."""

import math
from itertools import product

import pytest

from multiway.compress import LowRank, NdLinear, TensorTrain, balanced_sizes, parse_rule
from multiway.errors import ConfigError, ShapeError


@pytest.mark.parametrize("features", [1, 7, 12, 30, 36, 48])
@pytest.mark.parametrize("count", [2, 3])
def test_balanced_sizes_have_the_smallest_sum_of_all_factorisations(features, count):
    sizes = balanced_sizes(features, count)
    every = [each for each in product(range(1, features + 1), repeat=count) if math.prod(each) == features]
    assert math.prod(sizes) == features and len(sizes) == count
    assert sum(sizes) == min(map(sum, every))
    assert list(sizes) == sorted(sizes, reverse=True)


def test_balanced_sizes_of_usual_widths():
    assert balanced_sizes(768, 2) == (32, 24)
    assert balanced_sizes(3072, 3) == (16, 16, 12)
    assert balanced_sizes(1024, 10) == (2,) * 10


@pytest.mark.parametrize(
    ("text", "pattern", "rule"),
    [
        ("fc=nd", "fc", NdLinear()),
        (".*fc1=tt:rank=8", ".*fc1", TensorTrain(rank=8)),
        ("a=b=lowrank:max_error=0.1", "a=b", LowRank(max_error=0.1)),
        ("x=tt:rank=2=tt:num_cores=3,max_share=.5", "x=tt:rank=2", TensorTrain(num_cores=3, max_share=0.5)),
        ("fc=nd:in_sizes=3x4,out_sizes=5x1", "fc", NdLinear(in_sizes=(3, 4), out_sizes=(5, 1))),
    ],
)
def test_a_rule_is_read_from_text(text, pattern, rule):
    assert parse_rule(text) == (pattern, rule)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fc", "write REGEX=KIND:option=value, with a KIND of nd, tt, lowrank"),
        ("fc=svd", "write REGEX=KIND"),
        ("=tt:rank=2", "write REGEX=KIND"),
        ("fc=tt:", "write REGEX=KIND"),
        ("fc=tt:rnk=3", "tt has no option rnk; did you mean rank?"),
        ("fc=lowrank:num_cores=3", "lowrank has no option num_cores"),
        ("fc=tt:rank=three", "rank cannot be 'three'"),
        ("fc=tt:rank", "rank cannot be ''"),
        ("fc=nd:in_sizes=3xx4", "in_sizes cannot be '3xx4'"),
    ],
)
def test_a_rule_that_cannot_be_read_says_why(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_rule(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TensorTrain(rank=0), r"TensorTrain: rank must be at least 1, or None to find it. Got rank=0"),
        (lambda: LowRank(rank=2, max_error=0.1), r"LowRank: give one of rank, max_error and max_share. Got rank and"),
        (lambda: LowRank(max_share=1.5), r"LowRank: max_share is a share between 0 and 1. Got max_share=1.5"),
        (lambda: NdLinear(max_error=0.0), r"NdLinear: max_error is a share between 0 and 1"),
        (lambda: TensorTrain(num_cores=1), r"TensorTrain: a chain has at least two cores. Got num_cores=1"),
        (lambda: NdLinear(in_sizes=(12,)), r"NdLinear: in_sizes holds at least two positive factors. Got \(12,\)"),
        (lambda: balanced_sizes(0, 2), r"balanced_sizes: give positive numbers. Got features=0"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_sizes_must_multiply_to_the_layers():
    with pytest.raises(ShapeError, match=r"multiply to the layer's 12 inputs and 35 outputs. Got in_sizes=\(3, 5\)"):
        NdLinear(in_sizes=(3, 5)).sizes(12, 35)
    with pytest.raises(ShapeError, match="must be as many for inputs as for outputs"):
        NdLinear(in_sizes=(3, 4), out_sizes=(5, 7, 1)).sizes(12, 35)


def test_one_side_given_sets_the_number_of_factors_of_the_other():
    assert TensorTrain(rank=2, in_sizes=(3, 2, 2)).sizes(12, 35) == ((3, 2, 2), (7, 5, 1))
