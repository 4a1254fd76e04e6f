"""`LanguageModel`: fit on texts, continue them, and say how surprising they are."""

import numpy as np
import pandas as pd
import pytest

import multiway
from multiway.errors import NotFittedError
from tasks.tiny import stories
from tasks.tiny_estimators import language_model


@pytest.fixture(scope="module")
def fitted():
    return language_model().make().fit(stories())


def test_a_text_alone_is_continued_and_scored_as_among_others(fitted):
    texts = [*stories()[:3], "the cat"]
    assert fitted.generate(texts, 5, temperature=1.0)[3:] == fitted.generate(texts[3:], 5, temperature=1.0)
    np.testing.assert_allclose(fitted.predict(texts)[3:], fitted.predict(texts[3:]), rtol=1e-6)


def test_the_score_is_minus_the_nats_per_token(fitted):
    table = fitted.surprise(stories()[:4])
    mean = np.average(table["nats_per_token"], weights=table["tokens"])
    assert fitted.score(stories()[:4]) == pytest.approx(-mean, rel=1e-6)


def test_a_series_is_a_list_of_texts(fitted):
    assert fitted.generate(pd.Series(stories()[:2]), 3) == fitted.generate(stories()[:2], 3)


def test_before_fit_there_is_nothing_to_write_with():
    with pytest.raises(NotFittedError, match="LanguageModel: call fit"):
        multiway.LanguageModel().generate(["a"])
