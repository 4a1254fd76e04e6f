"""Layers go in and come out again; those that cannot are refused with the reason."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune

from compress.models import Shared, Tied, encoder, perceptron
from multiway import compress
from multiway.compress import LowRank, NdLinear, TensorTrain
from multiway.compress.swap import parameter_owners
from multiway.errors import ConfigError
from multiway.nn import KroneckerAttention, LowRankLinear
from tolerances import LONG32, assert_same

EVERY = {"0": NdLinear(rank=2), "2": LowRank(rank=2)}


@pytest.fixture
def batch(generator):
    return torch.randn(5, 12, dtype=torch.float64, generator=generator)


def planned(model, rules=EVERY, **options):
    return compress.plan(model, rules, measure=False, **options)


def test_a_copy_shares_nothing_but_the_originals_that_it_remembers(batch):
    model = perceptron()
    small = planned(model).apply()
    own = {each.data_ptr() for each in model.parameters()}
    assert not own & {each.data_ptr() for each in small.parameters()}
    assert type(model[0]) is nn.Linear
    with torch.no_grad():
        for parameter in small.parameters():
            parameter.zero_()
    assert float(model(batch).abs().sum().detach()) > 0


def test_two_copies_share_nothing():
    plan = planned(perceptron())
    one, two = plan.apply(), plan.apply()
    assert not {each.data_ptr() for each in one.parameters()} & {each.data_ptr() for each in two.parameters()}


def test_in_place_changes_the_model_itself():
    model = perceptron()
    assert planned(model).apply(inplace=True) is model
    assert type(model[2]) is LowRankLinear


def test_a_swapped_layer_keeps_its_mode_and_whether_it_learns():
    model = perceptron().eval()
    model[0].requires_grad_(False)
    small = planned(model).apply()
    assert not small[0].training
    assert not any(each.requires_grad for each in small[0].parameters())
    assert all(each.requires_grad for each in small[2].parameters())


def test_a_model_that_changed_since_the_plan_is_refused():
    model = perceptron()
    plan = planned(model)
    with torch.no_grad():
        model[2].weight.add_(1)
    with pytest.raises(ConfigError, match=r"2 changed since the plan was made. Make a new plan"):
        plan.apply()
    plan = planned(model)
    plan.apply(inplace=True)
    with pytest.raises(ConfigError, match="0 changed"):
        plan.apply(inplace=True)


def test_undo_brings_the_originals_back_to_the_bit(batch):
    model = perceptron()
    exact = model(batch)
    small = planned(model).apply()
    assert compress.undo(small) is small
    assert torch.equal(small(batch), exact)
    assert type(small[0]) is nn.Linear and small[0].weight is not model[0].weight
    with pytest.raises(ConfigError, match="nothing was swapped in this model"):
        compress.undo(small)


def test_undo_in_place_needs_the_originals_to_be_kept(batch):
    model = perceptron()
    exact = model(batch)
    assert torch.equal(compress.undo(planned(model).apply(inplace=True))(batch), exact)
    small = planned(model).apply(inplace=True, keep_originals=False)
    near = small(batch)
    assert_same(compress.undo(small)(batch), near)


def test_undo_may_keep_what_was_learned_since(batch):
    small = planned(perceptron()).apply()
    with torch.no_grad():
        for parameter in small.parameters():
            parameter.mul_(1.5)
    near = small(batch)
    dense = compress.undo(small, originals=False)
    assert [type(layer) for layer in dense] == [nn.Linear, nn.Tanh, nn.Linear]
    assert_same(dense(batch), near)


def test_undo_follows_the_model_to_another_dtype(batch):
    small = planned(perceptron()).apply().float().eval()
    dense = compress.undo(small)
    assert {each.dtype for each in dense.parameters()} == {torch.float32}
    assert not dense[0].training


def test_a_compressed_model_is_copied_with_its_memory(batch):
    model = perceptron()
    twin = copy.deepcopy(planned(model).apply())
    assert torch.equal(compress.undo(twin)(batch), model(batch))


def test_a_compressed_model_can_be_compressed_further(batch):
    model = perceptron()
    once = planned(model, {"0": NdLinear(rank=2)}).apply()
    twice = planned(once, {"2": LowRank(rank=2)}).apply()
    assert [type(layer).__name__ for layer in twice] == ["NdLinear", "Tanh", "LowRankLinear"]
    assert torch.equal(compress.undo(twice)(batch), model(batch))


def test_a_shared_layer_comes_back_under_both_names():
    small = compress.undo(planned(Shared(), {"first": LowRank(rank=2)}).apply())
    assert type(small.first) is nn.Linear and small.first is small.second


def with_weight(layer, weight):
    layer.weight = nn.Parameter(weight, requires_grad=False)
    return layer


class Scaled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def hooked(layer):
    layer.register_forward_hook(lambda *_: None)
    return layer


def pruned(layer):
    prune.l1_unstructured(layer, "weight", 0.5)
    return layer


REFUSED = {
    "parametrised": (lambda: parametrizations.weight_norm(nn.Linear(4, 6)), "its weight is computed from others"),
    "pruned": (lambda: pruned(nn.Linear(4, 6)), "its weight is computed from others"),
    "subclass": (lambda: Scaled(4, 6), "Scaled of .* has a forward of its own, which a swap would lose"),
    "quantised": (
        lambda: with_weight(nn.Linear(4, 6), torch.zeros(6, 4, dtype=torch.int8)),
        r"its weight is a Tensor of torch.int8, quantised",
    ),
    "lazy": (lambda: nn.LazyLinear(6), "LazyLinear is not|its sizes are not known yet"),
    "meta": (lambda: nn.Linear(4, 6, device="meta"), "its weight is on the meta device"),
    "hooks": (lambda: hooked(nn.Linear(4, 6)), "it has hooks, which a swap would lose"),
    "nan": (lambda: with_weight(nn.Linear(4, 6), torch.full((6, 4), torch.nan)), "holds a NaN or an infinity"),
    "groups": (lambda: nn.Conv2d(4, 6, 3, groups=2), "its channels are in 2 groups"),
    "scaled": (lambda: nn.Embedding(7, 5, max_norm=1.0), "its vectors are scaled when they are read"),
    "transposed": (lambda: nn.ConvTranspose2d(4, 6, 3), "ConvTranspose2d is none of the layers"),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_a_layer_that_cannot_be_swapped_is_refused_with_the_reason(case):
    make, reason = REFUSED[case]
    model = nn.ModuleDict({"fc": make(), "other": nn.Linear(4, 6)})
    with pytest.raises(ConfigError, match=rf"nothing that the pattern 'fc' matches can be swapped. fc: .*({reason})"):
        planned(model, {"fc": LowRank(rank=1)})


def test_layers_of_unknown_sizes_are_left_and_the_others_swapped():
    model = nn.Sequential(nn.Linear(12, 12), nn.LazyLinear(5))
    plan = planned(model, {".*": LowRank(rank=1)})
    assert [layer.name for layer in plan.layers] == ["0"] and plan.parameters == (12 * 12 + 12, 24 + 12)
    small, x = plan.apply(), torch.randn(3, 12)
    assert small(x).shape == (3, 5) and type(small[1]) is nn.Linear


def test_a_quantised_layer_is_named_by_where_it_comes_from():
    linear = type("Linear", (nn.Module,), {"__module__": "torchao.quantised"})()
    model = nn.ModuleDict({"fc": linear, "other": nn.Linear(4, 6)})
    with pytest.raises(
        ConfigError, match=r"fc: Linear of torchao\.quantised is none of the layers that can be swapped"
    ):
        planned(model, {"fc": LowRank(rank=1)})


def test_of_several_layers_the_refused_ones_are_listed_and_the_others_swapped():
    attend = nn.MultiheadAttention(12, 2, add_bias_kv=True)
    model = nn.ModuleDict({"attend": attend, "fc": nn.Linear(12, 12), "act": nn.ReLU()})
    plan = planned(model, {".*": LowRank(rank=1)})
    assert [layer.name for layer in plan.layers] == ["fc"]
    reasons = {each.name: each.reason for each in plan.refused}
    assert list(reasons) == ["attend", "attend.out_proj"] and "(in_proj) are parameters" in reasons["attend"]
    assert type(plan.apply()["attend"].out_proj) is type(model["attend"].out_proj)


class FusedLinear(nn.Module):
    """Reads weights where nothing of `forward` calls it, as RepVGG and the patches of timm do, and where it does."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.apart, self.read, self.seen = (nn.Linear(12, 12) for _ in range(4))

    def forward(self, x):
        return self.apart(self._both(self.inner(x)))

    def fuse(self):
        return self.inner.weight + self.apart.weight

    def _both(self, x):
        return x @ self.read.weight + self.scale

    @property
    def scale(self):
        return self.seen.weight.sum()


