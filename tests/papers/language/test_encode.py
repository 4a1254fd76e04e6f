"""Vocabularies lose nothing, and windows say every token once."""

import itertools

import numpy as np
import pytest
import torch

from multiway.errors import ConfigError, DataError
from multiway_papers.language.encode import TokenOptions, Vocabulary, learn_vocabulary
from multiway_papers.language.scores import continued, cut_off, token_table
from multiway_papers.language.windows import NO_TARGET, TokenWindows
from multiway_papers.networks.next_token import KneserNey, counts_of
from papers.language.prepared import bytewise, prepare_texts

TEXT = "The cat sat; the cat didn't. Schöne Grüße — 東京 42  times\n\n\t<|end|> <unk> 🙂\n"


def tokenizer(name, texts=(TEXT,)):
    return learn_vocabulary(TokenOptions(tokenizer=name, vocabulary=300), list(texts))


@pytest.mark.parametrize("name", ["bytes", "bpe"])
def test_a_text_comes_back_from_its_tokens(name):
    vocabulary = tokenizer(name)
    (ids,) = vocabulary.encode([TEXT])
    assert vocabulary.decode(ids) == TEXT and vocabulary.mark not in ids
    assert 0 <= ids.min() and ids.max() < vocabulary.size


def test_a_character_that_training_never_saw_is_no_unknown():
    vocabulary = tokenizer("bpe", ["a b c"])
    (ids,) = vocabulary.encode(["Ω ≠ ω"])
    assert vocabulary.decode(ids) == "Ω ≠ ω"


def test_byte_pairs_are_the_same_when_relearnt_and_when_stored():
    texts = [f"the {word} of {row}" for row, word in enumerate(["cat", "dog", "fox"] * 30)]
    first, repeated = (tokenizer("bpe", texts) for _ in range(2))
    assert first == repeated == Vocabulary.parse(first.plain())
    assert first.encode(texts)[4].tolist() == Vocabulary.parse(first.plain()).encode(texts)[4].tolist()
    assert len(first.encode(["the cat"])[0]) < len("the cat")


def test_a_definition_that_is_none_is_refused_in_one_line():
    with pytest.raises(ConfigError, match="its definition cannot be read"):
        Vocabulary(kind="bpe", definition="{}", size=300, mark=0).encode(["a"])


def test_a_tokenizer_that_does_not_exist_is_refused_in_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"must be bpe, bytes, or a tokenizer that can be loaded\. Got "):
        tokenizer(str(tmp_path / "empty"))
    with pytest.raises(ConfigError, match=r"the tokenizer .*nowhere is no folder, .* Known without network: bpe and"):
        tokenizer(str(tmp_path / "nowhere"))


def test_a_tokenizer_of_hugging_face_is_taken_from_its_folder(tmp_path):
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer

    whole = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tokenizer("bpe").definition), eos_token="<|end|>", sep_token="<sep>"
    )
    whole.save_pretrained(tmp_path)
    vocabulary = tokenizer(str(tmp_path))
    assert vocabulary.size == 301 and vocabulary.mark == 0
    (ids,) = vocabulary.encode(["the cat<sep>sat"])
    assert 300 in ids and vocabulary.decode(ids) == "the cat<sep>sat"  # special tokens that are no marks are text


def windows(context=4):
    return TokenWindows.of([np.arange(1, 10), np.array([11]), np.arange(20, 23)], context, mark=0)


def test_every_token_and_every_end_is_a_target_once_and_no_window_leaves_its_document():
    batch = windows().gather(torch.arange(len(windows())))
    said = batch["target"][batch["target"] != NO_TARGET].tolist()
    assert said == [*range(1, 10), 0, 11, 0, 20, 21, 22, 0]
    assert batch["inputs"].tolist() == [
        [0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 0], [0, 11, 0, 0], [0, 20, 21, 22]
    ]  # fmt: skip
    assert (batch["target"][2] == torch.tensor([9, 0, NO_TARGET, NO_TARGET])).all()


def test_a_batch_is_as_wide_as_its_longest_window():
    assert windows().gather(torch.tensor([3]))["inputs"].tolist() == [[0, 11]]


def test_the_first_windows_hold_so_many_targets():
    assert [windows().head(most).targets for most in (1, 4, 5, 12, 99, None)] == [4, 4, 8, 12, 16, 16]


