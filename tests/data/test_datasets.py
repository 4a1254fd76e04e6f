"""Where data sets are looked for, and that a download is what it claims to be; nothing leaves this machine."""

import functools
import gzip
import http.server
import os
import threading
from hashlib import md5, sha256
from pathlib import Path

import pandas as pd
import pytest

import multiway
from multiway.data import catalogue, datasets
from multiway.errors import ConfigError, DataError
from multiway.files import sha256_of
from multiway.tasks.known import settings_for


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Neither cache nor folder of data."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets, "search_folders", lambda: [datasets.cache_folder()])
    return tmp_path


@pytest.fixture
def site(tmp_path):
    """A server on this machine, with a file of 30 rows and 2 series."""
    folder = tmp_path / "site"
    folder.mkdir()
    times = pd.date_range("2024-01-01", periods=30, freq="D")
    pd.DataFrame({"date": times, "a": range(30), "b": 0.5}).to_csv(folder / "small.csv", index=False)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/small.csv", folder / "small.csv"
    server.shutdown()
    server.server_close()


def register(monkeypatch, url: str, sha256: str | None, rows: int = 30) -> None:
    fields = {"files": ("small.csv",), "url": url, "known_hash": sha256, "holds": f"{rows} rows x 2 variates"}
    monkeypatch.setitem(catalogue.entries(), "small", catalogue.entries()["exchange"].replace(**fields))


def test_a_download_is_kept_and_found(nowhere, site, monkeypatch, capfd):
    register(monkeypatch, site[0], "sha256:" + sha256_of(site[1]))
    path = datasets.fetch_dataset("small")
    assert path.read_bytes() == site[1].read_bytes()
    assert datasets.dataset_path("small") == path
    site[1].unlink()
    assert datasets.fetch_dataset("small") == path
    assert capfd.readouterr() == ("", "")


def test_without_a_hash_the_size_is_checked(nowhere, site, monkeypatch):
    register(monkeypatch, site[0], None)
    assert datasets.fetch_dataset("small").is_file()
    register(monkeypatch, site[0], None, rows=31)
    with pytest.raises(
        DataError, match=r"should hold 31 rows x 2 variates\. Got 30 rows x 2 variates\. The file was not"
    ):
        datasets.fetch_dataset("small")
    with pytest.raises(DataError, match=r"the data set small is not on this machine\. Run `multiway data fetch small`"):
        datasets.dataset_path("small")


@pytest.mark.parametrize("pinned", [True, False])
def test_a_copy_in_the_cache_that_changed_is_refused(pinned, nowhere, site, monkeypatch):
    register(monkeypatch, site[0], "sha256:" + sha256_of(site[1]) if pinned else None)
    path = datasets.fetch_dataset("small")
    assert datasets.dataset_path("small") == path
    path.write_bytes(path.read_bytes().replace(b"0.5", b"0.6"))
    with pytest.raises(
        DataError, match=r"small: .*small\.csv has changed since it was fetched.*`multiway data fetch sm"
    ):
        datasets.dataset_path("small")
    path.unlink()
    assert datasets.fetch_dataset("small") == datasets.dataset_path("small") == path


def test_a_folder_in_the_cache_is_verified_whole(nowhere, monkeypatch):
    folder = datasets.cache_folder() / "lesions-adrenalmnist3d"
    (folder / "images").mkdir(parents=True)
    (folder / "cases.csv").write_text("path,mask\n")
    (folder / "images" / "a.npy").write_bytes(b"1")
    path = datasets.dataset_path("lesions")
    assert datasets.dataset_path("lesions") == path == folder / "cases.csv"
    (folder / "images" / "a.npy").write_bytes(b"2")
    with pytest.raises(DataError, match=r"lesions: .*lesions-adrenalmnist3d has changed since it was fetched"):
        datasets.dataset_path("lesions")


def test_a_table_of_another_size_is_refused(nowhere):
    datasets.cache_folder().mkdir(parents=True)
    (datasets.cache_folder() / "cardio.csv").write_text("id,age,cardio\n1,50,0\n2,60,1\n")
    with pytest.raises(DataError, match=r"cardio\.csv should hold 70,000 rows x 13 columns\. Got 2 rows x 3 columns"):
        datasets.fetch_dataset("cardio")


def test_a_copy_of_the_user_is_theirs(nowhere, monkeypatch):
    folder = nowhere / "mine"
    folder.mkdir()
    (folder / "weather.csv").write_text("date,a\n")
    monkeypatch.setattr(datasets, "search_folders", lambda: [folder, datasets.cache_folder()])
    assert datasets.dataset_path("weather") == datasets.dataset_path("weather") == folder / "weather.csv"


def test_another_file_is_refused(nowhere, site, monkeypatch):
    register(monkeypatch, site[0], "sha256:" + "0" * 64)
    with pytest.raises(DataError, match=r"small could not be fetched from http.*hash") as caught:
        datasets.fetch_dataset("small")
    assert "\n" not in str(caught.value)
    assert not list(nowhere.glob("cache/**/*.csv"))


def test_no_answer(nowhere, site, monkeypatch):
    register(monkeypatch, site[0].replace("small", "absent"), None)
    with pytest.raises(DataError, match=r"404.*Fetch small\.csv by other means and set MULTIWAY_DATA"):
        datasets.fetch_dataset("small")


