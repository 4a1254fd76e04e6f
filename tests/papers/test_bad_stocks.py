"""Every flaw of prices and texts, at the command line: one line, exit 1, no traceback, nothing half-written."""

import json
from pathlib import Path

import pytest

from command import assert_flaw_is_found, assert_refused, call
from market_files import write_stocks

TRAIN = ["train", "stocks", "--data", "prices.csv", "--texts", "texts.jsonl", "--encoder", "hashed", "--out", "run"]
SMALL = ["--set", "training.epochs=1", "--set", "model.dim=16", "--set", "draws=0"]
PRICES, TEXTS = Path("prices.csv"), Path("texts.jsonl")
LINE = 100
"""Line of the price table that is damaged."""


def change_price(field, value):
    """Overwrite a cell of one line; fields are counted as in the header."""
    lines = PRICES.read_text().splitlines()
    header, cells = lines[0].split(","), lines[LINE - 1].split(",")
    cells[header.index(field)] = value
    lines[LINE - 1] = ",".join(cells)
    PRICES.write_text("\n".join(lines) + "\n")


def repeat_line():
    lines = PRICES.read_text().splitlines()
    PRICES.write_text("\n".join([*lines, lines[LINE - 1]]) + "\n")


def keep_lines(count):
    PRICES.write_text("\n".join(PRICES.read_text().splitlines()[:count]) + "\n")


def rename_columns(*names):
    lines = PRICES.read_text().splitlines()
    header = ["x" + name if name in names else name for name in lines[0].split(",")]
    PRICES.write_text("\n".join([",".join(header), *lines[1:]]) + "\n")


def split_ticker():
    """From one day on, a stock costs half, and so does its adjusted close."""
    lines = [line.split(",") for line in PRICES.read_text().splitlines()]
    for cells in lines[1:]:
        if cells[0] == "BOLT" and cells[1] >= "2022-05-02":
            cells[2:7] = [f"{float(cell) / 2:.2f}" for cell in cells[2:7]]
    PRICES.write_text("\n".join(",".join(cells) for cells in lines) + "\n")


def change_text(**fields):
    lines = TEXTS.read_text().splitlines()
    lines[2] = json.dumps({**json.loads(lines[2]), **fields})
    TEXTS.write_text("\n".join(lines) + "\n")


def break_text():
    lines = TEXTS.read_text().splitlines()
    lines[2] = lines[2][:-5]
    TEXTS.write_text("\n".join(lines) + "\n")


BAD = {
    "price of zero": (lambda: change_price("low", "0"), str(LINE)),
    "negative price": (lambda: change_price("close", "-3"), str(LINE)),
    "high below low": (lambda: change_price("high", "0.01"), str(LINE)),
    "letters in a number": (lambda: change_price("close", "12x"), "12x"),
    "no date": (lambda: change_price("date", "soon"), "soon"),
    "the same day twice": (repeat_line, "ACME"),
    "a split that is not adjusted": (split_ticker, "BOLT"),
    "no column of tickers": (lambda: rename_columns("ticker"), "ticker"),
    "no column of closes": (lambda: rename_columns("close", "adj_close"), "close"),
    "empty prices": (lambda: PRICES.write_text(""), "prices.csv"),
    "header only": (lambda: keep_lines(1), "prices.csv"),
    "no prices": (lambda: PRICES.unlink(), "prices.csv"),
    "no texts": (lambda: TEXTS.unlink(), "texts.jsonl"),
    "a bad line of texts": (break_text, "3"),
    "a time without a zone": (lambda: change_text(timestamp="2022-01-03T10:30:00"), "--time-zone"),
    "a stamp that is none": (lambda: change_text(timestamp="soon"), "soon"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_stocks(tmp_path)
    for name in ("later-prices.csv", "later-texts.jsonl"):
        (tmp_path / name).unlink()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", BAD)
def test_training_refuses_in_one_line_and_leaves_nothing(case, folder, monkeypatch, capsys):
    damage, text = BAD[case]
    damage()
    assert_refused([*TRAIN, *SMALL], text, folder, monkeypatch, capsys)


@pytest.mark.parametrize("case", BAD)
def test_check_says_it_and_exits_with_1(case, folder, monkeypatch, capsys):
    BAD[case][0]()
    words = ["check", "prices.csv", "--task", "stocks", "--texts", "texts.jsonl"]
    assert_flaw_is_found(words, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--set", "model.name=hot_forecaster"], "model.name must be one of hot_stock_classifier"),
        (["--set", "model.dim=12"], "even multiple of num_heads"),
        (["--set", "protocol.name=stocknets"], "protocol.name"),
        (["--protocol", "stocknet"], "2014-01-01"),
        (["--set", "protocol.down=0.9", "--set", "protocol.up=0.9"], "every split needs days"),
        (["--set", "protocol.borders=[2022-09-01, 2022-07-01]"], "borders must rise"),
        (["--set", "read.close=25:00"], "close"),
        (["--set", "read.exchange_zone=Mars"], "Mars"),
        (["--set", "baselines=[majorty]"], "baselines"),
        (["--set", "target=quantiles", "--set", "quantiles=[0.9, 0.1]"], "quantiles must ascend"),
        (["--texts", "none", "--modality", "text"], "--texts"),
        (["--encoder", "/nowhere"], "/nowhere"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else None,
)
def test_a_setting_that_cannot_be_is_one_line(words, text, folder, monkeypatch, capsys):
    assert_refused([*TRAIN, *SMALL, *words], text, folder, monkeypatch, capsys)


def test_check_sees_what_prices_are(folder, monkeypatch, capsys):
    code, out, _ = call(["check", "prices.csv", "--texts", "texts.jsonl"], monkeypatch, capsys)
    assert code == 0, out
    assert "ticker" in out and "text" in out


def test_a_check_counts_the_labels_of_the_protocol(folder, monkeypatch, capsys):
    words = ["check", "prices.csv", "--set", "protocol.borders=[2022-05-02, 2022-07-01]"]
    code, out, _ = call(words, monkeypatch, capsys)
    assert code == 0 and "2022-05-02 to 2022-06-30" in out
    code, out, _ = call(["check", "prices.csv", "--protocol", "stocknet"], monkeypatch, capsys)
    assert code == 1 and "error: every split needs days" in out and "2014-01-01" in out
