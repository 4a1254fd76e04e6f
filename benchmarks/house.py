"""Figures on the structure of the code: what is written, what a task adds, and what a reader or a row passes through.

    python -m benchmarks.house sizes                    lines, files, lines that one task alone reaches
    python -m benchmarks.house names                    public names that stand in more than one module, and where
    python -m benchmarks.house forward                  files and functions of one forward pass per layer
    python -m benchmarks.house cut                      functions, their bodies, files with one reader, participles
    python -m benchmarks.house way --data FILE ...      files of `multiway train tabular --data FILE ...`, and returns
    python -m benchmarks.house run WORDS ...            functions, files and own stack of `multiway WORDS ...`

A task reaches a module if a chain of imports leads there from its folder; a name that a package exports counts as an
import of the module that defines it. A return is an entry into a file entered before, where cycles count once.
A body is what stands after a function's docstring. A file has one reader if a single module imports it or
a name of it, and lies in its folder.
"""

import argparse
import ast
import contextlib
import dataclasses
import functools
import inspect
import itertools
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

SOURCE = Path("src")
PACKAGE = "multiway"
OPTION = re.compile(r"(^|[\s(`'\"])--[a-z]")
MOVES = 20
"""Moves of a run that are listed."""
IRREGULAR = frozenset(
    "begun bound broken brought built called chosen dealt drawn found frozen given gone grown held hidden kept known "
    "laid learnt left lost made meant met paid said seen sent shown spent taken taught thought thrown told torn won "
    "written".split()
)
"""Participles that do not end in -ed."""
VERBS = frozenset("embed exceed feed need proceed seed speed".split())
"""Words that end in -ed and are none."""
INNER = {"<module>", "<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"}
"""Frames that are part of the function around them."""
Reached = Mapping[str, Collection[str]]


@dataclasses.dataclass(frozen=True)
class Module:
    """A file of the package under its dotted name."""

    name: str
    path: Path

    @functools.cached_property
    def text(self) -> str:
        """What is written."""
        return self.path.read_text()

    @functools.cached_property
    def tree(self) -> ast.Module:
        """What it means."""
        return ast.parse(self.text)

    @property
    def is_package(self) -> bool:
        """Whether it gathers a folder."""
        return self.path.name == "__init__.py"

    @property
    def lines(self) -> int:
        """How many there are."""
        return len(self.text.splitlines())

    @property
    def public(self) -> Iterator[str]:
        """Functions and classes that others may use."""
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                yield node.name