def test_the_environment_is_looked_at_first(tmp_path, monkeypatch):
    monkeypatch.setenv("MULTIWAY_DATA", str(tmp_path))
    (tmp_path / "forecasting").mkdir()
    (tmp_path / "forecasting" / "weather.csv.gz").write_bytes(b"")
    assert datasets.dataset_path("weather") == tmp_path / "forecasting" / "weather.csv.gz"
    (tmp_path / "weather.csv").write_bytes(b"")
    assert datasets.dataset_path("weather") == tmp_path / "weather.csv"


def test_names():
    assert {"ett_h1", "ett_h2", "ett_m1", "weather", "exchange", "ecl", "traffic", "solar"} <= set(datasets.catalogue())
    with pytest.raises(ConfigError, match=r"no data set is called wether; did you mean weather\?"):
        datasets.dataset_path("wether")
    assert {row["verified by"] for row in datasets.list_datasets()} == {
        "sha256",
        "md5, then sha256",
        "size, then sha256",
        "making, then sha256",
    }


@pytest.mark.parametrize("name", ["ett_h1", "ett_h2", "weather", "exchange", "adrenalmnist3d"])
def test_the_pinned_hash_is_that_of_the_official_file(name, real_data):
    content = datasets.dataset(name).find([real_data / "forecasting", real_data / "volumes"]).read_bytes()
    content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    assert datasets.dataset(name).known_hash == f"sha256:{sha256(content).hexdigest()}"


def test_the_guide_says_how_each_set_is_verified():
    text = (Path(__file__).parents[2] / "docs" / "guides" / "data.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    ways = {"sha256": "pinned", "md5, then sha256": "MD5", "size, then sha256": "size", "making, then sha256": "made"}
    for row in datasets.list_datasets():
        named = next((line for line in lines if f"`{row['name']}`" in line), "five other MedMNIST | the MD5")
        assert ways[row["verified by"]] in named, row["name"]


def test_what_a_set_brings_to_a_config():
    read, split = {"sentinels": [], "duplicates": "keep", "gaps": "ignore"}, {"protocol": "ett_quarter_hourly"}
    assert settings_for("ett_m1", "forecast") == {"read": read, "split": split, "season": 96}
    assert settings_for("adrenalmnist3d", "volumes") == {"read": {"shape_transform": True}}
    assert settings_for("organmnist3d") == settings_for("sales.csv", "forecast") == {}
    assert settings_for("indian-pines")["ignore"] == 0
    with pytest.raises(ConfigError, match=r"adrenalmnist3d holds volumes and no series\. Run `multiway train volumes"):
        settings_for("adrenalmnist3d", "forecast")
    with pytest.raises(ConfigError, match=r"weather holds series and no volumes"):
        settings_for("weather", "volumes")


def test_a_source_is_found_by_path_or_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("MULTIWAY_DATA", str(tmp_path))
    (tmp_path / "any folder").mkdir()
    (tmp_path / "any folder" / "weather.csv").write_bytes(b"")
    assert datasets.locate("weather") == str(tmp_path / "any folder" / "weather.csv")
    assert datasets.locate("sales.csv") == "sales.csv"
    assert datasets.locate("indian-pines") == "indian-pines"


def test_a_set_that_is_made_needs_its_source(nowhere):
    with pytest.raises(DataError, match=r"the data set adrenalmnist3d is not on this machine\."):
        datasets.locate("lesions")


def test_sets_of_volumes(tmp_path, monkeypatch):
    rows = {row["name"]: row for row in datasets.list_datasets()}
    assert rows["organmnist3d"]["holds"] == "1,742 volumes of 28 x 28 x 28"
    with pytest.raises(ConfigError, match=r"no data set is called organmnist; did you mean organmnist3d\?"):
        datasets.dataset("organmnist")
    monkeypatch.setenv("MULTIWAY_DATA", str(tmp_path))
    (tmp_path / "volumes").mkdir()
    (tmp_path / "volumes" / "vesselmnist3d.npz").write_bytes(b"")
    assert datasets.dataset_path("vesselmnist3d") == tmp_path / "volumes" / "vesselmnist3d.npz"


def test_a_download_of_volumes_is_compared_with_its_md5(nowhere, site, monkeypatch):
    digest = md5(site[1].read_bytes()).hexdigest()
    known = datasets.dataset("organmnist3d").replace(url=site[0], files=("o.npz",), known_hash=f"md5:{digest}")
    monkeypatch.setitem(catalogue.entries(), "organmnist3d", known)
    assert datasets.fetch_dataset("organmnist3d").read_bytes() == site[1].read_bytes()
    datasets.dataset_path("organmnist3d").unlink()
    monkeypatch.setitem(catalogue.entries(), "organmnist3d", known.replace(known_hash="md5:" + "0" * 32))
    with pytest.raises(DataError, match=r"organmnist3d could not be fetched from http.*hash"):
        datasets.fetch_dataset("organmnist3d")


def test_a_pipe_and_a_device_are_no_data(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "zero.csv"):
        for door in (datasets.locate, multiway.check):
            with pytest.raises(
                DataError, match=rf"{name} is a pipe or a device, .* Write what it gives into a file\.$"
            ):
                door(str(tmp_path / name))
