"""Reads code blocks out of Markdown and runs them as a reader would, top to bottom, in one folder."""

import functools
import multiprocessing
import multiprocessing.context
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PRELOADED = ["torch", "pandas", "pyarrow.parquet", "accelerate", "jinja2", "multiway.cli.main", "multiway.tasks.run"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and the line it starts on."""

    language: str
    text: str
    line: int


def blocks(path: Path) -> list[Block]:
    text = path.read_text()
    return [Block(match[1], match[2], text[: match.start()].count("\n") + 2) for match in BLOCK.finditer(text)]


def commands(block: Block) -> list[list[str]]:
    """Lines of a shell block that start `multiway`, with comments and continuations taken away."""
    lines = block.text.replace("\\\n", " ").splitlines()
    split = [shlex.split(line, comments=True) for line in lines]
    return [words for words in split if words and words[0] == "multiway"]


def run_command(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run one `multiway ...` line in a folder, in a process of its own.

    Its process is forked from one that has the libraries loaded already: what a command does is under test here,
    and starting Python for each takes longer than most of them.
    """
    with tempfile.TemporaryDirectory() as place:
        outputs = [Path(place, name) for name in ("stdout", "stderr")]
        child = _server().Process(target=_run_words, args=(words[1:], folder, *outputs))
        child.start()
        child.join()
        out, err = (path.read_text() for path in outputs)
    return subprocess.CompletedProcess(words, child.exitcode or 0, out, err)


@functools.cache
def _server() -> multiprocessing.context.ForkServerContext:
    os.environ["OMP_NUM_THREADS"] = "1"
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(PRELOADED)
    return server


def _run_words(words: list[str], folder: Path, out: Path, err: Path) -> None:
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.chdir(folder)
    sys.argv = ["multiway", *words]
    from multiway.cli.main import run

    run()


def run_document(path: Path, folder: Path) -> int:
    """Run every python and bash block of a file; says the file and line of the one that fails."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    ran = 0
    for block in blocks(path):
        if block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.text, str(path), "exec"), namespace)
            ran += 1
        elif block.language == "bash":
            for words in commands(block):
                done = run_command(words, folder)
                assert done.returncode == 0, f"{path}:{block.line}: {shlex.join(words)}\n{done.stdout}{done.stderr}"
                ran += 1
    return ran
