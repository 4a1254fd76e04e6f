"""A model goes to the hub by its name and fields, and comes back the same; the hub is a local folder."""

import json

import pytest
import torch

import multiway as mw
from multiway import compress
from multiway.errors import ConfigError, RunError

FIELDS = {
    "tabular_mlp": {"in_features": 5, "num_outputs": 3, "hidden": (8,)},
    "hot_forecaster": {"num_variates": 3, "lookback": 32, "horizon": 5, "dim": 8, "num_heads": 2, "num_blocks": 1},
    "causal_transformer": {"vocabulary": 13, "context": 7, "dim": 8, "num_heads": 2, "num_blocks": 1},
}
"""The last has one tensor under two names: what turns tokens into vectors, and back."""


def inputs(name):
    rows = torch.randn(2, *{"tabular_mlp": (5,), "hot_forecaster": (32, 3)}.get(name, (1,)))
    return torch.tensor([[3, 11, 5], [2, 2, 7]]) if name == "causal_transformer" else rows


@pytest.mark.parametrize("name", FIELDS)
def test_a_model_comes_back_from_its_name_and_fields(name, hub):
    torch.manual_seed(3)
    model, x = mw.create_model(name, **FIELDS[name]).eval(), inputs(name)
    mw.push_to_hub(model, f"me/{name}", scores={"accuracy": 0.75})
    loaded = mw.from_pretrained(f"me/{name}")
    assert torch.equal(loaded(x), model(x)) and not loaded.training
    card = (hub / "me" / name / "README.md").read_text()
    assert f"# {name}\n" in card and "| accuracy | 0.75 |" in card and "`from_pretrained`" in card
    assert {path.suffix for path in (hub / "me" / name).iterdir()} == {".safetensors", ".json", ".md"}


def test_a_compressed_model_needs_no_dense_one_and_leaves_no_swaps_behind(tmp_path):
    dense = mw.create_model("tabular_mlp", in_features=5, num_outputs=3, hidden=(8,)).double().eval()
    x = torch.randn(2, 5, dtype=torch.float64)
    small = compress.plan(dense, {".*": compress.LowRank(rank=1)}, measure=False).apply(inplace=False)
    mw.save_pretrained(small, tmp_path / "model")
    assert "layers swapped" in (tmp_path / "model" / "README.md").read_text()
    assert torch.equal(mw.from_pretrained(tmp_path / "model")(x), small(x))
    mw.save_pretrained(dense, tmp_path / "model")
    assert torch.equal(mw.from_pretrained(tmp_path / "model")(x), dense(x))


def test_a_compiled_model_is_saved_as_itself_and_one_with_adapters_is_not(tmp_path):
    model = mw.create_model("tabular_mlp", in_features=5, num_outputs=3, hidden=(8,)).eval()
    mw.save_pretrained(torch.compile(model, backend="eager"), tmp_path / "model")
    x = torch.randn(2, 5)
    assert torch.equal(mw.from_pretrained(tmp_path / "model")(x), model(x))
    adapted = compress.adapt(model, {"head": compress.LowRank(rank=1)})
    with pytest.raises(ConfigError, match=r"save: this model has adapters\. Merge them first, or write them alone by"):
        mw.save_pretrained(adapted, tmp_path / "adapted")
    assert not (tmp_path / "adapted").exists()


def test_what_is_no_saved_model_is_refused_in_a_line(tmp_path):
    with pytest.raises(ConfigError, match="Linear is no model that create_model built"):
        mw.save_pretrained(torch.nn.Linear(2, 3), tmp_path / "linear")
    assert not (tmp_path / "linear").exists()
    folder = tmp_path / "model"
    mw.save_pretrained(mw.create_model("tabular_mlp", in_features=5, num_outputs=3), folder)
    (folder / "weights.safetensors").write_bytes(b"other")
    with pytest.raises(RunError, match="does not belong to config"):
        mw.from_pretrained(folder)
    (folder / "config.json").write_text(json.dumps({"format": 1}))
    with pytest.raises(RunError, match="holds no model of save_pretrained"):
        mw.from_pretrained(folder)
