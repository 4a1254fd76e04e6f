"""Shingles against sets of eight words."""

import numpy as np

from multiway.auditing.near_texts import SIZE, Shingles, find_shared_shingles, without_formulas
from multiway_papers.language.audit import share_in

WORDS = [f"w{number}" for number in range(400)]
DRAW = np.random.default_rng(0)
TEXTS = [" ".join(DRAW.choice(WORDS, length)) for length in (40, 23, 31, 7, 0, 40, 29)]
TRAIN, HELD = np.arange(4), np.arange(4, 7)


def plain(text):
    """Eight words in a row, as they stand."""
    words = text.casefold().split()
    return [tuple(words[start : start + SIZE]) for start in range(len(words) - SIZE + 1)]


def test_texts_share_as_many_as_their_sets_do():
    texts = [*TEXTS[:5], TEXTS[0][:90] + " " + TEXTS[5], TEXTS[6].upper()]
    every = Shingles.of(texts)
    for row, text in enumerate(texts):
        assert len(every.hashes[every.owners == row]) == len(plain(text))
    known = {shingle for text in texts[:4] for shingle in plain(text)}
    hits = [[shingle in known for shingle in plain(texts[row])] for row in HELD]
    shares, share = share_in(texts, TRAIN, HELD)
    np.testing.assert_allclose(shares, [np.mean(each) if each else 0 for each in hits])
    assert share == np.mean([hit for each in hits for hit in each]) and 0 < share < 0.5


def test_a_text_of_which_half_stands_in_one_other_is_named():
    texts = [*TEXTS]
    texts[5] = " ".join(texts[2].split()[5:25] + texts[5].split()[:12])
    assert find_shared_shingles(TEXTS, TRAIN, HELD) == []
    assert find_shared_shingles(texts, TRAIN, HELD) == [(5, 2, 13 / 25)]


def test_shingles_of_two_texts_are_none_of_both():
    assert len(Shingles.of([" ".join(WORDS[:7]), " ".join(WORDS[7:14])]).hashes) == 0


def test_formulas_of_many_texts_are_left_out():
    greeting = "we thank you for your kind letter of today"
    texts = [f"{greeting} {text}" for text in [*TEXTS, *TEXTS]]
    assert without_formulas(texts, np.arange(12)) == [" ".join(text.split()) for text in [*TEXTS, *TEXTS]]
    assert without_formulas(TEXTS, TRAIN) == TEXTS
