import numpy as np
import pytest
import scipy.stats

from multiway.ops import Share, horizon_bands, select_blend
from tolerances import COARSE32, ROUNDING64


def parts(floor_noise: float, network_noise: float, windows: int = 600, seed: int = 0, bands: int = 1):
    """Sums over 40 cells of the errors of two forecasts of one truth and of its last value, and the cells."""
    rng = np.random.default_rng(seed)
    floor = floor_noise * rng.standard_normal((windows, bands, 40))
    network = network_noise * rng.standard_normal((windows, bands, 40))
    cells = np.full((windows, bands), 40.0)
    return (floor**2).sum(2), (floor * network).sum(2), (network**2).sum(2), 9 * cells, cells


def select(errors, block: int):
    """One band of two steps, in blocks of so many windows."""
    return select_blend(*errors, stops=(2,), lookback=block - 2)


def test_the_optimum_is_the_lowest_point_of_the_parabola():
    a, b, c, _, _ = errors = parts(1.0, 1.3)
    found = select(errors, block=20)
    weights = np.linspace(0, 1, 2001)
    blends = (1 - weights) ** 2 * a.mean() + 2 * weights * (1 - weights) * b.mean() + weights**2 * c.mean()
    assert found.shares[0].optimum == pytest.approx(weights[blends.argmin()], abs=COARSE32)
    assert found.blend_error < min(found.floor_error, found.network_error)
    assert found.choice == "blend" and found.shares[0].blocks == 30


def test_a_far_better_network_is_taken_nearly_alone():
    found = select(parts(1.0, 0.1), block=20)
    assert found.weight > 0.95 and found.blend_error <= 1.02 * found.network_error


def test_a_far_worse_network_leaves_the_floor():
    assert select(parts(0.1, 1.0), block=20).choice == "floor"


def test_equal_forecasts_leave_the_floor():
    a, _, _, last, counts = parts(1.0, 1.0)
    found = select((a, a, a, last, counts), block=20)
    assert (found.weight, found.choice, found.blend_error) == (0.0, "floor", found.floor_error)


@pytest.mark.parametrize("blocks", [1, 2, 3])
@pytest.mark.parametrize(("saved", "prior"), [(0.9, 0.5), (0.25, 0.5), (0.11, 0.22), (-0.1, 0.0)])
def test_three_blocks_or_fewer_leave_the_prior(blocks, saved, prior):
    """One half, or twice what the floor saves of the last value's error; nothing where the last value is better."""
    a, b, c, last, counts = parts(1.0, 1.1, windows=20 * blocks + 7)
    last *= a.mean() / last.mean() / (1 - saved)
    [found] = select((a, b, c, last, counts), block=20).shares
    assert found == Share(
        stop=2, weight=found.prior, prior=found.prior, optimum=found.optimum, deviation=np.inf, blocks=blocks
    )
    assert found.prior == pytest.approx(prior)


@pytest.mark.parametrize(
    ("floor_noise", "network_noise", "windows"), [(1.0, 0.1, 600), (1.0, 0.05, 600), (0.3, 1.0, 47), (0.05, 1.0, 47)]
)
def test_a_blend_costs_at_most_two_per_cent_of_the_better(floor_noise, network_noise, windows):
    """Of the floor also where two blocks say nothing of the next stretch of time: one half would be far from it."""
    found = select(parts(floor_noise, network_noise, windows=windows), block=20)
    best = min(found.floor_error, found.network_error)
    assert found.blend_error <= 1.02 * best + ROUNDING64
    assert (found.floor_error + found.network_error) / 4 > 2 * best


def test_two_blocks_do_not_call_for_a_network():
    """However much better it is there."""
    assert select(parts(1.0, 0.05, windows=47), block=20).weight == 0.5


def test_a_series_that_wanders_takes_the_network_only_beyond_doubt():
    """Where the floor does not beat the last value, a network that is somewhat better on a few stretches is not."""
    for windows, network_noise, taken in ((120, 0.98, False), (600, 0.5, True)):
        a, b, c, last, counts = parts(1.0, network_noise, windows=windows)
        assert select((a, b, c, last, counts), block=20).weight > 0.45
        assert (select((a, b, c, a, counts), block=20).weight > 0.45) == taken


