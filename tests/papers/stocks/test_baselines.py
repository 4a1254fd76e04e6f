"""Baselines against loops, and the calendar on the published labels."""

import numpy as np
import pytest

from multiway.metrics import classes
from multiway_papers.stocks import regressions
from multiway_papers.stocks.baselines import TABLES, Calendar, MovementMajority, Previous, log_loss
from multiway_papers.stocks.network import of_rises
from multiway_papers.stocks.options import StockOptions
from multiway_papers.stocks.protocols import StockProtocol
from multiway_papers.stocks.regressions import PENALTIES, Logistic, flat_inputs, flat_movements
from multiway_papers.stocks.samples import tomorrow
from multiway_papers.stocks.source import read_stocks
from multiway_papers.stocks.state import Sizes
from papers.stocks.stock_panels import build_samples, inputs_of, make_panel, make_texts
from tolerances import LONG32, ROUNDING64, SUMS64

E = 3


def fitted(model, samples, vectors=None):
    """A baseline, and what its fit found."""
    inputs = inputs_of(samples, vectors)
    facts = model.fit(*(inputs[samples.splits[name]] for name in ("train", "validation")))
    return model, facts


def says(model, samples, rows, vectors=None):
    return model.says(inputs_of(samples, vectors)[rows])


def fit_logistic(samples, vectors=None):
    text_features = None if vectors is None else vectors.shape[1]
    return fitted(
        Logistic(
            Sizes(
                num_stocks=len(samples.tickers),
                num_slots=samples.slots.shape[1],
                price_features=samples.features.shape[2],
                text_features=text_features,
            )
        ),
        samples,
        vectors,
    )


def make_samples(seed=0, **protocol):
    panel = make_panel(seed)
    return build_samples(panel, make_texts(panel, seed=seed, count=500), StockProtocol(**protocol))


def make_vectors(samples, seed=0):
    vectors = np.random.default_rng(seed).standard_normal((samples.groups.num_rows, E)).astype(np.float32)
    vectors[0] = np.nan  # a row that stands for no text must never be read
    return vectors


def train_labels(samples):
    labels = samples.labels[samples.splits["train"]]
    return labels[labels >= 0]


def test_majority_is_the_share_of_training_says():
    samples = make_samples(name="stocknet")
    share = train_labels(samples).mean()
    found = says(fitted(MovementMajority(), samples)[0], samples, samples.splits["test"])
    assert found.shape == (len(samples.splits["test"]), len(samples.tickers))
    assert np.unique(found).tolist() == [share]


def test_previous_goes_on_as_before():
    samples = make_samples(name="stocknet")
    rows = samples.splits["test"]
    found = says(fitted(Previous(), samples)[0], samples, rows)
    last = samples.previous[rows]
    assert (found[last > 0] == 1).all() and (found[last < 0] == 0).all()
    samples.previous[rows[:2]] = [[np.nan], [0.0]]
    unknown = says(fitted(Previous(), samples)[0], samples, rows[:2])
    assert np.unique(unknown).tolist() == [train_labels(samples).mean()]


def traded_before(samples, sample, stock):
    earlier = [slot for slot in samples.slots[sample] if 0 <= slot < samples.targets[sample]]
    return bool(earlier) and bool(samples.traded[earlier[-1], stock])


def key_of(samples, sample, stock, keys):
    day = samples.days[samples.targets[sample]].astype(object)
    values = {
        "weekday": day.weekday(),
        "month": day.month,
        "last": traded_before(samples, sample, stock),
        "next": bool(samples.traded[samples.targets[sample], stock]),
    }
    return tuple(values[key] for key in keys)


