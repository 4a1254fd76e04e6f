"""Hugging Face models, small and drawn at random: planned, compressed, stored and brought back."""

import logging

import pytest
import torch
from torch import nn

from multiway import compress, workflows
from multiway.compress import LowRank, NdLinear, TensorTrain
from multiway.errors import ConfigError, RunError
from multiway.nn import LowRankLinear

transformers = pytest.importorskip("transformers")
SIZES = {"vocab_size": 53, "num_attention_heads": 2, "num_hidden_layers": 2}


def bert():
    return transformers.BertForSequenceClassification(
        transformers.BertConfig(**SIZES, hidden_size=12, intermediate_size=35, max_position_embeddings=20)
    )


def vit():
    sizes = {"hidden_size": 12, "intermediate_size": 35, "image_size": 16, "patch_size": 8}
    return transformers.ViTForImageClassification(
        transformers.ViTConfig(**sizes, num_attention_heads=2, num_hidden_layers=2)
    )


def opt():
    sizes = {"hidden_size": 12, "word_embed_proj_dim": 12, "ffn_dim": 35, "max_position_embeddings": 20}
    return transformers.OPTForCausalLM(transformers.OPTConfig(**SIZES, **sizes))


def gpt2():
    sizes = {"n_embd": 12, "n_layer": 2, "n_head": 2, "n_positions": 20, "n_inner": 35}
    tokens = {"bos_token_id": 0, "eos_token_id": 0}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=53, **sizes, **tokens))


WORDS, IMAGES = "input_ids", "pixel_values"
MODELS = {
    "bert": (bert, {r".*\.(query|key|value)": LowRank(rank=3), r".*encoder.*dense": NdLinear(rank=2)}, WORDS, 12),
    "vit": (vit, {r"vit\..*layer.*": TensorTrain(rank=3)}, IMAGES, 12),
    "opt": (opt, {r".*fc[12]": NdLinear(), r".*_proj": LowRank(rank=3)}, WORDS, 12),
    "gpt2": (gpt2, {r".*\.(c_attn|c_fc|c_proj)": TensorTrain(rank=3)}, WORDS, 8),
}


@pytest.fixture(autouse=True)
def quiet():
    logging.getLogger("transformers").setLevel(logging.ERROR)
    transformers.utils.logging.disable_progress_bar()


@pytest.fixture(params=MODELS)
def case(request, generator):
    make, rules, name, count = MODELS[request.param]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = make().eval()
    words, images = torch.randint(0, 53, (3, 7), generator=generator), torch.randn(2, 3, 16, 16, generator=generator)
    return model, rules, {name: words if name == WORDS else images}, count


def logits(model, batch):
    with torch.no_grad():
        return model(**batch).logits


def test_a_model_is_planned_compressed_stored_and_undone(case, tmp_path):
    model, rules, batch, count = case
    exact = logits(model, batch)
    plan = compress.plan(model, rules, data=batch, measure=False)
    assert len(plan.layers) == count and not plan.refused
    assert plan.parameters[1] < plan.parameters[0]
    assert all(layer.output_error is not None for layer in plan.layers)
    small = plan.apply()
    assert torch.equal(logits(model, batch), exact)
    near = logits(small, batch)
    assert not torch.equal(near, exact)
    assert sum(each.numel() for each in small.parameters()) == plan.parameters[1]
    compress.save(small, tmp_path / "small")
    loaded = compress.load(tmp_path / "small")
    assert type(loaded) is type(model) and not loaded.training
    assert torch.equal(logits(loaded, batch), near)
    torch.testing.assert_close(logits(compress.undo(loaded), batch), near)
    assert torch.equal(logits(compress.undo(small), batch), exact)
    assert [type(each) for each in loaded.modules()] == [type(each) for each in model.modules()]


def test_a_model_is_loaded_in_the_precision_that_it_was_saved_in(tmp_path):
    model = bert().bfloat16()
    model.bert.pooler.dense.float()
    compress.save(compress.plan(model, {".*query": LowRank(rank=2)}, measure=False).apply(), tmp_path)
    loaded = compress.load(tmp_path)
    assert {name for name, each in loaded.named_parameters() if each.dtype is torch.float32} == {
        "bert.pooler.dense.weight", "bert.pooler.dense.bias"
    }  # fmt: skip
    assert loaded.bert.encoder.layer[0].attention.self.query.up.dtype is torch.bfloat16


