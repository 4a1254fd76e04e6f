"""Stretches of complete windows."""

import pytest
import torch

from multiway.tasks.forecasting.windows import complete_stretches
from tasks.forecasting.panels import make_windows


@pytest.mark.parametrize("gaps", [[], [0], [199], [70], [60, 61, 90, 130], list(range(0, 200, 9))])
def test_stretches_hold_the_complete_windows_and_no_other(gaps):
    windows = make_windows(200, 2, 8, 5)
    observed = torch.ones(200, 2, dtype=torch.bool)
    observed[gaps, 1] = False
    windows.observed = observed
    stretches, rest = complete_stretches(windows, 3, 180)
    inside = [index for first, last in stretches for index in range(first, last)]
    assert sorted(inside + rest.tolist()) == list(range(3, 180))
    assert all(observed[index : index + 13].all() for index in inside)
    assert all(last - first >= 32 for first, last in stretches)
    complete = [index for index in range(3, 180) if observed[index : index + 13].all()]
    assert len(complete) - len(inside) < 32 * (len(gaps) + 1)
