"""Which device a model is put on: CUDA first, Apple's where nothing is float64, else the processor."""

import accelerate
import pytest
import torch

from multiway.training.processes import fastest
from multiway.training.steps import Engine
from training.toy import make_config, make_model


@pytest.fixture
def apple(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)


def test_float64_steps_aside_where_apple_has_the_only_accelerator(apple):
    model = torch.nn.Linear(3, 2)
    assert fastest(model) == "mps" and fastest(model.double()) == "cpu"
    model = torch.nn.Linear(3, 2)
    model.register_buffer("total", torch.zeros(2, dtype=torch.float64))
    assert fastest(model) == "cpu"


def test_cuda_comes_first_and_the_processor_last(apple, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert fastest(torch.nn.Linear(3, 2).double()) == "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert fastest(torch.nn.Linear(3, 2)) == "cpu"


def test_training_leaves_the_choice_to_accelerate_only_where_there_is_one(apple, monkeypatch):
    calls = []
    own = accelerate.Accelerator
    monkeypatch.setattr(
        accelerate, "Accelerator", lambda **options: calls.append(options["cpu"]) or own(**options | {"cpu": True})
    )
    for model in (make_model(), make_model().double()):
        Engine(model, make_config())
    assert calls == [False, True]
