"""Help and completion: quick, since they import no task, and complete, since a test compares them with the tasks."""

import json
import os
import subprocess
import sys

import pytest
import typer

from multiway import workflows
from multiway.cli import declared
from multiway.cli.app import app

HEAVY = ("torch", "numpy", "pandas", "pyarrow")
PROGRAM = f"""
import sys
from multiway.cli.main import run
try:
    run()
finally:
    print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
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


@pytest.mark.parametrize(
    "words", [(), ("train",), ("train", "forecast"), ("check",), ("predict",), ("data",)], ids=" ".join
)
def test_help_imports_no_heavy_library(words):
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "Usage" in done.stdout and done.stderr.strip() == "[]"


@pytest.mark.parametrize(("words", "without"), [(["recipes"], HEAVY), (["data", "list"], ("torch",))])
def test_lists_do_without_torch(words, without):
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True)
    assert done.returncode == 0 and len(done.stdout.splitlines()) > 10
    assert not any(f"'{name}'" in done.stderr for name in without)


def test_what_help_knows_is_what_tasks_declare():
    assert declared.content() == json.loads(json.dumps(workflows.declarations())), (
        "run `python -m multiway.cli.declared`"
    )
    assert declared.tasks() == workflows.TASKS


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


def complete(*words):
    """What bash is offered for the last of some words."""
    environment = {
        **os.environ,
        "_MULTIWAY_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["multiway", *words]),
        "COMP_CWORD": str(len(words)),
    }
    program = "import sys; sys.argv = ['multiway']; from multiway.cli.main import run; run()"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment).stdout


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
def test_names_are_completed(words, offered):
    assert set(complete(*words).split()) == offered


def test_the_script_of_completion_is_shown(tmp_path):
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    words = [sys.executable, "-m", "multiway", "--show-completion", "bash"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0 and "complete" in done.stdout
