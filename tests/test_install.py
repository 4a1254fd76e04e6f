"""What pip installs: the hook leaves the kernels in the wheel, or says why not; wheel and sdist run elsewhere."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import types
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_BYTES = 1_650_000
"""Of a wheel."""
KERNELS = Path("src", "multiway", "kernels")
COMPILER = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
touch "$2"
"""


class Builder:
    """What hatchling gives a hook to stand on."""

    def __init__(self, root, target_name="wheel"):
        self.root, self.target_name, self.said = str(root), target_name, []
        self.app = types.SimpleNamespace(display_info=self.said.append)


@pytest.fixture
def hook(tmp_path, monkeypatch):
    """The hook of a fresh checkout, where nothing of the package can be imported."""
    interface = types.ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = Builder
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    monkeypatch.setitem(sys.modules, "multiway", None)  # cannot be imported
    shutil.copytree(ROOT / KERNELS, tmp_path / KERNELS, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    compiler = tmp_path / "compiler"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.KernelHook


def initialized(hook):
    built = {"artifacts": []}
    hook.initialize("editable", built)
    return built


def test_an_install_leaves_the_kernels_next_to_their_sources(hook, tmp_path):
    (name,) = initialized(hook(tmp_path))["artifacts"]
    assert (tmp_path / name.lstrip("/")).parent == tmp_path / KERNELS
    assert [f"/{path.relative_to(tmp_path)}" for path in tmp_path.rglob("*.so")] == [name]


def test_what_is_compiled_makes_the_wheel_one_of_this_machine(hook, tmp_path):
    built = initialized(hook(tmp_path))
    assert built["pure_python"] is False and built["infer_tag"] is True


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_an_install_never_fails_for_the_kernels(compiler, hook, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", compiler)
    kernels = hook(tmp_path)
    assert initialized(kernels) == {"artifacts": []}
    assert "everything runs without them" in kernels.said[0] and not list(tmp_path.rglob("*.so"))


def test_what_is_given_away_holds_nothing_of_one_processor(hook, tmp_path):
    built = {"artifacts": []}
    hook(tmp_path).initialize("standard", built)
    assert built == {"artifacts": []} and not list(tmp_path.rglob("*.so"))


def test_sources_are_packed_as_they_are(hook, tmp_path):
    assert initialized(hook(tmp_path, "sdist")) == {"artifacts": []}
    assert not list(tmp_path.rglob("*.so"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Folder with a wheel and a source distribution of this checkout."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    folder = tmp_path_factory.mktemp("dist")
    output = run(sys.executable, "-m", "hatchling", "build", "-d", str(folder), cwd=ROOT)
    assert "wheel" in output
    return folder


@pytest.fixture(scope="module")
def bare(built, tmp_path_factory):
    """An environment of its own that holds the wheel; what the wheel needs is read from this one."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder / "env")
    (wheel,) = built.glob("*.whl")
    python = folder / "env" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--quiet", "--python", str(python))
    run(*pip, "install", "--no-deps", "--no-index", str(wheel), cwd=folder)
    (own,) = (folder / "env" / "lib").glob("python*/site-packages")
    (own / "needed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder


def run(*words, cwd):
    """Output of a command that must end well, and that finds this checkout in no variable."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if "hatchling" in words:
        environment["PYTHONPATH"] = str(Path(importlib.util.find_spec("hatchling").origin).parents[1])
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_source_distribution_holds_what_is_built_and_no_more(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {name.partition("/")[0] for name in names} == {
        "src", "hatch_build.py", "constraints.txt", "README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE",
        "pyproject.toml", "PKG-INFO", ".gitignore",
    }  # fmt: skip
    assert not [name for name in names if name.endswith((".so", ".pyc"))]


@pytest.mark.slow
def test_a_wheel_holds_every_file_of_both_packages_and_no_other(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    tracked = run("git", "ls-files", "src/multiway", "src/multiway_papers", cwd=ROOT).splitlines()
    assert names == {name.removeprefix("src/") for name in tracked}
    assert wheel.name.endswith("-py3-none-any.whl") and wheel.stat().st_size < MOST_BYTES


@pytest.mark.slow
def test_an_installed_wheel_says_what_is_there_and_forecasts(bare):
    python, multiway = bare / "env" / "bin" / "python", bare / "env" / "bin" / "multiway"
    program = """import pandas as pd; import multiway as mw; print(mw.__file__)
pd.concat([mw.load_example(name) for name in ("store_sales", "store_plan")]).to_csv("sales.csv", index=False)"""
    where = Path(run(str(python), "-c", program, cwd=bare).strip())
    assert where.is_relative_to(bare / "env")
    assert "torch" in run(str(multiway), "doctor", cwd=bare)
    settings = ["--future", "holiday", "--horizon", "14", "--lookback", "56", "--set", "network=false"]
    run(str(multiway), "train", "forecast", "--data", "sales.csv", *settings, "--out", "sales", cwd=bare)
    run(str(multiway), "predict", "sales", "--data", "sales.csv", "--out", "next.csv", cwd=bare)
    head, *rows = (bare / "next.csv").read_text().splitlines()
    assert (
        head.startswith("store,date,multiway,multiway-lo-80,")
        and len(rows) == 4 * 14
        and all(0 < float(row.split(",")[2]) < 1000 for row in rows)
    )
