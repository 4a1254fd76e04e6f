"""A run without a browser says that pages were not opened."""

import pytest

from unopened import NO_BROWSER, told


def skipped(reason):
    place = ("tests/conftest.py", 1, f"Skipped: {reason}")
    return pytest.TestReport("test", ("tests/test.py", 1, "test"), {}, "skipped", place, "setup")


def test_tests_left_out_for_want_of_a_browser_are_counted_in_one_line():
    lines = told([skipped(NO_BROWSER), skipped("benchmark data absent"), skipped(NO_BROWSER)])
    assert list(lines) == [f"2 tests that open a page were left out: {NO_BROWSER}"]


def test_nothing_is_said_where_pages_were_opened():
    assert list(told([skipped("benchmark data absent")])) == []
