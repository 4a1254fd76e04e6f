"""The content of a report is what the run holds; without its data the page says so; quantiles have their own words."""

import dataclasses
import json
import re
import shlex
import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from multiway.report.sections import CaseAnswer, Table
from multiway.tasks import lifecycle
from multiway.tasks.page_parts import train_command
from multiway_papers.stocks import StockConfig, showing
from multiway_papers.stocks import page as contents
from multiway_papers.stocks.answers import reload
from multiway_papers.stocks.backtest import backtest_run, backtest_stocks
from multiway_papers.stocks.page import SUBJECT
from multiway_papers.stocks.showing import answer, grid_part
from multiway_papers.stocks.task import TASK as task
from papers.stocks.quotes import make_config, write_stocks
from report_pages import Page


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reported")
    write_stocks(folder / "data")
    return lifecycle.start(task, make_config(folder / "data", training={"epochs": 3}), folder / "run")


@pytest.fixture(scope="module")
def parts(run):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(showing, "TESTED", 4)
        return {part.id: part.content for part in contents.sections(run, reload(run))}


@pytest.fixture(scope="module")
def page(run):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(showing, "TESTED", 4)
        return Page(task.page.report([run]))


def own_rows(run):
    return run.tables["predictions"].query("model == 'network' and split == 'test'")


def test_every_section_of_a_run_is_there(page):
    assert page.sections() == [
        "answers", "scores", "backtest", "grid", "calibration", "attention", "data-check", "splits",
        "training", "environment",
    ]  # fmt: skip
    assert "Not investment advice." in page.text and "Attention is not attribution" in page.text
    assert "None" not in page.text and "nan" not in page.text.lower().split()


def test_scores_splits_and_grid_agree_with_the_predictions(page, parts, run):
    rows = own_rows(run)
    right = (rows["predicted"] == rows["label"]).to_numpy()
    scores = SUBJECT.scores([run])
    assert scores.get("network", "acc").value == right.mean()
    assert {"majority", "calendar"} <= set(scores.models())
    assert not any(metric == "count" for metric, _ in scores.columns())
    rises = (rows["label"] == 1).sum()
    assert f"{len(rows)} {rises} {100 * rises / len(rows):.1f} %" in page.text
    by_month, by_ticker = grid_part(rows).content[:2]
    assert sum(int(row[2]) for row in by_month.rows) == len(rows)
    line = next(row for row in by_ticker.rows if row[0] == "NA")
    april = (rows["ticker"] == "NA").to_numpy() & (rows["date"].dt.strftime("%Y-%m") == "2020-04").to_numpy()
    cell = line[by_ticker.columns.index("2020-04")]
    assert cell.text == f"{100 * right[april].mean():.0f}\u202f%" and cell.title == f"{april.sum()} movements"
    dots = parts["calibration"][0].drawing
    assert sum(int(count) for count in re.findall(r"(\d+) movements", str(dots))) == len(rows)


def test_the_next_session_comes_first_then_confident_errors_with_their_texts(parts, run):
    session, heading, first = parts["answers"][:3]
    assert isinstance(session, Table) and session.title.startswith("The next session, 2020-")
    assert heading.words == "Most confident errors"
    assert isinstance(first, CaseAnswer) and first.is_wrong
    name, day = first.name.split(", ")
    rows = own_rows(run)
    (row,) = rows[(rows["ticker"] == name) & (rows["date"] == day)].itertuples()
    directions, confidence = ("fall", "rise"), max(row.p_up, 1 - row.p_up)
    words = f"predicted a {directions[row.predicted]} with {100 * confidence:.0f}\u202f%"
    moved = f"{abs(100 * row.movement):.1f}\u202f%"
    assert first.sentence.startswith(f"{words}; it was a {directions[row.label]}") and moved in first.sentence
    assert re.match(
        r"The prices of the days before push the answer towards a (rise|fall); the texts", first.content[0][0]
    )
    shares = [abs(float(row[0].replace("\u2212", "-"))) for row in first.content[1].rows]
    assert shares == sorted(shares, reverse=True)
    assert any(getattr(item, "words", "") == "Most confident when right" for item in parts["answers"])
    assert "standard error" in parts["attention"][-1].words


