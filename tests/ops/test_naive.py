import torch

from multiway.ops import naive, seasonal_naive

PAST = torch.arange(10.0).reshape(1, 5, 2)  # steps 0 2 4 6 8 and 1 3 5 7 9


def test_naive_repeats_the_last_value():
    assert naive(PAST, 3)[0].T.tolist() == [[8, 8, 8], [9, 9, 9]]


def test_seasonal_naive_repeats_the_last_season_in_order():
    assert seasonal_naive(PAST, 7, 3)[0, :, 0].tolist() == [4, 6, 8, 4, 6, 8, 4]


def test_a_season_of_one_is_naive():
    assert torch.equal(seasonal_naive(PAST, 3, 1), naive(PAST, 3))


def test_a_season_as_long_as_the_look_back_is_the_look_back():
    assert torch.equal(seasonal_naive(PAST, 5, 5), PAST)


def test_a_season_longer_than_the_look_back_is_naive():
    assert torch.equal(seasonal_naive(PAST, 3, 6), naive(PAST, 3))