@pytest.mark.parametrize("keys", TABLES, ids=" ".join)
@pytest.mark.parametrize("name", ["stocknet", "published-code"])
def test_a_look_up_counts_rises(keys, name, monkeypatch):
    monkeypatch.setattr("multiway_papers.stocks.baselines.TABLES", (keys,))
    samples = make_samples(name=name)
    calendar, _ = fitted(Calendar(), samples)
    counts, share = {}, train_labels(samples).mean()
    for sample in samples.splits["train"]:
        for stock in np.flatnonzero(samples.labels[sample] >= 0):
            cell = counts.setdefault(key_of(samples, sample, stock, keys), [share, 1])
            cell[0] += samples.labels[sample, stock]
            cell[1] += 1
    rows = samples.splits["test"][::2]
    found = says(calendar, samples, rows)
    for place, sample in enumerate(rows):
        for stock in range(len(samples.tickers)):
            rises, count = counts.get(key_of(samples, sample, stock, keys), (share, 1))
            assert found[place, stock] == pytest.approx(rises / count, rel=ROUNDING64)


def test_the_look_up_is_that_of_the_lowest_validation_loss(monkeypatch):
    samples = make_samples(name="published-code")
    calendar, facts = fitted(Calendar(), samples)
    chosen = calendar.keys
    assert facts["keys"] == list(chosen)
    held = samples.splits["validation"]
    labelled = samples.labels[held] >= 0
    losses = []
    for keys in TABLES:
        monkeypatch.setattr("multiway_papers.stocks.baselines.TABLES", (keys,))
        losses.append(
            log_loss(samples.labels[held][labelled], says(fitted(Calendar(), samples)[0], samples, held)[labelled])
        )
    assert TABLES[int(np.argmin(losses))] == chosen
    assert list(facts["validation_loss"].values()) == losses


def test_log_loss_is_that_of_its_definition():
    assert log_loss(np.array([1, 0]), np.array([0.8, 0.4])) == pytest.approx(-(np.log(0.8) + np.log(0.6)) / 2)
    assert np.isfinite(log_loss(np.array([1]), np.array([0.0])))


def slow_inputs(samples, sample, stock, vectors):
    prices, known, texts = [], [], []
    for place, slot in enumerate(samples.slots[sample]):
        seen = slot >= 0 and samples.slot_valid[sample, stock, place] and samples.known[slot, stock]
        known.append(float(seen))
        prices += samples.features[slot, stock].tolist() if seen else [0.0] * 3
        if samples.text_rows[sample, stock, place]:
            texts.append(vectors[samples.text_rows[sample, stock, place]])
    mean = np.mean(texts, axis=0) if texts else np.zeros(E)
    return [*prices, *known, *mean, float(bool(texts))]


