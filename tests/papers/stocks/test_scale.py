"""Dates in their range, levels in order, and a scale that comes back from plain values."""

import numpy as np
import pytest
import torch

from multiway_papers.stocks.protocols import StockProtocol
from multiway_papers.stocks.state import StockScale
from papers.stocks.stock_panels import build_samples, make_panel, make_texts
from tolerances import LONG32, ROUNDING32, ROUNDING64


@pytest.fixture
def scale():
    one = np.ones(1, np.float32)
    return StockScale(
        centre=one, spread=one, text_centre=None, text_spread=None, years=(2020, 2020), movement_spread=0.02,
        movement_levels=(-0.02, 0.01, 0.03),
    )  # fmt: skip


def test_levels_ascend_whatever_the_network_says(scale, generator):
    found = scale.levels(20 * torch.randn(50, 4, 3, generator=generator, dtype=torch.float64))
    assert (found.diff(dim=-1) >= 0).all()
    assert (found[..., 1] > found[..., 0]).any()


def test_a_network_that_says_nothing_says_the_training_days(scale):
    found = scale.levels(torch.zeros(1, 3, dtype=torch.float64))[0]
    assert found.tolist() == pytest.approx(scale.movement_levels, rel=ROUNDING64)
    moved = scale.levels(torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64))[0]
    assert moved.tolist() == pytest.approx([level + 0.02 for level in scale.movement_levels], rel=ROUNDING64)


def test_levels_of_days_that_never_move_can_still_part(scale):
    still = scale.replace(movement_levels=(0.0, 0.0, 0.0))
    assert (still.levels(torch.zeros(1, 3)).diff() > 0).all()


def test_dates_are_day_month_and_year(scale):
    dated = scale.replace(years=(2014, 2016))
    days = np.array(["2014-01-01", "2015-12-31", "2019-07-16"], "datetime64[D]")
    expected = [[-0.5, -0.5, -0.5], [0.5, 0.5, 0.0], [0.0, 6 / 11 - 0.5, 0.5]]
    np.testing.assert_allclose(dated.dates(days), expected, atol=ROUNDING32)


def test_the_weekday_counts_from_monday_and_dates_may_be_left_out(scale):
    days = np.array(["2015-11-02", "2015-11-05", "2015-11-08"], "datetime64[D]")  # Monday, Thursday, Sunday
    weekday = scale.replace(date_features=("weekday",))
    np.testing.assert_allclose(weekday.dates(days), [[-0.5], [0.0], [0.5]], atol=ROUNDING32)
    assert weekday.replace(date_features=()).dates(days).size == 0


def test_a_scale_without_texts_comes_back_from_plain_values(scale):
    state = scale.plain()
    assert StockScale.parse(state).plain() == state


@pytest.mark.parametrize("text_scale", ["one", "each"])
def test_texts_are_divided_by_one_spread_or_each_feature_by_its_own(text_scale):
    panel = make_panel()
    samples = build_samples(panel, make_texts(panel), StockProtocol())
    vectors = np.random.default_rng(0).normal(0, [0.1, 1, 3, 0], (samples.groups.num_rows, 4)).astype(np.float32)
    spread = StockScale.fit(samples[samples.splits["train"]], vectors, text_scale=text_scale).text_spread
    used = np.unique(samples.text_rows[samples.splits["train"]])
    each = vectors[used[used > 0]].std(0)  # the last feature never varies
    expected = np.where(each > 0, each, 1) if text_scale == "each" else np.full(4, np.sqrt(np.square(each).mean()))
    np.testing.assert_allclose(spread, expected, rtol=LONG32)
