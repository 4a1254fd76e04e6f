"""`python -m docs.build.notebooks [--check] [NAME ...]`: run notebooks of docs/notebooks and write their outputs.

A cell prints, draws with pyplot, or ends with an expression; outputs are stored as Jupyter stores them, pictures in few
colours. `--check` runs the cells and writes nothing.
"""

import ast
import base64
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

import pandas as pd

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
COLOURS = 128
"""Of a stored picture."""
SHOWN = ("display.max_columns", 20, "display.width", 80)
"""How pandas writes tables in Jupyter, whatever terminal this runs in."""


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its cells."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        said, value = _run("".join(cell["source"]), names)
        outputs = [{"output_type": "stream", "name": "stdout", "text": _lines(said)}] if said else []
        if value is not None:
            result = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": _data(value)}
            outputs.append(result)
        outputs += [{"output_type": "display_data", "metadata": {}, "data": _data(each)} for each in _left_open()]
        cell |= {"execution_count": number, "outputs": outputs}
    return notebook


def _run(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and the value of its last expression."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as said, warnings.catch_warnings(), pd.option_context(*SHOWN):
        warnings.simplefilter("ignore")
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = None if last is None else eval(compile(last, "cell", "eval"), names)
    return said.getvalue(), value


def _left_open() -> list[Any]:
    """Figures of pyplot that a cell leaves open, which Jupyter shows and closes."""
    plt = sys.modules.get("matplotlib.pyplot")
    figures = [] if plt is None else [plt.figure(number) for number in plt.get_fignums()]
    if plt is not None:
        plt.close("all")
    return figures


def _data(value: Any) -> dict[str, Any]:
    """A value as text, and as a table or a picture where it is one."""
    with pd.option_context(*SHOWN):
        data: dict[str, Any] = {"text/plain": _lines(repr(value))}
        if isinstance(value, pd.DataFrame):
            data["text/html"] = _lines(value._repr_html_())
    if hasattr(value, "savefig"):
        data["image/png"] = _picture(value)
    return data


def _picture(figure: Any) -> str:
    """A figure as a small PNG in base64."""
    from PIL import Image

    drawn, kept = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png")
    seen = Image.open(drawn).convert("RGB")
    seen.quantize(COLOURS, dither=Image.Dither.NONE).save(kept, format="PNG", optimize=True)
    return base64.b64encode(kept.getvalue()).decode() + "\n"


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    named = [word for word in sys.argv[1:] if not word.startswith("-")] or ["*"]
    for path in sorted(path for name in named for path in NOTEBOOKS.glob(f"{name}.ipynb")):
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            notebook = executed(json.loads(path.read_text()))
        if "--check" not in sys.argv:
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
        print(f"{path.name}: {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    main()
