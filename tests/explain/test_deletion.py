import numpy as np
import pytest

from multiway.explain.occlusion import leave_one_out, without_each


def test_every_word_is_left_out_once():
    assert without_each("a b c") == ["b c", "a c", "a b"]
    assert without_each("a b\nc") == ["b\nc", "a\nc", "a b\n"]
    assert without_each("a") == [""]


def test_the_word_that_counts_is_found():
    def score(texts):
        share = np.array([0.9 if "fine" in text.split() else 0.4 for text in texts])
        return np.stack([1 - share, share], axis=1)

    good, bad = leave_one_out(["so fine film", "so film"], score)
    assert good.words == ["so", "fine", "film"] and good.effects[:2] == (1, 0.9)
    assert good.effects.falls == pytest.approx([0, 0.5, 0])
    assert bad.effects.predicted == 0 and bad.effects.falls == pytest.approx([0, 0])
