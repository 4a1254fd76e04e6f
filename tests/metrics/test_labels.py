"""Scores of several labels, against scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics as oracle

from multiway.metrics import labels
from tolerances import ROUNDING64


@pytest.fixture
def drawn():
    draw = np.random.default_rng(0)
    truth = (draw.random((37, 5)) < [0.5, 0.1, 0.3, 0.7, 0.2]).astype(np.int64)
    return truth, np.clip(0.4 * truth + 0.6 * draw.random((37, 5)), 0, 1)


def test_scores_are_scikit_learns(drawn):
    truth, shares = drawn
    named = (shares > 0.5).astype(int)
    assert labels.auc(*drawn) == pytest.approx(oracle.roc_auc_score(truth, shares), rel=ROUNDING64)
    assert labels.mean_precision(*drawn) == pytest.approx(oracle.average_precision_score(truth, shares), rel=ROUNDING64)
    assert labels.exact(*drawn) == pytest.approx(oracle.accuracy_score(truth, named), rel=ROUNDING64)
    assert labels.micro_f1(*drawn) == pytest.approx(oracle.f1_score(truth, named, average="micro"), rel=ROUNDING64)
    assert labels.macro_f1(*drawn) == pytest.approx(oracle.f1_score(truth, named, average="macro"), rel=ROUNDING64)


def test_a_label_that_no_case_has_is_left_out_of_means(drawn):
    truth, shares = drawn[0].copy(), drawn[1]
    truth[:, 2] = 0
    others = [0, 1, 3, 4]
    for score in (labels.auc, labels.mean_precision):
        assert score(truth, shares) == score(truth[:, others], shares[:, others])
        assert score(truth[:0], shares[:0]) is None
    assert labels.exact(truth[:0], shares[:0]) is None and labels.micro_f1(0 * truth, 0 * shares) is None
