"""Windows are what slicing gives, whichever way they are taken."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from multiway.errors import DataError
from multiway.tasks.forecasting.sizes import Borders
from multiway.tasks.forecasting.windows import Windows, split_windows

LOOKBACK, HORIZON = 7, 3


@pytest.fixture
def rows() -> torch.Tensor:
    return torch.arange(53 * 5, dtype=torch.float32).view(53, 5)


@pytest.mark.parametrize(("start", "stop"), [(0, 31), (31, 41), (41, 53)])
def test_gathered_windows_are_slices(rows, start, stop):
    windows = Windows(rows, None, start=start, stop=stop, lookback=LOOKBACK, horizon=HORIZON)
    first = max(start - LOOKBACK, 0)
    assert len(windows) == stop - first - LOOKBACK - HORIZON + 1
    index = torch.arange(len(windows)).flip(0)
    batch = windows.gather(index)
    assert set(batch) == {"past", "future", "start"}
    for position, window in enumerate(index.tolist()):
        at = first + window
        assert torch.equal(batch["past"][position], rows[at : at + LOOKBACK])
        assert torch.equal(batch["future"][position], rows[at + LOOKBACK : at + LOOKBACK + HORIZON])
        assert batch["start"][position] == at
    assert batch["past"].is_contiguous() and batch["future"].is_contiguous()
    assert windows.start_rows().tolist() == list(range(first, first + len(windows)))


def test_targets_stay_inside_their_split_and_meet_without_overlap(rows):
    borders = Borders(train=(0, 31), validation=(31, 41), test=(41, 53))
    for name, windows in split_windows(rows.double().numpy(), borders, LOOKBACK, HORIZON).items():
        low, high = getattr(borders, name)
        targets = torch.from_numpy(windows.start_rows())[:, None] + LOOKBACK + torch.arange(HORIZON)
        assert targets.max() == high - 1
        assert targets.min() == (LOOKBACK if name == "train" else low)


def test_rows_are_not_copied_and_equal_what_is_gathered(rows):
    windows = Windows(rows, None, start=31, stop=53, lookback=LOOKBACK, horizon=HORIZON)
    batch = windows.gather(torch.arange(len(windows)))
    assert torch.equal(windows.rows.unfold(0, LOOKBACK, 1)[: len(windows)], batch["past"].transpose(1, 2))
    assert torch.equal(windows.rows.unfold(0, HORIZON, 1)[LOOKBACK:], batch["future"].transpose(1, 2))
    assert windows.rows.untyped_storage().data_ptr() == rows.untyped_storage().data_ptr()


def test_missing_cells_are_zero_and_marked():
    values = np.arange(60.0).reshape(20, 3)
    values[4, 1] = np.nan
    windows = split_windows(values, Borders(train=(0, 12), validation=(12, 16), test=(16, 20)), 3, 2)
    train = windows["train"]
    batch = train.gather(torch.tensor([2]))
    assert not train.observed.all()
    assert batch["past"][0, 2].tolist() == [12, 0, 14]
    assert batch["past_observed"][0].tolist() == [[True] * 3, [True] * 3, [True, False, True]]
    assert batch["future_observed"].all()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(1, 9), st.integers(0, 30), st.integers(1, 4))
def test_counts(lookback, horizon, extra, variates):
    total = 3 * (lookback + horizon) + extra
    first, last = lookback + horizon, 2 * (lookback + horizon)
    borders = Borders(train=(0, first), validation=(first, last), test=(last, total))
    windows = split_windows(np.ones((total, variates)), borders, lookback, horizon)
    assert len(windows["train"]) == 1
    assert len(windows["validation"]) == lookback + 1
    assert len(windows["test"]) == total - last - horizon + 1
    assert all(part.gather(torch.tensor([0]))["past"].shape == (1, lookback, variates) for part in windows.values())


def test_an_index_out_of_range_is_refused(rows):
    windows = Windows(rows, None, start=0, stop=31, lookback=LOOKBACK, horizon=HORIZON)
    for index in (len(windows), -1):
        with pytest.raises(IndexError):
            windows.gather(torch.tensor([index]))


def test_a_number_beyond_float32_is_refused():
    values = np.ones((40, 2))
    values[33, 1] = 1e39
    with pytest.raises(DataError, match=r"scaled values must fit float32\. Got 1e\+39 in row 33 of variate 1"):
        split_windows(values, Borders(train=(0, 20), validation=(20, 30), test=(30, 40)), 5, 5)
