"""The content of a report is what the run holds; without its data the page says so; quantiles have their own words."""

import dataclasses
import json
import shlex
import shutil

import numpy as np
import pytest
from quotes import make_config, write_stocks

from multiway.report import render_stock_report
from multiway.tasks.stocks import StockConfig, showing, start, task
from multiway.tasks.stocks.reporting import compare, report, report_content
from report_pages import Page


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reported")
    write_stocks(folder / "data")
    return start(make_config(folder / "data", training={"epochs": 3}), folder / "run")


@pytest.fixture(scope="module")
def content(run):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(showing, "TESTED", 4)
        return report_content([run])


def test_every_section_of_a_run_is_there(content):
    page = Page(render_stock_report(content))
    assert page.sections() == [
        "summary", "data-check", "splits", "scores", "grid", "calibration", "answers", "attention", "backtest",
        "training", "environment",
    ]  # fmt: skip
    assert "Not investment advice." in page.text and "Attention is not attribution" in page.text
    assert "None" not in page.text and "nan" not in page.text.lower().split()


def test_scores_splits_and_grid_agree_with_the_predictions(content, run):
    rows = run.predictions.query("model == 'multiway' and split == 'test'")
    right = (rows["predicted"] == rows["label"]).to_numpy()
    test = {(score.model, score.metric): score for score in content.scores if score.split == "test"}
    assert test["multiway", "ACC"].value == right.mean()
    assert {"majority", "calendar look-up"} <= {model for model, _ in test}
    assert not any(metric == "count" for _, metric in test)
    split = {item.name: item for item in content.splits}["test"]
    assert (split.movements, split.rises) == (len(rows), (rows["label"] == 1).sum())
    assert (content.grid.counts.sum(), content.grid.right.sum()) == (len(rows), right.sum())
    place = content.grid.tickers.index("NA"), content.grid.months.index("2020-04")
    april = (rows["ticker"] == "NA").to_numpy() & (rows["date"].dt.strftime("%Y-%m") == "2020-04").to_numpy()
    assert content.grid.counts[place] == april.sum() and content.grid.right[place] == right[april].sum()
    assert content.grid.rises[place] == (rows["label"].to_numpy()[april] == 1).sum()
    assert sum(item.count for item in content.reliability) == len(rows)


def test_confident_errors_come_first_with_their_texts(content, run):
    first = content.answers[0]
    assert first.group == "Most confident errors"
    assert first.actual == ("fall" if first.p_up > 0.5 else "rise")
    assert first.strongest and abs(first.strongest[0].share) == max(abs(part.share) for part in first.strongest)
    assert any(answer.group == "Most confident when right" for answer in content.answers)
    assert content.deletion_answers > 0 and "standard error" in content.deletion_note


def test_the_backtest_is_that_of_the_command(content, run):
    rows = content.backtest.rows
    assert [row["portfolio"] for row in rows][:2] == ["long-short", "buy and hold"]
    assert content.backtest.lines["long-short"][-1] == pytest.approx(rows[0]["return_net"])
    assert task.NAME == "stocks" and content.backtest.words == "Not investment advice."


def test_without_the_data_the_rest_is_reported(run, tmp_path):
    shutil.copytree(run.folder.path, tmp_path / "run")
    gone = task.load(tmp_path / "run")
    gone = dataclasses.replace(gone, config=gone.config.replace(data=str(tmp_path / "gone.csv")))
    content = report_content([gone])
    assert (content.check, content.backtest, list(content.answers), list(content.maps)) == (None, None, [], [])
    assert "could not be read again" in content.answer_note and str(tmp_path) in content.answer_note
    assert "scores" in Page(report([gone])).sections()


def test_the_command_makes_the_run_again(content, run):
    words = content.command.split(" --set ")
    assert words[0] == f"multiway train stocks --data {run.config.data}"
    settings: dict = {}
    for word in words[1:]:
        name, _, value = shlex.split(word)[0].partition("=")
        target = settings
        *path, last = name.split(".")
        for part in path:
            target = target.setdefault(part, {})
        target[last] = json.loads(value)
    assert StockConfig.parse({"data": run.config.data, **settings}) == run.config


def test_runs_are_compared_on_one_page(run):
    page = Page(compare([[run], [run]]))
    assert page.sections()[0] == "scores" and "2 runs side by side" in page.text


def test_a_run_of_quantiles_is_reported_by_its_loss(run, tmp_path, monkeypatch):
    monkeypatch.setattr(showing, "TESTED", 2)
    config = make_config(run.config.data, target="quantiles", training={"epochs": 1})
    quantiles = start(config, tmp_path / "run")
    content = report_content([quantiles])
    assert content.unit.startswith("spreads")
    assert {score.metric for score in content.scores} == {"Pinball", "MAE", "Coverage of 80 %"}
    text = Page(render_stock_report(content)).text
    assert "has a pinball loss of" in text and "training quantiles" in text
    assert np.isfinite([answer.prices for answer in content.answers]).all()
