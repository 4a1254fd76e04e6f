"""StockNet itself: the counts that its authors' definition gives, and what the published labels ask in truth."""

import numpy as np
import pytest

from multiway.data.stocks import StockOptions, StockProtocol, build_samples, read_stocks, tomorrow
from multiway.metrics import movements


@pytest.fixture(scope="module")
def stocknet(real_data):
    if not (real_data / "stocks").is_dir():
        pytest.skip("stocks absent from the benchmark data")
    return read_stocks(real_data / "stocks", StockOptions())


def test_every_label_outside_the_dead_zone(stocknet):
    samples = build_samples(*stocknet, StockProtocol(name="stocknet"))
    assert samples.counts() == {"train": 20345, "validation": 2555, "test": 3720}
    shares = samples.rises()
    assert {name: round(share, 4) for name, share in shares.items()} == {
        "train": 0.5073, "validation": 0.4458, "test": 0.5129,
    }  # fmt: skip


def test_every_slot_with_a_text_and_a_price(stocknet):
    samples = build_samples(*stocknet, StockProtocol(name="stocknet", complete=True))
    assert samples.counts() == {"train": 4987, "validation": 656, "test": 1008}
    assert round(samples.rises()["test"], 4) == 0.5744
    asked = samples.labels >= 0
    full = samples.price_valid(np.arange(len(asked))) & (samples.text_rows > 0)
    assert (full | ~samples.slot_valid)[asked].all()


def test_the_first_feature_is_stocknets_movement_of_the_day_before(stocknet):
    samples = build_samples(*stocknet, StockProtocol(name="stocknet"))
    last = samples.features[samples.targets][..., 0]
    known = samples.known[samples.targets] & np.isfinite(samples.previous)
    np.testing.assert_allclose(last[known], samples.previous[known], rtol=0, atol=2e-6)  # both in 6 digits


def test_chronological_windows_ask_about_every_movement(stocknet):
    panel, texts = stocknet
    samples = build_samples(panel, texts, StockProtocol())
    assert (samples.labels >= 0).sum() == np.isfinite(panel.movement[:, 2:]).sum()
    ahead = tomorrow(panel, texts, StockProtocol())
    assert str(ahead.days[ahead.targets[0]]) == "2016-02-01"
    assert ahead.known[-1].all()


@pytest.mark.parametrize(
    "literal, count, accuracy, correlation", [(False, 2956, 0.9868, 0.9695), (True, 4021, 0.9831, 0.9667)]
)
def test_whether_the_next_day_trades_answers_the_published_labels(stocknet, literal, count, accuracy, correlation):
    """The rule knows the calendar and nothing else; on pairs of trading days the labels never say what happened."""
    samples = build_samples(*stocknet, StockProtocol(name="published-code", literal=literal))
    rows = samples.splits["test"]
    asked = samples.labels[rows] >= 0
    labels, rule = samples.labels[rows][asked], ~samples.traded[samples.targets[rows]][asked]
    assert len(labels) == count
    assert movements.accuracy(labels, rule) == pytest.approx(accuracy, abs=0.003)
    assert movements.mcc(labels, rule) == pytest.approx(correlation, abs=0.003)
    returns = samples.returns[rows][asked]
    pairs = np.isfinite(returns)
    assert not ((returns[pairs] > 0) == (labels[pairs] == 1)).any()
    if not literal:
        assert round(1 - pairs.mean(), 2) == 0.60
