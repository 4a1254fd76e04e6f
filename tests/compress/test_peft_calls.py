"""Calls of PEFT and transformers that would take branches for LoRA, or pass them over: done exactly, or refused."""

import json

import pytest
import torch
from torch import nn

import children

peft = pytest.importorskip("peft", reason="peft is not installed (pip install 'multiway[peft]')")

from safetensors.torch import load_file, save_file  # noqa: E402

from multiway import nn as mw  # noqa: E402
from multiway.errors import ConfigError, MultiwayWarning  # noqa: E402
from multiway.peft import AdapterConfig  # noqa: E402

WEIGHTS = "adapter_model.safetensors"


def network() -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(16, 24), nn.Tanh(), nn.Linear(24, 16))


def draw(model, seed: int = 1):
    """Fill what learns, as training would."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.normal_(0, 0.5, generator=generator)
    return model.eval()


def tuned(net=None, *, name: str = "default", **settings):
    config = AdapterConfig(**{"r": 2, "target_modules": ["0", "2"]} | settings)
    return draw(peft.get_peft_model(net or network(), config, adapter_name=name))


@pytest.fixture
def x(generator):
    return torch.randn(5, 16, generator=generator)


class Tied(nn.Module):
    """A head with the weight of the embedding."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(24, 16), nn.Linear(16, 24, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, words):
        return self.head(self.embed(words))


@pytest.mark.parametrize("config", [AdapterConfig, peft.LoKrConfig])
@pytest.mark.parametrize("merge", ["merge_and_unload", "merge_adapter"])
def test_merging_into_a_weight_of_two_layers_is_refused(config, merge):
    model = draw(peft.get_peft_model(Tied(), config(r=2, target_modules=["head"])))
    words = torch.arange(24)
    wanted, before = model(words), model.base_model.model.embed.weight.clone()
    with pytest.raises(ConfigError, match=r"head is tied to embed\.weight, which merging would change too\. Keep the"):
        getattr(model, merge)()
    assert torch.equal(model(words), wanted) and torch.equal(model.base_model.model.embed.weight, before)
    alone = model.base_model.model.head.base_layer
    alone.weight = nn.Parameter(alone.weight.detach().clone(), requires_grad=False)
    assert torch.allclose(model.merge_and_unload()(words), wanted, atol=1e-5)


@pytest.mark.parametrize("kind", ["linear", "cat", "svd", "ties"])
def test_a_weighted_sum_is_refused(kind):
    model = tuned()
    model.add_adapter("b", AdapterConfig(r=2, target_modules=["0"]))
    with pytest.raises(ConfigError, match="convert_to_lora first"):
        model.add_weighted_adapter(["default", "b"], [0.5, 0.5], "c", combination_type=kind)
    assert "c" not in model.peft_config


def test_a_weighted_sum_of_loras_is_pefts_own(x):
    model = draw(peft.get_peft_model(network(), peft.LoraConfig(r=2, target_modules=["0"])))
    model.add_weighted_adapter(["default"], [0.5], "less", combination_type="linear")
    whole = model.base_model.model[0].get_delta_weight("default")
    torch.testing.assert_close(model.base_model.model[0].get_delta_weight("less"), whole / 2)


@pytest.mark.parametrize("name", ["default", "b"])
@pytest.mark.parametrize("layer", ["nd_linear", "tensor_train"])
def test_an_adapter_is_read_under_any_name(name, layer, x, tmp_path):
    model = tuned(name=name, multiway_layer=layer)
    model.save_pretrained(tmp_path)
    folder = tmp_path if name == "default" else tmp_path / name
    for other in ("default", "b", "weights"):
        loaded = peft.PeftModel.from_pretrained(network(), folder, adapter_name=other)
        assert torch.equal(loaded(x), model(x))


