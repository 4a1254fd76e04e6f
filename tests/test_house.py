"""The measures of structure, on a package small enough to count by hand."""

import ast
import re
from pathlib import Path

from benchmarks.house import House, body_lines, entered, folded, is_participle, traced

from multiway import nn
from multiway.kernels.library import library

FILES = {
    "__init__.py": "",
    "ops/__init__.py": "from multiway.ops.sums import add as add\n",
    "ops/sums.py": "def add():\n    pass\n\n\ndef _hidden():\n    pass\n",
    "ops/twice.py": "from multiway.ops import sums\n\n\ndef add():\n    pass\n",
    "data/__init__.py": 'FIX = "give --target NAME"\nPLAIN = "a -- b"\n',
    "tasks/__init__.py": "",
    "tasks/one/__init__.py": "",
    "tasks/one/task.py": "from multiway.ops import add\n\n\ndef encode():\n    pass\n",
    "tasks/two/__init__.py": "",
    "tasks/two/task.py": "import multiway.ops.twice\n\n\ndef encode():\n    pass\n",
}

ROOT = Path(__file__).parents[1]
CEILINGS = {
    "lines": 74_013,
    "functions": 4_832,
    "files with one reader": 24,
    "participle names": 48,
    "formatter switched off": 2,
}
"""Figures of the package that no change may exceed; the mean body of a function is its floor."""
FLOOR_OF_BODIES = 5.9

DIALECT = {"asked", "asking", "beside", "again", "mend"}
"""Words that no name has."""


def test_a_task_reaches_what_its_imports_lead_to(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "multiway" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    house = House(tmp_path)
    reached = house.reached()
    assert reached["one"] >= {"multiway.ops.sums"} and "multiway.ops.twice" not in reached["one"]
    assert reached["two"] >= {"multiway.ops.sums", "multiway.ops.twice"}
    assert house.only_theirs() == {"one": 5, "two": 10}
    assert house.shared_names() == {"add": ["multiway.ops.sums", "multiway.ops.twice"]}
    assert house.options() == 1


def test_a_function_is_measured_without_its_signature_and_docstring(tmp_path):
    text = 'def given(\n    a, b):\n    """Sum\n    of both."""\n    c = a\n    return c + b\n'
    text += "\n\ndef feed():\n    return 1\n"
    (tmp_path / "multiway" / "ops").mkdir(parents=True)
    (tmp_path / "multiway" / "tasks").mkdir()
    (tmp_path / "multiway" / "ops" / "sums.py").write_text(text)
    (tmp_path / "multiway" / "ops" / "more.py").write_text("from multiway.ops.sums import feed\n")
    (tmp_path / "multiway" / "more.py").write_text("from multiway.ops import more\n")
    house = House(tmp_path)
    assert [body_lines(function) for function in house.functions()] == [2, 1]
    assert [is_participle(function.name) for function in house.functions()] == [True, False]
    assert house.single_readers() == ["multiway.ops.sums"]


def test_a_call_enters_functions_and_stands_in_its_callers():
    layer = nn.NdLinear((5, 7), (3, 4))
    functions, deepest = entered(lambda: layer(next(layer.parameters()).new_ones(2, 5, 7)), ROOT / "src")
    assert any(name == "NdLinear.forward" for _, name in functions)
    assert 2 <= deepest <= len(functions)


def test_the_house_does_not_grow():
    house = House(ROOT / "src")
    bodies = [body_lines(function) for function in house.functions()]
    measured = {
        "lines": sum(module.lines for module in house.modules.values()),
        "functions": len(bodies),
        "files with one reader": len(house.single_readers()),
        "participle names": sum(is_participle(function.name) for function in house.functions()),
        "formatter switched off": sum(module.text.count("# fmt: skip") for module in house.modules.values()),
    }
    assert not {name: count for name, count in measured.items() if count > CEILINGS[name]}
    assert sum(bodies) / len(bodies) >= FLOOR_OF_BODIES


def test_a_cycle_counts_once():
    assert folded("abababcabc") == list("abc")
    assert folded("aab") == list("ab") and folded("abcb") == list("abcb")
    long = [str(number) for number in range(300)]
    assert folded([*long, *long]) == long


def test_the_files_of_a_forward_pass_are_few():
    layer = nn.NdLinear((5, 7), (3, 4))
    x = next(layer.parameters()).new_ones(2, 5, 7)
    layer(x)
    files, functions = traced(lambda: layer(x))
    most = 5 if library() is None else 3  # without the compiled kernel, its plan and the plain products are run
    assert "nn/nd_linear.py" in files and "ops/dispatch.py" in files and len(set(files)) <= most
    assert any(name == "forward" for _, name in functions)


def test_names_are_of_the_field_and_not_our_own_dialect():
    """A rename of what is compared, requested or refitted keeps to the words that readers know."""
    root = Path(__file__).parents[1]
    texts = [path.read_text() for folder in ("src", "tests", "benchmarks") for path in (root / folder).rglob("*.py")]
    spelt = re.compile("|".join(DIALECT), re.IGNORECASE)
    read = [ast.parse(text) for text in texts if spelt.search(text)]  # the others cannot have such a name
    names = {name for tree in read for node in ast.walk(tree) for name in named_by(node)}
    assert len(texts) > 900 and len(names) > 1_000
    assert not [name for name in names if DIALECT & set(name.lower().split("_"))]


def named_by(node):
    """What a node gives a name to: a function, a class, a parameter or a variable."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
            return [name]
    return []
