"""Help and completion: quick, since they import no task, and complete, since they are read from its config."""

import json
import os
import subprocess
import sys

import pytest
import typer

from command import outcome
from multiway import workflows
from multiway.cli import options
from multiway.cli.app import app

HEAVY = ("torch", "numpy", "pandas", "pyarrow")
PROGRAM = f"""
import contextlib, io, json, sys
from multiway.cli.main import run
rows = []
for words in json.loads(sys.argv[1]):
    out, sys.argv = io.StringIO(), ["multiway", *words]
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        run()
    rows.append([out.getvalue(), [name for name in {HEAVY} if name in sys.modules]])
print(json.dumps(rows))
"""


def commands(group, *path):
    """Every command below a group, with the words that name it."""
    context = typer.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        yield (*path, name), found
        if hasattr(found, "list_commands"):
            yield from commands(found, *path, name)


COMMANDS = dict(commands(typer.main.get_command(app)))


def loaded_by(lines):
    """What each of some commands printed, and which heavy libraries were there after it, in one new interpreter."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(lines)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_help_and_lists_import_no_heavy_library():
    helps = ((), ("train",), ("train", "forecast"), ("check",), ("predict",), ("data",))
    for words, (text, libraries) in zip(helps, loaded_by([(*words, "--help") for words in helps]), strict=True):
        assert "Usage" in text and libraries == [], words
    (recipes, libraries), (sets, later) = loaded_by([("recipes",), ("data", "list")])
    assert libraries == [] and "torch" not in later
    assert all(len(text.splitlines()) > 10 for text in (recipes, sets))


def test_help_lists_every_task_with_a_command_that_its_training_takes():
    said = " ".join(outcome("--help")[1].split())
    for task in map(workflows.settings_of, workflows.TASKS):
        purpose, example = task.purpose, f"multiway train {task.name} {task.example}"
        assert purpose in said and example in said, task.name
        known = {"data", *task.options_of("train")}
        assert {word[2:] for word in example.split() if word.startswith("--")} <= known, task.name


def test_options_are_in_the_help_with_what_their_flags_say():
    for name in workflows.TASKS:
        known = {parameter.name: parameter for parameter in COMMANDS["train", name].params}
        for option in workflows.settings_of(name).options_of("train").values():
            assert known[option.name].help.startswith(option.help)
            assert known[option.name].opts == [options.dash(option.name)]


CONFIGS = """
import sys
from multiway.tasks.settings import TASKS, settings_of
for task in TASKS:
    settings_of(task).config()
    assert "torch" not in sys.modules, task
"""


def test_a_config_of_any_task_needs_no_torch():
    done = subprocess.run([sys.executable, "-c", CONFIGS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_option_says_what_happens_without_it():
    silent = [
        (" ".join(path), parameter.name)
        for path, found in COMMANDS.items()
        for parameter in found.params
        if parameter.param_type_name == "option" and not (parameter.required or is_said(parameter))
    ]
    assert len(COMMANDS) > 20 and silent == []


def is_said(option):
    """A default in brackets, or words in the help."""
    has_default = isinstance(option.show_default, str) or (bool(option.show_default) and option.default is not None)
    return has_default or "if not given" in option.help or option.name == "help"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["train", "fore"], {"forecast"}),
        (["audit", "sto"], {"stocks"}),
        (["check", "exch"], {"exchange"}),
        (["train", "--recipe", "floor-exchange-9"], {"floor-exchange-96"}),
        (["reproduce", "hot-fig"], {"hot-figure-3", "hot-figure-3-right", "hot-figure-4"}),
        (["published", "tga"], {"tga-figure-2"}),
        (["tune", "stocks", "--space", "hot-s"], {"hot-stocks"}),
        (["evalu"], {"evaluate"}),
        (["predict", "run", "--lay"], {"--layout"}),
    ],
)
def test_names_are_completed(words, offered, monkeypatch):
    """What bash is offered for the last of some words."""
    monkeypatch.setattr(sys.modules["__main__"], "__package__", "")  # else the name is that of `python -m pytest`
    monkeypatch.setenv("_MULTIWAY_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(["multiway", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    assert set(outcome()[1].split()) == offered


def test_the_script_of_completion_is_shown(tmp_path):
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    words = [sys.executable, "-m", "multiway", "--show-completion", "bash"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0 and "complete" in done.stdout
