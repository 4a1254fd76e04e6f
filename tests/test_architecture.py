"""Imports point one way: ops <- nn <- models; data, metrics <- training; both <- tasks <- workflows <- cli."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent / "src" / "multiway"

GROUND = {"errors", "config", "files", "extras"}
MAY_IMPORT = {
    "errors": set(),
    "config": {"errors"},
    "files": {"errors"},
    "extras": {"errors"},
    "memory": set(),
    "terminal": set(),
    "reference": set(),
    "kernels": {"errors"},
    "ops": {"kernels", "errors"},
    "nn": {"kernels", "ops", "errors"},
    "models": {"nn", "ops", "errors", "config"},
    "data": {"terminal"} | GROUND,
    "metrics": {"errors"},
    "training": {"data", "metrics", "terminal"} | GROUND,
    "explain": GROUND,
    "auditing": {"data", "metrics"} | GROUND,
    "report": {"explain"} | GROUND,
    "compress": {"nn", "ops", "report"} | GROUND,
    "recipes": {"errors", "config"},
    "tasks": {"models", "nn", "ops", "data", "metrics", "training", "explain", "report", "compress", "auditing"}
    | GROUND,
    "workflows": {"tasks", "data", "training", "explain", "report", "recipes", "compress", "auditing"} | GROUND,
    "cli": {"workflows", "errors", "memory"},
    "__main__": {"cli"},
}


def imported_layers(path: Path) -> set[str]:
    """Second part of every `multiway.x` that the file imports, wherever the import stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            raise AssertionError(f"{path}: relative imports hide the direction; write the whole name")
    return {name.split(".")[1] for name in names if name.startswith("multiway.")}


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


def test_the_table_names_every_layer():
    layers = {path.name.removesuffix(".py") for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert layers - {"__init__", "__pycache__", "py.typed"} <= set(MAY_IMPORT)


def test_a_planted_upward_import_is_seen(tmp_path):
    (tmp_path / "planted.py").write_text("def f():\n    from multiway.training import loop\n")
    assert imported_layers(tmp_path / "planted.py") == {"training"}
