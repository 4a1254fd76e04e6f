"""torch's joined attention opened into layers: the same answers, smaller projections, and everything put back."""

import copy

import pytest
import torch
from torch import nn

from compress.models import encoder
from multiway import compress
from multiway.compress import LowRank
from multiway.compress.attentions import OpenAttention, open_attentions
from multiway.errors import ConfigError, RunError
from multiway.nn import LowRankLinear
from tolerances import LONG32, assert_same

HEADS, DIM = 2, 6


def attention(**options):
    return nn.MultiheadAttention(DIM, HEADS, dtype=torch.float64, **options)


def drawn(generator, *sizes):
    return torch.randn(*sizes, dtype=torch.float64, generator=generator)


def planned(model, rules, **options):
    return compress.plan(model, rules, measure=False, **options)


@pytest.fixture
def inputs(generator):
    return drawn(generator, 3, 5, DIM), drawn(generator, 3, 7, DIM)


def masks(generator):
    """Of both kinds and shapes; a padding of truths and one of numbers."""
    padding = torch.arange(7) >= torch.tensor([7, 4, 6])[:, None]
    return {
        "none": {},
        "causal": {"attn_mask": torch.ones(5, 7, dtype=torch.bool).triu(1), "is_causal": True},
        "per head": {"attn_mask": drawn(generator, 3 * HEADS, 5, 7)},
        "padding": {"key_padding_mask": padding},
        "both": {"attn_mask": drawn(generator, 5, 7), "key_padding_mask": drawn(generator, 3, 7)},
        "each head's": {"average_attn_weights": False},
    }


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_an_open_attention_answers_as_torchs(need_weights, batch_first, bias, inputs, generator):
    model = attention(batch_first=batch_first, bias=bias)
    query, key = inputs if batch_first else (each.transpose(0, 1) for each in inputs)
    for name, options in masks(generator).items():
        expected = model(query, key, key.sin(), need_weights=need_weights, **options)
        with open_attentions(model):
            assert type(model) is OpenAttention
            found = model(query, key, key.sin(), need_weights=need_weights, **options)
        assert_same(found[0], expected[0])
        assert (found[1] is None) is (expected[1] is None) is not need_weights, name
        if need_weights:
            assert_same(found[1], expected[1])


def test_one_sample_without_a_batch_is_attended_to_as_torch_does(inputs):
    model, (query, key) = attention(), (each[0] for each in inputs)
    expected = model(query, key, key)
    with open_attentions(model):
        found = model(query, key, key)
        with pytest.raises(ConfigError, match=r"is_causal is a hint on attn_mask\. Give the mask"):
            model(query, key, key, is_causal=True)
    for left, right in zip(found, expected, strict=True):
        assert_same(left, right)


def test_opening_leaves_the_same_parameters_behind():
    model = encoder().eval()
    state, owned = copy.deepcopy(model.state_dict()), [id(each) for each in model.parameters()]
    with open_attentions(model):
        assert not model.use_nested_tensor and "layers.1.self_attn.in_proj.weight" in model.state_dict()
    assert [id(each) for each in model.parameters()] == owned and model.use_nested_tensor
    assert model.state_dict().keys() == state.keys() and type(model.layers[0].self_attn) is nn.MultiheadAttention


def test_dropped_weights_are_dropped_in_training_only(inputs):
    model, (query, _) = attention(dropout=0.5), inputs
    with open_attentions(model):
        assert not torch.equal(model(query, query, query)[0], model(query, query, query)[0])
        model.eval()
        assert torch.equal(model(query, query, query)[0], model(query, query, query)[0])


