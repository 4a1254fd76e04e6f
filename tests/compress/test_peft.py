"""Adapters in PEFT: what they compute against dense weights, what merging does, and files that are read back."""

import copy

import pytest
import torch
from torch import nn

from tolerances import assert_same

peft = pytest.importorskip("peft", reason="peft is not installed (pip install 'multiway[peft]')")

from multiway import nn as mw  # noqa: E402
from multiway.errors import ConfigError  # noqa: E402
from multiway.peft import AdapterConfig, Branched, KroneckerLinear, convert_to_lora  # noqa: E402
from multiway.peft.layers import kronecker_rows  # noqa: E402


def network() -> nn.Sequential:
    """Sizes of 3 · 5, 7 · 11 and 2 · 13."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(15, 77), nn.Tanh(), nn.Linear(77, 26)).double()


CONFIGS = {
    "nd_linear": lambda: AdapterConfig(r=2, lora_alpha=3, target_modules=["0", "2"]),
    "nd_linear of one term": lambda: AdapterConfig(r=1, target_modules=["0", "2"]),
    "tensor_train": lambda: AdapterConfig(
        r=2, target_modules=["0", "2"], multiway_layer="tensor_train", multiway_modes=3, use_rslora=True
    ),
    "lokr": lambda: peft.LoKrConfig(r=64, alpha=16, target_modules=["0", "2"]),
    "lokr of low rank": lambda: peft.LoKrConfig(r=2, alpha=3, target_modules=["0", "2"], decompose_both=True),
}


def adapted(config, seed: int = 1):
    """A model whose adapters have learnt something."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = peft.get_peft_model(network(), config, autocast_adapter_dtype=False)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.normal_(0, 0.3)
    return model


@pytest.fixture
def batch(generator):
    return torch.randn(3, 2, 15, dtype=torch.float64, generator=generator)


def test_a_new_adapter_changes_nothing(batch):
    for make in CONFIGS.values():
        model = peft.get_peft_model(network(), make(), autocast_adapter_dtype=False)
        assert torch.equal(model(batch), network()(batch))
        assert all("lora_" in name or "lokr_" in name for name, one in model.named_parameters() if one.requires_grad)


@pytest.mark.parametrize("kind", CONFIGS)
def test_an_adapter_equals_its_dense_weight_in_values_and_gradients(kind, batch):
    model = adapted(CONFIGS[kind]())
    layers = [layer for layer in model.modules() if isinstance(layer, Branched | KroneckerLinear)]
    assert len(layers) == 2
    x, twin = batch.clone().requires_grad_(), batch.clone().requires_grad_()
    y = model(x)
    base = [layer.get_base_layer() for layer in layers]
    weights = [layer.weight + own.get_delta_weight("default") for layer, own in zip(base, layers, strict=True)]
    hidden = torch.tanh(nn.functional.linear(twin, weights[0], base[0].bias))
    expected = nn.functional.linear(hidden, weights[1], base[1].bias)
    assert_same(y, expected)
    assert not torch.allclose(y, network()(batch))
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    one = torch.autograd.grad(y.square().sum(), [x, *learning])
    two = torch.autograd.grad(expected.square().sum(), [twin, *learning])
    for first, second in zip(one, two, strict=True):
        assert_same(first, second)


@pytest.mark.parametrize("kind", CONFIGS)
def test_merged_it_answers_the_same_and_unmerged_it_is_as_before(kind, batch):
    model = adapted(CONFIGS[kind]())
    y, weight = model(batch), network()[0].weight
    model.merge_adapter(safe_merge=True)
    assert_same(model(batch), y)
    model.unmerge_adapter()
    assert_same(model.base_model.model[0].get_base_layer().weight, weight)
    with model.disable_adapter():
        assert_same(model(batch), network()(batch))
    whole = model.merge_and_unload()
    assert type(whole[0]) is nn.Linear
    assert_same(whole(batch), y)


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_saved_adapter_is_loaded_to_the_bit(kind, batch, tmp_path):
    model = adapted(CONFIGS[kind]())
    model.save_pretrained(tmp_path)
    loaded = peft.PeftModel.from_pretrained(network(), tmp_path, autocast_adapter_dtype=False)
    assert torch.equal(loaded(batch), model.eval()(batch))
    kinds = {type(layer) for layer in model.modules()}
    assert {type(layer) for layer in loaded.modules()} == kinds
    assert type(peft.PeftConfig.from_pretrained(tmp_path)) is type(model.peft_config["default"])


@pytest.mark.parametrize("kind", CONFIGS)
def test_an_adapter_becomes_a_lora_of_full_rank(kind, batch):
    model = adapted(CONFIGS[kind]())
    config, state = convert_to_lora(model, rank=15)
    twin = peft.get_peft_model(network(), config, autocast_adapter_dtype=False)
    peft.set_peft_model_state_dict(twin, state)
    first = model.base_model.model[0].get_delta_weight("default")
    near = twin.base_model.model[0].get_delta_weight("default")
    assert float(((near - first).norm() / first.norm()).detach()) < 1e-6  # PEFT converts in float32


