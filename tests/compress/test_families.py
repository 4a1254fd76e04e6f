"""Convolutions and tables of vectors are swapped, saved and brought back; `.*` works on models of any kind."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from loops import check_all
from multiway import compress
from multiway.compress import CP, LowRank, NdLinear, TensorTrain, Tucker
from multiway.compress.layer_fits import fit_of_layer
from multiway.errors import ConfigError, ShapeError
from multiway.nn import CPConv, LowRankLinear, TTEmbedding, TuckerConv
from tolerances import STEPS64, assert_same


class Mixed(nn.Module):
    """A table, convolutions with and without a kernel, in groups, and a dense head."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(53, 15, padding_idx=0)
        self.wide, self.point = nn.Conv1d(15, 17, 3, padding=1), nn.Conv1d(17, 19, 1)
        self.groups, self.norm, self.head = nn.Conv1d(19, 19, 3, groups=19), nn.LayerNorm(19), nn.Linear(19, 11)

    def forward(self, ids):
        hidden = self.groups(self.point(self.wide(self.table(ids).mT)).relu())
        return self.head(self.norm(hidden.mT))


@pytest.fixture
def model():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Mixed().double()


@pytest.fixture
def ids(generator):
    return torch.randint(53, (3, 7), generator=generator)


def test_one_pattern_swaps_every_family(model, ids):
    plan = compress.plan(model, {".*": LowRank(rank=3)}, data=ids, measure=False)
    small = plan.apply()
    kinds = [type(small.get_submodule(name)) for name in ("table", "wide", "point", "head")]
    assert kinds == [TTEmbedding, TuckerConv, TuckerConv, LowRankLinear]
    assert [each.name for each in plan.refused] == ["groups"]
    assert "its channels are in 19 groups" in plan.report()
    distance = (small(ids) - model(ids)).norm() / model(ids).norm()
    assert plan.output_error == pytest.approx(float(distance.detach()), rel=STEPS64)
    for layer in plan.layers:
        dense, fitted = model.get_submodule(layer.name), small.get_submodule(layer.name)
        assert layer.parameters == tuple(sum(p.numel() for p in each.parameters()) for each in (dense, fitted))
        lost = (fitted.dense_weight() - dense.weight).norm() / dense.weight.norm()
        assert layer.weight_error == pytest.approx(float(lost.detach()), abs=STEPS64)


def test_the_plan_says_what_it_leaves(model, ids):
    plan = compress.plan(model, {".*": LowRank(rank=3)}, measure=False)
    assert plan.left == {"Conv1d": 19 * 3 + 19, "LayerNorm": 2 * 19}
    share = (19 * 4 + 38) / plan.parameters[0]
    assert f"{share:.1%} of the parameters lie in other layers: Conv1d {76 / plan.parameters[0]:.1%}" in plan.report()


def test_every_family_is_saved_loaded_and_undone(model, ids, tmp_path):
    rules = {"table": TensorTrain(rank=2), "wide": CP(rank=3), "point": Tucker(rank=2), "head": NdLinear()}
    small = compress.plan(model, rules, measure=False).apply()
    assert type(small.wide) is CPConv and small.table.tt_ranks == (1, 2, 1)
    compress.save(small, tmp_path)
    loaded = compress.load(tmp_path, Mixed().double())
    assert torch.equal(loaded(ids), small(ids))
    answers = small(ids)
    assert_same(compress.undo(loaded)(ids), answers)
    assert [type(each) for each in (loaded.table, loaded.wide)] == [nn.Embedding, nn.Conv1d]
    assert torch.equal(compress.undo(small)(ids), model(ids))


OPTIONS = [
    (LowRank(), nn.Conv2d(5, 7, 3)),
    (Tucker(), nn.Conv2d(7, 5, 1, bias=False)),
    (CP(), nn.Conv2d(5, 7, 3)),
    (LowRank(), nn.Embedding(53, 15)),
    (TensorTrain(num_cores=2), nn.Embedding(53, 15, padding_idx=3)),
    (TensorTrain(num_cores=3, in_sizes=(5, 4, 3), out_sizes=(5, 3, 1)), nn.Embedding(53, 15)),
]


