"""Scores of stocks: means over seeds with their intervals, and the loss of levels and the names of its scores."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.metrics import classes
from multiway.metrics.quantiles import pinball
from multiway.metrics.resampling import intervals
from multiway.tasks.protocol import NETWORK
from multiway.training.losses import pinball_terms
from multiway_papers.stocks.config import StockConfig
from multiway_papers.stocks.network import intervals_of_means, of_rises, stock_metrics
from papers.stocks.quotes import make_config
from tolerances import ROUNDING64

DAYS, STOCKS = 23, 7


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def run(rng, labels, skill, **fields):
    """What `intervals_of_means` reads of a run: predictions that know the label a little, and the majority's."""
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(np.repeat(np.arange(DAYS), STOCKS), unit="D")
    own = np.clip(0.5 + skill * (labels - 0.5) + rng.normal(0, 0.2, labels.size), 0.01, 0.99)
    shared = {"date": days, "label": labels}
    frames = [
        pd.DataFrame({**shared, "model": model, "split": split, "p_up": p_up})
        for split in ("validation", "test")
        for model, p_up in ((NETWORK, own if split == "test" else 1 - own), ("majority", np.full(labels.size, 0.6)))
    ]
    return SimpleNamespace(tables={"predictions": pd.concat(frames)}, config=StockConfig(draws=200, **fields))


def test_the_interval_of_a_mean_is_that_of_the_scores_of_every_seed_on_the_same_days(rng):
    labels = rng.integers(0, 2, DAYS * STOCKS)
    runs = [run(rng, labels, skill) for skill in (0.1, 0.3)]
    found = intervals_of_means(runs)
    first = runs[0].tables["predictions"].query("split == 'test' and model == @NETWORK")
    days = first["date"].to_numpy()
    both = np.stack(
        [each.tables["predictions"].query("split == 'test' and model == @NETWORK")["p_up"] for each in runs], axis=1
    )

    def expected(score):
        return intervals({"": score}, labels, both, units=days, block=5, draws=200)[""]

    def mean_accuracy(truth, scores):
        return ((scores > 0.5) == truth[:, None]).mean()

    def above(truth, scores):
        return mean_accuracy(truth, scores) - truth.mean()  # the majority says "rise"

    assert found["acc"] == pytest.approx(expected(mean_accuracy), rel=ROUNDING64)
    assert found["acc_over_majority"] == pytest.approx(expected(above), rel=ROUNDING64)
    assert found["mcc"][0] > 0


def test_one_run_alone_has_the_interval_of_its_scores(rng):
    labels = rng.integers(0, 2, DAYS * STOCKS)
    alone = run(rng, labels, 0.2)
    rows = alone.tables["predictions"].query("split == 'test' and model == @NETWORK")
    days = rows["date"].to_numpy()
    expected = intervals(
        {"mcc": partial(of_rises, classes.mcc)}, labels, rows["p_up"].to_numpy(), units=days, block=5, draws=200
    )
    assert intervals_of_means([alone])["mcc"] == pytest.approx(expected["mcc"], rel=ROUNDING64)


def test_a_seed_that_says_one_thing_counts_as_an_mcc_of_zero_and_no_majority_as_no_difference(rng):
    labels = rng.integers(0, 2, DAYS * STOCKS)
    constant, skilled = run(rng, labels, 0.0, baselines=()), run(rng, labels, 0.9, baselines=())
    constant.tables["predictions"]["p_up"] = 0.7
    low, high = intervals_of_means([constant, skilled])["mcc"]
    assert 0 < low < high < 0.55
    assert "acc_over_majority" not in intervals_of_means([skilled])


LEVELS = (0.1, 0.5, 0.9)


def test_the_loss_is_the_score(generator):
    levels, returns = torch.randn(9, 3, generator=generator).double(), torch.randn(9, generator=generator).double()
    expected = pinball(returns.numpy(), levels.numpy(), LEVELS)
    assert float(pinball_terms(levels, returns, LEVELS).mean()) == pytest.approx(expected, rel=ROUNDING64)


def test_metrics_are_named_by_their_levels():
    def names(levels):
        return list(stock_metrics(make_config(target="quantiles", quantiles=levels)))

    assert names(LEVELS) == ["pinball", "mae", "coverage_80"]
    assert names((0.5,)) == ["pinball", "mae"]
