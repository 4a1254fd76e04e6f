"""A run of stocks: what it leaves, that it resumes to the bit, and what it says where the data is not sound."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch

from interruption import stop_after
from multiway import workflows
from multiway.errors import ConfigError, DataError, RunError
from multiway.metrics import classes
from multiway.tasks import lifecycle
from multiway.tasks.scores import score_table
from multiway.training import Interrupted
from multiway.workflows.training import with_seed
from multiway_papers.cell_rows import cell_row
from multiway_papers.stocks.answers import reload
from multiway_papers.stocks.config import StockConfig
from multiway_papers.stocks.explain import average_attention
from multiway_papers.stocks.network import labelled_rows
from multiway_papers.stocks.task import TASK as task
from papers.stocks.quotes import FakeCell, make_config, scores_on, write_stocks
from tolerances import ROUNDING64

BASELINES = ("majority", "previous", "logistic", "calendar")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stocks")
    return lifecycle.start(task, make_config(write_stocks(folder / "data"), baselines=BASELINES), folder / "run")


def test_a_run_leaves_everything_that_is_named(finished):
    names = {str(path.relative_to(finished.folder.path)) for path in finished.folder.path.rglob("*") if path.is_file()}
    assert names == {
        "config.yaml", "weights.safetensors", "preprocessing.json", "scores.json", "predictions.parquet",
        "manifest.json", "metrics.jsonl", *(f"baselines/{name}.safetensors" for name in BASELINES),
    }  # fmt: skip
    assert set(finished.folder.verify()["sha256"]) == names - {"manifest.json"}


def test_the_form_in_print_is_trained_by_its_name_and_reloads(tmp_path):
    model = {"name": "hot_stock_classifier_paper", "dim": 16, "num_heads": 2}
    data = write_stocks(tmp_path / "data")
    run = lifecycle.start(task, make_config(data, model=model, baselines=(), training={"epochs": 1}), tmp_path / "run")
    assert (run.model.config.preset, run.model.config.absent, run.model.config.num_blocks) == ("paper", "token", 2)
    loaded = lifecycle.load(tmp_path / "run")
    assert loaded.config.model_name == "hot_stock_classifier_paper"
    pd.testing.assert_frame_equal(pd.DataFrame(scores_on(loaded, str(data))), pd.DataFrame(scores_on(run, str(data))))


def test_scores_are_those_of_the_stored_predictions(finished):
    for model in ("network", *BASELINES):
        for split in ("validation", "test"):
            rows = finished.tables["predictions"].query("model == @model and split == @split")
            labels, rises = rows["label"].to_numpy(), rows["p_up"].to_numpy()
            found = {row["metric"]: row for row in finished.scores if (row["model"], row["split"]) == (model, split)}
            assert set(found) == {"acc", "f1", "macro_f1", "mcc", "auc", "acc_texts", "mcc_texts", "count"}
            assert found["acc"]["value"] == (rows["predicted"] == rows["label"]).mean()
            assert found["mcc"]["value"] == classes.mcc(labels, np.stack([1 - rises, rises], 1))
            assert found["auc"]["value"] == classes.auc(labels, np.stack([1 - rises, rises], 1))
            assert found["count"]["value"] == len(rows) == finished.facts["splits"][split]["count"]
            assert found["acc"]["low"] <= found["acc"]["value"] <= found["acc"]["high"]


def test_means_over_batches_of_days_join_the_scores_where_the_config_sets_them(finished):
    new_config = finished.config.replace(batch_days=1)
    known, new = ({metric.name for metric in task.metrics(config)} for config in (finished.config, new_config))
    assert new - known == {"acc_batches", "f1_batches", "mcc_batches"}
    scored = dataclasses.replace(task.predict(finished, reload(finished), "test"), config=new_config)
    found = {row["metric"]: row["value"] for row in scored.scores("test", draws=0) if row["model"] == "network"}
    rows = labelled_rows(finished)
    by_day = (rows["predicted"] == rows["label"]).groupby(rows["date"]).mean()
    assert set(found) == new
    assert found["acc_batches"] == pytest.approx(by_day.mean(), rel=ROUNDING64)


def test_the_texts_are_learnt(finished):
    rows = {row["model"]: row for row in score_table([finished], "test")}
    assert rows["network"]["mcc"] > 0.6 > 0.3 > rows["majority"]["acc"] - 0.5
    assert rows["majority"]["mcc"] is None


def test_labels_are_the_directions_of_the_file(finished):
    rows = finished.tables["predictions"].query("model == 'network'")
    prices = pd.read_csv(f"{finished.config.data}/prices.csv", keep_default_na=False)
    moves = prices.set_index(["ticker", "date"])["close"].groupby("ticker").pct_change()
    for row in rows.itertuples():
        assert (moves[row.ticker, str(row.date.date())] > 0) == (row.label == 1)
    first = {split: part["date"].min() for split, part in rows.groupby("split")}
    assert rows[rows["split"] == "validation"]["date"].max() < first["test"]
    assert {"NA"} <= set(rows["ticker"])


def test_the_best_epoch_is_that_of_the_highest_validation_score(finished):
    log = finished.folder.read_log()
    best = max(log, key=lambda row: (row["validation_score"], -row["validation_loss"]))
    assert finished.facts["best"]["network"]["epoch"] == best["epoch"]
    (row,) = [row for row in finished.scores if (row["model"], row["split"], row["metric"]) == (
        "network", "validation", "macro_f1")]  # fmt: skip
    assert row["value"] == best["validation_score"]


@pytest.mark.parametrize("select", ["mcc", "acc"])
def test_the_epoch_is_chosen_by_the_score_that_is_named(select, finished, tmp_path):
    run = lifecycle.start(
        task, make_config(finished.config.data, select=select, training={"epochs": 3}), tmp_path / "run"
    )
    (row,) = [row for row in run.scores if (row["model"], row["split"], row["metric"]) == (
        "network", "validation", select)]  # fmt: skip
    assert run.facts["best"]["network"]["validation_score"] == (row["value"] or 0.0)


def test_the_loss_may_choose(finished, tmp_path):
    run = lifecycle.start(
        task, make_config(finished.config.data, select="loss", training={"epochs": 3}), tmp_path / "run"
    )
    assert run.facts["best"]["network"]["validation_score"] is None
    assert run.facts["best"]["network"]["validation_loss"] == min(
        row["validation_loss"] for row in run.folder.read_log()
    )


def test_a_network_that_says_one_thing_is_chosen_all_the_same(finished, tmp_path):
    """Matthews correlation is undefined there, and a run needs some weights."""
    training = {"epochs": 1, "learning_rate": 1e-9}
    run = lifecycle.start(task, make_config(finished.config.data, select="mcc", training=training), tmp_path / "run")
    assert run.facts["best"]["network"]["epoch"] == 1.0


def test_a_loaded_run_is_the_run(finished):
    loaded = lifecycle.load(finished.folder.path)
    assert list(loaded.models) == list(finished.models) == ["network", *BASELINES]
    for name in finished.models:
        states = [run.models[name].state_dict().values() for run in (finished, loaded)]
        assert all(torch.equal(left, right) for left, right in zip(*states, strict=True)), name
    pd.testing.assert_frame_equal(loaded.tables["predictions"], finished.tables["predictions"])
    for name in ("config", "scores", "facts", "calibration", "digest"):
        assert getattr(loaded, name) == getattr(finished, name)
    assert loaded.state.plain() == finished.state.plain()


@pytest.mark.slow  # the contract stops every task once
@pytest.mark.parametrize(
    "changes",
    [
        {"training": {"label_smoothing": 0.1, "class_weights": "balanced", "average": 0.9, "accumulation": 2}},
        {"target": "quantiles", "model": {"dim": 16, "num_heads": 2, "num_blocks": 1, "dropout": 0.2}},
    ],
)
def test_a_stopped_run_continues_to_the_same_bits(changes, finished, tmp_path, monkeypatch):
    training = {"epochs": 3, **changes.get("training", {})}
    config = make_config(finished.config.data, **{**changes, "training": training})
    whole = lifecycle.start(task, config, tmp_path / "whole")
    stop_after(monkeypatch, 5)
    with pytest.raises(Interrupted, match=r"after step 5 of .*--resume .*cut"):
        lifecycle.start(task, config, tmp_path / "cut")
    assert not (tmp_path / "cut" / "manifest.json").exists()
    monkeypatch.undo()
    resumed = lifecycle.continue_run(tmp_path / "cut")
    weights = [path.relative_to(whole.folder.path) for path in whole.folder.path.rglob("*.safetensors")]
    assert len(weights) == len(whole.models) > 1
    for name in (*weights, "scores.json", "predictions.parquet"):
        assert (resumed.folder.path / name).read_bytes() == (whole.folder.path / name).read_bytes(), name


@pytest.mark.parametrize("modality", ["price", "text", "multimodal"])
def test_modalities(modality, finished, tmp_path):
    model = {**finished.config.model, "modality": modality}
    run = lifecycle.start(
        task, make_config(finished.config.data, model=model, training={"epochs": 1}), tmp_path / "run"
    )
    assert (run.state.encoder is None) == (modality == "price")
    assert lifecycle.load(tmp_path / "run").state.sizes.text_features == (None if modality == "price" else 16)


def test_a_product_of_modalities_is_trained_reloaded_and_explained(finished, tmp_path):
    model = {**finished.config.model, "fusion": "product", "mode_pooling": "learned"}
    lifecycle.start(task, make_config(finished.config.data, model=model, training={"epochs": 1}), tmp_path / "run")
    run = lifecycle.load(tmp_path / "run")
    assert run.model.config.fusion == "product"
    assert run.model.encoder.blocks[0].attention.pool_scores.any()
    streams = {each.mode.partition("(")[2] for each in average_attention(run, reload(run))}
    assert streams == {"texts)", "prices)"}


def test_one_stock_is_enough(tmp_path):
    run = lifecycle.start(
        task, make_config(write_stocks(tmp_path / "data", tickers=("LONE",)), training={"epochs": 1}), tmp_path / "run"
    )
    assert set(run.tables["predictions"]["ticker"]) == {"LONE"}
    assert len(task.answer(lifecycle.load(tmp_path / "run"), None, None, {}).frame) == 1


def test_runs_of_several_seeds_differ_in_their_draws_alone(finished, tmp_path):
    config = make_config(finished.config.data, training={"epochs": 1})
    runs = [lifecycle.start(task, with_seed(config, seed), tmp_path / str(seed)) for seed in (0, 1)]
    scores = [{row["model"]: row for row in score_table([run], "test")} for run in runs]
    assert scores[0]["calendar"] == scores[1]["calendar"]
    assert scores[0]["network"]["auc"] != scores[1]["network"]["auc"]


def test_data_is_checked_as_it_is_read(finished):
    report = task.kind.check(
        task.configure({"data": finished.config.data, "read": {"start": "2020-02-01"}}), finished.config.data
    )
    assert report.is_usable
    assert "2020-02-03" in " ".join(report.lines())
    assert not any("2020-01-06" in line for line in report.lines())


def test_without_texts_prices_are_read(tmp_path):
    data = write_stocks(tmp_path / "data", texts=False)
    run = lifecycle.start(task, make_config(data, training={"epochs": 1}), tmp_path / "run")
    assert run.state.encoder is None
    with pytest.raises(
        DataError, match=r"model.modality=text needs texts, and there are none. Give them \(read\.texts"
    ):
        lifecycle.start(task, make_config(data, model={"modality": "text"}), tmp_path / "other")
    with pytest.raises(DataError, match=r"model.modality=multimodal needs texts, and there are none"):
        lifecycle.start(task, make_config(data, model={"fusion": "product"}), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_quantiles_do_not_cross_and_are_scored(finished, tmp_path):
    config = make_config(finished.config.data, target="quantiles", quantiles=(0.05, 0.5, 0.9))
    run = lifecycle.start(task, config, tmp_path / "run")
    rows = run.tables["predictions"].query("model == 'network' and split == 'test'")
    assert (rows["q0.05"] < rows["q0.5"]).all()
    assert (rows["q0.5"] < rows["q0.9"]).all()
    rises = (rows["q0.5"] > 0) == (rows["p_up"] > 0.5)
    assert rises.all()
    scores = {(row["model"], row["metric"]): row["value"] for row in run.scores if row["split"] == "test"}
    inside = (rows["q0.05"] <= rows["movement"]) & (rows["movement"] <= rows["q0.9"])
    assert scores["network", "coverage_85"] == inside.mean()
    assert scores["network", "mae"] == pytest.approx((rows["q0.5"] - rows["movement"]).abs().mean())
    assert {model for model, _ in scores} == {"network", "training_quantiles"}
    assert scores["network", "pinball"] < scores["training_quantiles", "pinball"]
    assert task.sentence(run).startswith("test PINBALL 0.")
    assert "training_quantiles" in task.sentence(run)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": {"name": "hot_forecaster"}}, "model.name must be one of .*hot_stock_classifier"),
        ({"model": {"num_stocks": 4}}, "model.num_stocks is set by the data"),
        ({"model": {"dime": 16}}, "dime is not a known field, did you mean dim"),
        ({"training": {"loss": "mse"}}, "the target decides the loss"),
        ({"baselines": ["naive"]}, "baselines"),
        ({"select": "auc"}, "select"),
        ({"draws": -1}, "draws"),
        ({"target": "quantiles", "quantiles": [0.5, 0.1]}, "quantiles must ascend between 0 and 1"),
        ({"target": "quantiles", "quantiles": [0.1, 0.9]}, "quantiles need the median"),
        ({"target": "quantiles", "protocol": {"complete": True}}, "quantiles are of true movements"),
        ({"read": {"tikcer": "a"}}, "tikcer is not a known field, did you mean ticker"),
    ],
)
def test_a_config_says_what_is_wrong(settings, message):
    with pytest.raises(ConfigError, match=message):
        task.configure({"data": "prices.csv"}, settings)


def test_a_config_starts_from_the_training_of_movements():
    config = task.configure({"data": "prices.csv"}, {"training": {"batch_size": 4}})
    training = config.training
    assert (training.loss, training.optimizer, training.batch_size) == ("cross_entropy", "adamw", 4)
    assert StockConfig.parse(config.plain()) == config
    assert StockConfig().training.loss == "cross_entropy"


def test_a_known_set_brings_its_protocol():
    assert task.configure({"data": "stocknet"}, {}).protocol.name == "stocknet"
    assert task.configure({"data": "stocknet"}, {"protocol": {"name": "chronological"}}).protocol.name == (
        "chronological"
    )
    assert task.configure({"data": "prices.csv"}, {}).protocol.name == "chronological"


def test_unsound_data_leaves_nothing_behind(tmp_path):
    data = write_stocks(tmp_path / "data")
    prices = pd.read_csv(data / "prices.csv", keep_default_na=False)
    prices.loc[prices["ticker"] == "ACME", "close"] *= -1
    prices.to_csv(data / "prices.csv", index=False)
    with pytest.raises(DataError):
        lifecycle.start(task, make_config(data), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_one_direction_is_nothing_to_learn(tmp_path):
    data = write_stocks(tmp_path / "data")
    prices = pd.read_csv(data / "prices.csv", keep_default_na=False)
    for name in ("open", "high", "low", "close", "adj_close"):
        prices[name] = 10 * 1.01 ** np.arange(len(prices))
    prices.to_csv(data / "prices.csv", index=False)
    with pytest.raises(DataError, match="every training day goes the same way"):
        lifecycle.start(task, make_config(data, read={"jumps": "ignore"}), tmp_path / "run")


def test_a_damaged_run_is_refused(finished, tmp_path):
    run = lifecycle.start(task, make_config(finished.config.data, training={"epochs": 1}), tmp_path / "run")
    (run.folder.path / "scores.json").write_text("[]")
    with pytest.raises(RunError, match=r"changed or missing since training: scores.json"):
        lifecycle.load(tmp_path / "run")


def test_tables(finished):
    (row, *_) = score_table([finished], "test")
    assert list(row) == [
        "model", "acc", "acc low", "acc high", "f1", "macro_f1", "mcc", "mcc low", "mcc high", "auc", "acc_texts",
        "mcc_texts", "count",
    ]  # fmt: skip
    both = score_table([finished, finished], "test")[0]
    assert (both["mcc"], both["mcc sd"]) == (row["mcc"], 0.0)
    cell = cell_row("hot-stocks", FakeCell(), [finished, finished], 2)
    assert (cell["published_acc"], cell["published_mcc"]) == (0.7294, 0.516)
    assert (cell["acc"], cell["acc_sd"]) == (row["acc"], 0.0)
    assert {"majority_acc", "calendar_mcc", "logistic_f1", "parameters", "settings", "counts", "encoder"} <= set(cell)
    assert cell["counts"]["test"] == row["count"]
    assert workflows.evaluate(finished.folder.path)[0] == row


def test_the_sentence_names_the_baselines(finished):
    said = task.sentence(finished)
    assert said.startswith("test MCC 0.")
    assert "95 % interval" in said
    assert "majority undefined / 0." in said
    mcc = {row["model"]: row["mcc"] or 0.0 for row in score_table([finished], "test")}
    assert ("is no better than the baselines" in said) == (
        max(mcc, key=mcc.get) != "network" or mcc["logistic"] == max(mcc.values())
    )
