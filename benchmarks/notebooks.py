"""`python -m benchmarks.notebooks`: run every notebook of docs/notebooks in order and write what its cells print.

A cell prints, or ends with an expression, as in Jupyter; `--check` runs the cells and writes nothing.
"""

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its cells."""
    names: dict[str, Any] = {"__name__": "__main__"}
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            said = _run("".join(cell["source"]), names)
            stream = {"output_type": "stream", "name": "stdout", "text": said.splitlines(keepends=True)}
            cell |= {"execution_count": number, "outputs": [stream] if said else []}
    return notebook


def _run(source: str, names: dict[str, Any]) -> str:
    """What a cell prints, and the value of its last expression."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as said, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = None if last is None else eval(compile(last, "cell", "eval"), names)
        if value is not None:
            print(value)
    return said.getvalue()


def main() -> None:
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            notebook = executed(json.loads(path.read_text()))
        if "--check" not in sys.argv:
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        print(f"{path.name}: {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    main()
