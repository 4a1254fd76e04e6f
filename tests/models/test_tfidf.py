import pytest
import torch

from multiway.models.baselines import TfidfLogistic
from tolerances import assert_same

WORDS = 8


def texts(generator: torch.Generator, count: int = 60) -> tuple[torch.Tensor, torch.Tensor]:
    """Padded ids, of which 2 and 3 go with the classes."""
    labels = torch.randint(2, (count,), generator=generator)
    ids = torch.randint(1, WORDS, (count, 6), generator=generator)
    ids[:, 0] = torch.where(torch.rand(count, generator=generator) < 0.8, 2 + labels, 7)
    ids[::3, 4:] = 0
    return ids, labels


def test_features_are_scikit_learns(generator):
    extraction = pytest.importorskip("sklearn.feature_extraction.text")
    ids, labels = texts(generator)
    model = TfidfLogistic(WORDS, 2)
    model.fit(ids, labels, ids, labels)
    words = [str(place) for place in range(WORDS)]
    oracle = extraction.TfidfVectorizer(
        analyzer=lambda row: [str(int(each)) for each in row if each >= 2], vocabulary=words
    )
    assert_same(model.features(ids).to_dense(), torch.from_numpy(oracle.fit_transform(ids).toarray()))


def test_weights_are_scikit_learns(generator):
    linear = pytest.importorskip("sklearn.linear_model")
    ids, labels = texts(generator)
    model = TfidfLogistic(WORDS, 2)
    facts = model.fit(ids, labels, ids, labels)
    oracle = linear.LogisticRegression(C=2 / (facts["penalty"] * len(ids)), tol=1e-10, max_iter=10_000)
    oracle.fit(model.features(ids).to_dense().numpy(), labels.numpy())
    found = (model.weight[1] - model.weight[0])[2:]
    torch.testing.assert_close(found, torch.from_numpy(oracle.coef_[0][2:]), rtol=1e-4, atol=1e-4)


def test_a_text_without_known_words_has_the_bias_alone(generator):
    ids, labels = texts(generator)
    model = TfidfLogistic(WORDS, 2)
    model.fit(ids, labels, ids, labels)
    assert_same(model(torch.tensor([[1, 0], [1, 1]])), model.bias.expand(2, -1))