def test_no_last_value_leaves_the_floor():
    """Of a series that stays where it is."""
    a, b, c, last, counts = parts(1.0, 1.1, windows=47)
    [found] = select((a, b, c, 0 * last, counts), block=20).shares
    assert (found.prior, found.weight) == (0.0, 0.0)


def test_the_deviation_is_that_of_a_ratio_times_that_of_student(seed=3):
    a, b, c, _, _ = errors = parts(1.0, 1.3, windows=120, seed=seed)
    gain, spread = ((a - b).reshape(6, 20).sum(1), (a - 2 * b + c).reshape(6, 20).sum(1))
    [found] = select(errors, block=20).shares
    assert found.optimum == pytest.approx(gain.sum() / spread.sum())
    variance = (gain - found.optimum * spread).var(ddof=1) * 6 / spread.sum() ** 2
    assert found.deviation == pytest.approx(np.sqrt(variance * scipy.stats.t(df=5).var()))


def test_the_share_goes_from_the_prior_to_the_optimum_the_less_the_more_uncertain_it_is():
    errors = parts(1.0, 1.1)
    [sure], [unsure] = (
        select(errors, block=5).shares,
        select([each[:100] for each in errors], block=25).shares,
    )
    assert unsure.deviation > sure.deviation
    for found in (sure, unsure):
        assert found.weight == pytest.approx(0.5 + (found.optimum - 0.5) / (1.5 + 4 * found.deviation**2))


def test_the_deviation_is_the_spread_of_the_optimum_over_new_data():
    found = [select(parts(1.0, 1.3, seed=seed), block=20).shares[0] for seed in range(60)]
    spread = np.std([share.optimum for share in found])
    assert spread == pytest.approx(np.mean([share.deviation for share in found]), rel=0.35)


def test_every_band_is_what_it_is_alone_with_blocks_of_its_own_length():
    errors = parts(1.0, 1.3, windows=611, bands=3)
    errors[0][:, 2] = errors[1][:, 2] = 0.01  # the last steps have a floor that cannot be beaten
    found = select_blend(*errors, stops=(3, 7, 11), lookback=13)
    for band, (stop, share) in enumerate(zip((3, 7, 11), found.shares, strict=True)):
        [alone] = select_blend(*(each[:, [band]] for each in errors), stops=(stop,), lookback=13).shares
        assert share == alone and share.blocks == 611 // (13 + stop)
    first, second, last = (share.weight for share in found.shares)
    assert 0 < first < 1 and 0 < second < 1 and last == 0
    np.testing.assert_array_equal(found.weights, [first] * 3 + [second] * 4 + [last] * 4)
    assert found.weight == pytest.approx((3 * first + 4 * second) / 11) and found.choice == "blend"


def test_the_errors_are_those_of_the_blend_over_observed_cells(windows=90):
    rng = np.random.default_rng(1)
    stops, cells = (2, 5), rng.random((windows, 5, 7)) < 0.6
    floor, network = (np.where(cells, rng.standard_normal(cells.shape) * scale, 0) for scale in (1.0, 0.8))

    def banded(x):
        return np.add.reduceat(x.sum(2), [0, 2], 1)

    squares = (floor**2, floor * network, network**2, 9 * floor**2, cells)
    errors = [banded(each.astype(float)) for each in squares]
    found = select_blend(*errors, stops=stops, lookback=3)
    blend = floor + found.weights[:, None] * (network - floor)
    wanted = [(each**2).sum() / cells.sum() for each in (floor, network, blend)]
    np.testing.assert_allclose([found.floor_error, found.network_error, found.blend_error], wanted)


@pytest.mark.parametrize(
    ("horizon", "stops"), [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (7, (1, 2, 4, 7)), (720, (90, 180, 360, 720))]
)
def test_bands_halve_towards_the_first_step(horizon, stops):
    assert horizon_bands(horizon) == stops
