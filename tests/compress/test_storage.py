"""A compressed model survives the disk; what is damaged or of another model says so."""

import json

import pytest
import torch
from torch import nn

from compress.models import Shared, Tied, encoder, perceptron
from multiway import compress, files
from multiway.compress import LowRank, NdLinear, TensorTrain, storage
from multiway.errors import ConfigError, RunError

RULES = {"0": TensorTrain(rank=3, num_cores=3), "2": NdLinear(rank=2)}


@pytest.fixture
def small():
    return compress.plan(perceptron(), RULES, measure=False).apply()


@pytest.fixture
def folder(small, tmp_path):
    compress.save(small, tmp_path / "small")
    return tmp_path / "small"


def edit(folder, change):
    path = folder / "compression.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_a_saved_model_is_loaded_to_the_bit(small, folder, generator):
    loaded = compress.load(folder, perceptron(seed=1))
    x = torch.randn(5, 12, dtype=torch.float64, generator=generator)
    assert torch.equal(loaded(x), small(x))
    assert loaded[2].approximation.error == small[2].approximation.error
    assert sorted(path.name for path in folder.iterdir()) == ["compression.json", "weights.safetensors"]


@pytest.mark.parametrize("rule", [LowRank(rank=2), NdLinear(), NdLinear(rank=3), TensorTrain(rank=2)], ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_every_kind_is_stored(rule, bias, tmp_path, generator):
    dense = nn.Sequential(nn.Linear(12, 35, bias=bias))
    small = compress.plan(dense, {"0": rule}, measure=False).apply()
    compress.save(small, tmp_path)
    loaded = compress.load(tmp_path, nn.Sequential(nn.Linear(12, 35, bias=bias)))
    x = torch.randn(5, 12, generator=generator)
    assert type(loaded[0]) is type(small[0]) and torch.equal(loaded(x), small(x))


def test_a_loaded_model_is_undone_by_materialising(small, folder, generator):
    loaded = compress.undo(compress.load(folder, perceptron(seed=1)))
    x = torch.randn(5, 12, dtype=torch.float64, generator=generator)
    torch.testing.assert_close(loaded(x), small(x))
    assert type(loaded[0]) is nn.Linear


def test_tied_and_shared_weights_are_written_once(tmp_path, generator):
    from safetensors.torch import load_file

    small = compress.plan(Tied(), {"body": LowRank(rank=2)}, measure=False).apply()
    compress.save(small, tmp_path / "tied")
    assert "head.weight" not in load_file(tmp_path / "tied" / "weights.safetensors")
    loaded = compress.load(tmp_path / "tied", Tied())
    x = torch.randint(0, 35, (3, 4), generator=generator)
    assert torch.equal(loaded(x), small(x)) and loaded.head.weight is loaded.embed.weight
    shared = compress.plan(Shared(), {"first": LowRank(rank=2)}, measure=False).apply()
    compress.save(shared, tmp_path / "shared")
    loaded = compress.load(tmp_path / "shared", Shared())
    assert loaded.first is loaded.second and torch.equal(loaded.first.up, shared.first.up)


def test_an_encoder_leaves_its_fused_path_after_loading(tmp_path, generator):
    small = compress.plan(encoder(), {r".*linear1": TensorTrain(rank=2)}, measure=False).apply().eval()
    compress.save(small, tmp_path)
    loaded = compress.load(tmp_path, encoder()).eval()
    x = torch.randn(2, 5, 12, generator=generator)
    with torch.no_grad():
        assert torch.equal(loaded(x), small(x))


def test_a_second_save_replaces_the_files(small, folder):
    with torch.no_grad():
        small[0].bias.add_(1)
    compress.save(small, folder)
    assert torch.equal(compress.load(folder, perceptron())[0].bias, small[0].bias)


def test_a_second_save_is_seen_when_it_is_whole(small, folder, monkeypatch):
    (folder / "notes").mkdir()
    (folder / "notes" / "mine.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    small[0].bias.data += 1
    with monkeypatch.context() as broken:
        broken.setattr(storage, "write_swaps", lambda *words, **facts: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            compress.save(small, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    compress.save(small, folder)
    assert torch.equal(compress.load(folder, perceptron())[0].bias, small[0].bias)
    assert (folder / "notes" / "mine.txt").read_text() == "mine"
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_a_folder_in_which_work_is_done_stays_the_same_folder(small, folder, monkeypatch):
    monkeypatch.chdir(folder)
    small[0].bias.data += 1
    compress.save(small, ".")
    assert torch.equal(compress.load(".", perceptron())[0].bias, small[0].bias)


def test_a_compiled_model_is_saved_as_itself_and_one_with_adapters_is_not(small, tmp_path):
    compress.save_pretrained(torch.compile(small, backend="eager"), tmp_path / "compiled")
    compress.save(small, tmp_path / "plain")
    written = [files.sha256_of(tmp_path / name / "weights.safetensors") for name in ("compiled", "plain")]
    assert written[0] == written[1]
    inner = nn.ModuleDict({"part": compress.adapt(nn.Sequential(nn.Linear(4, 4)), {"0": LowRank(rank=1)})})
    small.add_module("adapted", inner)
    with pytest.raises(ConfigError, match=r"save: this model has adapters\. Merge them first"):
        compress.save(small, tmp_path / "adapted")
    assert not (tmp_path / "adapted").exists()


def test_a_dense_model_is_not_saved(tmp_path):
    with pytest.raises(ConfigError, match="nothing was swapped in this model"):
        compress.save(perceptron(), tmp_path / "dense")
    assert not (tmp_path / "dense").exists()


def test_without_a_config_a_model_must_be_given(folder):
    with pytest.raises(RunError, match=r"holds no config.json to build a model from. Give a dense one"):
        compress.load(folder)


def test_a_missing_file_is_named(folder, tmp_path):
    with pytest.raises(RunError, match=r"compression.json is missing. Point at a folder that compress.save wrote"):
        compress.load(tmp_path / "absent", perceptron())
    (folder / "weights.safetensors").unlink()
    with pytest.raises(RunError, match=r"weights.safetensors is missing"):
        compress.load(folder, perceptron())


def test_other_weights_are_noticed(folder):
    weights = folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x00")
    with pytest.raises(RunError, match=r"weights.safetensors does not belong to compression.json next to it"):
        compress.load(folder, perceptron())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format=9), "of a format that this version cannot read"),
        (lambda c: c["layers"][0].update(kind="ring"), "there is no kind of layer 'ring'"),
        (lambda c: c["layers"][0].pop("tt_ranks"), "holds no compression that this version can read .'tt_ranks'"),
        (lambda c: c["layers"][0].update(in_sizes=[2, 2, 2]), "do not multiply to the layer's 12 inputs and 35"),
        (lambda c: c["layers"][0].update(names=["absent"]), "holds no compression that this version can read"),
        (lambda c: c["layers"][0].update(dense="Conv1D"), "0 is Linear in this model and was Conv1D"),
        (lambda c: c["layers"][1].update(rank=3), "weights.safetensors cannot be used"),
        (lambda c: c.pop("layers"), "holds no compression that this version can read"),
        (lambda c: c.update(layers=3), "holds no compression that this version can read"),
    ],
)
def test_a_damaged_description_is_one_line(change, message, folder):
    edit(folder, change)
    with pytest.raises(RunError, match=message) as caught:
        compress.load(folder, perceptron())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_what_is_no_description_is_refused(text, folder):
    (folder / "compression.json").write_text(text)
    with pytest.raises(RunError, match=r"cannot be read|format that this version cannot read"):
        compress.load(folder, perceptron())


def test_a_model_of_another_architecture_is_refused(folder):
    with pytest.raises(RunError, match="do not multiply to the layer's 7 inputs"):
        compress.load(folder, nn.Sequential(nn.Linear(7, 35), nn.Tanh(), nn.Linear(35, 6)))
    with pytest.raises(RunError, match=r"0 is Tanh in this model and was Linear. Give a dense model"):
        compress.load(folder, nn.Sequential(nn.Tanh()))
