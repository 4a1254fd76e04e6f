"""The windows' weights sum to one, so whatever treats each voxel alone is unchanged by being cut into windows."""

import sys
import warnings

import pytest
import torch

from multiway.errors import ConfigError, ShapeError
from multiway.models import sliding_window
from tolerances import assert_same

CASES = [((11,), (4,)), ((7, 13), (7, 5)), ((7, 11, 13), (3, 8, 5)), ((2, 3, 5, 7), (2, 2, 3, 4))]


def volume_of(sizes: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(2, *sizes, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("weighting", ["gaussian", "uniform"])
@pytest.mark.parametrize("overlap", [0.0, 0.3, 0.75])
@pytest.mark.parametrize(("sizes", "patch"), CASES, ids=str)
def test_a_voxelwise_prediction_is_what_it_is_without_windows(generator, sizes, patch, overlap, weighting):
    volume = volume_of(sizes, generator)
    out = sliding_window(torch.sin, volume, patch, overlap, 3, weighting=weighting)
    assert_same(out, volume.sin())


def test_one_patch_over_all_is_the_prediction_itself(generator):
    volume, kernel = volume_of((5, 7, 6), generator), torch.randn(3, 2, 3, 3, 3, generator=generator).double()

    def predict(patches):
        return torch.nn.functional.conv3d(patches, kernel, padding=1)

    assert_same(sliding_window(predict, volume, (5, 7, 6)), predict(volume[None])[0])


@pytest.mark.parametrize("overlap", [0.25, 0.5])
@pytest.mark.parametrize(("weighting", "mode"), [("uniform", "constant"), ("gaussian", "gaussian")])
def test_weights_are_those_of_monai(generator, monkeypatch, overlap, weighting, mode):
    """A wide bell, as MONAI lifts weights of less than a thousandth."""
    inferers = pytest.importorskip("monai.inferers")
    monkeypatch.setattr(sys.modules["multiway.models.sliding_window"], "SIGMA", 0.25)
    volume, kernel = volume_of((13, 11, 17), generator), torch.randn(3, 2, 3, 3, 3, generator=generator).double()
    volume, kernel = (volume, kernel) if mode == "constant" else (volume.float(), kernel.float())

    def predict(patches):
        return torch.nn.functional.conv3d(patches, kernel, padding=1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MONAI indexes by a list, which torch deprecates
        theirs = inferers.sliding_window_inference(
            volume[None], (6, 11, 8), 2, predict, overlap=overlap, mode=mode, sigma_scale=0.25
        )[0]
    assert_same(sliding_window(predict, volume, (6, 11, 8), overlap, 2, weighting=weighting), theirs)


def test_the_middle_of_a_patch_outweighs_its_edge():
    """Windows start at 0 and 4 of 12; each answers its own number, so the blend shows the weights."""
    seen = iter((0.0, 1.0))
    out = sliding_window(lambda patches: torch.full_like(patches, next(seen)), torch.zeros(1, 12), (8,), 0.5, 1)[0]
    assert out[:4].eq(0).all()
    assert out[8:].eq(1).all()
    assert (out[4:8].diff() > 0).all()
    assert out[4] < 0.05 < 0.95 < out[7]


def test_a_mode_shorter_than_the_patch_is_filled_with_zeros_on_both_sides(generator):
    seen = []
    volume = volume_of((3, 9), generator)
    out = sliding_window(lambda patches: seen.append(patches) or patches, volume, (6, 9))
    assert_same(out, volume)
    assert_same(seen[0][0, :, 1:4], volume)
    assert not seen[0][0, :, [0, 4, 5]].any()


def test_batches_are_no_larger_than_requested_and_the_last_is_the_rest():
    counts = []
    sliding_window(lambda patches: counts.append(len(patches)) or patches, torch.zeros(1, 10, 10), (4, 4), 0.5, 3)
    assert counts == [3, 3, 3, 3, 3, 1]


def test_no_gradient_and_low_precision_is_summed_in_float32(generator):
    weight = torch.ones((), requires_grad=True)
    volume = torch.randn(1, 9, generator=generator)
    out = sliding_window(lambda patches: (patches * weight).bfloat16(), volume, (4,))
    assert not out.requires_grad
    assert out.dtype == torch.float32


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"patch": (4,)}, ShapeError, r"one positive size per mode.*patch \(4,\) for sizes \(6, 7\)"),
        ({"patch": (4, 0)}, ShapeError, r"Got patch \(4, 0\)"),
        ({"overlap": 1.0}, ConfigError, r"overlap is a share of the patch in \[0, 1\)\. Got 1\.0"),
        ({"batch_size": 0}, ConfigError, r"batch_size must be at least 1\. Got 0"),
        ({"weighting": "gauss"}, ConfigError, r"'gaussian' or 'uniform'\. Got 'gauss'"),
        (
            {"predict": lambda x: x[..., :-1]},
            ShapeError,
            r"must return .* batch 4 and patch \(4, 5\)\. Got \(4, 1, 4, 4\)",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_misfit_is_named(arguments, error, message):
    given = {"predict": torch.sin, "volume": torch.zeros(1, 6, 7), "patch": (4, 5)}
    with pytest.raises(error, match=message):
        sliding_window(**(given | arguments))
