"""Baselines of a target by name: those of classes, those of numbers."""

import numpy as np
import pytest
import torch

from multiway.errors import ConfigError
from multiway.models.baselines import Linear, Majority, Mean
from multiway.models.target_baselines import build_baseline, fit_baseline, usual_baselines

LABELS = np.array([0, 1, 1, 0, 1, 1])
NUMBERS = np.array([1.0, 2.0, 4.0, 7.0, 11.0, 16.0])


@pytest.mark.parametrize(
    ("classes", "called", "kinds"),
    [(("no", "yes"), ("majority", "logistic"), (Majority, Linear)), (None, ("mean", "ridge"), (Mean, Linear))],
)
def test_baselines_are_those_of_the_target(classes, called, kinds, generator):
    x = torch.randn(6, 2, generator=generator)
    y = torch.from_numpy(NUMBERS).float() if classes is None else torch.from_numpy(LABELS)
    assert usual_baselines(called, is_class=classes is not None) == called
    with pytest.raises(ConfigError, match=r"Got .*\. Leave it out"):
        usual_baselines(called, is_class=classes is None)
    models = [build_baseline(name, 2, 1 if classes is None else 2) for name in called]
    assert tuple(map(type, models)) == kinds
    constant, linear = (fit_baseline(model, x, y, x, y) for model in models)
    assert constant is None and set(linear) == {"penalty", "validation_loss"}
    answer = models[0](x)[0] if classes is None else models[0](x)[0].exp()
    assert answer.tolist() == pytest.approx([NUMBERS.mean()] if classes is None else [1 / 3, 2 / 3])
