"""Ranks under a budget of a whole model, against every combination of choices and what layers then cost."""

import itertools

import pytest
import torch
from torch import nn

from compress.models import perceptron
from multiway import compress
from multiway.compress import CP, LowRank, NdLinear, TensorTrain, Tucker
from multiway.compress.budget import LayerChoice, fill_up, share_out
from multiway.compress.layer_fits import fit_of_layer
from multiway.compress.measuring import count_flops
from multiway.errors import ConfigError


def layers_of(generator, number=4):
    """Choices at random, the dense one first and free of harm."""
    drawn = torch.rand(number, 5, 2, generator=generator).tolist()
    return [
        [LayerChoice(2.0), *(LayerChoice(2 * cost, harm, (i,)) for i, (cost, harm) in enumerate(each))]
        for each in drawn
    ]


def test_no_other_choices_that_cost_as_little_harm_less(generator):
    for _ in range(5):
        layers = layers_of(generator)
        combinations = list(itertools.product(*layers))
        for limit in (3.0, 4.0, 5.0, 7.0):
            chosen = share_out(layers, limit)
            cost, harm = sum(each.cost for each in chosen), sum(each.harm for each in chosen)
            assert cost <= limit
            no_dearer = [each for each in combinations if sum(choice.cost for choice in each) <= cost + 1e-12]
            assert harm <= min(sum(choice.harm for choice in each) for each in no_dearer) + 1e-12


def test_what_is_left_of_a_budget_is_spent_where_it_fits(generator):
    spent = 0
    for _ in range(5):
        layers = layers_of(generator)
        chosen = share_out(layers, 4.0)
        full = fill_up(chosen, layers, 4.0)
        cost = sum(each.cost for each in full)
        assert cost <= 4.0 + 1e-12 and all(new.harm <= old.harm for old, new in zip(chosen, full, strict=True))
        for own, choices in zip(full, layers, strict=True):
            assert all(each.harm >= own.harm for each in choices if each.cost <= own.cost + 4.0 - cost)
        spent += full != chosen
    assert spent


def test_a_wide_budget_leaves_every_layer_dense_and_a_narrow_one_takes_the_cheapest(generator):
    layers = layers_of(generator)
    assert share_out(layers, 8.0) == [LayerChoice(2.0)] * 4
    assert share_out(layers, 0.0) == [min(choices) for choices in layers]


@pytest.fixture
def network() -> nn.Sequential:
    torch.manual_seed(0)
    parts = nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 24, 3, stride=2), nn.ReLU(), nn.Flatten()
    return nn.Sequential(*parts, nn.Linear(24 * 9, 40), nn.ReLU(), nn.Linear(40, 5)).double()


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_a_model_comes_within_its_share_of_flops(network, share):
    batch = torch.randn(7, 3, 9, 9, dtype=torch.float64)
    plan = compress.plan(network, {".*": LowRank()}, data=batch, max_flops=share, measure=False)
    assert count_flops(plan.apply(), batch) <= share * count_flops(network, batch)
    assert all(after <= before for before, after in (layer.parameters for layer in plan.layers))
    small = compress.plan(network, {".*": LowRank()}, data=batch, max_parameters=share, measure=False)
    assert count_flops(small.apply(), batch) > count_flops(plan.apply(), batch)


def test_the_layer_that_the_outputs_depend_on_least_gives_most():
    model = nn.ModuleDict({"loud": nn.Linear(12, 12), "quiet": nn.Linear(12, 12)}).double()
    with torch.no_grad():
        model["quiet"].weight.copy_(model["loud"].weight)

    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = model

        def forward(self, x):
            return self.parts["loud"](x) + 0.01 * self.parts["quiet"](x)

    def errors(**data):
        plan = compress.plan(Sum(), {".*": LowRank()}, max_parameters=0.7, measure=False, **data)
        return {layer.name: layer.weight_error for layer in plan.layers}

    alike, told = errors(), errors(data=torch.randn(64, 12, dtype=torch.float64))
    assert alike["parts.loud"] == alike["parts.quiet"] > 0
    assert told["parts.loud"] == 0 < told["parts.quiet"]


def test_a_time_is_met_by_layers_that_were_timed(network, monkeypatch):
    """A clock that tells a microsecond for each parameter stands in for the machine's."""
    seconds = lambda module, batch: 1e-6 * sum(each.numel() for each in module.parameters())  # noqa: E731
    monkeypatch.setattr("multiway.compress.measuring._seconds", seconds)
    batch = torch.randn(2, 3, 9, 9, dtype=torch.float64)
    plan = compress.plan(network, {".*": LowRank()}, data=batch, max_milliseconds=6.0, measure=False)
    assert 5.0 < 1e-3 * plan.parameters[1] <= 6.0 < 1e-3 * plan.parameters[0]


RULES = [
    (LowRank(), nn.Linear(12, 20)),
    (NdLinear(), nn.Linear(12, 20)),
    (TensorTrain(num_cores=3), nn.Linear(12, 20, bias=False)),
    (NdLinear(num_modes=3), nn.Linear(12, 20)),
    (Tucker(), nn.Conv2d(7, 11, 3)),
    (CP(), nn.Conv1d(7, 11, 3)),
    (TensorTrain(), nn.Embedding(53, 15)),
]


@pytest.mark.parametrize(("rule", "layer"), RULES, ids=lambda each: type(each).__name__)
def test_an_empty_layer_is_built_as_the_fitted_one(rule, layer):
    fit = fit_of_layer(rule, layer)
    ranks = fit.limit_ranks(2)
    empty, fitted = fit.empty(ranks), fit.build(ranks)
    assert type(empty) is type(fitted)
    assert [each.shape for each in empty.parameters()] == [each.shape for each in fitted.parameters()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_parameters": 0.5, "max_flops": 0.5}, "one budget chooses the ranks. Got max_parameters and max_flops"),
        ({"max_flops": 0.5}, "max_flops is measured on inputs of the model. Give a batch of it as data"),
        ({"max_flops": 1.5}, "max_flops is a share between 0 and 1"),
        ({"max_milliseconds": 0.0}, r"max_milliseconds is a time above 0. Got 0.0"),
        ({"max_parameters": 0.3, "max_error": 0.1}, "of its parameters within max_error=0.1; they reach 100.0%"),
        ({"max_flops": 0.01, "data": torch.randn(3, 12, dtype=torch.float64)}, "to 1.0% of its FLOPs; they reach"),
    ],
)  # fmt: skip
def test_a_budget_that_cannot_be_met_says_why(options, message):
    with pytest.raises(ConfigError, match=message):
        compress.plan(perceptron(), {".*": LowRank()}, **options)
