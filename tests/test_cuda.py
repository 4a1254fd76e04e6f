"""What holds on a GPU: layers agree with the processor to rounding, and a run of every task trains and predicts."""

import copy

import pytest
import torch

from command import printed
from frozen_layers import LAYERS
from multiway.models.baselines import TfidfLogistic
from multiway.tasks.fitting import nearing
from tasks.tiny import TINY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that CUDA reaches"),
]


@pytest.mark.parametrize("name", LAYERS)
def test_values_and_gradients_are_those_of_the_processor(name):
    make, shape = LAYERS[name]
    torch.manual_seed(7)
    layer, x = make().double().eval(), torch.randn(shape, dtype=torch.float64)
    expected, found = (_pulled(copy.deepcopy(layer), x, device) for device in ("cpu", "cuda"))
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def _pulled(layer, x, device):
    leaf = x.to(device).requires_grad_()
    out = layer.to(device)(leaf)
    (out * torch.arange(out.numel(), device=device).view_as(out).cos()).sum().backward()
    gradients = {name: each.grad.cpu() for name, each in layer.named_parameters() if each.grad is not None}
    return {"out": out.detach().cpu(), "x": leaf.grad.cpu(), **gradients}


@pytest.mark.parametrize("task", TINY)
def test_a_tiny_run_trains_and_predicts(task, tmp_path):
    (tmp_path / "data").mkdir()
    tiny, run = TINY[task](tmp_path / "data"), tmp_path / "run"
    printed(*tiny.train(run))
    target = tmp_path / {"segment": "masks", "grids": "answer.npz"}.get(task, "answer.csv")
    printed("predict", run, "--data", tiny.data, "--out", target)
    assert target.exists()


def test_counts_of_words_are_weighed_where_the_model_is():
    model = TfidfLogistic(7, 3)
    model.gain.copy_(torch.linspace(0, 1, 7))
    model.weight.copy_(torch.randn(3, 7, dtype=torch.float64))
    ids = torch.randint(0, 7, (5, 11))
    expected = model(ids)
    torch.testing.assert_close(model.to("cuda")(ids.to("cuda")).cpu(), expected)


def test_a_teacher_follows_the_model_that_learns_from_it():
    teacher, model = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2).to("cuda")

    def squares(learner, batch):
        return learner(batch["x"]).square().sum(), torch.tensor(5.0, device="cuda")

    total, _ = nearing(teacher, squares)(model, {"x": torch.randn(5, 3, device="cuda")})
    total.backward()
    assert torch.isfinite(model.weight.grad).all()
