"""Plant faults in the code, one at a time, and see whether the tests of `bin/test` go red.

    python tests/mutants.py --count 100 --seed 0 --jobs 2 --out mutants.jsonl

Each fault is planted in a copy of the tree. One run of all tests first says which of them pass by each fault; these
come first, and where there are none, as of a default, the tests that stand near by names and imports. For the faults
that are left come all tests of the files that pass by, or all that reach the file. A test that fails in the first run,
without a fault, does not count. Called again with the same `--out` it goes on where it ended.

Faults that change no behaviour are for a reader to tell from holes: the rest is listed.

`attacks/mutants.py` is another thing: it changes the files of users.
"""

import argparse
import ast
import collections
import copy
import functools
import itertools
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, NamedTuple

from test_architecture import imported_files, name_of

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "multiway"
NEAR, FIRST = 12, 60
"""Files of tests that come first, by imports; tests that do, of those that pass by."""
MARKER = """import os

_known = set()

def passed(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if test and (number, test) not in _known:
        _known.add((number, test))
        try:
            with open(os.environ["MUTANTS_PASSED"], "a") as file:
                file.write(f"{number} {test}\\n")
        except OSError:  # of a disk that is full for the sake of a test
            pass
"""
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
ENDED_BY_SIGNAL_OR_TIME = 124
FAILING = "without a fault"
PRELOADED = ("torch", "pandas", "pyarrow.parquet", "accelerate", "scipy.stats", "sklearn.linear_model", "transformers",
             "matplotlib.figure", "polars", "pydantic", "jaxtyping", "beartype", "openpyxl", "pydicom")  # fmt: skip


class Fault(NamedTuple):
    """A change of one file."""

    path: str
    line: int
    column: int
    kind: str
    old: str
    new: str
    text: str

    @property
    def key(self) -> str:
        """What tells it from others, also in a later call."""
        return f"{self.path}:{self.line}:{self.column} {self.kind}: {self.old} -> {self.new}"


