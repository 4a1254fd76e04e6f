"""Imports point one way, ops <- nn <- models, data <- training, both <- tasks <- workflows <- cli, and never round.

A module that is named by a string, to be imported when it is used, counts as imported: `extend`, which a package's
`__init__` calls for a registry below it, is the way to name one that stands higher. What another package adds is found
by its entry points, the papers as well, and never named.
"""

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "src" / "multiway"

GROUND = {"errors", "config", "files", "leftovers", "lazy"}
MAY_IMPORT = {
    "errors": set(),
    "leftovers": {"files"},
    "lazy": {"errors"},
    "config": {"errors"},
    "files": {"errors"},
    "memory": set(),
    "hub": {"files", "lazy", "errors"},
    "terminal": set(),
    "kernels": {"errors"},
    "ops": {"kernels", "errors"},
    "nn": {"kernels", "ops", "errors"},
    "models": {"nn", "ops", "errors", "config", "lazy"},
    "data": {"terminal"} | GROUND,
    "metrics": {"errors"},
    "training": {"nn", "ops", "data", "metrics", "terminal"} | GROUND,
    "explain": GROUND,
    "auditing": {"data"} | GROUND,
    "report": {"explain"} | GROUND,
    "compress": {"models", "nn", "ops", "report", "hub"} | GROUND,
    "peft": {"compress", "nn", "ops"} | GROUND,
    "tasks": {
        "models",
        "nn",
        "ops",
        "data",
        "metrics",
        "training",
        "explain",
        "report",
        "compress",
        "auditing",
        "terminal",
        "hub",
    }
    | GROUND,
    "workflows": {"tasks", "data", "training", "explain", "report", "compress", "auditing"} | GROUND,
    "cli": {
        "workflows",
        "config",
        "kernels",
        "errors",
        "files",
        "lazy",
        "memory",
    },  # the doctor says whether kernels are built
    "__main__": {"cli"},
}


PAPERS = Path(__file__).parent.parent / "src" / "multiway_papers"
PAPERS_MAY_IMPORT = {
    "networks": set(),
    "peers": set(),
    "stocks": {"networks"},
    "language": {"networks"},
    "protocols": {"stocks"},
    "grid": set(),
    "printed": set(),
    "cells": {"grid", "printed"},
    "verdicts": {"cells", "printed"},
    "open_tasks": set(),
    "open_floor": {"open_tasks"},
    "cell_rows": set(),
    "charts": set(),
    "open_benchmarks": {"cell_rows", "open_floor", "open_tasks"},
    "effective_rank": {"cell_rows"},
    "rows": {"cells", "open_benchmarks", "printed"},
    "page": {"cells", "charts", "printed", "rows", "verdicts"},
    "queue": {"reproducing"},
    "reproducing": {"cell_rows", "cells", "effective_rank", "open_benchmarks", "page", "verdicts"},
    "bench": set(),
    "commands": {"bench", "stocks"},
}
"""Of the papers themselves; of `multiway` they may import whatever they like."""
MODULE = re.compile(r"(multiway(?:_papers)?(?:\.[a-z]\w*)+)(?:\.|:\w+)?")
"""A string that may name a module, one of its objects as `module:name`, or what a module's name begins with."""
BY_NAME = {"lazy.py", "tasks/candidate.py", "tasks/settings.py", "compress/kinds.py"}
"""Files that import what a variable names: a registry's modules, or a library of somebody else."""


@functools.cache
def nodes(text: str) -> list[ast.AST]:
    """Of a module, parsed once."""
    return list(ast.walk(ast.parse(text)))


def imported_layers(path: Path, package: str = "multiway") -> set[str]:
    """Second part of every `multiway.x` that the file imports or names, wherever it does."""
    names: set[str] = set()
    for node in nodes(path.read_text()):
        if isinstance(node, ast.Constant) and (named := MODULE.fullmatch(str(node.value))):
            names.add(named[1])
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            raise AssertionError(f"{path}: relative imports hide the direction; write the whole name")
    return {name.split(".")[1] for name in names if name.startswith(f"{package}.")}


def test_imports_only_point_down():
    broken = []
    for path in sorted(ROOT.rglob("*.py")):
        layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if layer != "__init__":
            allowed = MAY_IMPORT[layer] | {layer}
            broken += [
                f"{path.relative_to(ROOT)} imports multiway.{name}"
                for name in sorted(imported_layers(path) - allowed)
                if name != "__version__"
            ]
    assert not broken, "\n".join(broken)


