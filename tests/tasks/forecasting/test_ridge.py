import itertools

import pytest
import torch
from torch import Tensor

from multiway.tasks.forecasting import ridge as ridges
from multiway.tasks.forecasting.ridge import PENALTIES, choose_ridge, complete_moments, normal_equations
from multiway.tasks.forecasting.windows import Windows
from tasks.forecasting.panels import make_windows
from tolerances import LONG64, SUMS32, assert_same


def test_penalties_are_powers_of_ten_up_to_those_that_leave_the_last_value():
    assert torch.tensor(PENALTIES).tolist() == torch.logspace(-3, 7, 11).tolist()


def test_a_series_so_smooth_that_its_windows_hardly_move_has_a_penalty_below_one():
    """As a population: in units of its deviation over all years each step is small, and its trend is all there is."""
    rows = 1e-3 * torch.arange(120.0)[:, None] + 0.01 * torch.sin(0.3 * torch.arange(120.0))[:, None]
    cut = {"lookback": 12, "horizon": 4}
    training, validation = (Windows(rows, None, start=start, stop=stop, **cut) for start, stop in ((0, 90), (90, 120)))
    floor = choose_ridge(training, validation)
    best = min(row["validation_mse"] for row in floor.candidates if row["penalty"] >= 1)
    assert floor.penalty < 1 and floor.validation_mse < best / 4


def steps_of(windows: Windows) -> tuple[Tensor, Tensor]:
    """Past and future of every window and variate minus its last value, (variates, windows, steps), float64."""
    batch = windows.gather(torch.arange(len(windows)))
    last = batch["past"][:, -1:].double()
    return (batch["past"].double() - last).permute(2, 0, 1), (batch["future"].double() - last).permute(2, 0, 1)


def test_moments_of_stretches_add_up():
    windows = make_windows(150, 2, 9, 4)
    parts = [complete_moments(windows, start, stop) for start, stop in ((0, 50), (50, 51), (51, len(windows)))]
    assert_same(sum(part.cross for part in parts), complete_moments(windows).cross)


@pytest.mark.parametrize("shared", [True, False])
def test_the_weights_are_ridge_regression_and_own_ones_are_drawn_towards_the_shared(shared):
    training, validation = make_windows(200, 3, 8, 5), make_windows(120, 3, 8, 5, seed=4)
    floor = choose_ridge(training, validation)
    penalty = next(row["penalty"] for row in floor.candidates if row == best_of(floor, shared=True))
    common = solved(training, penalty, None)
    vx, vy = steps_of(validation)
    weights = [solved(training, penalty, None if shared else common) for penalty in PENALTIES]
    tried = [row["validation_mse"] for row in floor.candidates if row["shared"] == shared]
    assert tried == pytest.approx([float((vy - vx @ w).square().mean()) for w in weights], rel=SUMS32)


def solved(windows: Windows, penalty: float, common: Tensor | None, stop: int | None = None) -> Tensor:
    """(XᵀX + λI)⁻¹ (XᵀY + λ common), of all variates together where there is no common one."""
    x, y = (each[:, :stop] for each in steps_of(windows))
    gram, cross = x.mT @ x, x.mT @ y
    if common is None:
        gram, cross = gram.sum(0), cross.sum(0)
    eye = penalty * torch.eye(x.shape[-1], dtype=torch.float64)
    return torch.linalg.solve(gram + eye, cross + (0 if common is None else penalty * common))


def best_of(floor, *, shared):
    return min((row for row in floor.candidates if row["shared"] == shared), key=lambda row: row["validation_mse"])