def test_inputs_are_what_the_windows_show():
    samples = make_samples(name="stocknet")
    vectors = make_vectors(samples)
    rows = samples.splits["test"]
    labelled = samples.labels[rows] >= 0
    found = flat_inputs(inputs_of(samples, vectors)[rows], labelled)
    expected = [
        slow_inputs(samples, rows[day], stock, vectors) for day, stock in zip(*np.nonzero(labelled), strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=LONG32, atol=LONG32)
    plain = flat_inputs(inputs_of(samples)[rows], labelled)
    np.testing.assert_array_equal(plain, found[:, : plain.shape[1]])


@pytest.mark.parametrize("chunk", [1, 13, 20_000])
def test_chunks_change_nothing(chunk, monkeypatch):
    samples = make_samples(name="stocknet")
    vectors = make_vectors(samples)
    model, _ = fit_logistic(samples, vectors)
    rows = samples.splits["test"]
    whole = says(model, samples, rows, vectors)
    monkeypatch.setattr(regressions, "CHUNK", chunk)
    np.testing.assert_allclose(says(model, samples, rows, vectors), whole, rtol=SUMS64)
    assert whole.shape == (len(rows), len(samples.tickers))
    assert says(model, samples, rows[:0], vectors).shape == (0, len(samples.tickers))


def test_the_penalty_is_that_of_the_lowest_validation_loss():
    samples = make_samples(name="stocknet")
    model, facts = fit_logistic(samples, make_vectors(samples))
    losses = facts["validation_loss"]
    assert list(losses) == [f"{penalty:g}" for penalty in PENALTIES]
    assert losses[f"{facts['penalty']:g}"] == min(losses.values())
    held = samples.splits["validation"]
    labelled = samples.labels[held] >= 0
    found = says(model, samples, held, make_vectors(samples))[labelled]
    assert log_loss(samples.labels[held][labelled], found) == pytest.approx(min(losses.values()), rel=ROUNDING64)


def test_only_training_movements_are_learnt_from():
    samples = make_samples(name="stocknet")
    first, _ = fit_logistic(samples)
    samples.features[samples.targets[samples.splits["test"]]] += 5
    samples.labels[samples.splits["test"]] = 1
    second, _ = fit_logistic(samples)
    for name in ("centre", "spread", "weight"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert fitted(Calendar(), samples)[1] == fitted(Calendar(), make_samples(name="stocknet"))[1]


def test_many_movements_are_thinned_evenly(monkeypatch):
    samples = make_samples(name="stocknet")
    monkeypatch.setattr(regressions, "MOVEMENTS", 50)
    values, labels = flat_movements(inputs_of(samples)[samples.splits["train"]])
    assert len(values) == len(labels) == 50
    assert np.isfinite(says(fit_logistic(samples)[0], samples, samples.splits["test"])).all()


def test_a_signal_in_the_text_is_found():
    samples = make_samples(3, look_back=1)
    vectors = np.zeros((samples.groups.num_rows, E), np.float32)
    labelled = samples.labels >= 0
    rows = samples.text_rows[..., -1]
    vectors[rows[labelled & (rows > 0)], 0] = samples.labels[labelled & (rows > 0)]
    test = samples.splits["test"]
    found = says(fit_logistic(samples, vectors)[0], samples, test, vectors)
    told = labelled[test] & (rows[test] > 0)
    assert of_rises(classes.accuracy, samples.labels[test][told], found[told]) > 0.8


def test_everything_says_something_of_tomorrow():
    panel = make_panel()
    texts = make_texts(panel)
    protocol = StockProtocol()
    samples, ahead = build_samples(panel, texts, protocol), tomorrow(panel, texts, protocol)
    models = [fitted(kind(), samples)[0] for kind in (MovementMajority, Previous, Calendar)]
    for model in (*models, fit_logistic(samples)[0]):
        found = says(model, ahead, np.arange(1))
        assert found.shape == (1, len(panel.tickers))
        assert ((found >= 0) & (found <= 1)).all()


@pytest.fixture(scope="module")
def stocknet(real_data):
    if not (real_data / "stocks").is_dir():
        pytest.skip("stocks absent from the benchmark data")
    return read_stocks(real_data / "stocks", StockOptions())


def test_the_calendar_answers_the_published_labels(stocknet):
    """Learnt on the training days alone, chosen on validation, without a price or a text."""
    samples = build_samples(*stocknet, StockProtocol(name="published-code"))
    rows = samples.splits["test"]
    labelled = samples.labels[rows] >= 0
    calendar, _ = fitted(Calendar(), samples)
    found = says(calendar, samples, rows)[labelled]
    assert {"last", "next"} <= set(calendar.keys)
    assert of_rises(classes.accuracy, samples.labels[rows][labelled], found) == pytest.approx(0.9868, abs=0.003)
    assert of_rises(classes.mcc, samples.labels[rows][labelled], found) == pytest.approx(0.9695, abs=0.003)


def test_the_calendar_says_little_of_true_movements(stocknet):
    """On validation; the test days are read once, by runs."""
    samples = build_samples(*stocknet, StockProtocol(name="stocknet"))
    rows = samples.splits["validation"]
    labelled = samples.labels[rows] >= 0
    found = says(fitted(Calendar(), samples)[0], samples, rows)[labelled]
    assert of_rises(classes.accuracy, samples.labels[rows][labelled], found) < 0.55