COMPARED: Mapping[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
COMPUTED: Mapping[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


def compare(node: ast.AST) -> None:
    """`<` becomes `<=`, `in` becomes `not in`."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        node.ops = [COMPARED[type(node.ops[0])]()]


def compute(node: ast.AST) -> None:
    """`+` becomes `-`, `*` becomes `/`."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in COMPUTED:
        node.op = COMPUTED[type(node.op)]()


def count(node: ast.AST) -> None:
    """An integer becomes one more: a size, an axis, a border, a default."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        node.value += 1


def scale(node: ast.AST) -> None:
    """A number with a point doubles."""
    if isinstance(node, ast.Constant) and type(node.value) is float and node.value:
        node.value *= 2


def flip(node: ast.AST) -> None:
    """True becomes False: a default, an option."""
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        node.value = not node.value


def connect(node: ast.AST) -> None:
    """`and` becomes `or`."""
    if isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def negate(node: ast.AST) -> None:
    """A condition is turned round; a `not` is dropped."""
    if isinstance(node, ast.If | ast.IfExp):
        test = node.test
        is_not = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        node.test = test.operand if is_not else ast.UnaryOp(ast.Not(), test)  # type: ignore[union-attr]


def swap(node: ast.AST) -> None:
    """The first two arguments of a call change places; a question about a type is no call worth it."""
    is_one = isinstance(node, ast.Call) and len(node.args) > 1 and getattr(node.func, "id", "") != "isinstance"
    if is_one and not any(isinstance(part, ast.Starred) for part in node.args[:2]):
        node.args[:2] = node.args[1::-1]


def remove(node: ast.AST) -> ast.AST | None:
    """A statement that has an effect goes."""
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return ast.copy_location(ast.Pass(), node)
    return None


KINDS: Mapping[str, tuple[Callable[[Any], ast.AST | None], tuple[type, ...]]] = {
    "compare": (compare, (ast.Compare,)),
    "compute": (compute, (ast.BinOp, ast.AugAssign)),
    "count": (count, (ast.Constant,)),
    "scale": (scale, (ast.Constant,)),
    "flip": (flip, (ast.Constant,)),
    "connect": (connect, (ast.BoolOp,)),
    "negate": (negate, (ast.If, ast.IfExp)),
    "swap": (swap, (ast.Call,)),
    "remove": (remove, (ast.AugAssign, ast.Expr)),
}
"""Each kind of change, and the nodes that it may change."""
SKIPPED = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.AnnAssign)
"""What holds messages, or types."""


def nodes_of(node: ast.AST) -> Iterator[ast.AST]:
    """What may be changed below a node: no messages, no annotations, nothing for type checkers or readers alone."""
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of a `zip` over what is equally long
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AnnAssign) and child.value is not None:
                yield from nodes_of(child.value)
            elif isinstance(child, ast.AST) and not isinstance(child, SKIPPED):
                yield from nodes_of(child)


def fault_of(path: Path, node: Any, kind: str) -> Fault | None:
    """A node of a file, changed; None where that is no change, or no Python."""
    raw = path.read_bytes()
    starts = [0, *itertools.accumulate(len(line) for line in raw.splitlines(keepends=True))]
    first, last = (starts[line - 1] + column for line, column in _ends(node))
    changed = copy.deepcopy(node)
    changed = KINDS[kind][0](changed) or changed
    old, new = ast.unparse(node), ast.unparse(changed)
    if isinstance(node, ast.If):
        written, last = _head(changed, raw, starts, first)
    else:  # in brackets, as it may stand in an expression that binds it otherwise
        written = new if isinstance(node, ast.stmt) else f"({new})"
    text = (raw[:first] + written.encode() + raw[last:]).decode()
    short = (code.splitlines()[0][:90] for code in (old, new))
    is_one = new != old and _parses(text)
    return Fault(str(path.relative_to(ROOT)), node.lineno, node.col_offset, kind, *short, text) if is_one else None


def _ends(node: Any) -> list[tuple[int, int]]:
    return [(node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)]


def _head(node: Any, raw: bytes, starts: Sequence[int], first: int) -> tuple[str, int]:
    """The condition of an `if` alone, as its branches stay as they are, and where it ended."""
    tested = node.test.operand if isinstance(node.test, ast.UnaryOp) and not hasattr(node.test, "lineno") else node.test
    line, column = _ends(tested)[1]
    word = "elif" if raw[first:].startswith(b"elif") else "if"
    last = raw.index(b":", starts[line - 1] + column)  # behind brackets that close
    return f"{word} {ast.unparse(node.test)}", last


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def draw(number: int, seed: int, only: str) -> list[Fault]:
    """So many faults, of every kind alike, from all files below a folder."""
    chance = random.Random(seed)
    known: dict[str, list[tuple[Path, ast.AST, str]]] = {kind: [] for kind in KINDS}
    for path in sorted(SOURCE.rglob("*.py")):
        if str(path.relative_to(ROOT)).startswith(only):
            for node in nodes_of(ast.parse(path.read_bytes())):
                for kind, (_, types) in KINDS.items():
                    if isinstance(node, types):
                        known[kind].append((path, node, kind))
    for candidates in known.values():
        chance.shuffle(candidates)
    faults = [filter(None, itertools.starmap(fault_of, candidates)) for candidates in known.values()]
    rounds = itertools.chain.from_iterable(itertools.zip_longest(*faults))
    return list(itertools.islice(filter(None, rounds), number))


@functools.cache
def distances() -> dict[str, dict[str, int]]:
    """How many imports lie between each file of tests and the modules that it reaches."""
    modules = {name_of(path, SOURCE): path for path in SOURCE.rglob("*.py")}
    helpers = {".".join(path.relative_to(ROOT / "tests").with_suffix("").parts): path for path in _tests("*.py")}
    files = modules | helpers
    arrows = {name: imported_files(path, files) for name, path in files.items()}
    known = {}
    for name, path in helpers.items():
        if path.name.startswith("test_"):
            known[str(path.relative_to(ROOT))] = _steps(name, arrows)
    return known


def _tests(pattern: str) -> list[Path]:
    return sorted((ROOT / "tests").rglob(pattern))


def _steps(start: str, arrows: Mapping[str, set[str]]) -> dict[str, int]:
    steps, waiting = {start: 0}, collections.deque([start])
    while waiting:
        name = waiting.popleft()
        for other in arrows[name] - steps.keys():
            steps[other] = steps[name] + 1
            waiting.append(other)
    return steps


def marked(path: Path, faults: Mapping[int, Fault]) -> str:
    """A file that says when it passes by a fault, each of which has a number, where that is in a function."""
    text = path.read_text()
    lines, tree = text.splitlines(keepends=True), ast.parse(text)
    places = {number: place for number, fault in faults.items() if (place := _place(tree, fault.line, lines))}
    for number in sorted(places, key=lambda number: -places[number]):
        line = lines[places[number] - 1]
        indent = line[: len(line) - len(line.lstrip())]
        lines.insert(places[number] - 1, f"{indent}__import__('mutants_passed').passed({number})\n")
    return "".join(lines)


def _place(tree: ast.AST, line: int, lines: Sequence[str]) -> int | None:
    """Line of the statement of a function in which another line lies; of a signature that after it."""
    place, node, inside = None, tree, False
    while True:
        parts = [part for name in ("body", "orelse", "handlers", "finalbody", "cases") for part in _list(node, name)]
        if inside and isinstance(node, ast.FunctionDef) and not _around(parts, line):
            return _first(parts[-1] if len(parts) == 1 else parts[isinstance(parts[0], ast.Expr)])
        node = _around(parts, line)
        if node is None:
            return place
        is_written_alone = isinstance(node, ast.stmt) and not lines[_first(node) - 1].lstrip().startswith("elif")
        place = _first(node) if inside and is_written_alone else place
        inside |= isinstance(node, ast.FunctionDef)


def _around(nodes: Sequence[Any], line: int) -> Any:
    return next((node for node in nodes if _first(node) <= line <= _last(node)), None)


def _list(node: Any, name: str) -> list[Any]:
    value = getattr(node, name, [])
    return value if isinstance(value, list) else []


def _first(node: Any) -> int:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    return min([node.lineno, *(decorator.lineno for decorator in _list(node, "decorator_list"))])


def _last(node: Any) -> int:
    return node.body[-1].end_lineno if isinstance(node, ast.match_case) else node.end_lineno


def passing(faults: Sequence[Fault], seconds: float) -> dict[str, list[str]]:
    """Tests that pass by each fault, by its key; and those that fail without one, or for the marks."""
    tree = Copy()
    numbered = dict(enumerate(faults))
    for path in {fault.path for fault in faults}:
        own = {number: fault for number, fault in numbered.items() if fault.path == path}
        (tree.root / path).write_text(marked(ROOT / path, own))
    (tree.root / "src" / "mutants_passed.py").write_text(MARKER)
    log = Path(tree.home.name, "passed")
    log.touch()
    os.environ["MUTANTS_PASSED"] = str(log)
    _, out = tree.run(["tests"], seconds, "--maxfail=0")
    tests: dict[str, list[str]] = {fault.key: [] for fault in faults} | {FAILING: FAILED.findall(out)}
    for line in log.read_text().splitlines():
        number, _, test = line.partition(" ")
        tests[faults[int(number)].key].append(test)
    return tests


def rounds_of(fault: Fault, passing_by: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tests to run with a fault: first, and if none of them fails."""
    near, far = tests_of(fault.path)
    if not passing_by:
        return near, far
    rank = {name: position for position, name in enumerate([*near, *far])}
    ranked = sorted(passing_by, key=lambda test: rank.get(test.split("::")[0], len(rank)))
    return ranked[:FIRST], sorted({test.split("::")[0] for test in ranked}, key=lambda name: rank.get(name, len(rank)))


def tests_of(path: str) -> tuple[list[str], list[str]]:
    """Files of tests that stand near a file, and all others that reach it."""
    module = name_of(ROOT / path, SOURCE)
    mirrored = str(Path("tests", *Path(path).parts[2:-1]))
    reaching = {test: steps[module] for test, steps in distances().items() if module in steps}
    public = "|".join(re.findall(r"^(?:def|class) ([A-Za-z]\w+)", (ROOT / path).read_text(), re.MULTILINE))
    named = re.compile(rf"\b(?:{public or module})\b")

    def rank(test: str) -> tuple[bool, int, int, bool]:
        own = test.endswith(f"test_{Path(path).stem}.py") and test.startswith(mirrored)
        names = {*named.findall((ROOT / test).read_text())}
        return not own, -len(names), reaching[test], not test.startswith(f"{mirrored}/")

    ranked = sorted(reaching, key=rank)
    return ranked[:NEAR], ranked[NEAR:]


class Copy:
    """A copy of the tree in which one fault is planted at a time."""

    def __init__(self) -> None:
        self.home = tempfile.TemporaryDirectory(prefix="mutants-")
        self.root = Path(self.home.name, "multiway")
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
        )
        built = [str(path.relative_to(ROOT)) for path in SOURCE.rglob("*.so")]
        for name in {*listed.stdout.splitlines(), *built}:
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)

    def plant(self, fault: Fault) -> None:
        (self.root / fault.path).write_text(fault.text)

    def restore(self, fault: Fault) -> None:
        shutil.copy2(ROOT / fault.path, self.root / fault.path)

    def run(self, tests: Sequence[str], seconds: float, stop: str = "-x") -> tuple[int, str]:
        """Status of pytest, which stops at the first failure, and what it printed."""
        out = Path(self.home.name, "out")
        preloaded = "ignore:Module already imported so cannot be rewritten"
        words = [stop, "-q", "-n", "0", "-p", "no:cacheprovider", "-W", preloaded, "-m", "not slow", *tests]
        child = _server().Process(target=_pytest, args=(self.root, words, out))
        child.start()
        child.join(seconds)
        if child.is_alive():
            os.killpg(child.pid or 0, signal.SIGKILL)
            return ENDED_BY_SIGNAL_OR_TIME, ""
        status = child.exitcode or 0
        return status if status >= 0 else ENDED_BY_SIGNAL_OR_TIME, out.read_text(errors="replace")


