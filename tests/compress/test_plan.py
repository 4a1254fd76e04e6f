"""A plan measures and leaves the model alone; its numbers are those of the layers it made."""

import copy
import dataclasses
import time

import pytest
import torch
from torch import nn
from torch.nn import functional

from compress.models import Branching, Reader, Shared, perceptron
from multiway import compress
from multiway.compress import LowRank, NdLinear, TensorTrain
from multiway.compress.measuring import (
    Spread,
    Times,
    batches_of,
    compare_layers,
    compare_models,
    count_flops,
    difference,
    layer_outputs,
    spread_of_errors,
)
from multiway.compress.page import advice_of, advice_of_model, time_sentence
from multiway.compress.swap import lend_layers
from multiway.errors import ConfigError, ShapeError
from tolerances import STEPS64, SUMS64, assert_same

EVERY = {r"0": LowRank(rank=3), r"2": TensorTrain(rank=2)}


NO_RULES = [
    {r"0": "TensorTrain(rank=2)"}, {r"0": "tensortrain:rank=2"}, {r"0": TensorTrain}, {r"0": None},
    {0: LowRank(rank=3)}, [r"0"], r"0=lowrank:rank=3",
]  # fmt: skip


@pytest.mark.parametrize("rules", NO_RULES)
def test_rules_that_are_none_are_refused_in_one_line(rules):
    with pytest.raises(
        ConfigError, match=r"^compress: rules map patterns to rules, such as .*\. Got .*\. Give [^\n]*$"
    ):
        compress.plan(perceptron(), rules)


@pytest.fixture
def batch(generator):
    return torch.randn(5, 12, dtype=torch.float64, generator=generator)


def test_a_plan_leaves_no_trace(batch):
    model = nn.Sequential(perceptron(), nn.BatchNorm1d(6, dtype=torch.float64), nn.Dropout(0.5)).train()
    model[1].eval()
    before, state = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    compress.plan(model, {r"0\..*": NdLinear()}, data=batch)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert [module.training for module in model] == [True, False, True]
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert torch.equal(torch.get_rng_state(), state)
    assert type(model[0][0]) is nn.Linear


def test_a_failing_model_is_left_as_it_was():
    model = perceptron()
    with pytest.raises(RuntimeError):
        compress.plan(model, EVERY, data=torch.randn(5, 13, dtype=torch.float64))
    assert not model[0]._forward_hooks and model.training
    reader = Reader()
    with pytest.raises(ConfigError):
        compress.plan(reader, {"fc": LowRank(rank=2)}, data=torch.randn(5, 12))
    assert type(reader.fc) is nn.Linear


def test_attention_is_counted_on_every_device():
    """2 products of 5 tokens with 5 tokens for each of 6 heads of 4 features, a multiplication and an addition each."""

    class Attention(torch.nn.Module):
        def forward(self, x, keep=None):
            return functional.scaled_dot_product_attention(x, x, x, keep)

    x = torch.randn(2, 3, 5, 4)
    assert count_flops(Attention(), x, None) == 2 * (2 * 3) * 5 * 5 * 4 * 2
    assert count_flops(Attention(), x.to("meta")) == count_flops(Attention(), x)


def test_numbers_of_a_layer(batch):
    model = perceptron()
    first, second = compress.plan(model, EVERY, data=batch, measure=False).layers
    assert (first.name, first.in_features, first.out_features) == ("0", 12, 35)
    assert first.parameters == (12 * 35 + 35, 3 * (12 + 35) + 35)
    assert first.flops == (2 * 5 * 12 * 35, 2 * 5 * 3 * (12 + 35))
    assert first.input_shape == (5, 12) and second.input_shape == (5, 35)
    assert first.becomes == "low rank 3" and second.becomes == "tensor train 7×5 to 3×2, rank 2"
    assert first.times is None
    values = torch.linalg.svdvals(model[0].weight.detach())
    assert first.weight_error == pytest.approx(float(values[3:].norm() / values.norm()), rel=SUMS64)


def test_output_errors_are_those_of_layers_and_model(batch):
    model = perceptron()
    plan = compress.plan(model, EVERY, data=batch, measure=False)
    small = plan.apply()
    with torch.no_grad():
        hidden = model[1](model[0](batch))
        for layer, x, index in zip(plan.layers, (batch, hidden), (0, 2), strict=True):
            exact = model[index](x)
            distance = (small[index](x) - exact).norm() / exact.norm()
            assert layer.output_error == pytest.approx(float(distance), rel=STEPS64)
        distance = (small(batch) - model(batch)).norm() / model(batch).norm()
        assert plan.output_error == pytest.approx(float(distance), rel=STEPS64)