def test_every_choice_of_ranks_keeps_its_promises():
    def check(rule, dense):
        options = fit_of_layer(rule, dense.double()).options()
        assert len(options) > 2
        for option in options[:: max(1, len(options) // 4)]:
            layer = fit_of_layer(rule, dense).build(option.ranks)
            assert sum(each.numel() for each in layer.parameters()) == option.parameters
            assert layer.approximation.error <= option.error + STEPS64
            lost = (layer.dense_weight() - dense.weight).norm() / dense.weight.norm()
            assert float(lost.detach()) == pytest.approx(layer.approximation.error, abs=STEPS64)

    check_all(check, OPTIONS)


def test_a_row_of_padding_stays_zero_and_another_keeps_its_vector(ids):
    zero, other = nn.Embedding(53, 15, padding_idx=1), nn.Embedding(53, 15, padding_idx=1)
    with torch.no_grad():
        other.weight[1] = 1.0
    for dense, padding in ((zero, 1), (other, None)):
        layer = fit_of_layer(LowRank(), dense).build((15,))
        assert layer.padding_idx == padding
        torch.testing.assert_close(layer(ids), dense(ids))


def test_a_table_is_brought_to_an_error_and_back(generator, ids):
    dense = nn.Embedding(53, 15, padding_idx=0, dtype=torch.float64)
    layer = TTEmbedding.from_embedding(dense, (5, 3), max_error=0.4)
    assert layer.approximation.error <= 0.4
    assert_same(layer.to_embedding()(ids), layer(ids))
    assert math.prod(layer.words) >= 53


def test_a_model_comes_within_its_share_with_all_families(model):
    for share in (0.4, 0.7):
        plan = compress.plan(model, {".*": LowRank()}, max_parameters=share, measure=False)
        assert sum(each.numel() for each in plan.apply().parameters()) <= share * plan.parameters[0]


def test_rules_that_are_not_for_a_family_leave_it_to_later_ones(model):
    plan = compress.plan(model, {".*": NdLinear(), "wide|point": Tucker(rank=2)}, measure=False)
    assert {layer.name for layer in plan.layers} == {"head", "wide", "point"}
    reasons = {each.name: each.reason for each in plan.refused}
    assert reasons["table"] == "NdLinear is not for an embedding, which takes tt, lowrank"
    with pytest.raises(ConfigError, match="NdLinear is not for a convolution, which takes lowrank, tucker, cp"):
        compress.plan(model, {"wide": NdLinear()})


def test_a_rank_that_would_make_a_layer_larger_is_refused(model):
    plan = compress.plan(model, {"head|wide": LowRank(rank=11), "point": Tucker(rank=2)}, measure=False)
    assert {layer.name: layer.becomes for layer in plan.layers if layer.replacement is None}.keys() == {"head"}
    assert "advice  head: left dense: rank 11 makes it no smaller" in plan.report()


def test_sizes_of_a_table_that_do_not_multiply_name_it(model):
    with pytest.raises(ShapeError, match=r"table: TensorTrain: out_sizes must multiply to the table's 15 features"):
        compress.plan(model, {"table": TensorTrain(rank=2, out_sizes=(5, 2))})


class ReadByHelper(nn.Module):
    """Gives a layer's weight to a function that its code does not name."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.out = nn.Linear(12, 12), nn.Linear(12, 4)

    def forward(self, x):
        layer = self.fc
        return self.out(F.linear(x, layer.weight))


def test_running_shows_which_weights_are_read(generator):
    model, x = ReadByHelper(), torch.randn(5, 12, generator=generator)
    plan = compress.plan(model, {".*": LowRank(rank=2)}, data=x, measure=False)
    assert [each.name for each in plan.refused] == ["fc"] and [layer.name for layer in plan.layers] == ["out"]
    assert type(model.fc) is nn.Linear and type(model.out) is nn.Linear
    with pytest.raises(ConfigError, match=r"the model reads the weight of fc in place of calling it\. Match other"):
        compress.plan(model, {"fc": LowRank(rank=2)}, data=x)


def test_adapters_leave_the_model_itself_alone(model):
    tuned = compress.adapt(model, {"head": NdLinear()})
    assert tuned is not model and type(model.head) is nn.Linear
    assert all(each.requires_grad for each in model.parameters())
    assert compress.adapt(model, {"head": NdLinear()}, inplace=True) is model
    with pytest.raises(ConfigError, match="it is a convolution, and an adapter needs a dense layer"):
        compress.adapt(Mixed(), {"wide": LowRank(rank=2)})


def test_layers_that_peft_adapts_are_left(generator):
    peft = pytest.importorskip("peft", reason="peft is not installed (pip install 'multiway[peft]')")
    model = nn.Sequential(nn.Linear(12, 35), nn.Linear(35, 12))
    tuned = peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=["0"]))
    plan = compress.plan(tuned, {".*": LowRank(rank=2)}, measure=False)
    assert [layer.name for layer in plan.layers] == ["base_model.model.1"]
    assert all("part of an adapter of PEFT (Linear)" in each.reason for each in plan.refused)
    small, x = plan.apply(), torch.randn(5, 12, generator=generator)
    before = small(x)
    small.merge_adapter()
    torch.testing.assert_close(small(x), before)


def test_a_table_of_low_rank_is_named_so():
    table = nn.ModuleDict({"table": nn.Embedding(53, 15)})
    for rule, becomes in ((LowRank(rank=4), "low rank 4"), (TensorTrain(rank=2), "tensor train 8×7 to 5×3, rank 2")):
        assert compress.plan(table, {"table": rule}, measure=False).layers[0].becomes == becomes
