import numpy as np
import pytest

from multiway.explain.occlusion import leave_one_out, text_spans


def test_every_word_is_left_out_once():
    assert text_spans("a b c") == [("a", "b c"), ("b", "a c"), ("c", "a b")]
    assert [rest for _, rest in text_spans("a b\nc")] == ["b\nc", "a\nc", "a b\n"]
    assert text_spans("a  b") == [("a", "b"), ("b", "a")] and text_spans("a") == [("a", "")]


def test_of_a_long_text_spans_of_words_are_left_out_and_the_one_that_counts_is_found():
    def score(texts):
        scored.append(len(texts))
        share = np.array([0.4 if "fine" in text.split() else 0.9 for text in texts])
        return np.stack([1 - share, share], axis=1)

    scored, words = [], [f"w{place}" for place in range(230)]
    words[100] = "fine"
    (found,) = leave_one_out([" ".join(words)], score, longest=60)
    assert scored == [1 + 32] and " ".join(found.words) == " ".join(words)
    assert {len(span.split()) for span in found.words} == {7, 8}
    (place,) = np.flatnonzero(found.effects.falls)
    assert "fine" in found.words[place].split() and found.effects.falls[place] == pytest.approx(0.5)
    assert len(text_spans(" ".join(words[:60]), 60)) == 60


def test_the_word_that_counts_is_found():
    def score(texts):
        share = np.array([0.9 if "fine" in text.split() else 0.4 for text in texts])
        return np.stack([1 - share, share], axis=1)

    good, bad = leave_one_out(["so fine film", "so film"], score)
    assert good.words == ["so", "fine", "film"] and good.effects[:2] == (1, 0.9)
    assert good.effects.falls == pytest.approx([0, 0.5, 0])
    assert bad.effects.predicted == 0 and bad.effects.falls == pytest.approx([0, 0])