def test_a_list_of_batches_counts_as_one(batch):
    whole = compress.plan(perceptron(), EVERY, data=batch, measure=False)
    parts = compress.plan(perceptron(), EVERY, data=[batch[:2], (batch[2:],)], measure=False)
    assert parts.output_error == pytest.approx(whole.output_error, rel=STEPS64)
    assert parts.layers[0].output_error == pytest.approx(whole.layers[0].output_error, rel=STEPS64)


def test_without_data_there_are_weight_errors_only():
    plan = compress.plan(perceptron(), EVERY)
    assert plan.output_error is None and plan.layers[0].output_error is None
    assert plan.layers[0].input_shape == (256, 12)
    assert plan.layers[0].times.before.low > 0 and plan.times is None
    assert "on inputs of 256 rows" in plan.report()
    assert "Time and outputs of the whole model are measured on data" in plan.report()


def times(before, after):
    return Times.of([(before, after)])


def test_quartiles_are_those_of_the_turns():
    found = Times.of([(1.0, 2.0), (2.0, 2.0), (3.0, 2.0), (4.0, 2.0), (5.0, 2.0)])
    assert (found.before, found.after.middle, found.speed) == (Spread(2, 3, 4), 2, Spread(1, 1.5, 2))
    assert not found.is_slower and not found.is_faster
    assert times(1.0, 2.0).is_slower and times(2.0, 1.0).is_faster


def test_the_whole_model_is_timed_and_compared_with_its_spread(batch):
    plan = compress.plan(perceptron(), EVERY, data=batch)
    rows = [compress.plan(perceptron(), EVERY, data=row[None], measure=False).output_error for row in batch]
    assert plan.sample_errors == pytest.approx(Spread.of(rows), rel=STEPS64)
    assert 0 < plan.times.before.low <= plan.times.before.middle <= plan.times.before.high
    plain = plan.to_dict()
    assert plain["seconds_after"] == plan.times.after.middle and plain["speed_low"] <= plain["speed"]
    assert plain["output_error_quartiles"] == list(plan.sample_errors)
    assert "The whole model takes " in plan.report() and "The whole model takes " in plan.html()
    assert plan.without("0").times is None and "sample_errors=None" in repr(plan.without("0"))


def test_a_slow_layer_makes_the_whole_model_slow(batch):
    class Slow(nn.Module):
        def forward(self, x):
            time.sleep(0.002)
            return nn.functional.linear(x, torch.zeros(35, 12, dtype=x.dtype))

    model = perceptron()
    found = compare_models(model, lambda: lend_layers(model, {("0",): Slow()}), batch)
    assert found.is_slower and found.after.low > 0.002 and type(model[0]) is nn.Linear


@pytest.mark.parametrize(
    ("found", "remark"),
    [
        (Times.of([(1.0, 1.1), (1.0, 0.9), (1.0, 1.05)]), ", no difference beyond noise"),
        (times(1.0, 2.0), "0.50x (0.50 to 0.50)."),
    ],
)
def test_the_time_of_the_model_is_called_noise_where_it_is(found, remark):
    assert remark in time_sentence(found)


def test_advice_on_the_whole_model(batch):
    plan = compress.plan(perceptron(), {"0": LowRank(rank=3)}, measure=False)

    def advice(**changes):
        return "; ".join(advice_of_model(dataclasses.replace(plan, **changes)))

    noisy = Times.of([(1.0, 1.3), (1.0, 0.9), (1.0, 1.2), (1.0, 0.8)])
    assert advice(output_error=0.66) == "the model's outputs change by 66% of their norm: train further before use"
    assert advice(times=times(1.0, 2.0)) == "the whole model is slower: 0.50x"
    assert advice() == advice(times=noisy, output_error=0.05) == ""


@pytest.mark.parametrize("data", [3.0, "text", [], [torch.zeros(2), 3]], ids=str)
def test_data_of_another_kind_is_refused(data):
    with pytest.raises(ConfigError, match="data is a tensor, a tuple of arguments, a mapping of named arguments"):
        batches_of(data)


def test_named_arguments_and_nested_outputs_are_understood(generator):
    model = Branching()
    x = torch.randn(5, 12, generator=generator)
    plan = compress.plan(model, {".*": LowRank(rank=2)}, data={"x": x, "scale": 2.0}, measure=False)
    used, unused = plan.layers
    assert used.output_error == pytest.approx(plan.output_error, rel=1e-2)
    assert unused.output_error is None and unused.input_shape == (256, 12)
    assert unused.advice[0].startswith("never called on this data")
    out, mean = layer_outputs(model, {"x": x})
    assert torch.equal(out.mean(), mean)


