"""Explanations of a trained run: what the texts gave away is found, and every file can be read."""

import csv
import dataclasses

import numpy as np
import pandas as pd
import pytest

from multiway.errors import ConfigError
from multiway.explain import load_maps
from multiway.tasks import lifecycle
from multiway.tasks.run import Models
from multiway_papers.stocks.answers import explain_stocks, reload, texts_frame
from multiway_papers.stocks.explain import (
    TARGET,
    TOKEN,
    average_attention,
    batch_of,
    chosen_pairs,
    explain_day,
    interesting,
    named_sample,
    named_stocks,
    texts_of,
)
from multiway_papers.stocks.task import TASK as task
from papers.stocks.quotes import WORDS, make_config, make_prices, write_stocks
from tolerances import LONG32, SUMS32


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explained")
    write_stocks(folder / "data")
    texts = pd.read_csv(folder / "data" / "texts.csv", keep_default_na=False)
    texts["text"] = texts["text"].str.replace(r" no\. \d+", "", regex=True)
    odd = texts.sample(frac=0.3, random_state=0).assign(text='=HYPERLINK("http://x","y")\nnext line')
    pd.concat([texts, odd]).to_csv(folder / "data" / "texts.csv", index=False)
    return lifecycle.start(task, make_config(folder / "data"), folder / "run")


@pytest.fixture(scope="module")
def data(run):
    return reload(run)


def targets_of_test(data):
    rows = data.rows("test")
    return [(int(rows[day]), int(stock)) for day, stock in np.argwhere(data.encoded.inputs[rows].target_mask)]


def test_the_vectors_of_a_day_are_the_means_of_its_texts(run, data):
    one = data.part("test").inputs[np.array([3])]
    texts, batch, rows = texts_of(one), batch_of(run, one), one.windows.text_rows[0]
    assert len(texts) == one.windows.groups.sizes[rows].sum()
    for stock, slot in np.argwhere(rows > 0):
        here = (texts.stock == stock) & (texts.slot == slot)
        mean = texts.vectors[here].mean(0).numpy()
        np.testing.assert_allclose(batch["text"][0, stock, slot].numpy(), mean, rtol=LONG32, atol=SUMS32)
        assert (data.raw.inputs.texts.ticker[texts.item[here]] == stock).all()


@pytest.mark.slow
def test_the_texts_that_tell_are_found_and_speak_for_what_they_say(run, data):
    agree, areas = [], []
    for place, (sample, stock) in enumerate(targets_of_test(data)):
        item = explain_day(run, data.encoded.inputs, sample, [stock], deletion=place % 4 == 0).tickers[0]
        told = [part for part in item.texts if part.ticker == item.ticker and part.text in WORDS.values()]
        last = [part for part in told if part.slot_day == item.date]
        agree += [(part.share > 0) == (part.text == WORDS[True]) for part in last]
        areas += [item.deletion.area("gradients") - item.deletion.area()] if item.deletion else []
    assert len(agree) > 40 and np.mean(agree) > 0.65
    assert len(areas) > 10 and np.mean(areas) < -0.01


def test_an_explanation_says_what_was_predicted_and_what_came(run, data):
    sample, stock = targets_of_test(data)[5]
    item = explain_day(run, data.encoded.inputs, sample, [stock], deletion=False).tickers[0]
    row = run.tables["predictions"].query("model == 'network' and split == 'test' and ticker == @item.ticker")
    row = row[row["date"] == item.date].iloc[0]
    assert (item.label, item.deletion) == (row["label"], None)
    assert item.p_up == pytest.approx(row["p_up"], rel=LONG32)
    assert item.movement == pytest.approx(row["movement"], rel=SUMS32)
    assert item.contributions.score == pytest.approx(np.log(item.p_up / (1 - item.p_up)), rel=1e-3, abs=1e-5)
    shares = np.array([part.share for part in item.texts])
    assert (np.abs(shares) == np.sort(np.abs(shares))[::-1]).all()
    assert all(part.day < item.date and part.slot_day <= item.date for part in item.texts)


def test_maps_carry_tickers_and_dates(run, data):
    day = explain_day(run, data.encoded.inputs, int(data.rows("test")[-1]), [0, 2])
    modes = [f"{mode} ({stream})" for stream in ("texts", "prices", "prices to texts") for mode in ("stocks", "days")]
    assert [item.mode for item in day.maps] == modes
    assert [item.ticker for item in day.tickers] == ["ACME", "ZED"]
    for item in day.maps:
        names = run.state.tickers if item.mode.startswith("stocks") else (TOKEN, *map(str, day.slot_days))
        assert item.query_labels == item.key_labels == names
        np.testing.assert_allclose(item.weights.sum(-1), 1, rtol=LONG32)
    assert day.slot_days[-1] == day.date
    assert [name for name, _ in day.tickers[0].looks] != [] and "ACME" not in dict(day.tickers[0].looks)


def test_the_average_names_days_by_their_distance(run, data):
    maps = average_attention(run, data)
    assert maps[1].query_labels == (TOKEN, "2 before", "1 before", TARGET)
    assert maps[1].num_samples == len(data.rows("test"))
    assert maps[1].ordered and not maps[0].ordered


