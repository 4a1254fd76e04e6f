import numpy as np
import pytest
import torch

from multiway.explain import occlude_image, occlude_series
from multiway.explain.occlusion import occlude, spans

GENERATOR = torch.Generator().manual_seed(3)


def linear(weights):
    """Class probabilities that are linear in the inputs: .5 plus their weighted sum, and the rest."""

    def score(x):
        share = 0.5 + (x.double().nan_to_num() * weights).flatten(1).sum(1).numpy()
        return np.stack([1 - share, share], axis=1)

    return score


def test_a_hidden_part_takes_its_own_term_from_a_linear_answer():
    x, weights = torch.rand(5, 3, generator=GENERATOR).double(), torch.rand(5, 3, generator=GENERATOR).double() / 100
    parts = torch.rand(7, 5, 3, generator=GENERATOR) > 0.5
    found = occlude(linear(weights), x, parts)
    assert found.predicted == 1 and found.probability == pytest.approx(0.5 + float((x * weights).sum()))
    np.testing.assert_allclose(found.falls, (parts * x * weights).flatten(1).sum(1), rtol=1e-12)


def test_shares_of_steps_and_variates_are_those_of_a_linear_answer():
    x, weights = torch.rand(2, 5, 3, generator=GENERATOR).double(), torch.rand(5, 3, generator=GENERATOR).double() / 100
    x[0, :, 1] = torch.nan
    steps, variates = occlude_series(linear(weights), x)
    terms = (x.nan_to_num() * weights).numpy()
    np.testing.assert_allclose(steps, (terms.sum(2) / terms.sum((1, 2))[:, None]).mean(0), rtol=1e-9)
    np.testing.assert_allclose(variates, (terms.sum(1) / terms.sum((1, 2))[:, None]).mean(0), rtol=1e-9)


def test_a_long_series_is_hidden_in_spans_whose_steps_share_alike():
    assert spans(5, 2).int().tolist() == [[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]]
    weights = torch.zeros(67, 1).double()
    weights[64] = 0.1
    steps, _ = occlude_series(linear(weights), torch.ones(1, 67, 1).double())
    assert steps.sum() == pytest.approx(1) and set(np.flatnonzero(steps)) == {63, 64}


def test_where_nothing_moves_every_share_is_zero():
    steps, variates = occlude_series(linear(torch.zeros(5, 3)), torch.ones(2, 5, 3))
    assert not steps.any() and not variates.any()


def test_each_pixel_has_the_fall_of_its_patch():
    weights = torch.zeros(1, 17, 29).double()
    weights[0, 4, 7], weights[0, 16, 28] = 0.1, -0.05
    found = occlude_image(linear(weights), torch.ones(1, 17, 29).double())
    assert found.shape == (17, 29)
    assert found[4, 7] == pytest.approx(0.1) and found[16, 28] == pytest.approx(-0.05)
    assert 2 <= (found > 0.05).sum() <= 9 and found[0, 0] == 0
