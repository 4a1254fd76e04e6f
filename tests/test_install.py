"""The hook of the install does what pip calls it for: it leaves the kernels in the wheel, or says why it does not."""

import importlib.util
import shutil
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
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