def test_modes_without_attention_and_full_attention_have_no_maps(run, data):
    def with_model(**fields):
        config = run.config.replace(model={**run.config.model, **fields})
        return dataclasses.replace(run, config=config, models=Models(task, config, run.state))

    sample = int(data.rows("test")[0])
    only_days = explain_day(with_model(attended_modes=[1]), data.encoded.inputs, sample, [0])
    assert {item.mode.split()[0] for item in only_days.maps} == {"days"} and only_days.tickers[0].looks == []
    for fields in ({"attended_modes": []}, {"attention": "full"}):
        assert explain_day(with_model(**fields), data.encoded.inputs, sample, [0]).maps == []
        assert average_attention(with_model(**fields), data) == []


def test_without_a_choice_the_most_confident_errors_are_explained(run, data):
    rows = run.tables["predictions"].query("model == 'network' and split == 'test'")
    wrong = rows[rows["predicted"] != rows["label"]]
    best = wrong.loc[(wrong["p_up"] - 0.5).abs().idxmax()]
    heading, sample, stock = interesting(run, data, 2)[0]
    day, name = str(data.raw.inputs.target_days[sample]), run.state.tickers[stock]
    assert (heading, day, name) == ("Most confident errors", str(best["date"].date()), best["ticker"])
    assert chosen_pairs(run, data, None, None)[0] == (sample, stock)


def test_a_day_and_tickers_can_be_named(run, data):
    last = data.raw.inputs.target_days[-1]
    assert chosen_pairs(run, data, None, ["NA"]) == [(len(data.raw.inputs.target_days) - 1, 1)]
    assert chosen_pairs(run, data, str(last), ["ZED", "ACME"]) == [
        (len(data.raw.inputs.target_days) - 1, i) for i in (2, 0)
    ]
    day_alone = chosen_pairs(run, data, str(last), None)
    assert {sample for sample, _ in day_alone} == {len(data.raw.inputs.target_days) - 1}
    assert all(data.encoded.inputs.target_mask[sample, stock] for sample, stock in day_alone)


@pytest.mark.parametrize(
    ("date", "tickers", "text"),
    [
        ("2020-13-01", None, r"the date must be a day such as 2020-05-08. Got '2020-13-01'"),
        ("2021-05-01", None, r"no movement of 2021-05-01 is labelled. Choose a day from .* such as 2020-05-08"),
        (None, ["ACMF"], r"the run has no ticker 'ACMF'; did you mean ACME\?"),
    ],
)
def test_a_day_or_ticker_that_is_not_there_is_said(run, data, date, tickers, text):
    with pytest.raises(ConfigError, match=text):
        chosen_pairs(run, data, date, tickers)


def test_a_named_day_is_found(run, data):
    assert named_sample(data.raw.inputs, str(data.raw.inputs.target_days[7])) == 7
    assert named_stocks(run, ["NA"]) == [1]


def test_the_files_hold_what_was_found(run, tmp_path):
    lines = explain_stocks(run, tmp_path / "out", {"tickers": ["ACME", "NA"]}).lines()
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"maps.npz", "texts.csv", "stocks.csv", "average-stocks-prices-to-texts-block0.png"} <= names
    assert set(map(str, (tmp_path / "out").glob("[!.]*"))) <= set(lines)
    assert any("Attention is not attribution" in line for line in lines)
    assert any(line.startswith("deletion test over") for line in lines)
    maps = load_maps(tmp_path / "out" / "maps.npz")
    assert {item.sample for item in maps} == {"mean over 22 test days", "2020-05-08"}
    with (tmp_path / "out" / "texts.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["ticker"] for row in rows} == {"ACME", "NA"}
    assert any(row["text"].startswith("'=HYPERLINK") for row in rows)
    assert not any(value.startswith(("=", "@", "+")) for row in rows for value in row.values())
    stocks = pd.read_csv(tmp_path / "out" / "stocks.csv", keep_default_na=False)
    assert set(stocks["of_ticker"]) == {"ACME", "NA", "ZED"}
    by_text = pd.DataFrame(rows).astype({"contribution": float}).groupby("ticker")["contribution"].sum()
    assert stocks.groupby("ticker")["texts"].sum()["NA"] == pytest.approx(by_text["NA"], rel=1e-3, abs=1e-5)


def test_a_run_of_prices_is_explained_without_texts(tmp_path):
    (tmp_path / "data").mkdir()
    make_prices().to_csv(tmp_path / "data" / "prices.csv", index=False)
    config = make_config(tmp_path / "data" / "prices.csv", training={"epochs": 1}, baselines=())
    run = lifecycle.start(task, config, tmp_path / "run")
    lines = task.explain(run, None, {}).lines()
    names = {path.name for path in (tmp_path / "run" / "explanation").iterdir()}
    assert "stocks.csv" in names and "texts.csv" not in names
    assert not any("texts" in name for name in names)
    assert not any("deletion test over" in line for line in lines)
    data = reload(run)
    assert texts_frame([explain_day(run, data.encoded.inputs, 40, [0])]).empty
