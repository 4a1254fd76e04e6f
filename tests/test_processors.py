"""Other processors compute the same to the tolerances: the core of the suite, where less of this one is used."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORE = (
    "ops",
    "nn/test_nd_linear.py",
    "nn/test_tt_linear.py",
    "kernels",
    "data/encoders",
    "tasks/forecasting/test_ridge.py",
)

pytestmark = pytest.mark.slow


def run_core(root: Path, environment: dict[str, str]) -> None:
    """Run the core of the suite that lies in a folder, with some variables set anew."""
    tests = [str(root / "tests" / name) for name in CORE]
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow", *tests]
    done = subprocess.run(command, cwd=root, env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr


@pytest.mark.parametrize(
    "environment",
    [
        {"ATEN_CPU_CAPABILITY": "default", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"},
        {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
        {"MULTIWAY_KERNELS": "0"},
    ],
    ids=["SSE4.2", "AVX2", "no kernels"],
)
def test_fewer_instructions(environment):
    run_core(ROOT, environment)


def test_no_compiler(tmp_path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for folder in ("src", "tests", "benchmarks", "docs/build"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    run_core(tmp_path, {"PATH": str(tmp_path / "no programs")})
