"""Parts of a batch side by side: the same bits, and torch's threads as they were."""

import threading

import pytest
import torch

from multiway.ops import over_parts, ridge_moments, ridge_path
from tolerances import ROUNDING64


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_results_are_in_the_order_of_their_parts_and_each_thread_takes_some(threads):
    meeting, seen = threading.Barrier(threads), set()

    def square(part):
        if part < threads:
            meeting.wait(10)  # breaks unless as many run at once
        seen.add(threading.get_ident())
        return part**2, torch.get_num_threads()

    assert over_parts(square, range(7)) == [(part**2, 1) for part in range(7)]
    assert len(seen) == threads and torch.get_num_threads() == threads


def test_an_error_in_a_part_is_that_of_the_call(threads):
    def fail(part):
        raise ValueError(f"part {part}")

    with pytest.raises(ValueError, match="part 0"):
        over_parts(fail, range(5))
    assert torch.get_num_threads() == threads


def test_no_gradient_is_kept(threads):
    weight = torch.ones(3, requires_grad=True)
    assert not any(result.requires_grad for result in over_parts(lambda part: weight * part, [1, 2]))
    assert torch.is_grad_enabled()


def test_moments_and_ridge_have_the_same_bits_for_any_number_of_threads(threads, generator, monkeypatch):
    monkeypatch.setattr("multiway.ops.linear_models.LAG_CELLS", 2_000)  # several parts
    rows = torch.randn(13, 90, generator=generator).cumsum(1)

    def fitted():
        moments = ridge_moments(rows, 70, 11)
        parts = list(zip(moments.gram.split(3), moments.cross.split(3), strict=True))
        weights = over_parts(lambda part: list(ridge_path(*part, [0.1, 10.0])), parts)
        return moments.gram, moments.cross, *(torch.cat(each) for each in zip(*weights, strict=True))

    found = fitted()
    torch.set_num_threads(1)
    for one, other in zip(found, fitted(), strict=True):
        assert torch.equal(one, other)
    for row, gram in zip(rows, found[0], strict=True):
        torch.testing.assert_close(ridge_moments(row[None], 70, 11).gram[0], gram, rtol=ROUNDING64, atol=0)