def test_the_penalty_is_the_best_over_stretches_of_which_validation_counts_one_half():
    training, validation = make_windows(300, 3, 8, 5), make_windows(220, 3, 8, 5, seed=4)
    floor = choose_ridge(training, validation)
    total = len(training)
    borders = [int(part * total) for part in (0.4, 0.6, 0.8, 1.0)]
    x, y = steps_of(training)
    stretches = [(start - 5, (x[:, start:stop], y[:, start:stop])) for start, stop in itertools.pairwise(borders)]
    stretches.append((total, steps_of(validation)))
    errors = torch.tensor(
        [
            [
                float((vy - vx @ solved(training, penalty * fit / total, None, fit)).square().mean())
                for penalty in PENALTIES
            ]
            for fit, (vx, vy) in stretches
        ]
    )
    scores = torch.tensor([1 / 6, 1 / 6, 1 / 6, 1 / 2]) @ (errors / errors.min(1, keepdim=True).values)
    assert floor.shared and floor.penalty == PENALTIES[int(scores.argmin())]
    vx, vy = stretches[-1][1]
    measured = (vy - vx @ floor.weight.double().mT).square().mean()
    assert floor.validation_mse == pytest.approx(float(measured), rel=LONG64)


def test_windows_of_a_stretch_do_not_change_the_fit_that_is_tried_on_it(monkeypatch):
    seen = []
    real = normal_equations
    monkeypatch.setattr(
        "multiway.tasks.forecasting.ridge.normal_equations", lambda w, stop=None: seen.append(stop) or real(w, stop)
    )
    training = make_windows(300, 3, 8, 5)
    choose_ridge(training, make_windows(60, 3, 8, 5))
    total = len(training)
    assert seen == [*(int(part * total) - 5 for part in (0.4, 0.6, 0.8)), None]


def test_moments_before_a_window_are_those_of_a_shorter_table():
    for missing in (0.0, 0.2):
        windows = make_windows(150, 2, 8, 5, missing=missing)
        for got, want in zip(normal_equations(windows, 60), normal_equations(windows.between(0, 60 + 12)), strict=True):
            assert_same(got, want)


def opposite(rows: int) -> Windows:
    """One variate alternates, the other drifts: no one matrix serves both."""
    steps = torch.arange(float(rows))
    values = torch.stack([(-1.0) ** steps, (steps / 7).sin()], 1) + 0.05 * torch.randn(
        rows, 2, generator=torch.Generator().manual_seed(1)
    )
    return Windows(values, None, start=0, stop=rows, lookback=6, horizon=3)


def test_own_matrices_are_taken_where_they_are_clearly_better():
    floor = choose_ridge(opposite(400), opposite(200))
    assert not floor.shared
    assert floor.gain_deviation is not None and floor.gain_of_own > floor.gain_deviation


def test_own_matrices_are_not_taken_on_a_gain_within_their_standard_error(monkeypatch):
    monkeypatch.setattr("multiway.tasks.forecasting.ridge.STANDARD_ERRORS", 1e9)
    assert choose_ridge(opposite(400), opposite(200)).shared


def test_own_matrices_are_not_taken_when_validation_is_too_short_to_tell():
    floor = choose_ridge(opposite(30), opposite(14))
    assert floor.gain_of_own > 0 and floor.shared and floor.gain_deviation is None


def test_a_single_variate_is_shared():
    floor = choose_ridge(make_windows(100, 1, 8, 5), make_windows(60, 1, 8, 5))
    assert floor.shared and len(floor.candidates) == len(PENALTIES)


def test_windows_with_a_mask_and_no_gap_are_complete_ones():
    windows, masked = make_windows(150, 3, 8, 5), make_windows(150, 3, 8, 5)
    masked.observed = torch.ones(150, 3, dtype=torch.bool)
    for got, want in zip(normal_equations(masked), normal_equations(windows), strict=True):
        assert_same(got, want)


def test_few_gaps_give_what_many_small_steps_give(monkeypatch):
    training = make_windows(400, 2, 8, 5)
    training.observed = torch.ones(400, 2, dtype=torch.bool)
    training.observed[[90, 91, 260], [0, 0, 1]] = False
    by_stretches = normal_equations(training)
    monkeypatch.setattr("multiway.tasks.forecasting.windows.SHORTEST_STRETCH", 10_000)
    for got, want in zip(by_stretches, normal_equations(training), strict=True):
        assert_same(got, want)


