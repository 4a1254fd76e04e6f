"""Files with bytes changed at random: read, or refused in one line; never anything else."""

import random

import pytest

from fewer import few
from multiway.errors import DataError
from multiway_papers.stocks.config import StockOptions
from multiway_papers.stocks.source import read_stocks
from papers.stocks import stock_files
from papers.stocks.stock_files import check_stocks

KINDS = ("x.csv", "x.parquet", "t.jsonl", "t.csv", "t.parquet", "price/raw/AAA.csv", "price/preprocessed/AAA.txt",
         "tweet/preprocessed/AAA/2024-03-04")  # fmt: skip
CHANGES = 12


def sound(kind, folder):
    """A file of that kind, and how to read what it belongs to."""
    path = folder / kind
    if "/" in kind:
        stock_files.stocknet(folder)
        return path, lambda: (folder, StockOptions())
    frame = stock_files.prices() if kind.startswith("x") else stock_files.texts()
    if kind.endswith("jsonl"):
        stock_files.lines(path, frame.to_dict("records"))
    elif kind.endswith("csv"):
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    if kind.startswith("x"):
        return path, lambda: (path, StockOptions())
    return path, lambda: (stock_files.prices(), StockOptions(texts=str(path)))


def damaged(raw: bytes, draw: random.Random) -> bytes:
    changed = bytearray(raw)
    for _ in range(draw.choice((1, 2, 8))):
        at = draw.randrange(len(changed))
        how = draw.randrange(4)
        if how == 0:
            changed[at] = draw.randrange(256)
        elif how == 1:
            del changed[at : at + draw.randrange(1, 40)]
        elif how == 2:
            changed[at:at] = draw.choice((b"\x00", b'"', b"\n", b",", b"\xff\xfe", b"\xed\xa0\x80", b"-", b"9" * 30))
        else:
            del changed[at:]
        if not changed:
            break
    return bytes(changed)


@pytest.mark.parametrize("kind", few(KINDS, "x.csv", "x.parquet", "t.jsonl", "price/raw/AAA.csv"))
def test_damaged_files(kind, tmp_path, capfd):
    path, read = sound(kind, tmp_path)
    raw, draw, refused = path.read_bytes(), random.Random(f"20261 {kind}"), 0
    for _ in range(CHANGES):
        path.write_bytes(damaged(raw, draw))
        source, options = read()
        try:
            read_stocks(source, options)
        except DataError as error:
            refused += 1
            assert "\n" not in str(error)
            assert not check_stocks(source, options).is_usable
    assert refused
    assert capfd.readouterr() == ("", "")