def test_a_file_with_the_name_of_its_adapter_is_read(x, tmp_path):
    model = tuned()
    model.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / WEIGHTS)
    assert "base_model.model.0.lora_branch.weights.0" in tensors
    save_file(
        {key.replace("lora_branch", "lora_branch.default"): one for key, one in tensors.items()}, tmp_path / WEIGHTS
    )
    settings = json.loads((tmp_path / "adapter_config.json").read_text())
    (tmp_path / "adapter_config.json").write_text(json.dumps(settings | {"init_lora_weights": True}))
    assert torch.equal(peft.PeftModel.from_pretrained(network(), tmp_path)(x), model(x))


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.*:FutureWarning")
def test_a_model_of_transformers_loads_an_adapter_itself(tmp_path):
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}

    def base():
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return BertModel(BertConfig(vocab_size=50, **sizes)).eval()

    model, ids = tuned(base(), target_modules=["query", "value"]), torch.arange(12).view(2, 6)
    model.save_pretrained(tmp_path)
    loaded = base()
    loaded.load_adapter(tmp_path)
    assert torch.equal(loaded(ids)[0], model(ids)[0])
    assert torch.equal(peft.PeftModel.from_pretrained(base(), tmp_path)(ids)[0], model(ids)[0])
    assert not torch.allclose(loaded(ids)[0], base()(ids)[0])


@pytest.mark.parametrize("start", [True, False])
def test_a_saved_config_is_no_lora(start, tmp_path):
    config = AdapterConfig(r=2, target_modules=["0"], init_lora_weights=start)
    config.save_pretrained(tmp_path)
    assert isinstance(json.loads((tmp_path / "adapter_config.json").read_text())["init_lora_weights"], str)
    for kind in (AdapterConfig, peft.PeftConfig):
        assert kind.from_pretrained(tmp_path).init_lora_weights is start


WITHOUT_US = """
import peft
from torch import nn
peft.PeftModel.from_pretrained(nn.Sequential(nn.Linear(16, 24), nn.Tanh(), nn.Linear(24, 16)), "adapter")
"""


@pytest.mark.slow
def test_without_the_import_a_saved_adapter_is_an_error(tmp_path):
    tuned().save_pretrained(tmp_path / "adapter")
    ended = children.run_program(WITHOUT_US, tmp_path)
    assert ended.returncode and "Unknown initialization init_lora_weights='multiway'" in ended.stderr


def test_layers_that_would_get_pefts_own_lora_are_refused():
    lora = peft.get_peft_model(network(), peft.LoraConfig(r=2, target_modules=["0"]))
    with pytest.raises(ConfigError, match="0 has a LoRA"):
        lora.add_adapter("nd", AdapterConfig(r=2, target_modules=["0"]))
    for layer, kind in ((nn.Conv2d(3, 4, 3), "Conv2d"), (nn.Embedding(7, 4), "Embedding")):
        with pytest.raises(ConfigError, match=f"0 is a {kind}, and these branches are for dense layers"):
            peft.get_peft_model(nn.Sequential(layer), AdapterConfig(r=2, target_modules=["0"]))


def test_an_adapter_is_loaded_without_memory_for_its_draws(x, tmp_path):
    model = tuned()
    model.save_pretrained(tmp_path)
    loaded = peft.PeftModel.from_pretrained(network(), tmp_path, low_cpu_mem_usage=True)
    assert torch.equal(loaded(x), model(x))
    compact = nn.Sequential(mw.TTLinear((4, 4), (2, 4), tt_ranks=2)).double()
    small = tuned(compact, target_modules=["0"])
    small.save_pretrained(tmp_path / "small")
    fresh = nn.Sequential(compact[0].get_base_layer())
    loaded = peft.PeftModel.from_pretrained(fresh, tmp_path / "small", low_cpu_mem_usage=True)
    assert torch.equal(loaded(x.double()), small(x.double()))


@pytest.mark.parametrize(
    ("sizes", "rank", "counts"), [((61, 67), 2, ("8,176", "4,087")), ((64, 256), 500, ("128,000", "16,384"))]
)
def test_an_adapter_larger_than_its_layer_is_said(sizes, rank, counts):
    message = f"the adapter of 0 has {counts[0]} parameters, and a dense weight there {counts[1]}"
    with pytest.warns(MultiwayWarning, match=message):
        peft.get_peft_model(nn.Sequential(nn.Linear(*sizes)), AdapterConfig(r=rank, target_modules=["0"]))
