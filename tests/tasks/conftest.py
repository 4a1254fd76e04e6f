"""A hub that is a local folder."""

import shutil

import pytest


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