class House:
    """All modules of the package, and who imports whom."""

    def __init__(self, source: Path = SOURCE) -> None:
        named = {_dotted(path.relative_to(source)): path for path in (source / PACKAGE).rglob("*.py")}
        self.modules = {name: Module(name, path) for name, path in named.items()}
        folders = (source / PACKAGE / "tasks").iterdir()
        self.tasks = sorted(path.name for path in folders if path.is_dir() and path.name[0] not in "._")
        self.exports = {module.name: self._exports(module) for module in self.modules.values() if module.is_package}

    def own(self, task: str) -> list[str]:
        """Modules in the folder of a task."""
        return [name for name in self.modules if name.startswith(f"{PACKAGE}.tasks.{task}.")]

    def reached(self) -> dict[str, set[str]]:
        """Modules that each task reaches; a package alone leads no further."""
        imports = {
            name: set() if module.is_package else set(self._imports(module.tree))
            for name, module in self.modules.items()
        }
        return {task: closure(self.own(task), imports) for task in self.tasks}

    def only_theirs(self) -> dict[str, int]:
        """Lines of the modules that one task reaches and no other."""
        reached = self.reached()
        count = Counter(name for names in reached.values() for name in names)
        return {
            task: sum(self.modules[name].lines for name in names if count[name] == 1 and name in self.modules)
            for task, names in reached.items()
        }

    def shared_names(self) -> dict[str, list[str]]:
        """Public names in several modules, but those that tasks share in their folders by protocol."""
        written = defaultdict(set)
        for module in self.modules.values():
            for name in module.public:
                written[name].add(module.name)
        theirs = {name for task in self.tasks for name in self.own(task)}
        return {name: sorted(them) for name, them in written.items() if len(them) > 1 and not them <= theirs}

    def options(self) -> int:
        """Strings of `data` that name an option of the command line."""
        nodes = (
            node
            for name, module in self.modules.items()
            if name.startswith(f"{PACKAGE}.data")
            for node in ast.walk(module.tree)
        )
        return sum(
            isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(OPTION.search(node.value))
            for node in nodes
        )

    def single_readers(self) -> list[str]:
        """Modules that one other module reads, which lies beside it."""
        readers = defaultdict(set)
        for module in self.modules.values():
            if not module.is_package:
                for target in set(self._imports(module.tree)) - {module.name}:
                    readers[target].add(module)
        return sorted(
            name
            for name, found in readers.items()
            if len(found) == 1
            and name in self.modules
            and not self.modules[name].is_package
            and self.modules[name].path.parent == next(iter(found)).path.parent
        )

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function, methods and inner ones among them."""
        for module in self.modules.values():
            yield from (
                node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            )

    def _exports(self, package: Module) -> dict[str, str]:
        """What a package offers, and the module that each comes from."""
        statements = (node for node in ast.walk(package.tree) if isinstance(node, ast.ImportFrom) and node.module)
        return {
            alias.asname or alias.name: self._origin(f"{node.module}.{alias.name}", str(node.module))
            for node in statements
            for alias in node.names
        }

    def _imports(self, tree: ast.Module) -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in self.modules)
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
                package = str(node.module)
                for alias in node.names:
                    exported = self.exports.get(package, {}).get(alias.name, package)
                    yield self._origin(f"{package}.{alias.name}", exported)

    def _origin(self, full: str, otherwise: str) -> str:
        return full if full in self.modules else otherwise


def closure(start: Sequence[str], imports: Reached) -> set[str]:
    """Everything that chains of imports lead to."""
    seen, waiting = set[str](), list(start)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += imports.get(name, ())
    return seen


def folded(entries: Sequence[str]) -> list[str]:
    """Entries with every cycle that follows itself left out, as soon as it is complete."""
    path: list[str] = []
    for entry in entries:
        path.append(entry)
        while (period := _repeated(path)) is not None:
            del path[-period:]
    return path


def traced(call: Callable[[], object], source: Path = SOURCE) -> tuple[list[str], set[tuple[str, str]]]:
    """Files of the package in the order in which calls enter them, and the functions that were called."""
    root, entries, functions = f"{(source / PACKAGE).resolve()}/", [], set()

    def profile(frame, event, _):
        file, function = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and file.startswith(root) and function != "<module>":
            functions.add((file, function))
            if not entries or entries[-1] != file.removeprefix(root):
                entries.append(file.removeprefix(root))

    with profiled(profile):
        call()
    return entries, functions


def sizes() -> Iterator[str]:
    """Lines of a table of sizes."""
    house = House()
    yield f"lines {sum(module.lines for module in house.modules.values())}, files {len(house.modules)}"
    yield f"public names in more than one module {len(house.shared_names())}"
    yield f"strings in data/ that name an option {house.options()}"
    for task, alone in house.only_theirs().items():
        folder = sum(
            module.lines for name, module in house.modules.items() if name.startswith(f"{PACKAGE}.tasks.{task}")
        )
        yield f"{task:14} own folder {folder:6}   only theirs {alone:6}"


def names() -> Iterator[str]:
    """Each shared name and its modules."""
    for name, modules in sorted(House().shared_names().items()):
        yield f"{name:32} {', '.join(module.removeprefix(f'{PACKAGE}.') for module in modules)}"


def forward() -> Iterator[str]:
    """Files and functions of the second forward pass of each layer."""
    import torch

    from multiway import nn

    torch.set_num_threads(1)
    cases = {
        "KroneckerAttention": (nn.KroneckerAttention(32, num_heads=4, num_modes=2, rotary_modes=(1,)), (2, 5, 7, 32)),
        "NdLinear": (nn.NdLinear((5, 7, 32), (3, 4, 8)), (2, 5, 7, 32)),
        "TensorGraphAttention": (nn.TensorGraphAttention(32, num_heads=2), (2, 6, 32)),
    }
    for name, (layer, shape) in cases.items():
        x = torch.randn(shape, requires_grad=True)
        layer(x)
        entries, functions = traced(functools.partial(layer, x))
        yield f"{name:22} files {len(set(entries))}, functions {len(functions)}"


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its signature and docstring."""
    docstring = function.body[0] if ast.get_docstring(function, clean=False) is not None else None
    documented = 0 if docstring is None else _last_line(docstring) - docstring.lineno + 1
    return _last_line(function) - function.body[0].lineno + 1 - documented


