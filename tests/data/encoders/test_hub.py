"""Models by name: what is on this machine first, and one line when there is no network."""

import fnmatch
import sys

import huggingface_hub
import pytest

from data.encoders.networks import TEXTS, save_network
from multiway.data.encoders import choice, make_encoder
from multiway.data.options import EncoderOptions
from multiway.errors import ConfigError

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    return save_network(tmp_path_factory.mktemp("networks") / "small")


def answering(network, monkeypatch, *, is_local: bool) -> list[dict]:
    """A hub that has one model, here or far away; returns the requests."""
    requests = []

    def download(name, **given):
        requests.append({"name": name, **given})
        if given.get("local_files_only") and not is_local:
            raise huggingface_hub.errors.LocalEntryNotFoundError("not here")
        return str(network)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    return requests


@pytest.mark.parametrize("is_local", [True, False])
def test_a_copy_on_this_machine_is_taken_first(network, monkeypatch, is_local):
    requests = answering(network, monkeypatch, is_local=is_local)
    encoder = make_encoder(EncoderOptions(encoder="finbert", max_tokens=12))
    assert encoder.name == "finbert" and encoder.encode(TEXTS).shape == (len(TEXTS), 12)
    assert {each["name"] for each in requests} == {"ProsusAI/finbert"}
    assert [each.get("local_files_only", False) for each in requests] == ([True] if is_local else [True, False])
    fetched = [
        name
        for name in ("model.safetensors", "tokenizer.json", "pytorch_model.bin", "own.py", "model.pt")
        if any(fnmatch.fnmatch(name, pattern) for pattern in requests[0]["allow_patterns"])
    ]
    assert fetched == ["model.safetensors", "tokenizer.json"]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError("We couldn't\nconnect to the hub"), "could not be fetched: We couldn't connect to the hub"),
        (huggingface_hub.errors.HFValidationError("bad name"), "could not be fetched: bad name"),
        (huggingface_hub.errors.OfflineModeIsEnabled("offline"), "could not be fetched: offline"),
    ],
)
def test_no_answer_is_one_line(monkeypatch, error, text):
    def fail(name, **given):
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(ConfigError, match=text) as caught:
        make_encoder(EncoderOptions(encoder="own/model"))
    assert "Known without network: hashed" in str(caught.value) and "\n" not in str(caught.value)


def test_without_transformers(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ConfigError, match=r"finbert needs transformers, .* `pip install 'multiway\[text\]'`"):
        make_encoder(EncoderOptions(encoder="finbert"))
    assert make_encoder(EncoderOptions()).dim == 512 or choice.has_minilm()
