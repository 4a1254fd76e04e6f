"""Logistic regression on pooled voxels; the loss of classes against torch's; probabilities over reflections."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from multiway import ops
from multiway.data.samples import Samples
from multiway.data.sources.scans.intensity import IntensityScale
from multiway.models.baselines import Linear, PooledLinear, fit_logistic
from multiway.models.tree_ensemble import TreeEnsemble
from multiway.tasks.declarations import Context
from multiway.tasks.sample_candidate import LEAVES, ROUNDS, Basis, Lesson
from multiway.tasks.scans.encode import VolumeState
from multiway.tasks.scans.networks import VolumeLoss, scan_outputs
from multiway.tasks.scans.task import CLASSES as TASK
from multiway.training import seed_everything
from multiway.training.losses import ClassLoss
from tasks.scans.classes.blocks import NETWORK, SIZES, make_config, make_volumes
from tolerances import LONG32, ROUNDING64, SUMS32

CLASSES = SimpleNamespace(target=None)
"""A state of classes: outputs are logits."""


def make_source(count=40, seed=0, **more):
    volumes, labels = make_volumes(count, seed, **more)
    scale = IntensityScale(centre=(0.0,), spread=(255.0,))
    inputs = torch.from_numpy(volumes[:, None])
    return Samples(inputs=inputs, source="blocks", target=labels, classes=("low", "high"), decode=scale.apply)


def draw(config):
    """The network of a run, seeded as the lifecycle does."""
    scale = IntensityScale(centre=(0.0,), spread=(255.0,))
    state = VolumeState(
        classes=("low", "high"), channels=1, sizes=SIZES, axes=("depth", "height", "width"), scale=scale
    )
    seed_everything(config.training.seed)
    return TASK.build(config, state, "network")


def test_logistic_regression_is_that_of_means_of_blocks():
    config, training, held = make_config(), make_source(), make_source(20, seed=1)
    model, plain = PooledLinear(SIZES, 1, 2), Linear(7**3, 2)
    run = SimpleNamespace(config=config)
    facts = TASK.candidates()["logistic"].fit(model, *(Lesson(part, run, Context()) for part in (training, held)))
    (x, y), (held_x, held_y) = (
        (model.features(whole["inputs"]), whole["target"])
        for whole in (each.gather(torch.arange(len(each))) for each in (training, held))
    )
    assert facts == fit_logistic(plain, x, y, held_x, held_y)
    volumes = held.gather(torch.arange(20))["inputs"]
    np.testing.assert_allclose(model(volumes), plain(held_x), rtol=ROUNDING64)
    assert x.shape == (40, 7**3)


def test_features_are_told_apart_as_rows_of_a_table_are():
    """By logistic regression, and by boosted trees; one case gives what it does in a batch."""
    training, held = make_source(60), make_source(20, seed=1)
    state = SimpleNamespace(channels=1, classes=("low", "high"), num_outputs=2, target=None)
    run = SimpleNamespace(config=make_config())
    x, y, held_x, held_y = (
        part
        for source in (training, held)
        for part in (ops.volume_features(source.decode(source.inputs)), source.target_tensor)
    )
    plain, trees = Linear(ops.VOLUME_FEATURES, 2), TreeEnsemble(ROUNDS, LEAVES, 1)
    facts, sizes = fit_logistic(plain, x, y, held_x, held_y), trees.tune(x, y, held_x, held_y)
    rises = trees(held_x).sigmoid().numpy()
    shares = np.hstack([1 - rises, rises])
    volumes = held.decode(held.inputs)
    for name, expected in (("features", plain(held_x).softmax(1).numpy()), ("trees", shares)):
        candidate = TASK.candidates()[name]
        model = candidate.build(Basis(run.config, state))
        found = candidate.fit(model, *(Lesson(part, run, Context()) for part in (training, held)))
        assert found == (sizes if name == "trees" else facts)
        whole = scan_outputs(model, volumes, run.config, CLASSES)
        np.testing.assert_allclose(whole, expected, rtol=SUMS32)
        np.testing.assert_allclose(scan_outputs(model, volumes[7:8], run.config, CLASSES), whole[7:8], rtol=SUMS32)


def test_the_loss_is_torchs():
    config = make_config(model={**NETWORK, "dropout": 0.0})
    model = draw(config).train().requires_grad_(False)
    batch = make_source(7).gather(torch.arange(7))
    weights = torch.tensor([0.4, 1.7])
    total, count = VolumeLoss(config, ClassLoss(weights, 0.2))(model, batch)
    logits = model(batch["inputs"])
    expected = F.cross_entropy(logits, batch["target"], weights, label_smoothing=0.2)
    # torch's mean divides by the summed weights, as the loop does by the count
    assert float(total / count) == pytest.approx(float(expected), rel=SUMS32)
    total, count = VolumeLoss(config, ClassLoss(weights, 0.2))(model.eval(), batch)
    assert float(total / count) == pytest.approx(float(F.cross_entropy(logits, batch["target"])), rel=SUMS32)


def test_shapes_are_dimmed_in_training_and_halved_elsewhere():
    config = make_config(read={"shape_transform": True})
    seen = []

    class Watcher(torch.nn.Module):
        def forward(self, x):
            seen.append(x)
            return x.new_zeros(len(x), 2)

    batch = make_source(5).gather(torch.arange(5))
    VolumeLoss(config, ClassLoss())(Watcher().eval(), batch)
    torch.manual_seed(0)
    VolumeLoss(config, ClassLoss())(Watcher().train(), batch)
    scan_outputs(Watcher(), batch["inputs"], config, CLASSES)
    factors = [(x.sum((1, 2, 3, 4)) / batch["inputs"].sum((1, 2, 3, 4))).tolist() for x in seen]
    assert factors[0] == factors[2] == pytest.approx([0.5] * 5)
    assert len({round(factor, 6) for factor in factors[1]}) == 5
    assert all(0 <= factor < 1 for factor in factors[1])


def test_reflections_are_averaged():
    """The answer no longer depends on how a volume lies, and is the mean of eight."""
    config = make_config(evaluate_flips=True)
    model = draw(config).eval()
    x = make_source(3).gather(torch.arange(3))["inputs"]
    found = scan_outputs(model, x, config, CLASSES)
    np.testing.assert_allclose(scan_outputs(model, x.flip(2, 4), config, CLASSES), found, rtol=LONG32, atol=LONG32)
    by_hand = sum(
        scan_outputs(
            model, x.flip([axis for axis, on in zip((2, 3, 4), (a, b, c), strict=True) if on]), make_config(), CLASSES
        )
        for a in (0, 1) for b in (0, 1) for c in (0, 1)
    ) / 8  # fmt: skip
    np.testing.assert_allclose(found, by_hand, rtol=LONG32, atol=LONG32)
    assert not np.allclose(scan_outputs(model, x, make_config(), CLASSES), found)


def test_the_network_is_the_seeds():
    first, same, other = (draw(make_config(training={"seed": seed}, model=NETWORK)) for seed in (1, 1, 2))
    assert torch.equal(first.head.weight, same.head.weight)
    assert not torch.equal(first.head.weight, other.head.weight)
