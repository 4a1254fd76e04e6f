"""The loss against torch's, and balanced weights."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from multiway.training import TrainingConfig
from multiway.training.losses import NO_TARGET, ClassLoss, class_loss, class_weights
from tolerances import SUMS32

LABELS = np.array([0, 0, 0, 1, 2, 2])


@pytest.mark.parametrize("weights", [None, [0.4, 1.7, 0.9]])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_is_torchs(weights, smoothing, generator):
    """torch's mean divides by the summed weights, as the loop does by the count."""
    logits, labels = torch.randn(6, 3, generator=generator), torch.from_numpy(LABELS).clone()
    labels[1] = NO_TARGET
    weights = None if weights is None else torch.tensor(weights)
    total, count = class_loss(logits, labels, weights, smoothing)
    expected = F.cross_entropy(logits, labels, weights, label_smoothing=smoothing)
    assert float(total / count) == pytest.approx(float(expected), rel=SUMS32)


def test_the_loss_is_the_same_whatever_axes_the_cases_have(generator):
    logits, labels = torch.randn(6, 3, generator=generator), torch.from_numpy(LABELS)
    flat, shaped = class_loss(logits, labels), class_loss(logits.reshape(2, 3, 3), labels.reshape(2, 3))
    assert torch.equal(torch.stack(flat), torch.stack(shaped))


def test_weights_and_smoothing_are_for_training_alone(generator):
    logits, labels = torch.randn(6, 3, generator=generator), torch.from_numpy(LABELS)
    weights, model = torch.tensor([0.4, 1.7, 0.9]), torch.nn.Identity()
    loss, batch = ClassLoss(weights, 0.2), {"inputs": logits, "target": labels}
    for model.training, expected in (
        (True, class_loss(logits, labels, weights, 0.2)),
        (False, class_loss(logits, labels)),
    ):
        assert torch.equal(torch.stack(loss(model, batch)), torch.stack(expected))


def test_balanced_weights_give_every_class_that_is_there_the_same_sum():
    weights = class_weights(LABELS, 4, TrainingConfig(class_weights="balanced"))
    assert (weights.numpy()[:3] * np.bincount(LABELS)).tolist() == pytest.approx([2.0] * 3)
    assert class_weights(LABELS, 4, TrainingConfig()) is None
