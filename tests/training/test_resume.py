"""An interrupted training ends with the same bits as one that was left alone."""

import itertools
import math
import os
import random
import signal
import time
from pathlib import Path

import pytest
import torch

import children
from multiway.errors import RunError
from multiway.training import Interrupted, RunFolder, loop, train
from multiway.training.steps import Engine, Standing, Steps
from multiway.training.validation import Validation
from resealing import read_state, save_resealed
from training.toy import Points, make_config, make_model, objective, run_to_the_end, toy

SETTINGS = {
    "accumulation": (1, 3), "schedule": ("cosine", "constant"), "optimizer": ("adamw", "adam"),
    "validations_per_epoch": (1, 2),
}  # fmt: skip
GRID = [choice for choice in itertools.product((0, 1), repeat=4) if sum(choice) % 2 == 0]
"""Half of all sixteen, in which any three settings meet in every way."""


def stop_after(monkeypatch, step):
    """Deliver a real SIGTERM during one step."""
    original = Steps.take

    def one_step(self, standing, request):
        if standing.step + 1 == step:
            os.kill(os.getpid(), signal.SIGTERM)
        return original(self, standing, request)

    monkeypatch.setattr(Steps, "take", one_step)


@pytest.mark.parametrize("choice", GRID, ids=str)
def test_a_stopped_run_continues_to_the_same_bits(choice, tmp_path, monkeypatch):
    settings = {name: values[at] for (name, values), at in zip(SETTINGS.items(), choice, strict=True)}
    check_stops(settings, tmp_path, monkeypatch)


@pytest.mark.parametrize("by_score", [False, True])
@pytest.mark.parametrize("average", [None, 0.9])
def test_so_does_one_with_a_score_an_average_and_steps(by_score, average, tmp_path, monkeypatch):
    settings = {"by_score": by_score, "average": average, "schedule": "steps", "accumulation": 2}
    check_stops(settings, tmp_path, monkeypatch)


def check_stops(settings, tmp_path, monkeypatch):
    """Only what the signal saves is there to go on from; kills at random instants meet states of every step."""
    settings = {"seconds": 3600, **settings}
    accumulation = settings["accumulation"]
    whole = run_to_the_end(tmp_path / "whole", **settings)
    steps = math.ceil(203 / (16 * accumulation))
    for stop in (1, steps - 1, steps, steps + 2):
        stop_after(monkeypatch, stop)
        with pytest.raises(Interrupted, match=f"SIGTERM after step {stop} of {4 * steps}"):
            run_to_the_end(tmp_path / f"cut-{stop}", **settings)
        monkeypatch.undo()
        repeated = run_to_the_end(tmp_path / f"cut-{stop}", **settings)
        for left, right in zip(whole.state_dict().values(), repeated.state_dict().values(), strict=True):
            assert torch.equal(left, right)
        logs = [RunFolder.open(tmp_path / name).read_log() for name in ("whole", f"cut-{stop}")]
        kept = [[{k: v for k, v in row.items() if "second" not in k} for row in log] for log in logs]
        assert kept[0] == kept[1]


@pytest.mark.parametrize(("part", "moment"), [(Steps, "take"), (Validation, "judge")])
def test_a_signal_at_the_very_end_is_not_lost(part, moment, tmp_path, monkeypatch):
    """What comes after this training, as the next seed, must not begin."""
    whole = run_to_the_end(tmp_path / "whole")
    original = getattr(part, moment)

    def interrupted(self, *given):
        (standing,) = (value for value in given if isinstance(value, Standing))
        if standing.step >= 52 - (moment == "take"):
            os.kill(os.getpid(), signal.SIGTERM)
        return original(self, *given)

    monkeypatch.setattr(part, moment, interrupted)
    with pytest.raises(Interrupted, match="SIGTERM after step 52 of 52"):
        run_to_the_end(tmp_path / "cut")
    monkeypatch.undo()
    repeated = run_to_the_end(tmp_path / "cut")
    assert all(map(torch.equal, whole.state_dict().values(), repeated.state_dict().values()))


def test_handlers_come_back(tmp_path, monkeypatch):
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    stop_after(monkeypatch, 2)
    with pytest.raises(Interrupted):
        run_to_the_end(tmp_path / "run")
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


@pytest.mark.slow
def test_kill_at_random_instants(tmp_path):
    """SIGKILL while every step saves, so that many a kill falls into a save."""
    whole = children.start(toy, tmp_path / "whole", 16)
    whole.join()
    assert whole.exitcode == 0
    chance = random.Random(3)
    kills = 0
    for _ in range(40):
        child = children.start(toy, tmp_path / "run", 16)
        wait_for_state(tmp_path / "run", child)
        time.sleep(chance.uniform(0, 0.12))
        if kills == 3 or not child.is_alive():
            child.join()
            assert child.exitcode == 0
            break
        child.kill()
        child.join()
        kills += child.exitcode == -signal.SIGKILL
    assert kills == 3
    left, right = ((tmp_path / name / "weights.safetensors").read_bytes() for name in ("whole", "run"))
    assert left == right
    assert not list(tmp_path.rglob("*.partial-*"))


def wait_for_state(path, child):
    """Until the program has begun to save: its imports are not what is under test."""
    known = newest(path)
    while child.is_alive() and newest(path) == known:
        time.sleep(0.005)


