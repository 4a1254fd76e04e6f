"""A run goes to the hub with its card, and comes back the same; the hub is a local folder."""

import shutil
from pathlib import Path

import pytest

import multiway as mw
from multiway.errors import ConfigError


@pytest.fixture(scope="module")
def patients():
    return mw.load_example("patients")


@pytest.fixture(scope="module")
def classifier(patients):
    settings = {"training": {"epochs": 1}, "answer": "network"}
    return mw.TabularClassifier(baselines=("majority",), settings=settings).fit(
        patients.drop(columns="ill"), patients["ill"]
    )


@pytest.fixture
def hub(tmp_path, monkeypatch):
    import huggingface_hub

    folder = tmp_path / "hub"

    class Api:
        def create_repo(self, name, private, exist_ok):
            (folder / name).mkdir(parents=True)

        def upload_folder(self, repo_id, folder_path):
            shutil.copytree(folder_path, folder / repo_id, dirs_exist_ok=True)

    def download(name, allow_patterns):
        if not (folder / name).is_dir():
            raise OSError("404")
        return str(folder / name)

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    return folder


def test_what_is_pushed_answers_as_before(classifier, patients, hub):
    classifier.push_to_hub("me/patients")
    later = mw.TabularClassifier.from_pretrained("me/patients")
    rows = patients.drop(columns="ill").head(20)
    assert (later.predict_proba(rows) == classifier.predict_proba(rows)).all()
    card = (hub / "me" / "patients" / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: multiway\n") and "| network |" in card and "| majority |" in card
    assert "Answer: network" in card and "- test: samples" in card
    assert not list(hub.rglob("*.pkl")) and list(hub.rglob("weights.safetensors"))


def test_a_run_is_copied_with_its_card_and_taken_from_a_folder(classifier, tmp_path):
    classifier.save_pretrained(tmp_path / "first")
    later = mw.TabularClassifier.from_pretrained(tmp_path / "first")
    later.save_pretrained(tmp_path / "second")
    first, second = (Path(tmp_path / name / "README.md").read_text().splitlines() for name in ("first", "second"))
    assert first == second
    with pytest.raises(mw.MultiwayError, match="exists already"):
        later.save_pretrained(tmp_path / "second")


def test_a_name_that_nobody_has_is_refused_in_a_line(hub):
    with pytest.raises(ConfigError, match=r"you/none is no folder, and the hub has no such run: 404\. Name another"):
        mw.TabularClassifier.from_pretrained("you/none")
