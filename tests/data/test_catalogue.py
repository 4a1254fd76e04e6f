"""An archive of a set is unpacked with care, and counted."""

import zipfile

import pytest

from multiway.data import catalogue
from multiway.data.catalogue import entries, unpack
from multiway.data.sources.series_reading import read_sequences
from multiway.errors import DataError
from tasks.series.archives import HEADER, LINES

HOLDS = "4 + 4 series of 4 steps x 2 variates"
KNOWN = entries()["epilepsy"].replace(official="Bumps", files=("Bumps",), counts=(4, 4), holds=HOLDS)


def archive(path, train=LINES, test=LINES):
    with zipfile.ZipFile(path, "w") as packed:
        for name, lines in (("TRAIN", train), ("TEST", test)):
            packed.writestr(f"inner/Bumps_{name}.ts", HEADER + "\n".join(lines) + "\n")
        packed.writestr("../Bumps_TRAIN.arff", "not wanted")
    return path


def test_the_two_files_of_an_archive_are_kept(tmp_path):
    folder = unpack(archive(tmp_path / "Bumps.zip"), tmp_path / "kept" / "Bumps", KNOWN)
    assert sorted(file.name for file in folder.iterdir()) == ["Bumps_TEST.ts", "Bumps_TRAIN.ts"]
    assert len(read_sequences(folder)) == 8 and KNOWN.find([tmp_path / "kept"]) == folder


def test_another_archive_is_not_kept(tmp_path):
    with pytest.raises(DataError, match=r"should hold 4 \+ 4 series .*\. Got 4 \+ 1\. Nothing was kept"):
        unpack(archive(tmp_path / "Bumps.zip", test=LINES[:1]), tmp_path / "Bumps", KNOWN)
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(DataError, match=r"broken\.zip: the archive is broken"):
        unpack(tmp_path / "broken.zip", tmp_path / "Bumps", KNOWN)
    assert not (tmp_path / "Bumps").exists()


def test_a_partial_set_says_so_and_is_never_fetched(tmp_path):
    known = entries()["chlorine_concentration_partial"]
    assert known.holds.endswith("its test lacks 2,704 of the 3,840 official series")
    with pytest.raises(DataError, match=r"lacks 2,704 .* fetch ChlorineConcentration from https://www\.timeseries"):
        known.fetch("chlorine_concentration_partial", tmp_path)


def test_a_download_is_unpacked_and_its_archive_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "download", lambda name, url, known_hash, path: archive(path))
    assert KNOWN.fetch("bumps", tmp_path) == tmp_path / "Bumps" == KNOWN.fetch("bumps", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["Bumps"]