class Child(FusedLinear):
    def forward(self, x):
        return super().forward(x)


@pytest.mark.parametrize("kind", [FusedLinear, Child])
def test_of_what_reads_weights_only_what_forward_calls_counts(kind):
    model = nn.Sequential(kind(), nn.ConvTranspose2d(4, 6, 3), nn.EmbeddingBag(5, 12))
    plan = planned(model, {".*": LowRank(rank=1)})
    assert [layer.name for layer in plan.layers] == ["0.inner", "0.apart"]
    assert [each.name for each in plan.refused] == ["0.read", "0.seen", "1", "2"]


@pytest.mark.parametrize("pattern", [r"out_proj", r"query_key\.0", "value", "out"])
def test_layers_whose_weights_an_attention_reads_are_refused(pattern):
    ours, torchs = KroneckerAttention(12, num_heads=2, num_modes=2), nn.MultiheadAttention(12, 2, add_zero_attn=True)
    model = torchs if pattern == "out_proj" else ours
    with pytest.raises(ConfigError, match="Attention reads its weight, so that a swap would break it"):
        planned(model, {pattern: LowRank(rank=1)})


def test_tied_weights_are_refused_with_both_names():
    with pytest.raises(ConfigError, match=r"its parameters are tied: embed.weight and head.weight are the same tensor"):
        planned(Tied(), {"head": LowRank(rank=1)})
    assert [layer.name for layer in planned(Tied(), {".*": LowRank(rank=1)}).layers] == ["body"]


