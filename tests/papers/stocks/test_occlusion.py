"""What an answer is without prices or texts, against models that are called by hand."""

import numpy as np
import pandas as pd
import pytest
import torch

from command import printed
from multiway.data.encoders.hashed import longest, word_ids
from multiway.tasks import lifecycle
from multiway_papers.stocks import StockMovementClassifier
from multiway_papers.stocks.explain import explain_day, texts_of, without_days, without_texts
from multiway_papers.stocks.network import rises_of
from multiway_papers.stocks.regressions import flat_inputs
from multiway_papers.stocks.task import TASK as task
from papers.stocks.quotes import make_config, make_prices, make_texts, write_stocks
from tolerances import ROUNDING64


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Some days have two texts of a ticker."""
    folder = write_stocks(tmp_path_factory.mktemp("hidden") / "market")
    texts = make_texts(make_prices())
    second = texts[::3].assign(text="plants grow in rain")
    pd.concat([texts, second, second.assign(text="rain and orders")]).to_csv(folder / "texts.csv", index=False)
    names = ("majority", "previous", "logistic", "tfidf")
    config = make_config(folder, baselines=names, draws=0, training={"epochs": 1})
    return lifecycle.start(task, config, folder.parent / "run")


def samples_with_texts(run, least=2):
    """Samples and stocks whose last slot has several texts."""
    inputs = run.prepared.part("test").inputs
    sizes = inputs.windows.groups.sizes[inputs.windows.text_rows[:, :, -1]]
    return [(inputs[np.array([sample])], int(stock)) for sample, stock in np.argwhere(sizes >= least)[:3]]


def test_a_regression_without_a_day_is_that_of_a_window_without_it(run):
    chosen = run.with_answer("logistic")
    for one, stock in samples_with_texts(run):
        found = without_days(chosen, one, stock)
        rows = flat_inputs(one, np.arange(3)[None] == stock)
        slots, model = one.windows.slots.shape[1], run.models["logistic"]
        for slot in range(slots):
            hidden = rows.copy()
            hidden[0, 3 * slot : 3 * slot + 3] = hidden[0, 3 * slots + slot] = 0
            fall = [float(model(torch.from_numpy(values)).softmax(1)[0, 1]) for values in (rows, hidden)]
            assert found.prices[stock, slot] == pytest.approx(fall[0] - fall[1], abs=ROUNDING64)
        others = np.delete(found.prices + found.texts, stock, axis=0)
        assert found.score == pytest.approx(rises_of(chosen, one)[0, stock], abs=ROUNDING64) and not others.any()
        assert found.texts[stock].any() and found.prices[stock].any()


def test_a_bag_of_words_without_a_text_is_that_of_the_others(run):
    chosen, model = run.with_answer("tfidf"), run.models["tfidf"]
    for one, stock in samples_with_texts(run):
        texts, said = texts_of(one), one.windows.texts.text
        falls, whole = without_texts(chosen, one, stock, texts), rises_of(chosen, one)[0, stock]
        last = one.windows.slots.shape[1] - 1
        for text in range(len(texts)):
            if (texts.stock[text], texts.slot[text]) != (stock, last):
                assert falls[text] == 0  # it reads what was written since the last session, of the stock alone
                continue
            rest = one.windows.groups.of(int(one.windows.text_rows[0, stock, last]))
            words = ["\n".join(said[item] for item in rest if item != texts.item[text])]
            ids = torch.from_numpy(word_ids(words, run.state.words, longest(words, 99)))
            chance = float(model.parts[0](ids).softmax(1)[0, 1])
            assert falls[text] == pytest.approx(whole - chance, abs=ROUNDING64)
        assert np.abs(falls).max() > 1e-4


def test_without_its_only_text_a_day_is_one_without_texts(run):
    chosen = run.with_answer("tfidf")
    inputs = run.prepared.part("test").inputs
    rows, sizes = inputs.windows.text_rows[:, :, -1], inputs.windows.groups.sizes
    sample, stock = np.argwhere(sizes[rows] == 1)[0]
    one = inputs[np.array([sample])]
    texts = texts_of(one)
    (text,) = np.flatnonzero((texts.stock == stock) & (texts.slot == one.windows.slots.shape[1] - 1))
    share = float(run.models["tfidf"].share)
    expected = rises_of(chosen, one)[0, stock] - share
    assert without_texts(chosen, one, int(stock), texts)[text] == pytest.approx(expected, abs=ROUNDING64)
    assert without_days(chosen, one, int(stock)).texts[stock, -1] == pytest.approx(expected, abs=ROUNDING64)


def test_the_mean_vector_without_a_text_is_that_of_the_others(run):
    one, stock = samples_with_texts(run, 3)[0]
    chosen, texts = run.with_answer("logistic"), texts_of(one)
    last = one.windows.slots.shape[1] - 1
    own = np.flatnonzero((texts.stock == stock) & (texts.slot == last))
    rows = flat_inputs(one, np.arange(3)[None] == stock)
    vectors, features = one.tables.vectors, run.state.sizes.text_features
    means = [vectors[row].numpy() for slot, row in enumerate(one.windows.text_rows[0, stock]) if row and slot != last]
    hidden = rows.copy()
    hidden[0, -1 - features : -1] = np.mean([*means, texts.vectors[own[1:]].mean(0).numpy()], axis=0, dtype=np.float64)
    before, after = (
        float(run.models["logistic"](torch.from_numpy(values)).softmax(1)[0, 1]) for values in (rows, hidden)
    )
    assert without_texts(chosen, one, stock, texts)[own[0]] == pytest.approx(before - after, abs=1e-7)


def test_the_direction_before_is_hidden_with_the_last_prices(run):
    one, stock = samples_with_texts(run)[0]
    found = without_days(run.with_answer("previous"), one, stock)
    share = float(run.models["previous"].share)
    assert found.prices[stock].tolist() == [0.0, 0.0, found.score - share] and not found.texts.any()


def test_explanations_are_of_the_requested_model(run, tmp_path):
    one, stock = samples_with_texts(run)[0]
    item = explain_day(run.with_answer("tfidf"), one, 0, [stock]).tickers[0]
    assert item.deletion is None and item.looks == [] and item.texts[0].ticker == item.ticker
    assert item.p_up == rises_of(run.with_answer("tfidf"), one)[0, stock]
    day = str(one.windows.target_days[0])
    (other,) = StockMovementClassifier.load(run.folder.path).explain(
        run.config.data, date=day, tickers=[item.ticker], model="tfidf"
    )
    assert list(map(vars, other.tickers[0].texts)) == list(map(vars, item.texts))
    said = printed("explain", run.folder.path, "--model", "tfidf", "--date", day, "--out", tmp_path / "out")
    assert said.startswith("Answer: bag of words, ") and "falls without them: prices" in said
    assert {path.name for path in (tmp_path / "out").glob("[!.]*")} == {"texts.csv", "stocks.csv"}