@functools.cache
def _server() -> ForkServerContext:
    """Processes forked from one that has imported what takes long, but nothing of the package."""
    data = str(ROOT.parent / "shared" / "data")
    os.environ |= {"OMP_NUM_THREADS": "1", "MULTIWAY_DATA": os.environ.get("MULTIWAY_DATA", data)}
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([*PRELOADED])
    return server


def _pytest(root: Path, words: list[str], out: Path) -> None:
    """Run the tests of a copy, and nothing from the tree itself."""
    os.setsid()
    sys.dont_write_bytecode = False  # what did not change is compiled once
    os.chdir(root)
    for number in (1, 2):
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.path[:] = [path for path in sys.path if not _is_ours(Path(path or ".").resolve())]
    for name, module in list(sys.modules.items()):
        if _is_ours(Path(getattr(module, "__file__", None) or "/")) and "main__" not in name:
            del sys.modules[name]
    import pytest

    sys.exit(int(pytest.main(words)))


def _is_ours(path: Path) -> bool:
    """Whether a path is one of the tree itself; an environment that lies in it is not."""
    return path.is_relative_to(ROOT) and not path.is_relative_to(sys.prefix)


def judged(fault: Fault, tree: Copy, tests: list[str], failing: Sequence[str], seconds: float) -> dict[str, Any]:
    """What became of a fault: the test that caught it, or None."""
    tree.plant(fault)
    status, out = tree.run([*tests, *(word for name in failing for word in ("--deselect", name))], seconds)
    tree.restore(fault)
    failed, outcome = FAILED.findall(out), "caught"
    caught = failed[0] if failed else None
    if status in (0, 5, ENDED_BY_SIGNAL_OR_TIME):
        caught, outcome = None, "out of time" if status == ENDED_BY_SIGNAL_OR_TIME else "not caught"
    elif not failed and fault.path in out:
        caught = "an import"
    elif not failed:
        raise SystemExit(f"{fault.key}: the tests could not be run (status {status}): {out[-300:]}")
    row = {name: value for name, value in fault._asdict().items() if name != "text"}
    return {"fault": fault.key, **row, "outcome": outcome, "by": caught}


