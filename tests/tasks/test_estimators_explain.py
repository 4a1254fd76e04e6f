"""What an estimator explains of data that it has not seen, against what it predicts."""

import numpy as np
import pytest
import torch

from multiway.errors import DataError
from tasks.tiny import stories
from tasks.tiny_estimators import (
    image_classifier,
    language_model,
    series_classifier,
    tabular_classifier,
    text_classifier,
    volume_classifier,
)


def test_a_word_is_as_important_as_the_probability_falls_without_it():
    tiny = text_classifier()
    fitted = tiny.make().set_params(refit="none").fit(*tiny.fit)
    words = fitted.explain(["a fine red day", "bad luck"])
    assert list(words["word"]) == ["a", "fine", "red", "day", "bad", "luck"] and "label" not in words
    whole, without = fitted.predict_proba(["a fine red day", "a red day"])
    named = whole.argmax()
    assert words["predicted"][1] == fitted.classes_[named]
    assert words["probability"][1] == pytest.approx(whole[named])
    assert words["importance"][1] == pytest.approx(whole[named] - without[named], abs=1e-7)


def test_a_variate_that_is_missing_has_no_share():
    tiny = series_classifier()
    series = [each.copy() for each in tiny.new[0]]
    for each in series:
        each[:, 1] = np.nan
    shares = tiny.make().fit(*tiny.fit).explain(series)
    assert list(shares.loc[shares["mode"] == "variate", "share"]) == pytest.approx([1, 0])
    assert shares.loc[shares["mode"] == "step", "share"].sum() == pytest.approx(1)


def test_the_gradients_of_an_image_sum_to_the_change_of_its_logit():
    tiny = image_classifier()
    fitted = tiny.make().fit(*tiny.fit)
    images = tiny.new[0]
    found = fitted.explain(images, index=1, model="network")
    x = fitted._unlabelled(images).gather(torch.tensor([1]))["inputs"]
    with torch.no_grad():
        logits = fitted.run_.model(torch.cat([x, torch.zeros_like(x)]))
    named = list(fitted.run_.state.classes).index(str(fitted.predict(images, "network")[1]))
    assert found.sums[1] == pytest.approx(float(logits[0, named] - logits[1, named]), abs=1e-5)
    assert found.method == "gradients" and found.attribution.shape == images.shape[1:3]
    assert found.attribution.sum() == pytest.approx(found.sums[0], abs=1e-4)

    np.testing.assert_array_equal(fitted.explain(images, index=-4, model="network").attribution, found.attribution)


def test_the_patches_of_an_image_are_what_the_probability_loses_without_them():
    tiny = image_classifier()
    fitted = tiny.make().set_params(baselines=("logistic",), refit="none").fit(*tiny.fit)
    images = tiny.new[0]
    found = fitted.explain(images, index=1, model="logistic")
    hidden = images[1].copy()
    hidden[0, 0] = 127.5  # a byte: 127, half a step from the centre
    whole, without = fitted.predict_proba(np.stack([images[1], hidden]), "logistic")
    named = whole.argmax()
    assert found.method == "occlusion" and found.sums is None and found.attribution.any()
    assert found.attribution[0, 0] == pytest.approx(whole[named] - without[named], abs=2e-3)


@pytest.mark.parametrize("tiny", [image_classifier(), volume_classifier()])
def test_a_sample_that_is_not_there_is_named(tiny):
    fitted = tiny.make().fit(*tiny.fit)
    with pytest.raises(DataError, match=r"index is the place of one of 5 samples, from 0\. Got 5\."):
        fitted.explain(tiny.new[0], index=5)


def test_a_column_that_never_varies_is_not_important():
    tiny = tabular_classifier()
    rows, classes = tiny.fit
    found = tiny.make().fit(rows, classes).explain(rows.assign(age=40.0), classes).set_index("column")
    assert set(found.index) == {"age", "weight", "city", "all"}
    assert list(found.loc["age"]) == [0.0, 0.0]
    assert found.loc["weight", "sd"] > 0


def test_the_surprise_of_tokens_is_the_mean_that_is_predicted():
    tiny = language_model()
    fitted = tiny.make().fit(*tiny.fit)
    texts = stories()[:5]
    bits = fitted.explain(texts).groupby("document", sort=False)["bits_network"].mean()
    np.testing.assert_allclose(bits.to_numpy() * np.log(2), fitted.predict(texts, "network"), rtol=1e-5)