def test_targets_are_said_window_after_window_and_summed_by_window():
    first = windows().of_first(2)
    assert first.said().tolist() == [*range(1, 10), 0, 11, 0]
    assert first.sums(first.said().double().numpy()).tolist() == [10, 26, 9, 11]


def test_batches_are_all_windows_in_order():
    found = [batch["inputs"][:, 0].tolist() for batch in windows().batches(2)]
    assert found == [[0, 4], [8, 0], [0]]


def test_some_windows_are_of_the_longest_and_evenly_spread():
    assert [windows().some(most).tolist() for most in (2, 9)] == [[0, 4], [0, 1, 4]]


def test_stretches_are_what_windows_cover():
    assert [each.tolist() for each in windows().stretches()] == [[0, *range(1, 10), 0], [0, 11, 0], [0, 20, 21, 22, 0]]
    assert [each.tolist() for each in windows().head(5).stretches()] == [list(range(9))]


def test_the_vocabulary_is_learnt_from_the_training_text_alone():
    texts = ["aaaa bbbb"] * 8 + ["zzzz zzzz"] * 2
    prepared = prepare_texts(texts, vocabulary=300, context=8)
    vocabulary = prepared.state.vocabulary
    assert prepared.rows("train").tolist() == list(range(8))
    assert vocabulary == learn_vocabulary(TokenOptions(vocabulary=300), texts[:8])
    assert len(vocabulary.encode(["zzzz"])[0]) == 4


def test_counts_are_of_words_bytes_and_tokens():
    prepared = prepare_texts(["ä b"] * 20, tokenizer="bytes", most_tokens=9, context=8)
    assert prepared.counts("test") == {"documents": 2, "words": 4, "bytes": 8, "tokens": 10}
    training = prepared.part("train").inputs
    assert training.counts()["tokens"] == 80 and training.counts(training.learnt)["tokens"] == 10


def test_a_window_has_its_share_of_the_words_and_bytes_of_its_document():
    tally = bytewise(["one two three", "ä b"], 7).tally("all")
    assert tally.documents[["tokens", "words", "bytes"]].to_numpy().tolist() == [[14, 3, 13], [5, 2, 4]]
    assert tally.windows.tolist() == [[7, 1.5, 6.5], [7, 1.5, 6.5], [5, 2, 4]]
    assert tally.sums(np.array([1.0, 2.0, 4.0])).tolist() == [3, 4]


def test_tokens_are_spelt_in_their_windows():
    documents = bytewise(["abc"] * 2, 3)
    table = token_table({}, documents, 1)
    assert table["token"].tolist() == ["a", "b", "c", ""] and table["in_window"].tolist() == [0, 1, 2, 0]
    assert table["document"].unique().tolist() == documents.places[:1].tolist()


def test_documents_are_cut_after_half_a_context_at_most():
    documents = bytewise(["ijklmnop", "qr"], 6)
    assert [*cut_off(documents, 9, 2)] == [("ijk", "lm"), ("q", "r")]
    assert [*cut_off(documents, 1, 99)] == [("ijk", "lmnop")]


@pytest.mark.parametrize("text", ["aäbößcü", "東京 42", "🙂🙂🙂", "aaaaaaaa\ufffd"])
def test_no_character_is_cut_in_two(text):
    for context, after in itertools.product(range(2, 16), range(9)):
        ((before, on),) = cut_off(bytewise([text], context), 1, after)
        assert text.startswith(before + on)


def test_a_continuation_ends_with_its_last_whole_character():
    documents = bytewise(["aä"] * 9, 8)
    model = KneserNey(257, counts_of(documents.windows.stretches(), 3, 257))
    model.fit(documents.windows.stretches())
    assert [continued(model, documents, "a", tokens) for tokens in (1, 2, 3)] == ["", "ä", "ä"]


def test_a_context_beyond_the_training_text_is_refused_and_one_beyond_its_documents_noted():
    def prepared(context):
        return prepare_texts(["a" * 20] * 8 + ["b" * 9, "c" * 9], tokenizer="bytes", context=context)

    count = prepared(8).part("train").inputs.windows.targets
    prepared(count)
    with pytest.raises(
        DataError, match=rf"has {count} tokens, fewer than the context of {count + 1}.*tokens.context=18\)"
    ):
        prepared(count + 1)
    assert prepared(20).notes == ()
    assert "the longest training document has 20 tokens, and the context is 21" in prepared(21).notes[0]
