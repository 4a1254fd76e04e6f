"""Sums of answers above biases, against loops, compiled and as they stand; dilations and quantiles."""

import numpy as np
import pytest
import torch

from multiway import ops
from multiway.kernels.library import library
from tolerances import assert_same

SIZES = [(3, 13, 7, 5), (2, 37, 43, 3), (1, 1, 17, 2)]


def sums_by_loop(answers: np.ndarray, biases: np.ndarray, kept: np.ndarray) -> np.ndarray:
    rows, steps, kernels = answers.shape
    out = np.zeros((rows, 4, len(biases), kernels))
    for row, bias, kernel in np.ndindex(rows, len(biases), kernels):
        run = 0
        for step in range(steps):
            over = answers[row, step, kernel] - biases[bias, kernel]
            is_above = over > 0 and kept[row, step] > 0
            run = run + 1 if is_above else 0
            if is_above:
                out[row, :3, bias, kernel] += 1, over, step
            out[row, 3, bias, kernel] = max(out[row, 3, bias, kernel], run)
    return out


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "with gaps"])
@pytest.mark.parametrize(("rows", "steps", "kernels", "biases"), SIZES)
@pytest.mark.parametrize("way", ["usual", "plain", "float64"])
def test_sums_are_those_of_a_loop(way, rows, steps, kernels, biases, is_whole, generator):
    dtype = torch.float64 if way == "float64" else torch.float32
    answers = torch.randn(rows, steps, kernels, generator=generator, dtype=dtype)
    edges = 0.5 * torch.randn(biases, kernels, generator=generator, dtype=dtype)
    kept = (torch.rand(rows, steps, generator=generator) > 0.2).to(dtype)
    given = (answers, edges) if is_whole else (answers, edges, kept)
    function = ops.positive_sums.__wrapped__ if way == "plain" else ops.positive_sums
    expected = sums_by_loop(answers.numpy(), edges.numpy(), np.ones((rows, steps)) if is_whole else kept.numpy())
    assert_same(function(*given), torch.from_numpy(expected).to(dtype))


@pytest.mark.skipif(library() is None, reason="no C compiler")
def test_compiled_sums_have_no_gradient_and_plain_ones_do(monkeypatch, generator):
    calls = []
    plain = ops.positive_sums.__wrapped__
    monkeypatch.setattr("multiway.ops.dispatch.sum_positives", lambda *given: calls.append(given) or plain(*given))
    answers, biases = torch.randn(2, 5, 3, generator=generator), torch.zeros(2, 3)
    ops.positive_sums(answers, biases)
    assert len(calls) == 1
    ops.positive_sums(answers.requires_grad_(), biases)[:, 1].sum().backward()
    assert len(calls) == 1
    assert_same(answers.grad, 2.0 * (answers.detach() > 0))


@pytest.mark.parametrize(("steps", "count"), [(3, 2), (9, 5), (33, 4), (257, 74), (1461, 40)])
def test_dilations_are_even_in_their_logarithm_up_to_the_length(steps, count):
    most = min(count, 32)
    powers = np.linspace(0, np.log2(max(steps - 1, 8) / 8), most)
    dilations, times = np.unique((2**powers).astype(int), return_counts=True)
    shares, left = [time * count // most for time in times], count
    left -= sum(shares)
    for place in range(left):  # what is left over goes to the smallest, one each
        shares[place] += 1
    assert ops.log_dilations(steps, count) == list(zip(dilations.tolist(), map(int, shares), strict=True))


def test_any_few_neighbouring_quantiles_lie_evenly():
    quantiles = ops.golden_quantiles(300)
    for start in (0, 57, 211):
        some = quantiles[start : start + 21].sort().values
        assert float(some.diff().max()) < 2.7 / 21 and float(quantiles.min()) > 0


def test_kernels_hold_three_twos_among_ones_below_zero():
    kernels = ops.ternary_kernels()
    assert len(kernels.unique(dim=0)) == 84
    assert torch.equal(kernels.sort(1).values, torch.tensor([-1.0] * 6 + [2.0] * 3).expand(84, 9))
