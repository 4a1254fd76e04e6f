import numpy as np
import pandas as pd
import pytest

import multiway
from multiway.errors import DataError, MultiwayError
from tasks.text.reviews import reviews

FAST = {"draws": 0, "text": {"hashed_dim": 64}, "training": {"batch_size": 16, "learning_rate": 0.02}}


def classifier(**fields: object) -> multiway.TextClassifier:
    return multiway.TextClassifier(**{"encoder": "hashed", "epochs": 8, "settings": FAST, "baselines": (), **fields})


def test_lists_series_and_arrays_are_the_same_texts():
    frame = reviews(120)
    forms = [list(frame["review"]), frame["review"], frame["review"].to_numpy()]
    found = [classifier(epochs=1).fit(texts, frame["label"]).predict_proba(texts[:5]) for texts in forms]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_it_learns_what_the_words_say():
    frame, later = reviews(240), ["A lovely and warm film", "A dull and cold film"]
    model = classifier().fit(frame["review"], frame["label"])
    assert model.predict(later).tolist() == ["good", "bad"]
    assert model.score(list(frame["review"]), frame["label"]) > 0.9
    assert set(model.evaluate(list(frame["review"]), frame["label"])["metric"]) >= {"acc", "auc", "hard_auc"}


def test_classes_keep_their_kind():
    frame = reviews(120)
    model = classifier(inputs="words", epochs=1).fit(frame["review"], (frame["label"] == "good").astype(int))
    assert model.classes_.tolist() == [0, 1] and set(model.predict(frame["review"][:9])) <= {0, 1}


@pytest.mark.parametrize(
    ("texts", "classes", "text"),
    [
        ("one text", ["a"], "a list or a series of str is needed. Got str"),
        ([1, 2, 3], ["a", "b", "a"], r"texts\[0\] must be text. Got int"),
        (pd.DataFrame({"text": ["a"]}), ["a"], "Got an array of shape"),
        (["a", "b"], ["x"], "y needs one class per sample"),
    ],
)
def test_what_are_no_texts_is_refused(texts, classes, text):
    with pytest.raises((DataError, MultiwayError), match=text):
        classifier().fit(texts, classes)
