"""An archive becomes two tables if it is what it should be; nothing else is unpacked, and nothing half-made stays."""

import shutil
import stat
import zipfile

import pandas as pd
import pytest

from multiway.data import datasets
from multiway.data.catalogue import entries
from multiway.errors import ConfigError, DataError
from multiway.tasks.known import settings_for
from multiway_papers.protocols import stocknet as fetching
from multiway_papers.protocols import stocknet_set
from multiway_papers.stocks.config import StockOptions
from multiway_papers.stocks.source import read_stocks
from papers.stocks import stock_files

SMALL = datasets.dataset("stocknet").replace(
    start="2024-03-01",
    end="2024-03-14",
    counts=(2, 19, 12),
    holds="2 tickers, 19 rows of prices, 12 texts",
    url="http://x",
)


def make(archive, folder, known):
    """The tables of an archive, as the set of that name makes them."""
    counts, said = known.counts, f"{known.url} should hold {known.holds}"
    return fetching.make_tables(archive, folder, (known.start, known.end), counts, said)


@pytest.fixture
def archive(tmp_path):
    folder = stock_files.stocknet(tmp_path / "stocknet-dataset-master")
    (folder / "README.md").write_text("about")
    made = shutil.make_archive(str(tmp_path / "master"), "zip", tmp_path, folder.name)
    return tmp_path / made


def entry(name, link=False):
    info = zipfile.ZipInfo(name)
    info.external_attr = ((stat.S_IFLNK if link else stat.S_IFREG) | 0o777) << 16
    return info


def test_an_archive_becomes_two_tables(archive, tmp_path):
    folder = make(archive, tmp_path / "cache" / "stocks", SMALL)
    assert sorted(path.name for path in folder.iterdir()) == ["prices.parquet", "tweets.parquet"]
    assert [path.name for path in folder.parent.iterdir()] == ["stocks"]
    before = read_stocks(tmp_path / "stocknet-dataset-master")
    panel, texts = read_stocks(folder)
    assert (panel.tickers, texts.text, texts.count) == (before[0].tickers, before[1].text, 12)
    for name in ("days", "traded"):
        assert (getattr(panel, name) == getattr(before[0], name)).all()
    for name in ("prices", "movement"):
        pd.testing.assert_frame_equal(*(
            pd.DataFrame(getattr(one, name).reshape(len(panel.tickers), -1)) for one in (panel, before[0])
        ), check_exact=True)  # fmt: skip
    for name in ("ticker", "day", "stamp"):
        assert (getattr(texts, name) == getattr(before[1], name)).all()


@pytest.mark.parametrize(
    ("member", "text"),
    [
        (entry("x/../../price/raw/A.csv"), r"paths must stay inside\. Got 'x/\.\./\.\./price/raw/A\.csv'"),
        (entry("/price/raw/A.csv"), r"paths must stay inside"),
        (entry("x\\..\\raw.csv"), r"paths must stay inside"),
        (entry("C:/price/raw/A.csv"), r"paths must stay inside"),
        (entry("x/price/raw/A.csv", link=True), r"it must hold no links\. Got 'x/price/raw/A\.csv'"),
        (entry("x/readme"), r"there is no price/raw in it"),
    ],
)
def test_other_archives_are_refused(member, text, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr(member, "content")
    with pytest.raises(DataError, match=text):
        make(tmp_path / "a.zip", tmp_path / "cache" / "stocks", SMALL)
    assert not list((tmp_path / "cache").iterdir())


def test_an_archive_of_too_much_or_of_nothing_is_refused(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "MAX_BYTES", 100)
    with pytest.raises(DataError, match=r"master\.zip: an archive may hold 500,000 files of 100 bytes in all\. Got"):
        fetching.unpack_archive(archive, tmp_path / "out")
    monkeypatch.undo()
    archive.write_bytes(archive.read_bytes()[:-400])
    with pytest.raises(DataError, match=r"master\.zip: the archive is broken \(File is not a zip file\)"):
        fetching.unpack_archive(archive, tmp_path / "out")


@pytest.mark.parametrize(
    "change",
    [{"counts": (3, 19, 12)}, {"counts": (2, 18, 12)}, {"counts": (2, 19, 13)}, {"end": "2024-03-13"}],
    ids=str,
)
def test_counts_stand_in_for_a_hash(change, archive, tmp_path):
    with pytest.raises(DataError, match=r"should hold .* Got 2 tickers, 1\d rows of prices, 12 texts\. Nothing was k"):
        make(archive, tmp_path / "cache" / "stocks", SMALL.replace(**change))
    assert not list((tmp_path / "cache").iterdir())


def test_a_set_of_stocks_is_fetched_once_and_found(archive, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(datasets, "search_folders", lambda: [datasets.cache_folder()])
    monkeypatch.setitem(entries(), "small", SMALL)
    downloads = []

    def download(*_):
        downloads.append(shutil.copy(archive, tmp_path / "copy.zip"))
        return tmp_path / "copy.zip"

    monkeypatch.setattr(stocknet_set, "download", download)
    with pytest.raises(DataError, match=r"small is not on this machine\. Run `multiway data fetch small`, or set MULT"):
        datasets.dataset_path("small")
    folder = datasets.fetch_dataset("small")
    assert (
        folder
        == datasets.cache_folder() / "stocks"
        == datasets.dataset_path("small")
        == datasets.fetch_dataset("small")
    )
    assert len(downloads) == 1
    assert not (tmp_path / "copy.zip").exists()
    assert read_stocks(folder, StockOptions(texts="none"))[0].tickers == ("AAA", "BBB")


def test_names():
    assert datasets.is_dataset("stocknet")
    assert datasets.dataset("stocknet").holds == "87 tickers, 46,882 rows of prices, 106,338 texts"
    with pytest.raises(ConfigError, match=r"stocknet holds stocks and no series\. Run `multiway train stocks --data s"):
        settings_for("stocknet", "forecast")
    with pytest.raises(ConfigError, match=r"weather holds series and no stocks\. Run `multiway train forecast"):
        settings_for("weather", "stocks")
    with pytest.raises(ConfigError, match=r"no data set is called stoknet; did you mean stocknet\?"):
        datasets.dataset_path("stoknet")
    assert ("stocknet", "MIT") in [(row["name"], row["licence"]) for row in datasets.list_datasets()]