def test_a_transposed_layer_is_approximated_as_its_transpose(generator):
    layer = transformers.pytorch_utils.Conv1D(35, 12)
    with torch.no_grad():
        layer.weight.normal_(generator=generator), layer.bias.normal_(generator=generator)
        layer.weight[:, 2:] = layer.weight[:, :2] @ torch.randn(2, 33, generator=generator)
    small = compress.plan(nn.Sequential(layer), {"0": LowRank(rank=2)}, measure=False).apply()
    x = torch.randn(2, 3, 12, generator=generator)
    assert type(small[0]) is LowRankLinear
    torch.testing.assert_close(small(x), layer(x))
    back = compress.undo(small, originals=False)[0]
    assert type(back) is type(layer) and back.weight.shape == (12, 35)
    torch.testing.assert_close(back(x), layer(x))


def test_adapters_on_a_transposed_layer_merge_into_it(case, generator):
    model, rules, batch, _ = case
    exact = logits(model, batch)
    model = compress.adapt(model, {pattern: NdLinear(rank=2) for pattern in rules}, dropout=0.0, generator=generator)
    assert torch.equal(logits(model, batch), exact)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    tuned = logits(model, batch)
    assert not torch.allclose(tuned, exact)
    torch.testing.assert_close(logits(compress.merge_adapters(model), batch), tuned)


@pytest.mark.parametrize("make", [opt, gpt2])
def test_a_head_tied_to_the_embedding_is_refused_with_both_names(make):
    with pytest.raises(
        ConfigError, match=r"tied: .*(embed_tokens|wte)\.weight and lm_head\.weight are the same tensor"
    ):
        compress.plan(make(), {"lm_head": LowRank(rank=1)})


def test_a_model_whose_code_asks_for_a_layers_weight_keeps_that_layer():
    config = transformers.T5Config(d_model=12, d_ff=35, num_layers=1, num_heads=2, d_kv=6, vocab_size=53)
    words = torch.zeros(1, 3, dtype=torch.long)
    with pytest.raises(ConfigError, match="reads its weight, so that a swap would break it"):
        compress.plan(
            transformers.T5Model(config),
            {r".*\.wo": LowRank(rank=2)},
            data={"input_ids": words, "decoder_input_ids": words},
            measure=False,
        )


@pytest.fixture
def folder(tmp_path):
    bert().save_pretrained(tmp_path / "bert")
    (tmp_path / "bert" / "vocab.txt").write_text("a\nb\n")
    return tmp_path / "bert"


def test_a_folder_is_compressed_next_to_what_else_it_holds(folder, tmp_path):
    rules = {r".*dense": LowRank()}
    plan = compress.compress_pretrained(folder, rules, max_parameters=0.9, out=tmp_path / "small")
    assert plan.parameters[1] <= 0.9 * plan.parameters[0]
    names = {path.name for path in (tmp_path / "small").iterdir()}
    assert names == {"weights.safetensors", "compression.json", "config.json", "vocab.txt"}
    loaded = compress.load(tmp_path / "small")
    assert sum(each.numel() for each in loaded.parameters()) == plan.parameters[1]
    repeated = compress.compress_pretrained(tmp_path / "small", {r".*query": LowRank(rank=1)})
    assert repeated.parameters[0] == plan.parameters[1]
    with pytest.raises(RunError, match=r"small exists already. Set out to another folder"):
        compress.compress_pretrained(folder, rules, max_parameters=0.9, out=tmp_path / "small")


def test_a_folder_without_a_model_says_so(folder, tmp_path):
    with pytest.raises(RunError, match=r"holds no model: neither config.yaml of a run nor config.json of Hugging Face"):
        compress.compress_pretrained(tmp_path, {".*": NdLinear()})
    (folder / "model.safetensors").unlink()
    with pytest.raises(RunError, match="bert cannot be read by transformers") as caught:
        compress.compress_pretrained(folder, {".*": NdLinear()})
    assert "\n" not in str(caught.value)
    (folder / "config.json").write_text('{"architectures": ["Trainer"]}')
    with pytest.raises(RunError, match=r"config.json: transformers knows no model Trainer"):
        compress.compress_pretrained(folder, {".*": NdLinear()})


@pytest.mark.parametrize("how", ["finetune", "distil"])
def test_a_recovery_of_a_folder_without_data_is_refused_with_the_call_that_does_it(how, tmp_path):
    with pytest.raises(ConfigError, match=r"compress\.finetune\(compress\.load\(OUT\), batches, loss\)"):
        workflows.compress(tmp_path, [".*=lowrank"], **{how: 3})


def test_without_transformers_one_line_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(RunError, match=r"this model needs transformers. Install it: pip install transformers"):
        compress.compress_pretrained(folder, {".*": NdLinear()})
