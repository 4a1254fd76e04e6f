"""Signals, and standard streams that are closed or full: one line, the state saved, never a traceback."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import children
from command import call
from interruption import stop_after
from multiway import workflows
from tasks.forecasting.panels import make_frame

TINY = {"dim": 8, "num_blocks": 1, "num_heads": 2, "patch_length": 4}
TRAIN = [
    *("train", "forecast", "--data", "loads.csv", "--lookback", "12", "--horizon", "4", "--epochs", "2"),
    *(word for name, value in TINY.items() for word in ("--set", f"model.{name}={value}")),
    *("--out", "run"),
]


HANDLERS = {
    signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL, signal.SIGTERM: signal.SIG_DFL
}  # fmt: skip


@pytest.fixture(autouse=True)
def heard():
    """Signals end a process, also where whoever started these tests has them ignored, as `nohup ... &` has."""
    before = {number: signal.signal(number, handler) for number, handler in HANDLERS.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    make_frame().to_csv(tmp_path / "loads.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(command, folder):
    """A line of bash in which `multiway` is this interpreter's."""
    text = command.replace("multiway", f"{sys.executable} -m multiway")
    done = subprocess.run(["bash", "-o", "pipefail", "-c", text], cwd=folder, capture_output=True, text=True)
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGINT"])
def test_a_signal_saves_the_state_of_a_training(name, folder, monkeypatch, capsys):
    stop_after(monkeypatch, 3, getattr(signal, name))
    code, out, err = call(TRAIN, monkeypatch, capsys)
    assert (code, out) == (1, "") and f"training stopped by {name} after step 3" in err
    assert (folder / "run" / "state" / "training.safetensors").is_file()
    assert workflows.resume(folder / "run").table()


def test_an_ignored_hang_up_stays_ignored(folder, monkeypatch, capsys):
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        stop_after(monkeypatch, 3, signal.SIGHUP)
        assert call(TRAIN, monkeypatch, capsys)[0] == 0
    finally:
        signal.signal(signal.SIGHUP, old)


class Broken:
    """A stderr whose terminal is gone, after so many writes."""

    def __init__(self, count):
        self.count = count

    def write(self, text):
        self.count -= 1
        if self.count < 0:
            raise OSError(5, "Input/output error")
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return False


def test_a_stderr_that_is_gone_saves_the_state_of_a_training(folder, monkeypatch, capsys):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", Broken(0))
        code, out, _ = call(TRAIN, monkeypatch, capsys)
    assert (code, out) == (1, "")
    assert (folder / "run" / "state" / "training.safetensors").is_file()
    assert workflows.resume(folder / "run").table()


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGINT"])
def test_a_signal_elsewhere_is_one_line_and_takes_back_what_was_begun(name, folder, monkeypatch, capsys):
    number = getattr(signal, name)

    def half(runs, out):
        from multiway import files

        files.write_text(Path("half.txt"), "half")
        with files.atomic_path(Path("page.html")) as temporary:
            temporary.write_text("ha")
            os.kill(os.getpid(), number)

    monkeypatch.setattr(workflows, "compare", lambda runs, out: _inside(half, runs, out))
    code, out, err = call(["compare", "a", "b"], monkeypatch, capsys)
    assert (code, out, err) == (128 + number, "", f"multiway: stopped by {name}\n")
    assert [path.name for path in folder.iterdir()] == ["loads.csv"]


def _inside(write, runs, out):
    from multiway import files

    with files.all_or_nothing():
        write(runs, out)


def test_a_signal_inside_an_import_is_one_line(tmp_path):
    (tmp_path / "slow.py").write_text(
        textwrap.dedent("""
        import os, signal
        try:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                pass
        except BaseException as error:
            raise ImportError("what libraries make of it") from error
        """)
    )
    program = textwrap.dedent("""
        import sys
        from multiway import workflows
        from multiway.cli.main import run
        def check(*words, **options):
            import slow
        workflows.check = check
        sys.argv = ["multiway", "check", "x.csv", "--task", "forecast"]
        run()
        """)
    done = children.run_program(program, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "multiway: stopped by SIGINT\n")


@pytest.mark.parametrize(
    ("command", "code", "err"),
    [
        ("multiway recipes >&-", 1, "multiway: error: stdout: it is closed\n"),
        ("multiway recipes >/dev/full", 1, "multiway: error: output: No space left on device\n"),
        ("multiway published absent 2>&-", 1, ""),
        ("multiway recipes | true", 1, ""),
    ],
)
def test_streams_that_are_closed_or_full_in_a_shell(command, code, err, tmp_path):
    done = shell(command, tmp_path)
    assert (done.returncode, done.stderr) == (code, err)


@pytest.mark.parametrize(
    ("words", "streams", "code", "err"),
    [
        ("--version", {2: None}, 0, ""),
        ("--help", {1: "/dev/full"}, 1, "multiway: error: output: No space left on device\n"),
        ("published absent", {2: "/dev/full"}, 1, ""),
    ],
)
def test_streams_that_are_closed_or_full(words, streams, code, err, tmp_path):
    done = children.run_command(words.split(), tmp_path, streams)
    assert (done.returncode, done.stderr) == (code, err)


def test_a_file_never_gets_the_number_of_a_closed_stderr(folder):
    """Else what a library writes to stderr would land in the data of a run."""
    done = children.run_command(TRAIN, folder, {2: None})
    assert done.returncode == 0 and "multiway" in done.stdout
    assert workflows.evaluate(folder / "run")


def test_a_full_stderr_stops_a_training_that_can_go_on(folder):
    done = children.run_command(TRAIN, folder, {2: "/dev/full"})
    assert (done.returncode, done.stdout) == (1, "")
    assert workflows.resume(folder / "run").table()
