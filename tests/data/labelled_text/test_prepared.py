import json
from pathlib import Path

import numpy as np
import pytest
import torch

from data.encoders.networks import save_network
from data.labelled_text.reviews import reviews
from multiway.data.encoders import TextOptions, token_encoder
from multiway.data.labelled_text import (
    LabelledTextOptions,
    TextSplit,
    TextState,
    WordOptions,
    match_texts,
    prepare_texts,
)
from multiway.data.labelled_text.vocabulary import Vocabulary
from multiway.errors import ConfigError

READ, SPLIT, WORDS = LabelledTextOptions(), TextSplit(), WordOptions()
HASHED = TextOptions(encoder="hashed", hashed_dim=16)


def prepared(kind="words", text=HASHED, **words):
    return prepare_texts(reviews(), READ, SPLIT, kind, WordOptions.parse(words), text)


def test_the_vocabulary_is_that_of_the_training_rows():
    found = prepared()
    texts = [found.samples.names["text"][row] for row in found.splits["train"]]
    known = set(found.state.vocabulary.words)
    assert known == {"a", "and", "film", "great", "lovely", "warm", "dull", "awful", "cold"}  # numbers come once
    changed = reviews().assign(label="good")
    assert all(any(word in text.lower() for text in texts) for word in known) and len(changed) == 60


def test_words_of_other_rows_are_unknown():
    frame = reviews()
    test = prepare_texts(frame, READ, SPLIT, "words", WORDS, HASHED).splits["test"]
    frame.loc[test, "review"] += " unheard unheard"
    found = prepare_texts(frame, READ, SPLIT, "words", WORDS, HASHED)
    assert "unheard" not in found.state.vocabulary.words
    assert (found.samples.inputs[torch.from_numpy(test)] == 1).any()


def test_ids_are_by_frequency_and_padded_behind():
    words = Vocabulary.fit(["b a", "b c", "b a d"], WordOptions(min_count=2))
    assert words.words == ("b", "a") and words.size == 4
    assert words.ids(["A b!", "", "b b b b"], 3).tolist() == [[3, 2, 1], [0, 0, 0], [2, 2, 2]]


def test_vectors_are_scaled_by_the_training_rows():
    found = prepared("vectors")
    training = found.part("train").inputs.double()
    assert found.samples.inputs.shape == (60, 16) and found.samples.inputs.dtype == torch.float32
    spread = training.std(0, correction=0)
    assert training.mean(0).abs().max() < 1e-6 and ((spread - 1).abs() < 1e-5).sum() + (spread == 0).sum() == 16


@pytest.mark.parametrize("kind", ["words", "vectors"])
def test_later_texts_become_the_same_inputs(kind):
    found = prepared(kind)
    state = TextState.parse(json.loads(json.dumps(found.state.plain())))
    later = match_texts(reviews().iloc[7:9], READ, state, HASHED)
    assert torch.equal(later.samples.inputs, found.samples.inputs[7:9]) and not later.splits
    unlabelled = match_texts(list(reviews()["review"][7:9]), READ, renamed(state), HASHED, has_target=False)
    assert torch.equal(unlabelled.samples.inputs, found.samples.inputs[7:9])
    assert unlabelled.samples.truth.tolist() == [-1, -1]


def renamed(state: TextState) -> TextState:
    """As trained on a list of texts."""
    plain = state.plain()
    return TextState.parse({**plain, "columns": {**plain["columns"], "text": "text"}})


def test_another_encoder_is_refused():
    state = prepared("vectors").state
    with pytest.raises(ConfigError, match=r"text.encoder: hashed is not what the run was trained with"):
        match_texts(reviews(), READ, state, TextOptions(encoder="hashed", hashed_dim=32))


def test_content_changes_with_the_data():
    def seen(frame):
        return [str(each) for each in prepare_texts(frame, READ, SPLIT, "words", WORDS, HASHED).content()]

    changed = reviews()
    changed.loc[5, "review"] += " so"
    assert seen(reviews()) == seen(reviews()) and seen(reviews()) != seen(changed)


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> Path:
    pytest.importorskip("transformers")
    return save_network(tmp_path_factory.mktemp("network"))


def test_tokens_are_the_tokenizers_shifted_by_one(network):
    options = TextOptions(encoder=str(network), max_tokens=12)
    found = prepare_texts(reviews(), READ, SPLIT, "tokens", WORDS, options)
    tokens = token_encoder(options).tokens(found.samples.names["text"])
    for row in (0, 5):
        ids = found.samples.inputs[row]
        assert (ids[ids > 0] - 1).tolist() == tokens[row]
    assert found.state.width == 12 and found.state.digest is not None


def test_a_network_is_counted_without_its_weights(network):
    encoder = token_encoder(TextOptions(encoder=str(network), max_tokens=12))
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
    with pytest.raises(ConfigError, match=r"frame: texts need a column of classes. Name it \(--target NAME\)"):
        prepare_texts(reviews().drop(columns="label"), READ, SPLIT, "words", WORDS, HASHED)
    assert np.array_equal(prepared().rows("all"), np.arange(60))