def newest(path):
    state = path / "state" / "training.safetensors"
    try:
        return state.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def test_another_training_is_refused(tmp_path, monkeypatch):
    stop_after(monkeypatch, 3)
    with pytest.raises(Interrupted):
        run_to_the_end(tmp_path / "run")
    monkeypatch.undo()
    with pytest.raises(RunError, match="total_steps=52 and this one has total_steps=65"):
        run_to_the_end(tmp_path / "run", epochs=5)


def test_an_average_is_resumed_or_refused(tmp_path, monkeypatch):
    stop_after(monkeypatch, 3)
    with pytest.raises(Interrupted):
        run_to_the_end(tmp_path / "run")
    monkeypatch.undo()
    with pytest.raises(RunError, match="the saved state holds no average"):
        run_to_the_end(tmp_path / "run", average=0.9)


def test_a_part_of_a_run_continues_and_names_the_run(tmp_path, monkeypatch):
    whole = RunFolder.create(tmp_path / "run", {})
    stop_after(monkeypatch, 3)
    with pytest.raises(Interrupted, match=f"--resume {whole.path}`"):
        train(make_model(), objective, Points(53), Points(13), make_config(), run=whole.part("cnn"))
    monkeypatch.undo()
    repeated, straight = make_model(), make_model()
    train(repeated, objective, Points(53), Points(13), make_config(), run=whole.part("cnn"))
    train(straight, objective, Points(53), Points(13), make_config())
    for left, right in zip(straight.parameters(), repeated.parameters(), strict=True):
        assert torch.equal(left, right)
    whole.finish({})
    assert {path.name for path in whole.path.iterdir()} == {"config.yaml", "manifest.json"}


def test_a_damaged_state_is_one_line(tmp_path, monkeypatch):
    stop_after(monkeypatch, 3)
    with pytest.raises(Interrupted):
        run_to_the_end(tmp_path / "run")
    monkeypatch.undo()
    state = tmp_path / "run" / "state" / "training.safetensors"
    state.write_bytes(state.read_bytes()[:-100])
    with pytest.raises(RunError, match="is damaged") as caught:
        run_to_the_end(tmp_path / "run")
    assert "\n" not in str(caught.value)


def test_a_full_disk_keeps_the_state_before(tmp_path, monkeypatch):
    import safetensors.torch

    stop_after(monkeypatch, 3)
    with pytest.raises(Interrupted):
        run_to_the_end(tmp_path / "run")
    monkeypatch.undo()
    before = (tmp_path / "run" / "state" / "training.safetensors").read_bytes()

    def full(tensors, path, metadata=None):
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(RunError, match="No space left on device"):
        run_to_the_end(tmp_path / "run")
    monkeypatch.undo()
    assert (tmp_path / "run" / "state" / "training.safetensors").read_bytes() == before
    assert not list(tmp_path.rglob("*.partial-*"))


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train(make_model(), objective, Points(53), Points(13), make_config(epochs=1))
    assert list(tmp_path.iterdir()) == []


def test_another_number_of_threads_is_noted(tmp_path, monkeypatch):
    stop_after(monkeypatch, 3)
    with pytest.raises(Interrupted):
        run_to_the_end(tmp_path / "run")
    monkeypatch.undo()
    run, other = RunFolder.open(tmp_path / "run"), torch.get_num_threads() + 1
    monkeypatch.setattr(torch, "get_num_threads", lambda: other)
    config = make_config(checkpoint_seconds=0)
    history = train(make_model(), objective, Points(203), Points(61), config, run=run)
    (note,) = history.notes
    assert f"begun with threads {other - 1} and continued with threads {other}" in note


def test_a_state_that_does_not_fit_is_one_line_whatever_its_hash(tmp_path, monkeypatch):
    stop_after(monkeypatch, 15)
    with pytest.raises(Interrupted):
        run_to_the_end(tmp_path / "run", average=0.9)
    monkeypatch.undo()
    path = tmp_path / "run" / "state" / "training.safetensors"
    tensors, position = read_state(path)
    for name in tensors:
        save_resealed(path, {**tensors, name: torch.zeros(3, 2, 1)}, position)
        with pytest.raises(RunError, match="does not fit this model"):
            run_to_the_end(tmp_path / "run", average=0.9)
    for name, value in position.items():
        less = {key: kept for key, kept in position.items() if key != name}
        wrong = {**position, name: [value] if isinstance(value, dict) else {"a": value}}
        for other in (less, wrong, {**position, "step": 10**9}, {**position, "rows": [{"step": 1}]}):
            save_resealed(path, tensors, other)
            with pytest.raises(RunError, match="is damaged: position"):
                run_to_the_end(tmp_path / "run", average=0.9)
    save_resealed(path, tensors, position)
    run_to_the_end(tmp_path / "run", average=0.9)


@pytest.mark.parametrize(("dropout", "world"), [(0.2, 2), (0.0, 2), (0.2, 1)])
def test_dropout_in_several_processes_is_noted(dropout, world):
    engine = Engine(make_model(dropout), make_config())
    engine.world = world
    notes = loop.list_cautions(engine)
    assert [note[:32] for note in notes] == ["Dropout draws its masks in each "] * (dropout > 0 and world > 1)
