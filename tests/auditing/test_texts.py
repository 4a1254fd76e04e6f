"""Texts and prices that know tomorrow, honest ones, and encoders that have read of the test days."""

import numpy as np
import pytest

from multiway.data.encoders.choice import TRAINED
from multiway_papers.stocks.audit import quote_facts
from multiway_papers.stocks.text_audit import check_encoder, check_vectors, check_words

COUNT = 900
TRAINING = np.arange(COUNT) < 600
DAYS = np.arange(COUNT) // 6
LABELS = np.random.default_rng(0).integers(0, 2, COUNT)


def texts(right, seed=1):
    """News of one word that is right as often as said, and of others that say nothing."""
    chance = np.random.default_rng(seed)
    said = np.where(chance.random(COUNT) < right, LABELS, 1 - LABELS)
    return [f"ACME {('falls', 'grows')[up]} {chance.choice(['today', 'a bit', 'again'])}" for up in said]


def words(texts):
    return check_words(texts, LABELS, DAYS, TRAINING, ~TRAINING)


def test_words_of_tomorrow_are_named_and_good_news_are_not():
    finding = words(texts(0.97))
    assert (finding.kind, finding.severity) == ("texts", "error") and "acme grows: " in finding.line()
    assert words(texts(0.8)) == "no word of 600 training texts tells the outcome"


def test_a_word_in_few_texts_is_enough():
    honest = texts(0.55)
    told = [f"{text} rises tomorrow" if LABELS[row] and row % 6 == 0 else text for row, text in enumerate(honest)]
    assert "rises" in words(told).line()


def test_one_loud_day_is_no_evidence():
    shouted = [f"{text} crash" if DAYS[row] in (3, 110) else text for row, text in enumerate(texts(0.5))]
    labels = np.where(np.isin(DAYS, (3, 110)), 0, LABELS)
    assert isinstance(check_words(shouted * 1, labels, DAYS, TRAINING, ~TRAINING), str)


@pytest.mark.parametrize(("signal", "is_leak"), [(6.0, True), (1.0, False)])
def test_vectors_that_tell_nearly_all_are_a_leak(signal, is_leak):
    vectors = np.random.default_rng(2).normal(size=(COUNT, 20)).astype(np.float32)
    vectors[:, 3] += signal * LABELS
    verdict = check_vectors(vectors, LABELS, DAYS, TRAINING, ~TRAINING)
    assert isinstance(verdict, str) != is_leak
    few = np.zeros(COUNT, bool)
    assert "was not fitted" in check_vectors(vectors, LABELS, DAYS, few, ~few)


def test_fields_join_the_close_of_their_day():
    fields = {name: np.full((2, 50), 10.0) for name in ("open", "high", "low", "close", "volume")}
    fields["open"][0] = 10 + np.arange(50)
    fields["volume"][1] = np.arange(50) + 1
    ticker, day = np.repeat([0, 1], 51), np.tile(np.append(np.arange(50), -1), 2)
    facts = quote_facts(fields, ticker, day, np.ones(102, bool))
    assert set(facts) == {f"{name} of the day before" for name in fields if name != "close"}
    opened, volume = facts["open of the day before"], facts["volume of the day before"]
    assert len(set(opened[:50])) > 5 and len(set(opened[51:101])) == 1 and opened[50] == opened[101] == opened.max()
    assert (np.diff(volume[51:101]) >= 0).all() and volume[51] < volume[100]


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("minilm", "warning"),
        ("bert-base-uncased", None),
        ("hashed", None),
        ("my/own", "note"),
        ("ready vectors", "note"),
    ],
)
def test_an_encoder_from_after_the_test_days_may_know_them(name, severity):
    verdict = check_encoder(name, np.datetime64("2020-03-02"), np.datetime64("2020-09-01"))
    assert getattr(verdict, "severity", None) == severity
    if name in TRAINED:
        assert TRAINED[name] in (verdict if severity is None else verdict.line())
    assert "may know" in check_encoder("minilm", np.datetime64("2021-08-30"), np.datetime64("2022-09-01")).line()
