"""The encoder that counts: where each feature goes, by its hash as defined, which is the same on every machine."""

import itertools

import numpy as np
import pytest

from multiway.data.encoders import HashedEncoder, make_encoder
from multiway.data.encoders.hashed import SALTS
from multiway.data.options import EncoderOptions
from tolerances import ROUNDING32

MASK = 2**64 - 1


def mixed(value: int) -> int:
    """splitmix64's finaliser in whole numbers of any size."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def crc32(data: bytes) -> int:
    """Bit by bit, as it is defined."""
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = (rest >> 1) ^ (0xEDB88320 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


def slow(words: list[str], dim: int) -> np.ndarray:
    """One feature at a time; the text is given as its words."""
    hashes = [crc32(word.encode()) for word in words]
    pairs = [(mixed(one) + two) & MASK for one, two in itertools.pairwise(hashes)]
    letters = [ord(letter) for letter in f" {' '.join(words)} "]
    triples = [a << 42 | b << 21 | c for a, b, c in zip(letters, letters[1:], letters[2:], strict=False)]
    total = np.zeros(dim)
    for salt, features in zip(SALTS, (hashes, pairs, triples), strict=True):
        part = np.zeros(dim)
        for feature in features:
            hashed = mixed(feature ^ int(salt))
            part[hashed % dim] += -1 if hashed >> 63 else 1
        total += part / (np.linalg.norm(part) or 1)
    return total / np.linalg.norm(total)


@pytest.mark.parametrize("words", [["up"], ["$", "aapl", "rises", "rises"], ["ünder", "👽", "!"]], ids=str)
def test_every_feature_is_where_it_belongs(words):
    vector = HashedEncoder(37).encode([" ".join(words)])[0]
    np.testing.assert_allclose(vector, slow(words, 37), atol=ROUNDING32)


def test_a_text_has_length_one_and_nothing_has_zeros():
    vectors = HashedEncoder(64).encode(["apple rises", "", " \n\t "])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 0, 0], abs=ROUNDING32)


def test_a_text_alone_is_what_it_is_among_others():
    encoder, texts = HashedEncoder(64), ["apple rises", "ford falls", "b" * 5000]
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_array_equal(encoder.encode(texts), alone)


def test_order_of_words_and_likeness():
    near, far, turned, other = HashedEncoder(4096).encode(
        ["apple shares rise", "apple shares rose", "rise shares apple", "ford buys a mill"]
    )
    assert near @ far > 0.4 > 0.1 > abs(near @ other)
    assert near @ turned < 0.95


def test_the_digest_knows_the_size():
    first, second = (make_encoder(EncoderOptions(encoder="hashed", hashed_dim=dim)) for dim in (64, 128))
    assert first.digest != second.digest and (first.dim, second.dim) == (64, 128)
    assert first.digest == HashedEncoder(64).digest