def test_lokr_computes_as_pefts_own_layer_does(batch, monkeypatch):
    from peft.tuners.lokr import LoKrModel
    from peft.tuners.lokr.layer import Linear

    for name in ("lokr", "lokr of low rank"):
        ours = adapted(CONFIGS[name]())
        with monkeypatch.context() as patch:
            patch.setitem(LoKrModel.layers_mapping, nn.Linear, Linear)
            theirs = adapted(CONFIGS[name]())
        assert type(theirs.base_model.model[0]) is Linear and type(ours.base_model.model[0]) is KroneckerLinear
        assert {k for k, _ in ours.named_parameters()} == {k for k, _ in theirs.named_parameters()}
        assert_same(ours(batch), theirs(batch))


def test_lokr_drops_the_same_outputs(batch, monkeypatch):
    from peft.tuners.lokr.layer import Linear

    config = peft.LoKrConfig(r=64, target_modules=["0"], rank_dropout=0.4, rank_dropout_scale=True)
    ours = adapted(config).train()
    theirs = copy.deepcopy(ours)
    theirs.base_model.model[0].__class__ = Linear
    answers = []
    for model in (ours, theirs):
        with torch.random.fork_rng():
            torch.manual_seed(5)
            answers.append(model(batch))
    assert_same(*answers)


def test_rows_times_a_kronecker_product(generator):
    left, right, x = (
        torch.randn(size, dtype=torch.float64, generator=generator) for size in ((2, 3), (7, 5), (11, 15))
    )
    assert_same(kronecker_rows(x, left, right), x @ torch.kron(left, right).mT)


def test_two_adapters_add_up_and_can_be_switched(batch):
    model = adapted(CONFIGS["nd_linear"]())
    alone = model(batch)
    model.add_adapter("second", CONFIGS["tensor_train"]())
    assert torch.equal(model(batch), alone)
    model.set_adapter("second")
    assert_same(model(batch), network()(batch))
    model.set_adapter("default")
    model.delete_adapter("second")
    assert "second" not in model.base_model.model[0].lora_branch


def test_layers_of_transformers_that_are_transposed(generator):
    from transformers.pytorch_utils import Conv1D

    model = nn.Sequential(Conv1D(6, 15)).double()
    tuned = peft.get_peft_model(model, AdapterConfig(r=2, target_modules=["0"], fan_in_fan_out=True))
    branch = tuned.base_model.model[0].lora_branch["default"].double()
    with torch.no_grad():
        branch.weights[-1].normal_(generator=generator)
    x = torch.randn(7, 15, dtype=torch.float64, generator=generator)
    y = tuned(x)
    assert_same(tuned.merge_and_unload()(x), y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"multiway_layer": "nd_liner"}, "multiway_layer is one of nd_linear, tensor_train. Got 'nd_liner'"),
        ({"multiway_modes": 1}, "multiway_modes is at least 2. Got 1"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights is True or False. Got 'pissa'"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        AdapterConfig(**settings)


def test_what_lora_alone_has_is_refused():
    with pytest.raises(ValueError, match="variant"):
        peft.get_peft_model(network(), AdapterConfig(use_dora=True, target_modules=["0"]))
    with pytest.raises(ConfigError, match="these branches have no bias"):
        peft.get_peft_model(network(), AdapterConfig(lora_bias=True, target_modules=["0"]))
    model = adapted(CONFIGS["nd_linear"]())
    with pytest.raises(ConfigError, match=r"takes no LoRA. Give an AdapterConfig"):
        model.add_adapter("plain", peft.LoraConfig(target_modules=["0"]))


def compact() -> nn.Sequential:
    """Layers of multiway alone: modes on axes of their own, flat ones, a tensor train and a low rank."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        modes = mw.NdLinear((3, 5), (7, 11)), nn.Flatten(-2), mw.NdLinear((7, 11), (2, 13), flat=True)
        return nn.Sequential(*modes, mw.TTLinear((2, 13), (3, 5), tt_ranks=2), mw.LowRankLinear(15, 6, rank=2)).double()


@pytest.mark.parametrize("layer", ["nd_linear", "tensor_train"])
def test_layers_of_multiway_take_adapters(layer, generator, tmp_path):
    x = torch.randn(3, 2, 3, 5, dtype=torch.float64, generator=generator)
    config = AdapterConfig(r=2, target_modules=["0", "2", "3", "4"], multiway_layer=layer)
    tuned = peft.get_peft_model(compact(), config, autocast_adapter_dtype=False)
    assert torch.equal(tuned(x), compact()(x))
    with torch.no_grad():
        for each in tuned.parameters():
            if each.requires_grad:
                each.normal_(0, 0.3, generator=generator)
    expected = x
    for own, wrapped in zip(compact(), tuned.base_model.model, strict=True):
        inputs = expected
        expected = own(inputs)
        if isinstance(wrapped, Branched):
            delta = wrapped.get_delta_weight("default")
            rows = inputs.reshape(-1, delta.shape[1])
            expected = expected + (rows @ delta.mT).reshape(expected.shape)
    assert_same(tuned(x), expected)
    tuned.save_pretrained(tmp_path)
    repeated = peft.PeftModel.from_pretrained(compact(), tmp_path, autocast_adapter_dtype=False)
    assert torch.equal(repeated(x), tuned(x))
    with pytest.raises(ConfigError, match="NdLinear has no dense weight to add a branch to"):
        tuned.merge_and_unload()