@pytest.mark.parametrize(
    ("prices", "texts", "words"),
    [
        (-0.65, None, "push the answer towards a fall."),
        (0.1, -0.2, "push the answer towards a rise; the texts push the answer towards a fall."),
        (0.0, None, "leave the answer as it is."),
    ],
)
def test_what_moved_an_answer_is_said_without_a_figure_of_another_unit(prices, texts, words):
    moved = SimpleNamespace(prices=np.array(prices), texts=np.array(texts or 0.0), of_stocks=np.array([prices]))
    item = SimpleNamespace(
        ticker="A", date="2024-01-02", p_up=0.33, label=1, movement=0.01, names=("A",), contributions=moved,
        texts=[] if texts is None else [SimpleNamespace(share=texts, ticker="A", day="2024-01-01", text="news")],
        looks=[],
    )  # fmt: skip
    said = answer(item)
    assert said.sentence.startswith("predicted a fall with 67\u202f%; it was a rise")
    assert said.content[0].words == f"The prices of the days before {words}"


def test_the_backtest_is_that_of_the_command(parts, run):
    table, expected = parts["backtest"][2], backtest_run(run, None, None, {}).rows()
    assert [row[0] for row in table.rows] == [row["portfolio"] for row in expected]
    assert [row[2] for row in table.rows] == [showing.signed_percent(row["return_net"]) for row in expected]
    line = parts["backtest"][1].drawing.series[0]
    assert line.name == "long-short" and line.values[-1] == pytest.approx(100 * expected[0]["return_net"])


def test_an_undefined_sharpe_ratio_is_a_dash():
    days = pd.DataFrame({"date": ["2020-01-06", "2020-01-06"], "ticker": ["A", "B"]})
    alone = backtest_stocks(days.assign(p_up=[0.9, 0.2], movement=[0.1, -0.1]), cost_bps=0)
    assert showing.backtest_part(alone).content[2].rows[0][1:4] == ["+10.0\u202f%", "+10.0\u202f%", "\u2013"]


def test_without_the_data_the_rest_is_reported(run, tmp_path):
    shutil.copytree(run.folder.path, tmp_path / "run")
    gone = lifecycle.load(tmp_path / "run")
    gone = dataclasses.replace(gone, config=gone.config.replace(data=str(tmp_path / "gone.csv")))
    page = Page(task.page.report([gone]))
    assert page.sections() == [
        "answers", "scores", "grid", "calibration", "splits", "training", "environment",
    ]  # fmt: skip
    assert "could not be reread" in page.text and str(tmp_path) in page.text


def test_the_command_makes_the_same_settings(run):
    words = train_command(run).split(" --set ")
    assert words[0] == f"multiway train stocks --data {run.config.data}"
    settings = {}
    for word in words[1:]:
        name, _, value = shlex.split(word)[0].partition("=")
        target = settings
        *path, last = name.split(".")
        for part in path:
            target = target.setdefault(part, {})
        target[last] = json.loads(value)
    assert StockConfig.parse({"data": run.config.data, **settings}) == run.config


def test_runs_are_compared_on_one_page(run):
    page = Page(task.page.compare([[run], [run]]))
    assert page.sections()[0] == "scores" and "2 runs side by side" in page.text


def test_a_run_of_quantiles_is_reported_by_its_loss(run, tmp_path, monkeypatch):
    monkeypatch.setattr(showing, "TESTED", 2)
    config = make_config(run.config.data, target="quantiles", training={"epochs": 1})
    quantiles = lifecycle.start(task, config, tmp_path / "run")
    text = Page(task.page.report([quantiles])).text
    assert "in spreads of the median movement" in text and "lowest validation loss" in text
    assert "has a test pinball loss of" in text and "training quantiles" in text and "Coverage of 80 %" in text