def main() -> None:
    """Plant, run, print the share that is caught, and list the rest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="src/multiway", help="files whose path begins so")
    parser.add_argument("--seconds", type=float, default=900, help="limit for one fault and one round of tests")
    parser.add_argument("--rounds", type=int, default=2, help="1: the tests that come first, and no others")
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"), help="rows; those that are there are kept")
    chosen = parser.parse_args()
    faults = draw(chosen.count, chosen.seed, chosen.only)
    known = [json.loads(line) for line in chosen.out.read_text().splitlines()] if chosen.out.is_file() else []
    rows = {row["fault"]: row for row in known}
    trees = collections.deque(Copy() for _ in range(chosen.jobs))
    hits = chosen.out.with_suffix(".passing.json")
    if not hits.is_file():
        hits.write_text(json.dumps(passing(faults, 10 * chosen.seconds)))
    passing_by = json.loads(hits.read_text())

    def one(fault: Fault, part: int) -> dict[str, Any]:
        tree = trees.popleft()
        try:
            tests = rounds_of(fault, passing_by.get(fault.key, []))[part]
            return judged(fault, tree, tests, passing_by[FAILING], chosen.seconds) | {"round": part}
        finally:
            trees.append(tree)

    with ThreadPoolExecutor(chosen.jobs) as pool, chosen.out.open("a") as file:
        for part in range(chosen.rounds):
            left = [fault for fault in faults if _is_open(rows.get(fault.key), part)]
            for row in pool.map(functools.partial(one, part=part), left):
                rows[row["fault"]] = row
                print(json.dumps(row), file=file, flush=True)
                print(f"{row['outcome']}: {row['fault']}", flush=True)
    report([rows[fault.key] for fault in faults])


def _is_open(row: Mapping[str, Any] | None, part: int) -> bool:
    """Whether a fault has still to go through a round of tests."""
    return row is None or (row["by"] is None and row["round"] < part)


def report(rows: Sequence[Mapping[str, Any]]) -> None:
    """The share that is caught, and the faults that are not."""
    rest = [row for row in rows if row["by"] is None]
    print(f"\n{len(rows) - len(rest)} of {len(rows)} caught")
    for row in rest:
        print(f"  {row['outcome']}: {row['fault']}")


if __name__ == "__main__":
    main()
