"""What was changed in the folder of a run, finished or not, is refused in one line: of every task."""

import json
import shutil

import pandas as pd
import pytest
import yaml

from command import outcome, printed
from fewer import of_two, show_fewer
from multiway.training import on_meta
from resealing import reseal, resealed
from tasks.finished import stopped
from tasks.test_contract import made as made
from tasks.test_contract import refused
from tasks.tiny import TASKS


@pytest.fixture
def run(made, tmp_path):
    return shutil.copytree(made.run, tmp_path / "run")


def spoil_weights(run):
    path = run / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(bytes(content))


def change_manifest(run, change):
    path = run / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    return manifest


CHANGES = {
    "no hashes": lambda manifest: manifest.update(sha256={}),
    "an entry less": lambda manifest: manifest["sha256"].pop("weights.safetensors"),
    "an entry more": lambda manifest: manifest["sha256"].update({"more.json": "0" * 64}),
    "another seed": lambda manifest: manifest.update(seed=manifest["seed"] + 1),
    "another version": lambda manifest: manifest["versions"].update(torch="1.0"),
    "no seal": lambda manifest: manifest.pop("seal"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_manifest_is_refused(change, run):
    change_manifest(run, change)
    refused(["predict", run], "manifest.json was changed")


def test_weights_without_a_hash_are_refused(run):
    change_manifest(run, CHANGES["an entry less"])
    spoil_weights(run)
    reseal(run)
    refused(["evaluate", run], "weights.safetensors has no hash in manifest.json")


def test_a_hash_of_a_file_elsewhere_is_refused(run):
    for name in ("/dev/zero", "../run/config.yaml"):
        manifest = change_manifest(run, lambda manifest, name=name: manifest["sha256"].update({name: "0" * 64}))
        (run / "manifest.json").write_text(json.dumps(resealed(manifest)))
        refused(["evaluate", run], "is no path in the run")


def test_files_of_the_user_are_none_of_the_run(run):
    before = printed("evaluate", run)
    for name in ("notes.txt", "more.parquet", "weights.safetensors.partial-old", "calibration.json"):
        (run / name).write_text("mine")
    assert printed("evaluate", run) == before


@pytest.fixture
def unfinished(made, tmp_path, tmp_path_factory):
    return shutil.copytree(stopped(made.tiny.task, tmp_path_factory).run, tmp_path / "run")


@of_two("made", TASKS)
def test_a_config_changed_before_the_end_is_refused(unfinished):
    run, config = unfinished, yaml.safe_load((unfinished / "config.yaml").read_text())
    config["settings"]["training"]["seed"] += 1
    (run / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    refused(["train", "--resume", run], "config.yaml was changed since the run was started")
    (run / "config.yaml").write_text(yaml.safe_dump(resealed(config), sort_keys=False))
    refused(["train", "--resume", run], "made with another config.yaml")


@of_two("made", TASKS)
def test_a_flipped_bit_of_a_state_is_refused(unfinished):
    (state,) = unfinished.glob("state/**/*.safetensors")
    whole = state.read_bytes()
    for place in (len(whole) // 2, len(whole) - 1, whole.index(b"loss_sum") + 15):
        content = bytearray(whole)
        content[place] ^= 1
        state.write_bytes(bytes(content))
        refused(["train", "--resume", unfinished], "is damaged")


def change_values(name, change):
    def apply(run):
        values = json.loads((run / name).read_text())
        change(values)
        (run / name).write_text(json.dumps(values))

    return apply


def drop_column(run):
    path = next(iter(sorted(run.glob("*.parquet"))))
    table = pd.read_parquet(path)
    table.drop(columns=table.columns[0]).to_parquet(path, index=False)


def change_settings(change):
    def apply(run):
        config = yaml.safe_load((run / "config.yaml").read_text())
        change(config["settings"])
        (run / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))

    return apply


def enlarge(names):
    """Settings of a network of another size, by the first of some names that it has."""

    def change(settings):
        name = next((name for name in names if name in settings["model"]), names[0])
        old = settings["model"].get(name)
        settings["model"][name] = [10**9] * len(old) if isinstance(old, list) else 10**9

    return change


WRONG = {
    "scores": change_values("scores.json", lambda rows: rows[0].update(value="x")),
    "no scores": change_values("scores.json", lambda rows: rows.clear()),
    "facts": change_values("preprocessing.json", lambda stored: stored["facts"].update(notes=3)),
    "splits": change_values("preprocessing.json", lambda stored: stored["facts"].update(splits=[1])),
    "no state": change_values("preprocessing.json", lambda stored: stored["state"].clear()),
    "log": lambda run: (run / "metrics.jsonl").write_text('{"step": "x"}\n'),
    "table": drop_column,
    "width": change_settings(enlarge(["dim", "channels", "hidden"])),
    "depth": change_settings(enlarge(["num_blocks", "hidden"])),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
@of_two("made", TASKS)
def test_a_run_resealed_with_wrong_values_is_one_line(change, run, monkeypatch):
    monkeypatch.setattr(on_meta, "MOST_MODULES", 500)
    show_fewer(monkeypatch)
    change(run)
    (run / "page.json").unlink(missing_ok=True)  # a report that is kept needs nothing else
    reseal(run)
    refused(["report", run], "")
    assert not (run / "report.html").exists()


def test_a_score_without_an_interval_is_shown_without(run):
    rows = json.loads((run / "scores.json").read_text())
    if rows[0]["low"] is None:
        pytest.skip("no score of grids has an interval")
    del rows[0]["low"]
    (run / "scores.json").write_text(json.dumps(rows))
    reseal(run)
    code, said, err = outcome("evaluate", run)
    assert code == 0 and "Traceback" not in err and rows[0]["model"] in said, err
