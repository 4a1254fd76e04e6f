import numpy as np
import pytest
import scipy.stats

from multiway.ops import select_blend
from tolerances import COARSE32


def parts(floor_noise: float, network_noise: float, windows: int = 600, seed: int = 0):
    """Errors of two forecasts of one truth, in blocks that hang together."""
    rng = np.random.default_rng(seed)
    floor = floor_noise * rng.standard_normal((windows, 40))
    network = network_noise * rng.standard_normal((windows, 40))
    return (floor**2).mean(1), (floor * network).mean(1), (network**2).mean(1)


def test_the_optimum_is_the_lowest_point_of_the_parabola():
    a, b, c = parts(1.0, 1.3)
    found = select_blend(a, b, c, block=20)
    weights = np.linspace(0, 1, 2001)
    errors = (1 - weights) ** 2 * a.mean() + 2 * weights * (1 - weights) * b.mean() + weights**2 * c.mean()
    assert found.optimum == pytest.approx(weights[errors.argmin()], abs=COARSE32)
    assert found.blend_error < min(found.floor_error, found.network_error)
    assert found.choice == "blend" and found.blocks == 30


def test_a_far_better_network_is_taken_alone():
    assert select_blend(*parts(1.0, 0.1), block=20).choice == "network"


def test_a_far_worse_network_leaves_the_floor():
    assert select_blend(*parts(0.1, 1.0), block=20).choice == "floor"


def test_equal_forecasts_leave_the_floor():
    a, _, _ = parts(1.0, 1.0)
    found = select_blend(a, a, a, block=20)
    assert (found.weight, found.choice, found.blend_error) == (0.0, "floor", found.floor_error)


def test_one_block_leaves_the_floor():
    found = select_blend(*parts(1.0, 0.1, windows=30), block=20)
    assert found.weight == 0 and found.deviation == float("inf") and found.blocks == 1


def test_three_blocks_or_fewer_leave_the_floor():
    for blocks in (2, 3):
        found = select_blend(*parts(1.0, 0.1, windows=20 * blocks), block=20)
        assert found.weight == 0 and found.deviation == float("inf") and found.blocks == blocks


def test_the_deviation_is_that_of_a_ratio_times_that_of_student(seed=3):
    a, b, c = parts(1.0, 1.3, windows=120, seed=seed)
    gain, spread = ((a - b).reshape(6, 20).sum(1), (a - 2 * b + c).reshape(6, 20).sum(1))
    found = select_blend(a, b, c, block=20)
    assert found.optimum == pytest.approx(gain.sum() / spread.sum())
    variance = (gain - found.optimum * spread).var(ddof=1) * 6 / spread.sum() ** 2
    assert found.deviation == pytest.approx(np.sqrt(variance * scipy.stats.t(df=5).var()))


def test_the_share_shrinks_with_uncertainty():
    a, b, c = parts(1.0, 1.3)
    sure, unsure = select_blend(a, b, c, block=5), select_blend(a[:100], b[:100], c[:100], block=25)
    assert unsure.deviation > sure.deviation
    for found in (sure, unsure):
        assert found.weight == pytest.approx(found.optimum * (1 - (found.deviation / found.optimum) ** 2))


def test_the_deviation_is_the_spread_of_the_optimum_over_new_data():
    optima = [select_blend(*parts(1.0, 1.3, seed=seed), block=20) for seed in range(60)]
    spread = np.std([found.optimum for found in optima])
    assert spread == pytest.approx(np.mean([found.deviation for found in optima]), rel=0.35)
