import json
from pathlib import Path

import numpy as np
import pytest
import torch

from data.encoders.networks import save_network
from multiway.data.encoders import token_encoder
from multiway.data.encoders.hashed import frequent_words
from multiway.data.options import EncoderOptions
from multiway.errors import ConfigError
from multiway.tasks.text import TextConfig
from multiway.tasks.text.encode import TextState
from multiway.tasks.text.task import TASK
from tasks.text.reviews import reviews

HASHED = EncoderOptions(encoder="hashed", hashed_dim=16)


def config(kind="words", text=HASHED):
    return TextConfig.parse({"inputs": kind, "text": text.plain()})


def prepared(kind="words", text=HASHED, frame=None):
    return TASK.prepare(config(kind, text), reviews() if frame is None else frame)


def test_the_vocabulary_is_that_of_the_training_rows():
    found = prepared()
    texts = [found.raw.names["text"][row] for row in found.splits["train"]]
    known = set(found.state.vocabulary)
    assert known == {"a", "and", "film", "great", "lovely", "warm", "dull", "awful", "cold"}  # numbers come once
    changed = reviews().assign(label="good")
    assert all(any(word in text.lower() for text in texts) for word in known) and len(changed) == 60


def test_words_of_other_rows_are_unknown():
    frame = reviews()
    test = prepared(frame=frame).splits["test"]
    frame.loc[test, "review"] += " unheard unheard"
    found = prepared(frame=frame)
    assert "unheard" not in found.state.vocabulary
    assert (found.encoded.inputs[torch.from_numpy(test)] == 1).any()


def test_ids_are_by_frequency_and_padded_behind():
    words = frequent_words(["b a", "b c", "b a d"], max_words=10, min_count=2)
    state = prepared().state.replace(vocabulary=words)
    assert words == ("b", "a") and state.num_ids == 4
    assert state.ids(["A b!", "", "b b b b"], 3).tolist() == [[3, 2, 1], [0, 0, 0], [2, 2, 2]]


def test_vectors_are_scaled_by_the_training_rows():
    found = prepared("vectors")
    training = found.part("train").inputs.double()
    assert found.encoded.inputs.shape == (60, 16) and found.encoded.inputs.dtype == torch.float32
    spread = training.std(0, correction=0)
    assert training.mean(0).abs().max() < 1e-6 and ((spread - 1).abs() < 1e-5).sum() + (spread == 0).sum() == 16


@pytest.mark.parametrize("kind", ["words", "vectors"])
def test_later_texts_become_the_same_inputs(kind):
    found = prepared(kind)
    state = TextState.parse(json.loads(json.dumps(found.state.plain())))
    later = TASK.prepare(config(kind), reviews().iloc[7:9], state)
    assert torch.equal(later.encoded.inputs, found.encoded.inputs[7:9]) and not later.splits
    unlabelled = TASK.prepare(
        config(kind), list(reviews()["review"][7:9]), state.replace(columns=("text",)), labelled=False
    )
    assert torch.equal(unlabelled.encoded.inputs, found.encoded.inputs[7:9])
    assert unlabelled.encoded.target is None


def test_another_encoder_is_refused():
    state = prepared("vectors").state
    with pytest.raises(ConfigError, match=r"text.encoder: hashed is not what the run was trained with"):
        TASK.prepare(config("vectors", EncoderOptions(encoder="hashed", hashed_dim=32)), reviews(), state)


def test_content_changes_with_the_data():
    def seen(frame):
        return [str(each) for each in prepared(frame=frame).content()]

    changed = reviews()
    changed.loc[5, "review"] += " so"
    assert seen(reviews()) == seen(reviews()) and seen(reviews()) != seen(changed)


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> Path:
    pytest.importorskip("transformers")
    return save_network(tmp_path_factory.mktemp("network"))


def test_tokens_are_the_tokenizers_shifted_by_one(network):
    options = EncoderOptions(encoder=str(network), max_tokens=12)
    found = prepared("tokens", options)
    tokens = token_encoder(options).tokens(found.raw.names["text"])
    for row in (0, 5):
        ids = found.encoded.inputs[row]
        assert (ids[ids > 0] - 1).tolist() == tokens[row]
    assert found.state.width == 12 and found.state.digest is not None


def test_a_network_is_counted_without_its_weights(network):
    encoder = token_encoder(EncoderOptions(encoder=str(network), max_tokens=12))
    with torch.device("meta"):
        empty = encoder.network()
    full = encoder.network()
    assert {name: value.shape for name, value in empty.named_parameters()} == {
        name: value.shape for name, value in full.named_parameters()
    }
    assert all(parameter.is_meta for parameter in empty.parameters()) and encoder.network() is not full


def test_hashed_words_have_no_tokens():
    with pytest.raises(ConfigError, match="tokens need a network, and hashed is none"):
        prepared("tokens")


def test_rows_of_no_class_are_refused():
    with pytest.raises(ConfigError, match=r"the table: a target to predict is needed. Name it \(read\.target=NAME\)"):
        prepared(frame=reviews().drop(columns="label"))
    assert np.array_equal(prepared().rows("all"), np.arange(60))