def test_a_model_that_reads_weights_itself_is_found_out_by_data(generator):
    x = torch.randn(5, 12, generator=generator)
    model = Reader()
    plan = compress.plan(model, {"fc|out": LowRank(rank=2)}, data=x, measure=False)
    assert [layer.name for layer in plan.layers] == ["out"]
    assert [(each.name, each.reason) for each in plan.refused] == [
        ("fc", "Reader reads its weight, so that a swap would break it")
    ]
    assert plan.apply()(x).shape == (5, 4) and type(model.fc) is nn.Linear


def test_a_shared_layer_is_swapped_once_under_both_names(generator):
    model = Shared()
    plan = compress.plan(model, {"second": LowRank(rank=2)}, measure=False)
    assert plan.layers[0].names == ("first", "second")
    assert plan.parameters == (12 * 12 + 12, 2 * 24 + 12)
    small = plan.apply()
    assert small.first is small.second and small.first.rank == 2
    assert "first (+1)" in plan.report()


def test_the_first_pattern_that_matches_counts():
    layers = compress.plan(perceptron(), {"0": LowRank(rank=2), ".*": NdLinear()}, measure=False).layers
    assert [layer.becomes for layer in layers] == ["low rank 2", "NdLinear 7×5 to 3×2, rank 1"]


def test_ranks_from_a_layers_own_budget():
    model = perceptron()
    by_error, by_share = compress.plan(
        model, {"0": LowRank(max_error=0.5), "2": NdLinear(max_share=0.4)}, measure=False
    ).layers
    values = torch.linalg.svdvals(model[0].weight.detach())
    assert by_error.weight_error <= 0.5 < float(values[by_error.replacement.rank - 1 :].norm() / values.norm())
    each = 7 * 3 + 5 * 2
    assert by_share.parameters[1] == by_share.replacement.rank * each + 6
    assert by_share.parameters[1] <= 0.4 * by_share.parameters[0] < by_share.parameters[1] + each


def test_a_model_comes_within_its_share():
    model = perceptron()
    rules = {"0": LowRank(), "2": TensorTrain()}
    for share in (0.3, 0.5, 0.8):
        plan = compress.plan(model, rules, max_parameters=share, measure=False)
        before, after = plan.parameters
        assert before == sum(each.numel() for each in model.parameters())
        assert after == sum(each.numel() for each in plan.apply().parameters()) <= share * before


def test_a_models_error_is_a_threshold_for_every_layer():
    plan = compress.plan(perceptron(), {".*": LowRank()}, max_error=0.6, measure=False)
    assert all(layer.weight_error <= 0.6 for layer in plan.layers)
    assert any(layer.replacement is not None for layer in plan.layers)


def test_a_layer_that_cannot_be_made_smaller_stays_dense():
    plan = compress.plan(perceptron(), {".*": LowRank()}, max_error=1e-3, measure=False)
    assert {layer.becomes for layer in plan.layers} == {"dense"}
    assert plan.parameters[0] == plan.parameters[1]
    assert plan.layers[0].advice == ("left dense: no smaller layer is good enough",)
    assert "0 of 2 layers swapped" in plan.report()


def test_a_fixed_rank_counts_towards_the_budget():
    plan = compress.plan(perceptron(), {"0": LowRank(rank=1), "2": LowRank()}, max_parameters=0.3, measure=False)
    assert plan.layers[0].becomes == "low rank 1"
    assert plan.parameters[1] <= 0.3 * plan.parameters[0]


@pytest.mark.parametrize(
    ("rules", "options", "message"),
    [
        ({}, {}, "no rules"),
        ({"0": LowRank()}, {}, r"0: LowRank needs a rank. Set rank, max_error or max_share .lowrank:rank=8., or"),
        ({"0": TensorTrain()}, {}, r"max_parameters, max_flops, max_milliseconds or max_error .max_parameters=0.5.\."),
        ({"0": LowRank()}, {"max_parameters": 1.5}, "plan: max_parameters is a share between 0 and 1"),
        ({"0": LowRank()}, {"max_error": 0.0}, "plan: max_error is a share between 0 and 1"),
        ({"0": LowRank()}, {"max_parameters": 0.1}, r"cannot bring the model to 10.0% of its parameters; they reach"),
        ({"(": LowRank()}, {}, r"the pattern '\(' is no regular expression"),
        (
            {"1": LowRank()},
            {},
            "nothing that the pattern '1' matches can be swapped. 1: Tanh is none of the layers that can be swapped",
        ),
    ],
)
def test_a_plan_that_cannot_be_says_why(rules, options, message):
    with pytest.raises(ConfigError, match=message):
        compress.plan(perceptron(), rules, **options)


def test_a_pattern_without_a_match_names_the_nearest_layers():
    model = nn.ModuleDict({"encoder": perceptron(), "decoder": perceptron()})
    with pytest.raises(ConfigError, match=r"'decodr\\\\.2' matches no module's whole name. .* are decoder\.2,"):
        compress.plan(model, {r"decodr\.2": LowRank(rank=1)})


