"""What `import multiway` loads and how long it takes."""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import multiway
from tasks.tiny import TINY

HEAVY = (
    "pandas",
    "pyarrow",
    "matplotlib",
    "accelerate",
    "transformers",
    "pydantic",
    "sklearn",
    "scipy",
    "monai",
    "captum",
    "nibabel",
    "pydicom",
    "torch._dynamo",
)


def run(code: str, *words: str) -> str:
    return subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True, text=True).stdout


def seconds(statement: str) -> float:
    """Processor time, so that what else runs on the machine does not count."""
    return float(run(f"import time; start = time.process_time(); {statement}; print(time.process_time() - start)"))


@pytest.mark.slow
def test_import_takes_little_more_than_torch():
    # Interleaved pairs, because machines drift; the first pair warms the file cache.
    pairs = [(seconds("import multiway.nn"), seconds("import torch")) for _ in range(6)][1:]
    assert statistics.median(ours / torch for ours, torch in pairs) <= 1.2


PROGRAM = f"""
import json, sys
import multiway
seen = {{"bare": "torch" in sys.modules, "named": set(multiway.__all__) <= set(dir(multiway))}}
try:
    multiway.Forcaster
except AttributeError as error:
    seen["unknown"] = str(error)
seen["lazy"] = multiway.nn.NdLinear((2, 3), (4, 5)).__class__.__module__
seen["heavy"] = [name for name in {HEAVY} if name in sys.modules]
seen["absent"] = [name for name in multiway.__all__ if not hasattr(multiway, name)]
print(json.dumps(seen))
"""


def test_the_package_imports_what_is_used_when_it_is_used():
    assert json.loads(run(PROGRAM)) == {
        "bare": False,
        "named": True,
        "unknown": "module 'multiway' has no attribute 'Forcaster'",
        "lazy": "multiway.nn.nd_linear",
        "heavy": [],
        "absent": [],
    }


def test_the_package_is_small():
    """Three megabytes of files; a wheel holds no more, since what is compiled stays where it was compiled."""
    folder = Path(multiway.__file__).parent
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.suffix not in {".pyc", ".so"}]
    assert sum(sizes) < 4_000_000


def test_the_bare_import_takes_a_moment():
    assert seconds("import multiway") < 0.2


CHECKS = """
import json, sys
from multiway.cli.app import app
for path in json.loads(sys.argv[1]):
    app(["check", path], standalone_mode=False)
print([name for name in ("torch", "sklearn", "accelerate") if name in sys.modules])
"""


def test_a_check_and_the_choice_of_a_task_need_no_torch(tmp_path):
    paths = {"language": tmp_path / "stories.txt"}
    paths["language"].write_text("Once upon a time there was a king who had three sons and a dog.\n\n" * 50)
    for task in TINY.keys() - {"language"}:
        (tmp_path / task).mkdir()
        paths[task] = TINY[task](tmp_path / task).data
    *lines, heavy = run(CHECKS, json.dumps(list(map(str, paths.values())))).splitlines()
    assert heavy == "[]" and [line.split()[3] for line in lines if line.startswith("train: ")] == list(paths)


ON_META = """
import sys, torch
from multiway.models import create_model
from multiway.models.series_baselines import IntervalForest, Rocket
from multiway.models.series_units import Units
from multiway.models.smoothing import Smoothing, Theta
from multiway.models.tree_ensemble import TreeEnsemble
from multiway.training.on_meta import build_on_meta
sizes = {"lookback": 16, "horizon": 3, "num_variates": 5}
units = Units(*torch.ones(4, 5, dtype=torch.float64))
with build_on_meta():
    models = [create_model(name, **sizes) for name in ("hot_forecaster", "olinear")]
    models += [kind(3, 7, units) for kind in (Smoothing, Theta)]
    models += [create_model("tabular_mlp", in_features=5, num_outputs=2), TreeEnsemble(7, 5, 3)]
    models += [create_model("series_classifier", variates=2, num_classes=3), Rocket(2, 31, 3, 50), IntervalForest(3)]
heavy = [name for name in ("torch._dynamo", "sympy") if name in sys.modules]
print({str(each.device) for model in models for each in model.state_dict().values()}, heavy)
"""


def test_the_models_of_a_stored_run_are_built_without_a_compiler():
    assert run(ON_META) == "{'meta'} []\n"
