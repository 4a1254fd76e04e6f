"""What a training keeps of a prediction after its data: the same as its models say, without torch, while it holds."""

import json
import shutil
import subprocess
import sys
import warnings

import pandas as pd
import pytest

from multiway import workflows
from multiway.errors import MultiwayWarning, RunError
from multiway.tasks import lifecycle
from multiway.tasks.forecasting import task as forecasting
from tasks.forecasting.panels import make_config, make_frame

USUAL = {"levels": (80.0, 95.0)}
"""Options that say what is usual, so that the models are asked."""


def train(frame: pd.DataFrame, folder, **changes):
    frame.to_csv(folder / "loads.csv", index=False)
    config = make_config(data=str(folder / "loads.csv"), network=False, **changes)
    return lifecycle.start(forecasting.TASK, config, folder / "run").folder.path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return train(make_frame(), tmp_path_factory.mktemp("kept"))


WITHOUT_TORCH = """
import sys
import warnings
from multiway.cli.app import app
app(["predict", sys.argv[1], *sys.argv[2:]], standalone_mode=False)
print([name for name in ("torch", "sklearn", "scipy", "multiway.models", "multiway.report") if name in sys.modules])
"""


def by_command(run, *words: str) -> list[str]:
    code = [sys.executable, "-c", WITHOUT_TORCH, run, *words]
    return subprocess.run(code, check=True, capture_output=True, text=True).stdout.splitlines()


def test_a_training_keeps_the_answer_that_its_models_give_and_it_needs_no_torch(trained, tmp_path):
    kept, made = workflows.predict(trained), workflows.predict(trained, options=USUAL)
    pd.testing.assert_frame_equal(kept.frame, made.frame)
    assert (kept.head, kept.told, kept.words, kept.lines()) == (made.head, made.told, made.words, made.lines())
    *printed, heavy = by_command(trained)
    assert heavy == "[]" and "\n".join(printed) == "\n".join(made.lines())
    assert by_command(trained, "--out", tmp_path / "next.csv")[-1] == "[]"
    workflows.predict(trained, out=tmp_path / "made.csv", options=USUAL)
    assert (tmp_path / "next.csv").read_bytes() == (tmp_path / "made.csv").read_bytes()


def test_another_question_is_answered_by_the_models(trained):
    assert "multiway-lo-50" in workflows.predict(trained, options={"levels": (50.0,)}).frame
    assert workflows.predict(trained, model="naive").head != workflows.predict(trained).head
    with pytest.raises(RunError, match="exists already"):
        workflows.predict(trained, out=trained / "config.yaml", overwrite=False)


def test_rows_that_came_since_are_forecast_from(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_frame().iloc[:-20].to_csv("loads.csv", index=False)
    config = make_config(data="loads.csv", network=False)
    path = lifecycle.start(forecasting.TASK, config, tmp_path / "run").folder.path
    before = workflows.predict(path).frame["date"]
    make_frame().to_csv("loads.csv", index=False)
    after = workflows.predict(path).frame["date"]
    assert (path / "answer.json").is_file() and (after - before == pd.Timedelta(hours=20)).all()


def test_an_answer_that_was_changed_is_refused(trained, tmp_path):
    path = shutil.copytree(trained, tmp_path / "run")
    kept = path / "answer.json"
    kept.write_text(kept.read_text().replace("Answer", "Forged", 1))
    with pytest.raises(RunError, match=r"changed or missing since training: answer\.json"):
        workflows.predict(path)


def test_one_of_another_version_is_made_anew(trained, monkeypatch):
    monkeypatch.setattr("multiway.training.run_folder.version", lambda name: "0.0.1")
    loaded = []
    monkeypatch.setattr(lifecycle, "load_run", lambda run: loaded.append(run) or lifecycle.load(run))
    assert workflows.predict(trained).frame.equals(workflows.predict(trained, options=USUAL).frame)
    assert loaded == [trained, trained]


def test_none_is_kept_where_a_prediction_says_more_or_rests_on_more_files(tmp_path, monkeypatch):
    folders = [tmp_path / name for name in ("ended", "later", "large")]
    for folder in folders:
        folder.mkdir()
    ended = make_frame()
    ended.loc[ended.index[-60:], "series 1"] = None
    with pytest.warns(MultiwayWarning):
        assert not (train(ended, folders[0], read={"missing": "mask"}) / "answer.json").exists()
    make_frame(320).iloc[300:].to_csv(folders[1] / "later.csv", index=False)
    updates = (str(folders[1] / "later.csv"),)
    assert not (train(make_frame(), folders[1], updates=updates) / "answer.json").exists()
    monkeypatch.setattr(forecasting, "MOST_READ", 10)
    assert not (train(make_frame(), folders[2]) / "answer.json").exists()


def test_a_warning_as_the_data_are_read_anew_keeps_none_and_stops_nothing(tmp_path, monkeypatch):
    def read_with_warning(*given):
        warnings.warn("rows are odd", MultiwayWarning, stacklevel=1)

    monkeypatch.setattr(forecasting, "answer_data", read_with_warning)
    assert not (train(make_frame(), tmp_path) / "answer.json").exists()


def test_it_is_sealed_with_the_run(trained):
    assert "answer.json" in json.loads((trained / "manifest.json").read_text())["sha256"]