def test_two_parameters_on_one_storage_are_tied_and_two_without_numbers_are_not():
    model = nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 5))
    model[1].weight = nn.Parameter(model[0].weight.data)
    with pytest.raises(ConfigError, match=r"tied: 0\.weight and 1\.weight are the same tensor"):
        planned(model, {"1": LowRank(rank=1)})
    empty = nn.ParameterList([torch.empty(0), torch.empty(0)])
    assert sorted(parameter_owners(empty).values()) == [["0"], ["1"]]


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_encoders_leave_their_fused_path(norm_first, generator):
    model = encoder(norm_first=norm_first).eval()
    small = planned(model, {r".*linear\d": TensorTrain(rank=3)}).apply()
    x = torch.randn(3, 5, 12, generator=generator)
    padding = torch.arange(5) >= torch.tensor([5, 3, 4])[:, None]
    for options in ({}, {"src_key_padding_mask": padding}):
        slow = small.train()(x, **options).detach()  # in training torch calls the layers one by one
        with torch.no_grad():
            fast = small.eval()(x, **options)
        assert torch.allclose(fast[~padding], slow[~padding], rtol=LONG32, atol=LONG32)
        assert not torch.allclose(fast[~padding], model(x)[~padding], rtol=LONG32, atol=LONG32)


def test_undo_gives_encoders_their_fused_path_back():
    model = encoder().eval()
    small = planned(model, {r"layers\.0\.linear1": TensorTrain(rank=3)}).apply()
    assert not small.use_nested_tensor and small.layers[0].activation_relu_or_gelu == 0
    assert small.layers[1].activation_relu_or_gelu == model.layers[1].activation_relu_or_gelu == 1
    compress.undo(small)
    assert small.use_nested_tensor and small.layers[0].activation_relu_or_gelu == 1


def test_a_plan_with_data_leaves_the_fused_path_as_it_was(generator):
    model = encoder()
    plan = planned(model, {r".*linear\d": TensorTrain(rank=3)}, data=torch.randn(3, 5, 12, generator=generator))
    assert plan.output_error > 0
    assert model.use_nested_tensor and model.layers[0].activation_relu_or_gelu == 1


def test_a_compressed_model_learns(batch):
    small = planned(perceptron()).apply()
    optimiser = torch.optim.Adam(small.parameters(), lr=0.02)
    target = torch.sin(batch[:, :6])
    losses = []
    for _ in range(40):
        loss = (small(batch) - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.2 * losses[0]