EVERY = {".*": LowRank(rank=2)}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")  # of torch's own packed path
@pytest.mark.parametrize("norm_first", [False, True])
def test_all_projections_of_an_encoder_are_compressed_saved_loaded_and_undone(norm_first, tmp_path, generator):
    model = encoder(norm_first=norm_first).eval()
    x = torch.randn(3, 5, 12, generator=generator)
    padding = torch.arange(5) >= torch.tensor([5, 3, 4])[:, None]
    with torch.no_grad():
        exact = model(x, src_key_padding_mask=padding)
        plan = planned(model, EVERY, data={"src": x, "src_key_padding_mask": padding})
        assert torch.equal(model(x, src_key_padding_mask=padding), exact)
        names = {layer.name for layer in plan.layers}
        assert {"layers.0.self_attn.in_proj", "layers.1.self_attn.out_proj"} < names and len(names) == 8
        assert not plan.refused and all(layer.output_error > 0 for layer in plan.layers)
        small = plan.apply()
        assert type(model.layers[0].self_attn) is nn.MultiheadAttention
        assert torch.equal(model(x, src_key_padding_mask=padding), exact)
        near = small(x, src_key_padding_mask=padding)
        joined = small.layers[0].self_attn.in_proj
        assert isinstance(joined, LowRankLinear) and joined.up.shape == (36, 2)
        assert sum(each.numel() for each in small.parameters()) == plan.parameters[1]
        compress.save(small, tmp_path)
        loaded = compress.load(tmp_path, model=encoder(norm_first=norm_first).eval())
        assert torch.equal(loaded(x, src_key_padding_mask=padding), near)
        dense = compress.undo(loaded)
        assert type(dense.layers[0].self_attn) is nn.MultiheadAttention
        real = ~padding  # the fused path, which is back, leaves zeros in the place of padding
        torch.testing.assert_close(dense(x, src_key_padding_mask=padding)[real], near[real], rtol=LONG32, atol=LONG32)
        assert torch.equal(compress.undo(small)(x, src_key_padding_mask=padding), exact)
        assert small.state_dict().keys() == model.state_dict().keys()


def test_a_compressed_projection_equals_the_dense_one_that_undo_makes(inputs):
    query, key = inputs
    small = planned(attention(batch_first=True), {"in_proj": LowRank(rank=2)}).apply(keep_originals=False)
    near = small(query, key, key)
    dense = compress.undo(small)
    assert type(dense) is nn.MultiheadAttention and torch.linalg.matrix_rank(dense.in_proj_weight) == 2
    assert_same(dense(query, key, key)[0], near[0])


def test_an_attention_that_no_rule_matches_stays_closed():
    model = encoder()
    rules = {r".*linear\d": LowRank(rank=2), r"layers\.0\..*out_proj": LowRank(rank=2)}
    small = planned(model, rules).apply()
    kinds = [type(layer.self_attn) for layer in small.layers]
    assert kinds == [OpenAttention, nn.MultiheadAttention]
    assert small.layers[0].self_attn.in_proj.weight is not model.layers[0].self_attn.in_proj_weight
    assert torch.equal(small.layers[0].self_attn.in_proj.weight, model.layers[0].self_attn.in_proj_weight)


def test_in_place_changes_the_model_itself_and_later_changes_are_seen():
    model = encoder()
    plan = planned(model, {r".*in_proj": LowRank(rank=2)})
    late = planned(model, {r".*in_proj": LowRank(rank=2)})
    assert plan.apply(inplace=True) is model and type(model.layers[1].self_attn) is OpenAttention
    with pytest.raises(ConfigError, match=r"layers\.0\.self_attn\.in_proj changed since the plan was made"):
        late.apply()


def test_a_decoder_learns_with_smaller_projections(generator):
    model = nn.TransformerDecoder(nn.TransformerDecoderLayer(DIM, HEADS, 7, dropout=0.0, batch_first=True), 1)
    small = planned(model, {r".*in_proj": LowRank(rank=2)}).apply()
    target, memory = torch.randn(3, 5, DIM, generator=generator), torch.randn(3, 7, DIM, generator=generator)
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    small(target, memory, tgt_mask=causal, tgt_is_causal=True).square().sum().backward()
    for name in ("self_attn", "multihead_attn"):
        assert all(float(each.grad.abs().sum()) > 0 for each in getattr(small.layers[0], name).in_proj.parameters())


