"""A stranger's model folder: what it declares is held to its weights before anything is built."""

import json
import os
import shutil

import pytest

from data.encoders.networks import save_network
from multiway.data.encoders.pretrained import find_model
from multiway.errors import ConfigError

SIZES = [
    ("hidden_size", -5), ("hidden_size", "12"), ("hidden_size", 10**9), ("num_hidden_layers", 10**6),
    ("num_hidden_layers", 0), ("num_attention_heads", 0), ("vocab_size", 10**12), ("max_position_embeddings", True),
    ("image_size", [8, 10**7]),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("transformers")
    return save_network(tmp_path_factory.mktemp("network"))


@pytest.mark.parametrize(("name", "value"), SIZES)
def test_a_size_that_the_weights_do_not_bear_is_refused(folder, name, value):
    path = folder / "config.json"
    usual = path.read_text()
    assert find_model(str(folder)) == folder
    try:
        path.write_text(json.dumps({**json.loads(usual), name: value}))
        with pytest.raises(ConfigError, match=rf"{name} is a whole number from 1 to [\d,]+, as .*Got ") as caught:
            find_model(str(folder))
        assert "\n" not in str(caught.value)
    finally:
        path.write_text(usual)


@pytest.mark.parametrize("content", [b"[1]", b"{", b"\xff", b"[" * 100_000])
def test_a_configuration_that_is_no_object_is_refused(folder, content):
    path = folder / "config.json"
    usual = path.read_bytes()
    try:
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"config\.json: it cannot be read \(.*\)\. Give"):
            find_model(str(folder))
    finally:
        path.write_bytes(usual)


def test_weights_that_are_none_are_refused(folder, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(ConfigError, match=r"model\.safetensors: its weights cannot be read"):
        find_model(str(tmp_path))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"])
def test_a_pipe_or_a_device_in_the_place_of_a_file_is_refused(folder, tmp_path, name):
    copy = tmp_path / "network"
    shutil.copytree(folder, copy)
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        (copy / name).unlink(missing_ok=True)
        make(copy / name)
        with pytest.raises(ConfigError, match=name):
            find_model(str(copy))
