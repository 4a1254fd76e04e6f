"""The command in this process, and what a user's error must look like."""

import sys

import pytest

from multiway.cli.main import run


def call(words, monkeypatch, capsys):
    """Run the command; return its exit code and what it printed."""
    monkeypatch.setattr(sys, "argv", ["multiway", *words])
    with pytest.raises(SystemExit) as caught:
        run()
    captured = capsys.readouterr()
    return caught.value.code, captured.out, captured.err


def assert_one_line(result, text):
    code, out, err = result
    assert (code, out) == (1, ""), err
    assert err.startswith("multiway: error: ") and err.count("\n") == 1
    assert "Traceback" not in err
    assert text in err
