"""Figures on the structure of the code: what is written, what a task adds, and what a reader or a row passes through.

    python -m benchmarks.house sizes                    lines, files, lines that one task alone reaches
    python -m benchmarks.house names                    public names that stand in more than one module, and where
    python -m benchmarks.house forward                  files and functions of one forward pass per layer
    python -m benchmarks.house way --data FILE ...      files of `multiway train tabular --data FILE ...`, and returns

A task reaches a module if a chain of imports leads there from its folder; a name that a package exports counts as an
import of the module that defines it. A return is an entry into a file that was entered before, where cycles count once.
"""

import argparse
import ast
import dataclasses
import functools
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
"""That are listed of a run's way."""
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

    def _exports(self, package: Module) -> dict[str, str]:
        """What a package offers, and the module that each comes from."""
        statements = (node for node in package.tree.body if isinstance(node, ast.ImportFrom) and node.module)
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

    sys.setprofile(profile)
    try:
        call()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
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


def way(words: Sequence[str]) -> Iterator[str]:
    """Files that `train tabular` enters, how often it returns to one, and the moves that it makes most."""
    from multiway.cli import main
    from multiway.tasks.registry import TASKS, task_of

    for task in TASKS:
        task_of(task)  # what is imported on first use is no part of the way
    sys.argv = ["multiway", "train", "tabular", *words]
    entries, _ = traced(main.run)
    path = folded(entries)
    yield f"files {len(set(entries))}, moves {len(path)}, returns {len(path) - len(set(path))}"
    for (before, after), count in Counter(itertools.pairwise(path)).most_common(MOVES):
        yield f"{count:4} {before} -> {after}"


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _repeated(path: list[str]) -> int | None:
    """Length of the shortest cycle at the end that repeats what stands before it."""
    latest, last = path[-1], len(path) - 1
    periods = (size for size in range(1, len(path) // 2 + 1) if path[last - size] == latest)
    return next((size for size in periods if path[-size:] == path[-2 * size : -size]), None)


if __name__ == "__main__":
    tables = {"sizes": sizes, "names": names, "forward": forward}
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.house", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("table", choices=[*tables, "way"])
    chosen, rest = parser.parse_known_args()
    print(*(way(rest) if chosen.table == "way" else tables[chosen.table]()), sep="\n")
