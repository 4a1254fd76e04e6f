"""What is read before anything is written: the scale, the vectors, the batches, and the hash that knows the data."""

import dataclasses

import numpy as np
import pytest
import torch

from multiway.data.encoders import encode_texts
from multiway.errors import DataError
from multiway.tasks.run import digest_of
from multiway.training.losses import class_weights
from multiway_papers.stocks import encode
from multiway_papers.stocks.encode import group_means
from multiway_papers.stocks.network import MovementLoss
from multiway_papers.stocks.source import read_stocks
from multiway_papers.stocks.state import StockScale
from multiway_papers.stocks.task import TASK as task
from papers.stocks.quotes import make_config, make_prices, make_texts, write_stocks
from tolerances import ROUNDING32, SUMS32

PROTOCOL = {"look_back": 3}


def prepared_of(prices, texts=None, **changes):
    config = make_config(**changes)
    return task.prepare(config, read_stocks(prices, config.read, texts=texts))


@pytest.fixture(scope="module")
def prepared():
    prices = make_prices()
    return prepared_of(prices, make_texts(prices))


@pytest.mark.parametrize("features", ["changes", "levels"])
def test_later_prices_and_texts_do_not_change_the_scale(features):
    """The first day of validation is the first whose rows are changed."""
    changes = {"protocol": {**PROTOCOL, "prices": features}}
    prices = make_prices()
    texts = make_texts(prices)
    prepared = prepared_of(prices, texts, **changes)
    border = prepared.part("validation").inputs.windows.target_days[0]
    later = (prices["date"] >= border).to_numpy()
    prices.loc[later, ["open", "high", "low", "close", "adj_close"]] *= np.linspace(1, 1.2, later.sum())[:, None]
    texts.loc[texts["date"] >= str(border - 1), "text"] = "something else"
    other = prepared_of(prices, texts, **changes)
    state = prepared.state.scale.plain()
    assert other.state.scale.plain() == state
    assert digest_of(other.content()) != digest_of(prepared.content())
    training = [each.part("train").gather(torch.arange(30)) for each in (prepared, other)]
    for name in training[0]:
        assert torch.equal(*(batch[name].nan_to_num() for batch in training)), name


def test_levels_are_scaled_by_one_mean_and_deviation_of_all_stocks():
    prices = make_prices()
    prepared = prepared_of(prices, protocol={**PROTOCOL, "prices": "levels"})
    assert prepared.state.scale.centre.shape == prepared.state.scale.spread.shape == (3,)
    batch = prepared.part("test").gather(torch.tensor([0]))
    day = prepared.part("test").inputs.windows.target_days[0]
    last = prices[(prices["ticker"] == "ACME") & (prices["date"] < day)].iloc[-1]
    expected = (
        last[["adj_close", "high", "low"]].to_numpy(float) - prepared.state.scale.centre
    ) / prepared.state.scale.spread
    np.testing.assert_allclose(batch["prices"][0, 0, -1], expected, rtol=SUMS32)


def test_earlier_prices_and_texts_do_change_it(prepared):
    prices = make_prices(seed=3)
    other = prepared_of(prices, make_texts(prices))
    assert (other.state.scale.spread != prepared.state.scale.spread).all()
    assert (other.state.scale.text_centre != prepared.state.scale.text_centre).any()


@pytest.mark.parametrize("features", ["changes", "levels"])
def test_the_scale_is_that_of_the_days_shown(features):
    prepared = prepared_of(make_prices(), protocol={**PROTOCOL, "prices": features})
    samples, seen = prepared.raw.inputs, set()
    for row in prepared.rows("train"):
        for stock in range(len(samples.tickers)):
            for place, slot in enumerate(samples.slots[row]):
                if slot >= 0 and samples.slot_valid[row, stock, place] and samples.known[slot, stock]:
                    seen.add((slot, stock))
    values = np.array([samples.features[slot, stock] for slot, stock in sorted(seen)], np.float64)
    np.testing.assert_allclose(prepared.state.scale.centre, values.mean(0), rtol=ROUNDING32)
    np.testing.assert_allclose(prepared.state.scale.spread, values.std(0), rtol=ROUNDING32)


def test_a_batch_is_what_the_samples_say(prepared):
    samples, scale = prepared.raw.inputs, prepared.state.scale
    rows, vectors = prepared.rows("validation"), prepared.encoded.inputs.tables.vectors
    batch = prepared.part("validation").gather(torch.tensor([4, 0]))
    for place, row in enumerate(rows[[4, 0]]):
        for stock in range(len(samples.tickers)):
            label = int(samples.labels[row, stock])
            assert int(batch["label"][place, stock]) == label
            assert bool(batch["target_mask"][place, stock]) == (label >= 0)
            for slot, day in enumerate(samples.slots[row]):
                valid = day >= 0 and samples.slot_valid[row, stock, slot] and samples.known[day, stock]
                assert bool(batch["price_valid"][place, stock, slot]) == valid
                expected = (samples.features[day, stock] - scale.centre) / scale.spread if valid else np.zeros(3)
                np.testing.assert_allclose(batch["prices"][place, stock, slot], expected, rtol=ROUNDING32)
                text = samples.text_rows[row, stock, slot]
                assert bool(batch["text_valid"][place, stock, slot]) == (text > 0)
                np.testing.assert_array_equal(batch["text"][place, stock, slot], vectors[text])


