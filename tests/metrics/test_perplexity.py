"""Perplexities over tokens and words, and bits per byte."""

import math

import numpy as np
import pytest

from multiway_papers.language.scores import FUNCTIONS

COUNTED, NATS = np.array([[10.0, 4.0, 20.0], [6.0, 2.0, 12.0]]), np.array([8.0, 4.0])


def test_perplexities_are_over_tokens_words_and_bytes():
    assert FUNCTIONS["loss"](COUNTED, NATS) == pytest.approx(12 / 16)
    assert FUNCTIONS["ppl"](COUNTED, NATS) == pytest.approx(math.exp(12 / 16))
    assert FUNCTIONS["word_ppl"](COUNTED, NATS) == pytest.approx(math.exp(2))
    assert FUNCTIONS["bpb"](COUNTED, NATS) == pytest.approx(12 / 32 / math.log(2))


def test_a_perplexity_beyond_numbers_is_none():
    assert FUNCTIONS["word_ppl"](COUNTED, 1e4 * NATS) is None
    assert FUNCTIONS["bpb"](COUNTED, 1e4 * NATS) is not None


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_nothing_there_is_no_score(name):
    assert FUNCTIONS[name](0 * COUNTED, NATS) is None
