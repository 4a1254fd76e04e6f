"""Run folders: made once, locked, sealed, and honest about damage."""

import multiprocessing
import random

import pytest
import torch

from interruption import left_over
from multiway import files
from multiway.errors import RunError
from multiway.training import RunFolder
from training.toy import make_model


def start_one(path, barrier, results):
    barrier.wait()
    try:
        RunFolder.create(path, {"a": 1})
        results.put("won")
    except RunError as error:
        results.put(str(error))


def test_of_twenty_starts_one_wins(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(20), context.Queue()
    children = [context.Process(target=start_one, args=(tmp_path / "run", barrier, results)) for _ in range(20)]
    for child in children:
        child.start()
    answers = [results.get(timeout=60) for _ in children]
    for child in children:
        child.join()
    assert answers.count("won") == 1
    assert sum("exists already" in answer and "\n" not in answer for answer in answers) == 19
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_only_one_process_holds_a_run(tmp_path):
    run = RunFolder.create(tmp_path / "run", {})
    with run.lock(), pytest.raises(RunError, match="in use by another process"), RunFolder.open(run.path).lock():
        pass
    with run.lock():
        pass


def test_a_folder_that_is_no_run_is_named(tmp_path):
    with pytest.raises(RunError, match=r"is not a run folder: no config\.yaml"):
        RunFolder.open(tmp_path)


def sealed(tmp_path):
    run = RunFolder.create(tmp_path / "run", {"task": "toy"})
    run.save_weights(make_model())
    run.write_json("scores.json", {"mse": 0.1})
    run.state_dir.mkdir()
    (run.state_dir / "training.safetensors").write_bytes(b"state")
    run.finish({"seed": 3})
    return run


def test_a_sealed_run_knows_its_files(tmp_path):
    run = sealed(tmp_path)
    manifest = run.verify()
    assert manifest["seed"] == 3
    assert sorted(manifest["sha256"]) == ["config.yaml", "scores.json", "weights.safetensors"]
    assert not run.state_dir.exists()


@pytest.mark.parametrize("name", ["config.yaml", "scores.json", "weights.safetensors"])
def test_changed_and_missing_files_are_named(name, tmp_path):
    run = sealed(tmp_path)
    (run.path / name).write_bytes((run.path / name).read_bytes() + b" ")
    with pytest.raises(RunError, match=f"changed or missing since training: {name}"):
        run.verify()
    (run.path / name).unlink()
    with pytest.raises(RunError, match=f"changed or missing since training: {name}"):
        run.verify()


def test_mutated_weights_are_one_error_or_the_same_weights(tmp_path):
    """Three hundred damaged files: never a traceback of another kind, never a silent difference of shape."""
    run, chance = sealed(tmp_path), random.Random(5)
    path = run.path / "weights.safetensors"
    whole, refused = path.read_bytes(), 0
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(bytes(damaged[: chance.randrange(len(damaged))] if chance.random() < 0.3 else damaged))
        if path.read_bytes() != whole:
            with pytest.raises(RunError, match=r"weights\.safetensors"):
                run.verify()
        try:
            run.load_weights(make_model())
        except RunError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 50


def test_weights_of_another_model_are_refused(tmp_path):
    run = sealed(tmp_path)
    with pytest.raises(RunError, match="cannot be used"):
        run.load_weights(torch.nn.Linear(2, 3))


def test_an_unfinished_run_says_how_to_go_on(tmp_path):
    run = RunFolder.create(tmp_path / "run", {})
    with pytest.raises(RunError, match="multiway train --resume"):
        run.verify()


def test_only_what_the_run_made_is_removed(tmp_path):
    run = RunFolder.create(tmp_path / "run", {})
    mark = ".partial-" + "0123abcd" * 3
    strays = [f"weights.safetensors{mark}", f"state/training.safetensors{mark}"]
    others = ["notes.partial-report.txt", "x.partial-1234", f"weights{mark}.txt", f"a{mark.upper()}"]
    run.state_dir.mkdir()
    for name in strays + others:
        (run.path / name).write_text("text")
    begun, elsewhere, running = left_over(tmp_path / ".run"), f".run{mark}", files.temporary_name(".run")
    for folder in (run.path / "x.partial-d", run.path / f"y{mark}", begun, tmp_path / elsewhere, tmp_path / running):
        folder.mkdir()
    (run.path / f"link.json{mark}").symlink_to(run.path / "notes.partial-report.txt")
    (begun / "config.yaml").write_text("a: 1")
    run.clean()
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*[pP][aA]*")}
    kept = {"x.partial-d", f"y{mark}", f"link.json{mark}", *others}
    assert left == {elsewhere, running, *(f"run/{name}" for name in kept)}
