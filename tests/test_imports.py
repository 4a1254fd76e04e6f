"""What `import multiway` loads and how long it takes."""

import statistics
import subprocess
import sys

import pytest

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
)


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def seconds(statement: str) -> float:
    """Processor time, so that what else runs on the machine does not count."""
    return float(run(f"import time; start = time.process_time(); {statement}; print(time.process_time() - start)"))


def test_a_layer_costs_no_heavy_library():
    loaded = run(f"import sys, multiway.nn; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded.strip() == "[]"


@pytest.mark.slow
def test_import_takes_little_more_than_torch():
    # Interleaved pairs, because machines drift; the first pair warms the file cache.
    pairs = [(seconds("import multiway.nn"), seconds("import torch")) for _ in range(6)][1:]
    assert statistics.median(ours / torch for ours, torch in pairs) <= 1.2


def test_every_public_name_is_there():
    assert (
        run("import multiway; print([name for name in multiway.__all__ if not hasattr(multiway, name)])").strip()
        == "[]"
    )


def test_importing_the_package_imports_no_torch_and_names_everything():
    code = "import sys, multiway; print('torch' in sys.modules, set(multiway.__all__) <= set(dir(multiway)))"
    assert run(code).strip() == "False True"
    assert run("import multiway as mw; print(mw.nn.NdLinear((2, 3), (4, 5)).__class__.__module__)") == (
        "multiway.nn.nd_linear\n"
    )


def test_an_unknown_name_says_so():
    code = "import multiway\ntry:\n    multiway.Forcaster\nexcept AttributeError as error:\n    print(error)"
    assert run(code).strip() == "module 'multiway' has no attribute 'Forcaster'"