def test_windows_that_are_shorter_show_nothing_in_front(prepared):
    inputs = prepared.part("train").inputs
    slots = inputs.windows.slots.copy()
    slots[:, 0] = -1
    cut = dataclasses.replace(inputs, windows=dataclasses.replace(inputs.windows, slots=slots))
    batch = cut.batch(torch.arange(5))
    assert not batch["price_valid"][:, :, 0].any()
    assert not batch["prices"][:, :, 0].any()
    assert not batch["dates"][:, 0].any()
    assert batch["dates"][:, 1:].any()


def test_a_group_is_the_mean_of_its_texts(prepared):
    encoded = encode_texts(prepared.raw.inputs.texts.text, make_config().text)
    groups = prepared.raw.inputs.groups
    means = group_means(groups, encoded)
    assert len(means) == len(groups.starts) - 1
    for row in range(len(means)):
        items = groups.items[groups.starts[row] : groups.starts[row + 1]]
        each = [encoded.vectors[encoded.rows[item]] for item in items]
        np.testing.assert_allclose(means[row], np.mean(each, 0) if each else 0, rtol=SUMS32, atol=SUMS32)
    assert not prepared.encoded.inputs.tables.vectors[0].any()


def test_vectors_that_do_not_fit_are_refused(prepared, monkeypatch):
    monkeypatch.setattr(encode, "free_memory", lambda: 1000)
    with pytest.raises(
        DataError, match=r"vectors of \d+ stock-days with texts would take .* GB, and 1e-06 GB are free"
    ):
        prepared_of(make_prices(), make_texts(make_prices()))


def test_a_scale_comes_back_from_plain_values(prepared):
    state = prepared.state.scale.plain()
    assert StockScale.parse(state).plain() == state


class Fixed(torch.nn.Module):
    """Answers what it was given."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs = torch.nn.Parameter(outputs)

    def forward(self, *inputs):
        return self.outputs


def test_the_loss_counts_the_targets(prepared, generator):
    batch = prepared.part("train").gather(torch.arange(20))
    assert 0 < int(batch["target_mask"].sum()) < batch["target_mask"].numel()
    model = Fixed(torch.randn(20, 3, 2, generator=generator))
    config = make_config()
    total, count = MovementLoss(config, prepared.state.scale)(model, batch)
    chances = model.outputs.detach().softmax(-1)
    each = [
        -float(chances[row, stock, batch["label"][row, stock]].log())
        for row, stock in torch.nonzero(batch["target_mask"]).tolist()
    ]
    assert int(count) == len(each)
    assert float(total.detach()) == pytest.approx(sum(each), rel=SUMS32)
    total.backward()
    assert not model.outputs.grad[~batch["target_mask"]].any()


def test_balanced_weights_make_both_directions_count_alike(prepared):
    config = make_config(training={"class_weights": "balanced"})
    labels = prepared.part("train").inputs.windows.labels
    weights = class_weights(labels[labels >= 0], 2, config.training)
    falls, rises = (labels == 0).sum(), (labels == 1).sum()
    assert float(weights[0] * falls) == pytest.approx(float(weights[1] * rises))
    assert float(weights[0] * falls + weights[1] * rises) == pytest.approx(falls + rises)
    batch = prepared.part("train").gather(torch.arange(20))
    loss = MovementLoss(config, prepared.state.scale, config.training, weights)
    _, count = loss(Fixed(torch.zeros(20, 3, 2)), batch)
    assert float(count) == pytest.approx(float(weights[batch["label"][batch["target_mask"]]].sum()))


def test_the_pinball_loss_is_blind_to_what_is_no_target(generator):
    prices = make_prices()
    prepared = prepared_of(prices, target="quantiles")
    config = make_config(target="quantiles")
    batch = prepared.part("train").gather(torch.arange(20))
    assert not batch["target_mask"].all()
    assert batch["returns"][~batch["target_mask"]].isnan().any()
    model = Fixed(torch.randn(20, 3, 3, generator=generator))
    total, count = MovementLoss(config, prepared.state.scale)(model, batch)
    total.backward()
    assert int(count) == int(batch["target_mask"].sum())
    assert torch.isfinite(model.outputs.grad).all()
    assert not model.outputs.grad[~batch["target_mask"]].any()


def test_a_folder_is_known_by_what_is_in_it(tmp_path):
    def digest(folder, **changes):
        return digest_of(task.prepare(make_config(**changes), folder).content())

    folders = [write_stocks(tmp_path / name, seed=seed) for name, seed in (("a", 0), ("b", 0), ("c", 1))]
    first, copy, other = map(digest, folders)
    assert first == copy != other
    assert digest(folders[0], text={"encoder": "hashed", "hashed_dim": 32}) != first


def test_splits_without_a_label_are_refused():
    prices = make_prices(count=12)
    with pytest.raises(DataError, match=r"Got train \d+, validation \d+, test \d+"):
        prepared_of(prices, protocol={"look_back": 3, "borders": ["2020-01-15", "2030-01-01"]})


@pytest.mark.parametrize(
    ("protocol", "counts"),
    [
        ({"name": "stocknet"}, (20345, 2555, 3720)),
        ({"name": "stocknet", "complete": True}, (4987, 656, 1008)),
    ],
)
def test_the_real_set(real_data, protocol, counts):
    """StockNet as its authors count it; test labels are counted, and nothing is decided by them."""
    if not (real_data / "stocks" / "prices.parquet").is_file():
        pytest.skip("StockNet absent")
    config = make_config(protocol=protocol, split={}, model={"modality": "price"})
    prepared = task.prepare(config, real_data / "stocks")
    found = tuple(int(prepared.part(name).inputs.target_mask.sum()) for name in ("train", "validation", "test"))
    assert found == counts
    batch = prepared.part("train").gather(torch.arange(4))
    assert batch["prices"].shape == (4, 87, 5, 3)
