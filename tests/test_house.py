"""The measures of structure, on a package small enough to count by hand."""

import ast
from pathlib import Path

from benchmarks.house import House, folded, traced

import multiway
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

DIALECT = {"asked", "asking", "beside", "again", "mend"}
"""Words that names of functions and classes do not have."""


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


def test_names_of_functions_and_classes_are_of_the_field_and_not_our_own_dialect():
    """A rename of what is compared, requested or refitted keeps to the words that readers know."""
    folder = Path(multiway.__file__).parent
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    names = {node.name for path in folder.rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))
             if isinstance(node, definitions)}  # fmt: skip
    assert len(names) > 3000
    assert not [name for name in names if DIALECT & set(name.lower().split("_"))]
