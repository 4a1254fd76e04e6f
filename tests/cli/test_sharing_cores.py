"""Threads sleep while they wait where another program needs a core, and nowhere else."""

import os

import pytest

from multiway.cli import main

KEY = "OMP_WAIT_POLICY"


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """Four cores, whose load a file says."""
    monkeypatch.setenv(KEY, "")  # so that it is taken away again
    monkeypatch.delenv(KEY)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(main, "LOAD", tmp_path / "loadavg")
    monkeypatch.setattr(main, "APART", 0)
    return lambda running: (tmp_path / "loadavg").write_text(f"0.52 0.58 0.59 {running}/467 12345\n")


@pytest.mark.parametrize(
    ("threads", "running", "policy"),
    [(None, 1, None), (None, 2, "PASSIVE"), ("4", 2, "PASSIVE"), ("3", 2, None), ("3", 3, "PASSIVE"), ("1", 4, None)],
)
def test_threads_sleep_where_too_few_cores_are_free(threads, running, policy, machine, monkeypatch):
    if threads is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
    machine(running)
    main.share_cores()
    assert os.environ.get(KEY) == policy


def test_a_moment_s_work_of_another_program_changes_nothing(machine, monkeypatch):
    counts = iter([3, 3, 1, 3, 3])
    monkeypatch.setattr(main.time, "sleep", lambda _: machine(next(counts, 3)))
    machine(3)
    main.share_cores()
    assert KEY not in os.environ


@pytest.mark.parametrize("written", [None, "", "0.5 0.5 0.5 many/467 1", "0.5 0.5"])
def test_a_system_that_does_not_say_is_left_as_it_is(written):
    if written is not None:
        main.LOAD.write_text(written)
    main.share_cores()
    assert KEY not in os.environ


def test_a_policy_and_threads_of_the_user_stay(machine, monkeypatch):
    machine(9)
    monkeypatch.setenv(KEY, "ACTIVE")
    main.share_cores()
    assert os.environ[KEY] == "ACTIVE"
    monkeypatch.delenv(KEY)
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    main.share_cores()
    assert KEY not in os.environ
