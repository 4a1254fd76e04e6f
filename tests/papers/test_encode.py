"""`multiway data encode`: texts to vectors ahead of training."""

import json
import signal
import time

import pandas as pd
import pytest

import children
from command import assert_one_line, call
from data.encoders.networks import save_network
from data.encoders.slow_encoder import SlowEncoder, encode_slowly
from multiway.data.encoders import encoding

WORDS = ("apple", "rises", "falls", "buys", "up", "down")


@pytest.fixture
def stocks(tmp_path, monkeypatch):
    """Prices of two stocks on 30 days, and 40 texts, 36 of them distinct."""
    monkeypatch.chdir(tmp_path)
    days = pd.bdate_range("2024-01-01", periods=30)
    rows = [(ticker, day, 10, 11, 9, 10 + place % 3, 100) for ticker in "AB" for place, day in enumerate(days)]
    columns = ["ticker", "date", "open", "high", "low", "close", "volume"]
    pd.DataFrame(rows, columns=columns).to_csv("prices.csv", index=False)
    texts = [f"{WORDS[place % 6]} {WORDS[place // 6 % 6]}" for place in range(40)]
    with (tmp_path / "texts.jsonl").open("w") as file:
        for place, text in enumerate(texts):
            entry = {"ticker": "AB"[place % 2], "created_at": f"{days[place % 20]:%Y-%m-%d}T10:00:00Z", "text": text}
            file.write(json.dumps(entry) + "\n")
    return tmp_path


def encode(words, monkeypatch, capsys):
    return call(["data", "encode", "prices.csv", "--texts", "texts.jsonl", *words], monkeypatch, capsys)


def test_hashed_vectors_are_made_and_not_kept(stocks, monkeypatch, capsys):
    code, out, _ = encode(["--encoder", "hashed", "--set", "text.hashed_dim=32"], monkeypatch, capsys)
    assert code == 0
    assert out == (
        "texts.jsonl: 40 texts, 36 distinct, 32 features by hashed in 0 s; not kept, since they are made as fast as "
        "read\n"
    )
    assert {path.name for path in stocks.iterdir()} == {"prices.csv", "texts.jsonl"}


def test_a_second_time_there_is_nothing_to_do(stocks, monkeypatch, capsys):
    pytest.importorskip("transformers")
    save_network(stocks / "small")
    words = ["--encoder", "small", "--set", "text.max_tokens=12", "--set", "text.cache=kept"]
    code, out, err = encode(words, monkeypatch, capsys)
    first, second = out.splitlines()
    assert code == 0 and first.startswith("texts.jsonl: 40 texts, 36 distinct, 12 features by small: 36 encoded in ")
    assert err == f"encoded 36 of 36 texts  ({first.split()[-2]} s)\n"
    assert second.startswith("kept/small-") and (stocks / second).is_dir()
    code, out, err = encode(words, monkeypatch, capsys)
    assert (code, err) == (0, "") and "by small: nothing left to encode\n" in out


def test_killed_in_between_it_goes_on(stocks, monkeypatch, capsys):
    words = ["data", "encode", "prices.csv", "--texts", "texts.jsonl", "--set", "text.cache=kept"]
    process = children.start(encode_slowly, words, stocks)
    end = time.monotonic() + 60
    while len(list(stocks.glob("kept/*/*.safetensors"))) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    kept = len(list(stocks.glob("kept/*/*.safetensors")))
    assert 2 <= kept < 9
    monkeypatch.setattr(encoding, "make_encoder", lambda options: SlowEncoder(0))
    code, out, _ = call(words, monkeypatch, capsys)
    assert code == 0 and f"by slow: {36 - 4 * kept} encoded in" in out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--encoder", "own/none"], "the encoder own/none is no folder"),
        (["--set", "text.token=3"], "text: token is not a known field"),
        (["--set", "model.dim=3"], "encode: fields of read and text only. Got model."),
        (["--set", "text=3"], "encode: fields of read and text only. Got text."),
        (["--set", "read.texts=none"], "prices.csv: there are no texts. Give a file or folder of them (--texts FILE)."),
        (["--set", "read.texts=vectors.csv"], "vectors.csv holds vectors already, so there is nothing to encode."),
        (["--set", "read.texts=absent.csv"], "absent.csv"),
    ],
)
def test_what_is_wrong_is_one_line(stocks, monkeypatch, capsys, words, text):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (stocks / "vectors.csv").write_text("ticker,date,e0,e1\nA,2024-01-03,0.5,1\n")
    assert_one_line(encode(words, monkeypatch, capsys), text)
    assert not (stocks / "kept").exists()