def rows_of(mcc=(0.11, 0.05, 0.17), calendar=0.5):
    found = [("network", "acc", 0.56, 0.53, 0.59), ("majority", "acc", 0.513, 0.49, 0.53), ("network", "mcc", *mcc)]
    found += [("logistic", "mcc", 0.06, 0.0, 0.12), ("calendar", "acc", calendar, 0.47, 0.53)]
    names = ("model", "metric", "value", "low", "high")
    return [{**dict(zip(names, row, strict=True)), "split": "test"} for row in found]


def support_of(run, **rows):
    return list(contents.PAGE.support([dataclasses.replace(run, scores=rows_of(**rows))]))


def test_labels_of_the_calendar_are_said(run):
    assert "is right in 98.7\u202f%: these labels follow from the calendar" in support_of(run, calendar=0.9868)[1]
    assert len(support_of(run)) == 1


@pytest.mark.parametrize(
    ("mcc", "words"),
    [
        ((0.11, 0.05, 0.17), "Chance gives 0; the interval lies above it."),
        ((0.02, -0.05, 0.08), "Chance gives 0, which lies within this interval."),
        ((-0.1, -0.2, -0.01), "Chance gives 0; the interval lies below it."),
        ((0.11, None, None), "Chance gives 0."),
    ],
)
def test_the_correlation_is_set_against_chance(run, mcc, words):
    assert support_of(run, mcc=mcc)[0].endswith(words)


def test_the_grid_counts_by_month_and_by_ticker():
    groups = {("A", "2015-10-01"): (5, 10), ("A", "2015-11-01"): (30, 30), ("B", "2015-10-01"): (4, 20)}
    rows = [(*key, 1, place < right) for key, (right, count) in groups.items() for place in range(count)]
    frame = pd.DataFrame(rows, columns=["ticker", "date", "label", "predicted"])
    by_month, by_ticker = grid_part(frame.assign(predicted=frame["predicted"].astype(int))).content[:2]
    assert [(row[0], row[1].text, row[2]) for row in by_month.rows] == [
        ("2015-10", "30\u202f%", "30"), ("2015-11", "100\u202f%", "30"),
    ]  # fmt: skip
    (name, *first, count, _), (_, *second, _, _) = by_ticker.rows
    assert (name, [cell.text for cell in first], count) == ("A", ["88\u202f%", "50\u202f%", "100\u202f%"], "40")
    assert [cell.style for cell in first] == ["right"] * 3 and second[0].style == "wrong"
    assert first[1].shade == 0 and first[2].shade == pytest.approx(30 / 40) and second[2].text == ""


def test_the_spread_between_tickers_is_set_against_chance():
    chance, count = np.random.default_rng(0), 50
    names = np.repeat([f"T{index}" for index in range(400)], count)
    rows = pd.DataFrame({"ticker": names, "date": pd.Timestamp("2015-10-01"), "label": 1})
    found = grid_part(rows.assign(predicted=chance.binomial(1, 0.5, len(rows)))).content[-1].words
    spread, alike = map(float, re.findall(r"\d+\.\d", found))
    assert alike == pytest.approx(7.1) and spread == pytest.approx(7.1, abs=0.6)


def test_of_many_months_the_last_twelve_are_shown_by_ticker():
    days = pd.date_range("2014-01-01", periods=24, freq="MS").repeat(12)
    rows = pd.DataFrame({"ticker": ["A", "B"] * 144, "date": days, "label": 1, "predicted": 1})
    by_month, by_ticker, note = grid_part(rows).content[:3]
    assert len(by_month.rows) == 24 and by_ticker.columns[2:14] == [f"2015-{month:02d}" for month in range(1, 13)]
    assert by_ticker.rows[0][-2] == "144" and "last 12 of 24 months" in note.words
