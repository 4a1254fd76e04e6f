"""Near copies of images and of stretches of series, against strangers that are alike."""

import numpy as np
import pandas as pd
import pytest

from multiway.auditing.near import far_above, unit_rows
from multiway.auditing.near_images import Details
from multiway.auditing.near_series import SPREAD, _Stretches, check_near_stretches, surprises

SIZES = (14, 15, 10)
SPLITS = {"train": np.arange(24), "validation": np.arange(24, 32), "test": np.arange(32, 40)}


def images(seed=0):
    """An ellipsoid that all share, with radii of their own and a soft edge, in noise of their own."""
    chance = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, size) for size in SIZES), indexing="ij"), -1)
    radii = chance.normal(0.7, 0.05, (40, 3))
    bodies = [60 / (1 + np.exp(12 * (np.linalg.norm(grid / radius, axis=-1) - 1))) for radius in radii]
    return [(body + 15 * chance.normal(size=SIZES))[None] for body in bodies]


def check(every, groups=None, digests=None):
    details = Details()
    for image in every:
        details.add(image)
    names = [f"i{row}" for row in range(len(every))]
    return details.check(SPLITS, names, groups or names, digests or [None] * len(every))


@pytest.mark.parametrize("seed", range(3))
def test_strangers_that_share_a_body_are_no_copies(seed):
    assert check(images(seed)) == "none of 16 images is nearly a copy of one in another split"


CHANGES = {
    "noise": lambda image: image + 0.5 * image.std() * np.random.default_rng(9).normal(size=image.shape),
    "loud noise": lambda image: image + 50 * np.random.default_rng(9).normal(size=image.shape),
    "scaled": lambda image: 3 * image - 70,
    "negative": lambda image: image.max() - image,
    "mirrored": lambda image: image[:, ::-1, :, ::-1],
    "moved": lambda image: np.roll(image, (2, -1), (1, 2)),
    "moved and noisy": lambda image: (
        np.roll(image, (2, -1), (1, 2)) + np.random.default_rng(9).normal(size=image.shape)
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_copy_is_named(change):
    every = images()
    every[35] = change(every[4])
    finding = check(every)
    assert (finding.kind, finding.severity, finding.count) == ("near", "error", 1)
    assert "test i35 ~ i4 (r " in finding.line()


def test_tiles_of_one_scene_that_overlap_are_named():
    scene = np.random.default_rng(7).normal(size=(3, 40, 60))
    tiles = [scene[:, row : row + 20, column : column + 20] for row in (0, 12, 20) for column in range(0, 40, 3)][:38]
    others = [scene[:, row : row + 20, column : column + 20][:, ::-1] for row in (0,) for column in (5, 11)]
    assert check(tiles + others).kind == "near"


def test_exact_copies_are_left_to_the_check_by_hash():
    every = images()
    every[35] = every[4]
    assert isinstance(check(every, digests=[b"same" if row in (4, 35) else None for row in range(40)]), str)


def test_images_of_several_sizes_are_not_compared():
    every = images()
    every[3] = every[3][:, 1:]
    assert check(every) is None


def detail(image):
    details = Details()
    details.add(image)
    return details.rows[0]


def test_detail_is_the_same_from_either_end():
    image = np.random.default_rng(1).normal(size=(2, 40, 21, 7))
    for axis in (1, 2, 3):
        np.testing.assert_allclose(detail(np.flip(image, axis)), np.flip(detail(image), axis), atol=1e-5)
    assert detail(image).shape == (2, 16, 16, 5)


def test_a_series_that_never_changes_holds_no_surprise():
    walk = np.random.default_rng(3).normal(size=(200, 1)).cumsum(0)
    unexplained = surprises(np.hstack([walk, np.ones_like(walk)]), 8)
    assert np.isfinite(unexplained[20:, 0]).all() and np.isnan(unexplained[:, 1]).all()


def test_far_above_is_above_the_least_and_the_usual():
    usual = np.full(50, 0.3) + 0.01 * np.random.default_rng(2).normal(size=50)
    assert far_above(np.array([0.35, 0.6, 0.9]), usual, 0.7).tolist() == [False, False, True]
    assert (unit_rows(np.full((2, 5), 7.0)) == 0).all()


ROWS = 1200
TRAINING, TESTED = np.arange(ROWS) < 840, {"test": np.arange(ROWS) >= 960}
WALK = np.random.default_rng(3).normal(size=(ROWS, 2)).cumsum(0)
WEEK = 10 * np.sin(2 * np.pi * np.arange(ROWS) / 7)[:, None] + np.random.default_rng(4).normal(size=(ROWS, 2))


def stretches(values):
    return check_near_stretches(values, ("a", "b"), TRAINING, TESTED, 35, 28)


@pytest.mark.parametrize("values", [WALK, WEEK], ids=["walk", "week"])
@pytest.mark.parametrize("factor", [1.0, 1.6, -1.0])
def test_a_stretch_of_training_with_a_thousandth_of_noise_is_named(values, factor):
    changed = values.copy()
    noise = 1e-3 * values.std(0) * np.random.default_rng(5).normal(size=(120, 2))
    changed[1000:1120] = factor * values[300:420] + noise
    finding = stretches(changed)
    assert (finding.kind, finding.severity) == ("near", "error") and "~ row 3" in finding.line()


def test_walks_weeks_and_what_repeats_exactly_are_no_near_copies():
    exact = WALK.copy()
    exact[1000:1120] = WALK[300:420]
    lasting = pd.DataFrame(WEEK).ewm(alpha=0.02).mean().to_numpy()
    for values in (WALK, WEEK, lasting, exact, np.tile(WEEK[:7], (172, 1))[:ROWS]):
        assert not hasattr(stretches(values), "severity")


def test_stretches_that_few_rows_make_are_not_compared():
    """By the effective share of their rows, 1 / (size Σ uᵢ⁴), for stretches of ever more jumps of one height."""
    size = 40
    column = np.concatenate([np.r_[np.ones(jumps), np.zeros(size - jumps)] for jumps in range(1, size // 2)])
    starts = np.arange(0, len(column), size)
    rows = unit_rows(column.reshape(-1, size)).astype(np.float64)
    shares = 1 / (size * (rows**4).sum(1))
    compared = _Stretches(column, starts, size).similarities(starts).any(1)
    assert shares.min() < SPREAD < shares.max() and 0.1 < shares[~compared].max() <= 0.15 < shares[compared].min() < 0.2
