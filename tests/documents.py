"""Reads code blocks out of Markdown and notebooks and runs them as a reader would, top to bottom, in one folder."""

import ast
import contextlib
import json
import re
import shlex
import subprocess
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from command import outcome

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


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
    """Run one `multiway ...` line in a folder: in this process, since another would spend most of its time starting."""
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("default")
        code, out, err = outcome(*words[1:])
    return subprocess.CompletedProcess(words, code or 0, out, err)


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


def code_of(path: Path, *languages: str) -> str:
    """All code of a notebook, or of a document in some languages; "" is that of blocks that name none and never run."""
    if path.suffix != ".ipynb":
        return "\n".join(block.text for block in blocks(path) if block.language in languages)
    cells = json.loads(path.read_text())["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def names_used(code: str) -> set[str]:
    """Dotted names that code uses, as its imports say: after `from multiway import ops`, `multiway.ops.fold`."""
    tree = ast.parse(code)
    origins = dict(_imported(tree))
    found = (ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute))
    parts = (name.partition(".") for name in found)
    return {f"{origins[head]}{dot}{rest}" for head, dot, rest in parts if head in origins}


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that imports bind, each with the name that it has in full."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (
                (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2 for alias in node.names
            )
