"""The model of a run on stocks that answers: chosen on validation by blocks of days, used by all, exchanged by name."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from command import printed
from fewer import show_fewer
from multiway.metrics.quantiles import pinball
from multiway.metrics.resampling import clusters_of, standard_error
from multiway.tasks import lifecycle
from multiway.tasks.candidate import words_of
from multiway.tasks.choice import Choice
from multiway_papers.stocks import StockMovementClassifier
from multiway_papers.stocks.answers import prediction_table
from multiway_papers.stocks.backtest import backtest_stocks, tradable_predictions
from multiway_papers.stocks.network import labelled_rows
from multiway_papers.stocks.task import TASK as task
from multiway_papers.stocks.task import candidates
from papers.stocks.quotes import NETWORK, make_config, write_stocks

NAMES = ("majority", "previous", "logistic", "calendar", "tfidf")


def started(folder, **settings):
    config = make_config(write_stocks(folder / "market"), **{"baselines": NAMES, "draws": 0, **settings})
    return lifecycle.start(task, config, folder / "run")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return started(tmp_path_factory.mktemp("choice"))


@pytest.fixture(scope="module")
def of_levels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("levels")
    return started(folder, target="quantiles", model={**NETWORK, "modality": "price"}, training={"epochs": 1})


def market_of(run):
    return run.prepared.raw.inputs.panel, run.prepared.raw.inputs.texts


def test_movements_are_chosen_by_brier_scores_over_blocks_of_days(run):
    rows = {name: labelled_rows(run, name, "validation") for name in run.models}
    losses = {name: 2 * np.square(table["p_up"] - table["label"]).to_numpy() for name, table in rows.items()}
    best, days = min(losses, key=lambda name: losses[name].mean()), rows["majority"]["date"].to_numpy()
    clusters = clusters_of(len(days), days, run.config.block_days)
    found = {row.name: row for row in run.answer.candidates}
    assert set(found) == {"network", *NAMES} and run.answer.unit == "blocks of 5 days"
    assert run.answer.cases == len(np.unique(clusters)) == -(-len(np.unique(days)) // run.config.block_days)
    for name, row in found.items():
        assert row.loss == pytest.approx(losses[name].mean(), rel=1e-9)
        assert row.error == pytest.approx(standard_error(losses[name] - losses[best], clusters), rel=1e-9)


def test_quantiles_are_chosen_by_their_pinball_loss(of_levels):
    rows, levels = of_levels.tables["predictions"].query("split == 'validation'"), of_levels.config.levels
    for row in of_levels.answer.candidates:
        table = rows[rows["model"] == row.name]
        truth, said = table["movement"].to_numpy(), table[[f"q{level:g}" for level in levels]].to_numpy()
        assert row.loss == pytest.approx(pinball(truth, said, levels), rel=1e-9)
    assert of_levels.answer.name == "training_quantiles" and of_levels.answer.loss == "pinball loss"


def test_the_quantiles_of_the_training_days_answer_where_they_are_better(of_levels):
    rows = prediction_table(of_levels, market_of(of_levels))
    expected = of_levels.state.scale.movement_levels
    assert (rows[["q0.1", "q0.5", "q0.9"]].to_numpy() == expected).all()


def test_a_blend_is_the_weighted_mean_of_its_members_in_predictions_and_in_the_backtest(run):
    weights = {"logistic": 0.25, "tfidf": 0.75}
    mixed = dataclasses.replace(run, answer=Choice(name="blend", reason="", weights=weights))
    for rows in (lambda one: prediction_table(one, market_of(run)), tradable_predictions):
        parts = {name: rows(run.with_answer(name))["p_up"].to_numpy() for name in weights}
        expected = sum(weights[name] * part for name, part in parts.items())
        np.testing.assert_allclose(rows(mixed)["p_up"], expected, rtol=1e-12)
        assert not np.allclose(parts["logistic"], parts["tfidf"])


def test_the_backtest_trades_by_the_model_that_is_named(run, tmp_path):
    said = {name: printed("backtest", run.folder.path, "--model", name) for name in ("logistic", "previous")}
    for name, lines in said.items():
        traded = backtest_stocks(tradable_predictions(run.with_answer(name)))
        first, *_ = lines.splitlines()
        assert (
            first.startswith(f"Answer: {words_of(candidates())[name]}, chosen by name") and traded.sentence() in lines
        )
    assert len({lines.splitlines()[1:][1] for lines in said.values()}) == 2


def test_an_estimator_asks_each_model(run):
    estimator = StockMovementClassifier.load(run.folder.path)
    for name in ("network", "majority", "tfidf"):
        expected = prediction_table(run.with_answer(name), market_of(run))["p_up"].to_numpy()
        np.testing.assert_array_equal(estimator.predict_proba(run.config.data, model=name)[:, 1], expected)
        np.testing.assert_array_equal(estimator.predict(run.config.data, model=name), expected > 0.5)
    scores = pd.DataFrame(run.scores).query("split == 'test' and metric == 'acc'").set_index("model")["value"]
    assert estimator.score() == scores[run.answer.name]


def test_a_named_answer_is_not_chosen(tmp_path, monkeypatch):
    show_fewer(monkeypatch)
    one = started(tmp_path, answer="majority", training={"epochs": 1})
    assert one.line.startswith("Answer: majority, as the settings say (Brier ")
    assert prediction_table(one, market_of(one))["p_up"].nunique() == 1
    page = task.page.report([one])
    assert one.line in page and "where prices or texts of the stock are hidden" in page
    assert "direction majority classified" in page
