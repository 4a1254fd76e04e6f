"""Batches that fit into memory: counted by a pass without numbers, halved as far as need be, stored with the run."""

import numpy as np
import pytest
import torch
import yaml
from torch import nn

import multiway
from multiway.models import create_model
from multiway.tasks import lifecycle
from multiway.tasks.scans.task import CLASSES as TASK
from multiway.tasks.scans.task import MASKS as SEGMENT
from multiway.training import TrainingConfig, memory
from multiway.workflows.training import with_seed
from tasks.scans.classes.blocks import NETWORK, make_config, make_volumes, write_table
from tasks.scans.masks.lesion_files import FAST, prepared_at, write_boxes, write_scene


def test_what_a_network_keeps_is_counted_once_per_storage():
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(10, 20, bias=False), nn.Tanh(), nn.Linear(20, 5, bias=False))
    kept = 4 * (10 + 20)  # the input, and what tanh gives, of which the next layer keeps the same
    assert memory.bytes_per_sample(model, (10,)) == memory.WORK * kept


def test_a_larger_volume_needs_more():
    def needed(side):
        with torch.device("meta"):
            model = create_model("hot_volume_classifier", sizes=(side,) * 3, in_channels=1, num_classes=2, **NETWORK)
        return memory.bytes_per_sample(model, (1, side, side, side))

    assert 6 < needed(32) / needed(16) < 10


@pytest.mark.parametrize(
    ("free", "batch", "accumulation"), [(32_000, 32, 1), (31_999, 16, 2), (8_000, 8, 4), (1, 1, 32)]
)
def test_a_batch_is_halved_until_it_fits_and_steps_stay_as_long(free, batch, accumulation):
    found = memory.split_batches(TrainingConfig(), 1000, free)
    assert (found.batch_size, found.accumulation, found.validation_batch_size) == (batch, accumulation, batch)
    odd = memory.split_batches(TrainingConfig(batch_size=6), 1000, 1)
    assert (odd.batch_size, odd.accumulation) == (3, 2)


def test_processes_find_the_same_number(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert memory.free_bytes() == memory.MOST_BYTES


def open_batch(data):
    plain = make_config(data).plain()
    plain["training"] = {"epochs": 2, "warmup_steps": 2}
    return TASK.config.parse(plain)


def test_a_run_stores_the_batches_that_were_chosen_and_goes_on_with_them(tmp_path, monkeypatch, capsys):
    config = open_batch(write_table(tmp_path))
    monkeypatch.setattr("multiway.training.memory.free_bytes", lambda: 1_000_000)
    run = lifecycle.start(TASK, with_seed(config, 3), tmp_path / "run", progress=True)
    batch = run.config.training.batch_size
    assert batch < 32 and batch * run.config.training.accumulation == 32
    assert f"batches of {batch}, the gradients of {32 // batch} added: 32 volumes at once would take about" in (
        capsys.readouterr().err
    )
    stored = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["settings"]["training"]
    assert (stored["batch_size"], stored["accumulation"], stored["seed"]) == (batch, 32 // batch, 3)
    monkeypatch.setattr("multiway.training.memory.free_bytes", lambda: 10**12)
    assert TASK.settle(TASK.config.parse(run.config.plain()), run.prepared, 0.0).config == run.config


def test_a_given_batch_size_is_kept(monkeypatch):
    monkeypatch.setattr("multiway.training.memory.free_bytes", lambda: 1)
    settings = {"model": NETWORK, "training": {"batch_size": 8, "warmup_steps": 1}, "draws": 0}
    model = multiway.VolumeClassifier(epochs=1, baselines=("majority",), settings=settings)
    assert model.fit(*make_volumes(20)).run_.config.training.batch_size == 8


def test_smaller_batches_learn_the_same(monkeypatch):
    volumes, labels = make_volumes(24)
    settings = {"model": {**NETWORK, "dropout": 0.0}, "training": {"warmup_steps": 1}, "draws": 0}

    def probabilities(free):
        monkeypatch.setattr("multiway.training.memory.free_bytes", lambda: free)
        model = multiway.VolumeClassifier(epochs=2, baselines=(), settings=settings).fit(volumes, labels)
        return model.run_.config.training.batch_size, model.predict_proba(volumes)

    (large, wanted), (small, found) = probabilities(10**12), probabilities(1)
    assert (large, small) == (32, 1)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_patches_are_chosen_by_memory_as_volumes_are(tmp_path, monkeypatch, capsys):
    settings = {"data": str(write_boxes(tmp_path)), "model": FAST["model"], "draws": 0}
    config = SEGMENT.config.parse({**settings, "training": {"epochs": 1, "warmup_steps": 1}})
    assert (config.training.batch_size, config.training.accumulation) == (4, 1)
    monkeypatch.setattr("multiway.training.memory.free_bytes", lambda: 1)
    run = lifecycle.start(SEGMENT, config, tmp_path / "run", progress=True)
    assert (run.config.training.batch_size, run.config.training.accumulation) == (1, 4)
    assert "batches of 1, the gradients of 4 added: 4 patches at once would take about" in capsys.readouterr().err
    given = SEGMENT.config.parse({**settings, "training": {"batch_size": 4}})
    assert SEGMENT.settle(given, run.prepared, 0.0).config == given
    assert SEGMENT.settle(SEGMENT.config.parse(run.config.plain()), run.prepared, 0.0).config == run.config
    monkeypatch.setattr("multiway.training.memory.free_bytes", lambda: 10**12)
    assert SEGMENT.settle(config, run.prepared, 0.0).config == config


def test_patches_of_a_scene_are_counted_by_both_networks(tmp_path, monkeypatch):
    prepared, config = prepared_at(write_scene(tmp_path / "scene.npz"), ignore=0, block=6, model={}, training={})
    monkeypatch.setattr("multiway.training.memory.free_bytes", lambda: 1)
    assert SEGMENT.settle(config, prepared, 0.0).config.training.batch_size == 1