def is_participle(name: str) -> bool:
    """Whether a function's name begins with what was done, not with what it does."""
    first = name.strip("_").split("_")[0]
    return first in IRREGULAR or (first.endswith("ed") and len(first) > 3 and first not in VERBS)


def cut(source: Path = SOURCE) -> Iterator[str]:
    """How finely the code is cut."""
    house = House(source)
    functions = list(house.functions())
    lines = sum(module.lines for module in house.modules.values())
    bodies = sum(map(body_lines, functions))
    yield f"functions {len(functions)}, lines a function {lines / len(functions):.1f}"
    yield f"mean body {bodies / len(functions):.1f}"
    single = house.single_readers()
    yield f"files whose only reader lies beside them {len(single)}: {' '.join(single)}"
    yield f"participle names {sum(is_participle(function.name) for function in functions)}"
    yield f"'fmt: skip' {sum(module.text.count('# fmt: skip') for module in house.modules.values())}"


def run(words: Sequence[str], source: Path = SOURCE) -> Iterator[str]:
    """What one command enters, and how deep its own calls stand in each other."""
    from multiway.cli import main

    sys.argv = ["multiway", *words]
    functions, deepest = entered(main.run, source)
    files = {file for file, _ in functions}
    yield f"functions {len(functions)}, files {len(files)}, deepest own stack {deepest}"


def entered(call: Callable[[], object], source: Path = SOURCE) -> tuple[set[tuple[str, str]], int]:
    """Functions of the package that a call enters, each with its file, and the most that stand in each other.

    Bodies of classes, which run where a module is first imported, are none.
    """
    root, functions, depth, deepest = f"{(source / PACKAGE).resolve()}/", set(), 0, 0

    def profile(frame, event, _):
        nonlocal depth, deepest
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_flags & inspect.CO_GENERATOR
        is_own = code.co_filename.startswith(root) and code.co_name not in INNER
        if event in ("call", "return") and is_function and is_own:
            depth += 1 if event == "call" else -1
            deepest = max(deepest, depth)
            functions.add((code.co_filename, code.co_qualname))

    with profiled(profile):
        call()
    return functions, deepest


@contextlib.contextmanager
def profiled(profile: Callable[..., None]) -> Iterator[None]:
    """Watch every call until a command ends."""
    sys.setprofile(profile)
    try:
        yield
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)


def way(words: Sequence[str]) -> Iterator[str]:
    """Files that `train tabular` enters, how often it returns to one, and the moves that it makes most."""
    from multiway.cli import main
    from multiway.models import list_models
    from multiway.tasks.registry import task_of
    from multiway.tasks.settings import TASKS

    for task in TASKS:
        task_of(task)
    list_models()  # what is imported on first use is no part of the way
    sys.argv = ["multiway", "train", "tabular", *words]
    entries, _ = traced(main.run)
    path = folded(entries)
    yield f"files {len(set(entries))}, moves {len(path)}, returns {len(path) - len(set(path))}"
    for (before, after), count in Counter(itertools.pairwise(path)).most_common(MOVES):
        yield f"{count:4} {before} -> {after}"


def _last_line(node: ast.stmt) -> int:
    return node.lineno if node.end_lineno is None else node.end_lineno


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _repeated(path: list[str]) -> int | None:
    """Length of the shortest cycle at the end that repeats what stands before it."""
    latest, last = path[-1], len(path) - 1
    periods = (size for size in range(1, len(path) // 2 + 1) if path[last - size] == latest)
    return next((size for size in periods if path[-size:] == path[-2 * size : -size]), None)


if __name__ == "__main__":
    tables = {"sizes": sizes, "names": names, "forward": forward, "cut": cut}
    commands = {"way": way, "run": run}
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.house", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("table", choices=[*tables, *commands])
    chosen, rest = parser.parse_known_args()
    print(*(commands[chosen.table](rest) if chosen.table in commands else tables[chosen.table]()), sep="\n")
