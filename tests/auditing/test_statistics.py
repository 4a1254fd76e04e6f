"""Numbers that scaling uses, against those of the training rows."""

import numpy as np
import pytest

from multiway.auditing import check_statistics

VALUES = np.random.default_rng(3).normal(size=(50, 3)).cumsum(0)


def numbers(rows):
    return {"mean": rows.mean(0), "std": rows.std(0)}


def verdict(used):
    return check_statistics(used, numbers(VALUES[:30]), numbers(VALUES), ("a", "b", "c"))


def test_numbers_of_the_training_rows_pass_also_in_float32():
    rounded = {name: value.astype(np.float32).astype(float) for name, value in numbers(VALUES[:30]).items()}
    for used in (numbers(VALUES[:30]), rounded):
        assert verdict(used) == "what scaling learnt (mean and std of 3 variates) comes from the training rows alone"


def test_numbers_of_all_rows_are_known_as_such():
    finding = verdict(numbers(VALUES))
    assert (finding.severity, finding.count) == ("error", 6)
    said, honest = VALUES[:, 0].mean(), VALUES[:30, 0].mean()
    assert f"mean of a is {said:.6g}, as over all rows; over those alone it is {honest:.6g} (6 of 6" in finding.line()


@pytest.mark.parametrize("rows", [31, 40])
def test_numbers_of_a_few_rows_too_many_are_found_and_are_not_called_those_of_all(rows):
    finding = verdict(numbers(VALUES[:rows]))
    assert finding.severity == "error" and f"over all rows it is {VALUES[:, 0].mean():.6g}" in finding.line()


def test_one_wrong_number_is_named():
    used = numbers(VALUES[:30])
    used["std"][2] *= 1.001
    assert "std of c is" in verdict(used).line() and verdict(used).count == 1


@pytest.mark.parametrize(("offset", "size"), [(1e6, 1.0), (0.0, 1e-15), (0.0, 1e150), (-3.0, 1e-6)])
def test_offset_and_size_of_a_series_do_not_hide_or_make_a_leak(offset, size):
    values = offset + size * VALUES
    for used, is_sound in ((values[:30], True), (values, False)):
        verdict = check_statistics(numbers(used), numbers(values[:30].copy()), numbers(values), ("a", "b", "c"))
        assert isinstance(verdict, str) == is_sound