def test_a_model_that_is_one_layer_says_so():
    with pytest.raises(ConfigError, match="There is no layer below the model itself that can be swapped"):
        compress.plan(nn.Linear(12, 35), {".*": NdLinear()})


def test_sizes_that_do_not_fit_name_the_layer():
    with pytest.raises(ShapeError, match=r"0: NdLinear: sizes must be .* the layer's 12 inputs and 35 outputs"):
        compress.plan(perceptron(), {"0": NdLinear(in_sizes=(5, 3))})


def test_advice_on_speed_size_and_loss():
    layer = compress.plan(perceptron(), {"0": LowRank(rank=3)}).layers[0]

    def advice(**changes):
        return "; ".join(advice_of(dataclasses.replace(layer, **changes)))

    assert "swapping is slower here: 0.50x" in advice(times=times(1.0, 2.0))
    assert "slower" not in advice(times=times(2.0, 1.0))
    assert "slower" not in advice(times=Times.of([(1.0, 2.0), (1.0, 1.9), (1.0, 0.9), (1.0, 0.9)]))
    assert "takes more FLOPs than dense: 3.00x" in advice(times=None, flops=(10, 30))
    assert "no smaller than dense: 1.50x the parameters" in advice(parameters=(100, 150))
    assert "changes its weight by 80% of the norm: train further" in advice(weight_error=0.8)
    assert "changes its outputs by 40% of the norm: train further" in advice(weight_error=0.8, output_error=0.4)
    assert advice(weight_error=0.8, output_error=0.1, times=times(1.0, 1.0)) == ""


def test_times_are_taken_in_turns():
    calls = []

    class Watched(nn.Module):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def forward(self, x):
            calls.append(self.name)
            return x

    found = compare_layers(Watched("dense"), Watched("small"), torch.zeros(1))
    assert found.before.low > 0 and found.after.low > 0
    assert calls == ["dense", "small"] * (len(calls) // 2) and len(calls) >= 18


def test_the_report_holds_a_row_per_layer_totals_and_refusals(batch):
    model = nn.ModuleDict({"net": perceptron(), "attend": nn.MultiheadAttention(12, 2, kdim=5)})
    report = compress.plan(model, {".*": LowRank(rank=2)}, measure=False).report()
    assert report.splitlines()[0].split() == [*"layer becomes parameters share FLOPs time".split(),
                                              *"weight error output error".split()]  # fmt: skip
    assert "net.0" in report and "455 -> 129" in report
    assert "2 of 2 layers swapped" in report
    assert "advice  2 layers change their weights by more than 30%: train further before use" in report
    assert "refused attend.out_proj: MultiheadAttention reads its weight, so that a swap would break it" in report


def test_rows_are_plain_values(batch):
    row = compress.plan(perceptron(), EVERY, data=batch).rows()[0]
    assert row["layer"] == "0" and row["parameters_after"] == 176
    assert all(isinstance(value, str | int | float | None) for value in row.values())


def test_a_plan_without_some_layers():
    plan = compress.plan(perceptron(), EVERY, measure=False)
    less = plan.without("0")
    assert [layer.name for layer in less.layers] == ["2"]
    assert type(less.apply()[0]) is nn.Linear
    assert less.parameters[1] == sum(each.numel() for each in less.apply().parameters())
    with pytest.raises(ConfigError, match="there is no layer 7 to leave out"):
        plan.without("7")


def test_difference_of_nothing_and_of_zeros():
    assert difference([], []) == 0.0 and spread_of_errors([torch.ones(())], [torch.ones(())]) is None
    assert difference([torch.zeros(3)], [torch.zeros(3)]) == 0.0
    assert difference([torch.zeros(3)], [torch.ones(3)]) == pytest.approx(3**0.5)


def test_the_page_is_whole_and_safe(batch):
    model = nn.ModuleDict({"<b>net</b>": perceptron()})
    page = compress.plan(model, {".*": LowRank(rank=2)}, measure=False).html("A & B")
    assert page.startswith("<!doctype html>") and "A &amp; B" in page
    assert "&lt;b&gt;net&lt;/b&gt;" in page and "<b>net</b>" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_copy_answers_as_the_plan_says_and_the_model_as_before(batch):
    model = perceptron()
    exact = model(batch)
    small = compress.plan(model, EVERY, measure=False).apply()
    assert torch.equal(model(batch), exact)
    weight = small[0].up @ small[0].down
    hidden = torch.tanh(batch @ weight.T + model[0].bias)
    assert_same(small(batch), hidden @ small[2].dense_weight().T + model[2].bias)
