"""The public sets as they lie on disk, and as their archives would be unpacked."""

import zipfile

import pytest

from multiway.data import catalogue, datasets
from multiway.data.catalogue import entries, join_texts
from multiway.data.options import Folds
from multiway.data.splitting import split
from multiway.errors import DataError
from multiway.tasks.known import settings_for
from multiway.tasks.text.config import LabelledTextOptions
from multiway.tasks.text.source import read_texts

SIZES = {"cola": 2, "sst2": 2, "mr": 2, "subj": 2, "cr": 2, "mpqa": 2, "trec": 6}


@pytest.mark.parametrize("name", SIZES)
def test_a_public_set_has_the_rows_and_classes_that_are_published(name, real_data, monkeypatch):
    monkeypatch.setenv("MULTIWAY_DATA", str(real_data))
    known = entries()[name]
    table = read_texts(datasets.locate(name), LabelledTextOptions.parse(settings_for(name)["read"]))
    assert (len(table), len(table.classes)) == (known.size[0], SIZES[name])
    splits = split(table, Folds())
    if name == "trec":
        assert len(splits["test"]) == 500
    if name == "sst2":
        assert len(splits["test"]) == 872


def archive(path, members):
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in members.items():
            packed.writestr(name, text)
    return path


def test_an_archive_becomes_one_table(tmp_path):
    rows = 'gj04\t1\t\tShe "slept.\ngj04\t0\t*\tShe slepted.\n'
    path = archive(tmp_path / "cola.zip", {member: rows for member in entries()["cola"].members.values()})
    frame = join_texts(path, entries()["cola"])
    assert frame["split"].tolist() == ["train", "train", "dev", "dev", "ood_dev", "ood_dev"]
    assert frame["sentence"].tolist()[:2] == ['She "slept.', "She slepted."]


def test_an_archive_of_another_size_is_not_kept(tmp_path, monkeypatch):
    known = entries()["sst2"]
    rows = "sentence\tlabel\nso good\t1\n"
    path = archive(tmp_path / "SST-2.zip", {member: rows for member in known.members.values()})
    monkeypatch.setattr(catalogue, "download", lambda *_: path)
    with pytest.raises(DataError, match=r"should hold 68,221 texts\. Got 2\. Nothing was kept"):
        known.fetch("sst2", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_set_without_a_table_says_where_it_is_and_what_to_write(tmp_path):
    with pytest.raises(
        DataError, match=r"mr: https://www.cs.cornell.edu\S+ gives no table. Write its texts to text_mr"
    ):
        entries()["mr"].fetch("mr", tmp_path)
