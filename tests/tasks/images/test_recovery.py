"""A run of images made smaller and trained further: what is kept of it, and what is refused."""

import pytest
import torch

from multiway import workflows
from multiway.errors import ConfigError
from multiway.tasks import lifecycle
from multiway.tasks.fitting import nearing
from multiway.tasks.images.config import ImageConfig
from multiway.tasks.images.task import TASK
from tasks.images.shapes import write_folder
from tolerances import ROUNDING32

RULES = [".*=lowrank:max_share=0.5"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    training = {"epochs": 3, "batch_size": 8, "warmup_steps": 2, "learning_rate": 0.01}
    settings = {"data": str(write_folder(folder / "shapes")), "draws": 20, "training": training}
    return lifecycle.start(TASK, ImageConfig.parse({**settings, "model": {"channels": [4, 6]}}), folder / "run")


def test_a_smaller_run_is_trained_further_and_says_what_that_brought(run, tmp_path):
    runs = {}
    for how in ({}, {"finetune": 2}, {"distil": 2}):
        done = workflows.compress(run.folder.path, RULES, out=tmp_path / "_".join(["small", *how]), **how)
        runs["_".join(how)] = done
    plain, tuned, distilled = runs.values()
    assert plain.run.facts["parameters"] == tuned.run.facts["parameters"] == distilled.run.facts["parameters"]
    weights = [torch.cat([each.flatten() for each in done.run.model.parameters()]) for done in runs.values()]
    assert not torch.equal(weights[0], weights[1]) and not torch.equal(weights[1], weights[2])
    stored = lifecycle.load(tmp_path / "small_distil")
    assert stored.facts["recovery"].keys() == {"before", "after", "recovered", "epochs", "distil", "rate"}
    assert stored.config == run.config
    assert "of the network on validation" in distilled.lines()[-1] and len(plain.lines()) == 2


def test_a_recovery_at_a_small_rate_stays_where_it_began(run, tmp_path):
    plain = workflows.compress(run.folder.path, RULES, out=tmp_path / "plain")
    near = workflows.compress(run.folder.path, RULES, out=tmp_path / "near", finetune=1, rate=1e-7)
    moved = [
        float((a - b).detach().abs().max()) for a, b in zip(*(_weights(each) for each in (plain, near)), strict=True)
    ]
    assert 0 < max(moved) < 1e-5 and near.run.facts["recovery"]["rate"] == 1e-7


def _weights(done):
    return list(done.run.model.parameters())


def test_a_recovery_that_cannot_be_is_refused(run, tmp_path):
    for how, message in (
        ({"finetune": 1, "distil": 1}, "give one of finetune and distil"),
        ({"finetune": 0}, "one epoch or more. Got 0"),
        ({"finetune": 1, "rate": 0.0}, "rate is a learning rate above 0 for finetune or distil. Got 0.0"),
        ({"rate": 0.1}, "give one too"),
    ):
        with pytest.raises(ConfigError, match=message):
            workflows.compress(run.folder.path, RULES, out=tmp_path / "small", **how)


def test_nearing_adds_the_distance_of_each_term_in_training_alone(generator):
    model, teacher = torch.nn.Linear(5, 3), torch.nn.Linear(5, 3)
    x = torch.randn(7, 5, generator=generator)

    def objective(learner, batch):
        return learner(batch["inputs"]).sum(), torch.tensor(7.0)

    loss = nearing(teacher, objective)
    total, count = loss(model, {"inputs": x})
    distance = (model(x) - teacher(x)).square().sum() / teacher(x).square().sum()
    expected = model(x).sum() + 7 * distance
    assert float((total - expected).detach().abs()) < 100 * ROUNDING32 and count == 7
    assert torch.equal(loss(model.eval(), {"inputs": x})[0], model(x).sum())