def test_nothing_of_the_library_names_the_papers():
    """In code, in a text or in a file of data: they are found by entry points alone."""
    files = [
        path for path in ROOT.rglob("*") if path.is_file() and path.suffix in {".py", ".json", ".yaml", ".c", ".h"}
    ]
    assert len(files) > 300
    assert [path for path in files if re.search(r"multiway[._]papers|\bimport papers\b", path.read_text())] == []


def test_imports_of_the_papers_point_one_way():
    broken = []
    for path in sorted(PAPERS.rglob("*.py")):
        layer = path.relative_to(PAPERS).parts[0].removesuffix(".py")
        if layer != "__init__":
            others = imported_layers(path, "multiway_papers") - PAPERS_MAY_IMPORT[layer] - {layer}
            broken += [f"{path.relative_to(PAPERS)} imports multiway_papers.{name}" for name in sorted(others)]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(("root", "table"), [(ROOT, MAY_IMPORT), (PAPERS, PAPERS_MAY_IMPORT)], ids=lambda each: "")
def test_the_table_names_every_layer(root, table):
    layers = {
        path.name.removesuffix(".py") for path in root.iterdir() if path.suffix == ".py" or any(path.glob("*.py"))
    }
    assert layers - {"__init__", "__pycache__"} == set(table) - ({"__init__"} - layers)


def test_a_planted_upward_import_is_seen(tmp_path):
    (tmp_path / "planted.py").write_text("def f():\n    from multiway.training import loop\n")
    assert imported_layers(tmp_path / "planted.py") == {"training"}
    for text in ("multiway.training.loop", "multiway.training.loop:train"):
        (tmp_path / "named.py").write_text(f"NAMES = {{'a': '{text}'}}\n")
        assert imported_layers(tmp_path / "named.py") == {"training"}
    (tmp_path / "put_together.py").write_text("import_module(f'multiway.training.{name}')\n")
    assert imported_layers(tmp_path / "put_together.py") == {"training"}


def test_few_files_import_what_a_variable_names():
    calls = re.compile(r"\bimport_module\b|\b__import__\(")
    assert {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if calls.search(path.read_text())} == BY_NAME


def imported_files(path: Path, files: dict[str, Path]) -> set[str]:
    """Modules of the package that a file imports or names, wherever it does, also for type checkers alone."""
    names: set[str] = set()
    for node in nodes(path.read_text()):
        if isinstance(node, ast.Constant) and (named := MODULE.fullmatch(str(node.value))):
            names |= {named[1]} - {f"multiway.{path.parent.name}"}  # whose resources it reads
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if name in files else node.module for name in whole.values()}
    return names & set(files)


def circles(root: Path) -> list[str]:
    """Groups of files below a package that reach each other by imports."""
    files = {name_of(path, root): path for path in sorted(root.rglob("*.py"))}
    arrows = {name: imported_files(path, files) - {name} for name, path in files.items()}
    reached = {name: reach(name, arrows) for name in files}
    groups = {frozenset(other for other in reached[name] if name in reached[other]) for name in files}
    return sorted(", ".join(sorted(group)) for group in groups if group)


def name_of(path: Path, root: Path) -> str:
    """Name under which a file is imported."""
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def reach(start: str, arrows: dict[str, set[str]]) -> set[str]:
    """All that is reached from a file by one import or more."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = arrows[waiting.pop()] - found
        found |= new
        waiting += new
    return found


@pytest.mark.parametrize("root", [ROOT, PAPERS], ids=lambda root: root.name)
def test_no_files_import_each_other(root):
    assert not circles(root), "\n".join(circles(root))


def test_a_planted_circle_is_seen(tmp_path):
    package = tmp_path / "multiway"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("from multiway.data.a import f")
    (package / "data" / "__init__.py").write_text("")
    (package / "data" / "a.py").write_text("def f():\n    from multiway.data import b\n")
    (package / "data" / "b.py").write_text("if TYPE_CHECKING:\n    from multiway.data.c import g\n")
    (package / "data" / "c.py").write_text('importlib.import_module("multiway.data.a")')
    assert circles(package) == ["multiway.data.a, multiway.data.b, multiway.data.c"]
