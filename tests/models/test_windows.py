import torch

from multiway.models.windows import fill_gaps, valid_patches, window_moments
from tolerances import assert_same

NAN = float("nan")


def test_gaps_take_the_last_observed_value_and_the_first_before_it():
    past = torch.tensor([[[NAN], [2.0], [NAN], [NAN], [5.0], [NAN]]])
    assert fill_gaps(past, ~past.isnan()).flatten().tolist() == [2.0, 2.0, 2.0, 2.0, 5.0, 5.0]


def test_a_window_with_nothing_observed_becomes_zeros():
    past = torch.full((1, 4, 2), NAN)
    assert fill_gaps(past, ~past.isnan()).flatten().tolist() == [0.0] * 8


def test_a_full_window_is_left_as_it_is(generator):
    past = torch.randn(2, 7, 3, generator=generator)
    assert torch.equal(fill_gaps(past, torch.ones_like(past, dtype=torch.bool)), past)


def test_filling_agrees_with_a_loop(generator):
    past = torch.randn(3, 11, 5, generator=generator)
    observed = torch.rand(3, 11, 5, generator=generator) < 0.4
    want = torch.zeros_like(past)
    for b in range(3):
        for v in range(5):
            values = past[b, observed[b, :, v], v].tolist()
            current = values[0] if values else 0.0
            for t in range(11):
                current = past[b, t, v].item() if observed[b, t, v] else current
                want[b, t, v] = current
    assert torch.equal(fill_gaps(past, observed), want)


def test_moments_are_those_of_the_observed_values_alone(generator):
    past = torch.randn(2, 13, 3, generator=generator, dtype=torch.float64)
    observed = torch.rand(2, 13, 3, generator=generator) < 0.6
    mean, deviation = window_moments(past.masked_fill(~observed, NAN), observed)
    for b in range(2):
        for v in range(3):
            values = past[b, observed[b, :, v], v]
            assert_same(mean[b, 0, v], values.mean())
            assert_same(deviation[b, 0, v], (values.var(unbiased=False) + 1e-5).sqrt())


def test_moments_without_a_mask_equal_those_with_a_full_one(generator):
    past = torch.randn(2, 13, 3, generator=generator, dtype=torch.float64)
    for got, want in zip(
        window_moments(past), window_moments(past, torch.ones_like(past, dtype=torch.bool)), strict=True
    ):
        assert_same(got, want)


def test_a_patch_is_valid_where_one_of_its_steps_is_observed():
    observed = torch.tensor([[[0, 1], [0, 0], [1, 0], [0, 0]]], dtype=torch.bool)  # (1, 4 steps, 2 variates)
    assert valid_patches(observed, 2).tolist() == [[[False, True], [True, False]]]
