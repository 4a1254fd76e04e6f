"""Adapters change nothing until they learn, learn alone, and fold away."""

import copy
import json

import pytest
import torch
from torch import nn

from compress.models import Tied, encoder, perceptron
from multiway import compress
from multiway.compress import Adapted, LowRank, NdLinear, TensorTrain
from multiway.errors import ConfigError, RunError
from tolerances import assert_same

RULES = [NdLinear(), NdLinear(rank=2), TensorTrain(rank=2, num_cores=3), LowRank(rank=2)]


@pytest.fixture
def batch(generator):
    return torch.randn(64, 12, dtype=torch.float64, generator=generator)


def adapted(rule=RULES[1], **options):
    return compress.adapt(perceptron(), {".*": rule}, generator=torch.Generator().manual_seed(1), **options)


def train(model, batch, target, steps=60):
    optimiser = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=0.03)
    losses = []
    for _ in range(steps):
        loss = (model(batch) - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return losses


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_answers_are_the_same_to_the_bit_before_training(rule, batch):
    exact = perceptron()(batch)
    model = adapted(rule, dropout=0.5)
    assert torch.equal(model.eval()(batch), exact)
    assert torch.equal(model.train()(batch), exact)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_only_the_branches_learn_and_lower_the_loss(rule, batch):
    model = adapted(rule, dropout=0.0)
    dense = [copy.deepcopy(layer.dense.state_dict()) for layer in model if isinstance(layer, Adapted)]
    learning = {name for name, each in model.named_parameters() if each.requires_grad}
    assert learning == set(compress.adapter_state_dict(model)) and learning
    losses = train(model, batch, torch.sin(batch[:, :6]))
    assert losses[-1] < 0.8 * losses[0]
    after = [layer.dense.state_dict() for layer in model if isinstance(layer, Adapted)]
    assert all(torch.equal(old[name], new[name]) for old, new in zip(dense, after, strict=True) for name in old)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_merged_weights_answer_as_the_branches_did(rule, batch):
    model = adapted(rule, scale=1.5)
    train(model, batch, torch.sin(batch[:, :6]), steps=3)
    trained = model.eval()(batch)
    assert compress.merge_adapters(model) is model
    assert [type(layer) for layer in model] == [nn.Linear, nn.Tanh, nn.Linear]
    assert_same(model(batch), trained)
    assert not torch.equal(model[0].weight, perceptron()[0].weight)


def test_merging_gives_back_what_was_trainable():
    model = perceptron()
    model[0].requires_grad_(False)
    compress.merge_adapters(compress.adapt(model, {".*": NdLinear()}))
    assert [each.requires_grad for each in model.parameters()] == [False, False, True, True]


def test_taking_adapters_away_leaves_the_model_as_it_was(batch):
    model = adapted()
    train(model, batch, torch.sin(batch[:, :6]), steps=3)
    compress.remove_adapters(model)
    assert torch.equal(model(batch), perceptron()(batch))


def test_a_branch_is_scaled_and_counts_its_factors(batch):
    model = adapted(NdLinear(), scale=3.0)
    with torch.no_grad():
        model[0].branch.weights[1].fill_(0.1)
    weight = torch.kron(*model[0].branch.weights)
    assert_same(model[0](batch) if not model.training else model.eval()[0](batch),
                batch @ (model[0].dense.weight + 3 * weight).T + model[0].dense.bias)  # fmt: skip
    # 12 = 4 · 3 and 35 = 7 · 5, the most balanced factors
    assert sum(each.numel() for each in model[0].branch.parameters()) == 4 * 7 + 3 * 5


def test_dropout_thins_the_branchs_inputs_in_training_only(batch):
    model = adapted(LowRank(rank=2), dropout=0.5)
    with torch.no_grad():
        model[0].branch.up.fill_(1.0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        one, two = model.train()[0](batch), model[0](batch)
    assert not torch.equal(one, two)
    assert torch.equal(model.eval()[0](batch), model[0](batch))


def test_a_generator_decides_the_draw():
    one, two = (compress.adapter_state_dict(adapted()) for _ in range(2))
    assert all(torch.equal(one[name], two[name]) for name in one)
    state = torch.get_rng_state()
    adapted()
    assert torch.equal(torch.get_rng_state(), state)


def test_saved_branches_are_loaded_to_the_bit(batch, tmp_path):
    model = adapted(scale=2.0, dropout=0.1)
    train(model, batch, torch.sin(batch[:, :6]), steps=3)
    compress.save_adapters(model, tmp_path)
    loaded = compress.load_adapters(perceptron(), tmp_path)
    assert torch.equal(loaded.eval()(batch), model.eval()(batch))
    assert loaded[0].dropout.p == 0.1
    assert {name for name, each in loaded.named_parameters() if each.requires_grad} == set(
        compress.adapter_state_dict(model)
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["adapters.json", "adapters.safetensors"]


def test_branches_of_another_model_are_refused(tmp_path):
    compress.save_adapters(adapted(), tmp_path)
    other = nn.Sequential(nn.Linear(7, 35), nn.Tanh(), nn.Linear(35, 6))
    with pytest.raises(RunError, match="do not multiply to the layer's 7 inputs"):
        compress.load_adapters(other, tmp_path)
    assert type(other[0]) is nn.Linear and all(each.requires_grad for each in other.parameters())
    with pytest.raises(RunError, match=r"adapters.json does not fit this model"):
        compress.load_adapters(nn.Sequential(nn.Linear(12, 35)), tmp_path)
    (tmp_path / "adapters.safetensors").write_bytes(b"nonsense")
    with pytest.raises(RunError, match=r"adapters.safetensors cannot be used"):
        compress.load_adapters(perceptron(), tmp_path)
    with pytest.raises(RunError, match=r"adapters.json is missing"):
        compress.load_adapters(perceptron(), tmp_path / "absent")


@pytest.mark.parametrize("change", ["weight", "bias", "seed", "precision"])
def test_branches_of_other_weights_are_refused(change, tmp_path):
    compress.save_adapters(adapted(), tmp_path)
    other = perceptron(seed=change == "seed", dtype=torch.float32 if change == "precision" else torch.float64)
    with torch.no_grad():
        other.get_parameter(f"2.{'bias' if change == 'bias' else 'weight'}").view(-1)[0] += 1e-9
    with pytest.raises(RunError, match=r"[02] is of other weights than .* Load the model of the training, or set any_"):
        compress.load_adapters(other, tmp_path)
    assert type(other[0]) is nn.Linear and all(each.requires_grad for each in other.parameters())
    assert type(compress.load_adapters(other, tmp_path, any_base=True)[0]) is Adapted


def test_branches_without_a_hash_are_loaded_with_a_warning(tmp_path, batch):
    model = adapted()
    compress.save_adapters(model, tmp_path)
    stored = json.loads((tmp_path / "adapters.json").read_text())
    for entry in stored["layers"]:
        del entry["base_sha256"]
    (tmp_path / "adapters.json").write_text(json.dumps(stored))
    with pytest.warns(UserWarning, match="holds no hashes of its model: the adapters may be of another"):
        loaded = compress.load_adapters(perceptron(), tmp_path)
    assert torch.equal(loaded.eval()(batch), model.eval()(batch))


def test_encoders_call_their_adapters_in_evaluation(generator):
    model = compress.adapt(encoder(), {r".*linear\d": NdLinear()}, dropout=0.0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * parameter.requires_grad)
    x = torch.randn(2, 5, 12, generator=generator)
    slow = model.train()(x).detach()
    with torch.no_grad():
        torch.testing.assert_close(model.eval()(x), slow)
    compress.remove_adapters(model)
    assert model.use_nested_tensor and model.layers[0].activation_relu_or_gelu == 1


@pytest.mark.parametrize(
    ("model", "rules", "options", "message"),
    [
        (perceptron, {"0": LowRank()}, {}, "0: an adapter has no weight to measure errors of. Give LowRank a rank"),
        (perceptron, {"0": NdLinear(max_error=0.1)}, {}, "0: an adapter has no weight"),
        (perceptron, {"0": NdLinear()}, {"dropout": 1.0}, "dropout is a share from 0 to below 1. Got dropout=1.0"),
        (perceptron, {"fc": NdLinear()}, {}, "matches no module's whole name"),
        (Tied, {"head": NdLinear()}, {}, "its parameters are tied"),
        (adapted, {"0.dense": NdLinear()}, {}, "has adapters already. Merge them first"),
    ],
)
def test_adapters_that_cannot_be_are_refused_and_leave_no_trace(model, rules, options, message):
    built = model()
    before = [each.requires_grad for each in built.parameters()]
    with pytest.raises(ConfigError, match=message):
        compress.adapt(built, rules, **options)
    assert [each.requires_grad for each in built.parameters()] == before


@pytest.mark.parametrize("function", [compress.merge_adapters, compress.remove_adapters, compress.adapter_state_dict])
def test_a_model_without_adapters_says_so(function):
    with pytest.raises(ConfigError, match="this model has no adapters"):
        function(perceptron())
