"""The command in this process, and what a user's error must look like."""

import contextlib
import functools
import io
import sys
from unittest import mock

import pytest
import typer

from multiway.cli.main import run

typer.main.get_command = functools.cache(typer.main.get_command)  # the same for all calls in one process


def outcome(*words):
    """Run the command where no fixture is at hand; its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.object(sys, "argv", ["multiway", *map(str, words)]), pytest.raises(SystemExit) as caught:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run()
    return caught.value.code, out.getvalue(), err.getvalue()


def printed(*words):
    """What the command prints; it must end well."""
    code, out, err = outcome(*words)
    assert code == 0, err
    return out


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


def assert_refused(words, text, folder, monkeypatch, capsys):
    """The command says why in one line, and leaves the folder as it was."""
    before = sorted(folder.rglob("*"))
    assert_one_line(call(words, monkeypatch, capsys), text)
    assert sorted(folder.rglob("*")) == before


def assert_flaw_is_found(words, monkeypatch, capsys):
    """A check of data says what is wrong, and exits with 1."""
    code, out, err = call(words, monkeypatch, capsys)
    assert code == 1, out
    assert "error: " in out + err and "Traceback" not in out + err