def test_a_compressed_encoder_compiles_whole(generator):
    small = planned(encoder(), {r".*in_proj": LowRank(rank=2)}).apply().eval()
    x = torch.randn(3, 5, 12, generator=generator)
    compiled = torch.compile(small, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x), small(x))


class Reading(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend, self.fc = nn.MultiheadAttention(12, 2), nn.Linear(12, 12)

    def forward(self, x):
        return self.fc(x @ self.attend.in_proj_weight.mT[:, :12])


@pytest.mark.parametrize(
    "make", [Reading, lambda: nn.ModuleDict({"attend": nn.MultiheadAttention(12, 2, kdim=5), "fc": nn.Linear(12, 12)})]
)
def test_an_attention_that_cannot_be_opened_is_refused_with_its_reason(make):
    plan = planned(make(), EVERY)
    reasons = {each.name: each.reason for each in plan.refused}
    assert [layer.name for layer in plan.layers] == ["fc"] and list(reasons) == ["attend", "attend.out_proj"]
    assert "(in_proj) are parameters and no layers" in reasons["attend"]
    assert type(plan.apply().get_submodule("attend")) is nn.MultiheadAttention


def test_a_pattern_for_the_attention_itself_names_its_layers():
    with pytest.raises(ConfigError, match="attend: its layers are in_proj and out_proj"):
        planned(nn.ModuleDict({"attend": attention()}), {"attend": LowRank(rank=1)})


@pytest.fixture
def adapted_encoder(generator):
    """An encoder with branches on every layer, whose zero factors hold numbers as after training."""
    model = compress.adapt(encoder(), EVERY, dropout=0.0, generator=generator).eval()
    with torch.no_grad():
        for each in compress.adapter_state_dict(model).values():
            each.add_(torch.randn(each.shape, generator=generator), alpha=0.1)
    return model


def test_adapters_of_joined_projections_change_nothing_at_first_and_then_learn(generator):
    model = compress.adapt(encoder(), {r".*(in|out)_proj": LowRank(rank=2)}, dropout=0.0, generator=generator)
    x = torch.randn(3, 5, 12, generator=generator)
    torch.testing.assert_close(model(x), encoder()(x), rtol=LONG32, atol=LONG32)
    model(x).square().sum().backward()
    learning = {name for name, each in model.named_parameters() if each.grad is not None}
    assert learning == set(compress.adapter_state_dict(model))
    assert {name.split(".")[3] for name in learning} == {"in_proj", "out_proj"}


def test_merged_adapters_are_in_torchs_joined_parameter(adapted_encoder, generator):
    x = torch.randn(3, 5, 12, generator=generator)
    branch = adapted_encoder.layers[0].self_attn.in_proj.branch
    expected = encoder().layers[0].self_attn.in_proj_weight + branch.dense_weight()
    near = adapted_encoder(x)
    merged = compress.merge_adapters(adapted_encoder)
    assert type(merged.layers[0].self_attn) is nn.MultiheadAttention and merged.use_nested_tensor
    assert torch.equal(merged.layers[0].self_attn.in_proj_weight, expected)
    torch.testing.assert_close(merged(x), near, rtol=LONG32, atol=LONG32)


def test_adapters_of_joined_projections_are_saved_loaded_and_taken_away(adapted_encoder, tmp_path, generator):
    x = torch.randn(3, 5, 12, generator=generator)
    compress.save_adapters(adapted_encoder, tmp_path)
    loaded = compress.load_adapters(encoder().eval(), tmp_path)
    assert torch.equal(loaded(x), adapted_encoder(x))
    bare = compress.remove_adapters(loaded)
    assert bare.state_dict().keys() == encoder().state_dict().keys()
    assert torch.equal(bare(x), encoder().eval()(x)) and all(each.requires_grad for each in bare.parameters())
    with pytest.raises(RunError, match="in_proj is of other weights"):
        bare.layers[0].self_attn.in_proj_weight.data.add_(1)
        compress.load_adapters(bare, tmp_path)
    assert type(bare.layers[0].self_attn) is nn.MultiheadAttention
