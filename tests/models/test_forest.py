"""Whole trees as buffers give what scikit-learn's own forest gives."""

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from sklearn.ensemble import ExtraTreesClassifier

from multiway.models.tree_ensemble import FOREST, SHARE, Forest


@pytest.mark.parametrize("classes", [2, 5])
def test_shares_are_those_of_scikit_learn_and_trees_can_be_stored(classes):
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(311, 13, generator=draw)  # more than walk through the trees at once
    y = ((x[:, 0] * x[:, 1] + x[:, 2]).argsort().argsort() * classes) // len(x)
    model = Forest(classes)
    model.fit(x[:200], y[:200], seed=7)
    known = ExtraTreesClassifier(FOREST, max_features=SHARE, criterion="entropy", random_state=7)
    known.fit(x[:200].numpy(), y[:200].numpy())
    shares = known.predict_proba(x.numpy())
    logits = model(x)
    np.testing.assert_allclose(logits.exp(), (shares * FOREST + 1 / classes) / (FOREST + 1), rtol=1e-5)
    np.testing.assert_allclose(logits.exp().sum(1), 1, rtol=1e-5)
    copy = Forest(classes)
    copy.load_state_dict(load(save(model.state_dict())))
    assert torch.equal(copy(x), logits)


def test_a_class_without_a_training_row_keeps_a_chance():
    x, y = torch.arange(12.0)[:, None], torch.tensor([0, 2]).repeat_interleave(6)
    model = Forest(3)
    model.fit(x, y)
    chances = model(x).exp()
    assert (chances[:6].argmax(1) == 0).all() and (chances[6:].argmax(1) == 2).all()
    np.testing.assert_allclose(chances[:, 1], 1 / 3 / (FOREST + 1), rtol=1e-5)