def test_normal_equations_with_gaps_agree_with_a_loop_over_windows():
    windows = make_windows(60, 2, 6, 3, missing=0.3)
    gram, cross, count = torch.zeros(2, 6, 6), torch.zeros(2, 6, 3), torch.zeros(2, 3)
    used = torch.zeros(2)
    batch = windows.gather(torch.arange(len(windows)))
    for window in range(len(windows)):
        for variate in range(2):
            seen = batch["past_observed"][window, :, variate]
            keep = batch["future_observed"][window, :, variate].float() * float(seen.any())
            if not keep.any():
                continue
            known = batch["past"][window, seen, variate].tolist()
            filled, current = [], known[0]
            for step in range(6):
                current = batch["past"][window, step, variate].item() if seen[step] else current
                filled.append(current)
            x = torch.tensor(filled) - filled[-1]
            y = (batch["future"][window, :, variate] - filled[-1]) * keep
            gram[variate] += torch.outer(x, x)
            cross[variate] += torch.outer(x, y)
            count[variate] += keep
            used[variate] += 1
    got_gram, got_cross = normal_equations(windows)
    assert_same(got_gram.float(), gram)
    assert_same(got_cross.float(), cross * (used[:, None] / count)[:, None])


def test_a_tenth_of_the_cells_missing_leaves_nearly_the_same_forecast():
    whole = choose_ridge(make_windows(3000, 2, 8, 5), make_windows(300, 2, 8, 5, seed=4))
    gaps = choose_ridge(make_windows(3000, 2, 8, 5, missing=0.1), make_windows(300, 2, 8, 5, missing=0.1, seed=4))
    assert gaps.validation_mse < 1.2 * whole.validation_mse


def test_masked_validation_errors_count_observed_cells_alone():
    training, validation = make_windows(200, 2, 8, 5), make_windows(120, 2, 8, 5, missing=0.2, seed=4)
    floor = choose_ridge(training, validation)
    batch = validation.gather(torch.arange(len(validation)))
    from multiway.models.windows import fill_gaps

    past = fill_gaps(batch["past"], batch["past_observed"])
    last = past[:, -1:]
    forecast = last + torch.einsum("bld,dhl->bhd", past - last, floor.weight.expand(2, -1, -1))
    keep = batch["future_observed"] & batch["past_observed"].any(1, keepdim=True)
    expected = (forecast - batch["future"])[keep].square().mean()
    assert floor.validation_mse == pytest.approx(float(expected), rel=SUMS32)


def test_of_many_series_only_sums_are_held_and_they_are_those_of_each(monkeypatch):
    training, validation = make_windows(200, 5, 7, 3), make_windows(120, 5, 7, 3, seed=4)
    expected, apart = choose_ridge(training, validation, own=False), normal_equations(training)
    monkeypatch.setattr(ridges, "MOST_OWN", 2)
    pooled, found = normal_equations(training), choose_ridge(training, validation)
    assert found.shared and len(found.weight) == 1 and found.penalty == expected.penalty
    assert_same(found.weight, expected.weight)
    for one, each in zip(pooled, apart, strict=True):
        assert_same(one, each.sum(0, keepdim=True))


def test_of_many_series_with_gaps_a_step_counts_as_often_as_it_is_observed(monkeypatch):
    seen = torch.rand(90, 5, generator=torch.Generator().manual_seed(3)) > 0.2
    rows = torch.where(seen, torch.randn(90, 5, generator=torch.Generator().manual_seed(4)), 0.0)
    cut = {"start": 0, "stop": 90, "lookback": 7, "horizon": 3}
    windows = Windows(rows, seen, **cut)
    single = [Windows(rows[:, [place]], seen[:, [place]], **cut) for place in range(5)]
    expected = sum(normal_equations(each)[0] for each in single)
    monkeypatch.setattr(ridges, "MOST_OWN", 2)
    gram, cross = normal_equations(windows)
    assert_same(gram, expected)
    assert cross.shape == (1, 7, 3) and bool(cross.isfinite().all())
