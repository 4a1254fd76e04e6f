"""Where the chain is not used: switched off, without a compiler, watched, transformed, or where it does not pay."""

import contextlib
import io
import shutil

import pytest
import torch
from torch.autograd import forward_ad
from torch.utils.flop_counter import FlopCounterMode

import children
from multiway import nn as mnn
from multiway.kernels import library as module
from multiway.kernels.library import FAILURES, HEADERS, SOURCES, build_library, library, library_path
from multiway.ops import chains
from tolerances import SUMS32, SUMS64

SIZES = (16, 16), (16, 16)
PROGRAM = """
import torch
from multiway import nn
from multiway.kernels.library import library
torch.manual_seed(0)
layer = nn.NdLinear((16, 16), (16, 16))
x = torch.randn(128, 16, 16, requires_grad=True)
layer(x).square().sum().backward()
print(library() is not None, float(x.grad.double().norm()))
"""

needs_library = pytest.mark.skipif(library() is None, reason="no C compiler")


def answer(text: str) -> tuple[bool, float]:
    """Whether the program had the library, and the number that it computed."""
    has, norm = text.split()
    return has == "True", float(norm)


@needs_library
def test_it_can_be_switched_off(tmp_path):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(PROGRAM, {})
    done = children.run_program(PROGRAM, tmp_path, MULTIWAY_KERNELS="0")
    (has, norm), (off, plain) = answer(out.getvalue()), answer(done.stdout)
    assert has and not off and not done.stderr
    assert plain == pytest.approx(norm, rel=SUMS32)


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_a_compiler_that_is_absent_or_fails_leaves_nothing(compiler, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", compiler)
    with pytest.raises(FAILURES):
        build_library(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_another_processor_does_not_load_it(tmp_path, monkeypatch):
    here = library_path(tmp_path)
    monkeypatch.setattr(module, "_processor", lambda: "another")
    assert library_path(tmp_path) != here
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    for name in (*SOURCES, *HEADERS):
        (tmp_path / name).touch()
    monkeypatch.setenv("CC", "no-such-compiler")
    assert library.__wrapped__() is None


@pytest.mark.slow
@needs_library
def test_what_the_install_did_not_build_is_built_once_into_the_cache(tmp_path, monkeypatch):
    """As in a wheel, which holds the sources alone."""
    for name in (*SOURCES, *HEADERS):
        shutil.copy(module.FOLDER / name, tmp_path)
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert library.__wrapped__() is not None
    assert list(tmp_path.rglob("*.so")) == [library_path(tmp_path / "cache" / "multiway")]
    monkeypatch.setenv("CC", "no-such-compiler")  # nothing is left to build
    assert library.__wrapped__() is not None


def test_where_the_sources_cannot_be_written_to_the_cache_is_taken(tmp_path, monkeypatch):
    assert module.writable_folder() in (module.FOLDER, module.user_folder())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module.os, "access", lambda path, mode: path != module.FOLDER)
    assert module.writable_folder() == tmp_path / "multiway"


@pytest.fixture
def layer(monkeypatch):
    """A layer that the chain serves, and fails the test if it is called."""
    found = mnn.NdLinear(*SIZES)
    if library() is None:
        return found
    assert chains.nd_linear_chain(((16, 16), (16, 16)), chains.round_rows(128), "ascending") is not None

    def refuse(call):
        raise AssertionError("the chain was called")

    monkeypatch.setattr(library(), "chain", refuse)
    return found


@pytest.fixture
def x(generator):
    return torch.randn(128, 16, 16, generator=generator)


@needs_library
def test_a_plain_batch_is_served(layer, x):
    with pytest.raises(AssertionError, match="the chain was called"):
        layer(x)


def test_other_inputs_are_left_to_torch(layer, x):
    dense = layer.double().to_linear()
    want = torch.nn.functional.linear(x.double().flatten(1), dense.weight, dense.bias).view(x.shape)
    torch.testing.assert_close(layer(x.double()), want, rtol=SUMS64, atol=SUMS64)
    layer.float()
    torch.testing.assert_close(layer(x.mT.contiguous().mT).double(), want, rtol=SUMS32, atol=SUMS32)
    assert layer(x[:0]).shape == (0, 16, 16)
    layer.bfloat16()
    assert layer(x.bfloat16()).dtype == torch.bfloat16


def test_modes_of_torch_are_left_to_torch(layer, x):
    assert torch.func.vmap(layer)(x[:4].unsqueeze(1)).shape == (4, 1, 16, 16)
    assert torch.func.jacrev(lambda row: layer(row).sum((1, 2)))(x[:2]).shape == (2, 2, 16, 16)
    with torch.no_grad():
        assert torch.func.vmap(layer)(x[:4].unsqueeze(1)).shape == (4, 1, 16, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    with FlopCounterMode(display=False) as counter:
        layer(x)
    assert counter.get_total_flops() > 0
    assert layer.to("meta")(x.to("meta")).device.type == "meta"


@pytest.mark.parametrize("following", [True, False])
def test_tensors_without_numbers_are_left_to_torch(following, x):
    layer = mnn.NdLinear(*SIZES)
    with torch.set_grad_enabled(following):
        torch.testing.assert_close(torch.func.functionalize(layer)(x), layer(x), rtol=SUMS32, atol=SUMS32)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("following", [True, False])
def test_forward_mode_derivatives_are_left_to_torch(following, x):
    layer = mnn.NdLinear(*SIZES)
    with forward_ad.dual_level(), torch.set_grad_enabled(following):
        out = layer(forward_ad.make_dual(x, torch.ones_like(x)))
        tangent = forward_ad.unpack_dual(out).tangent
    expected = layer(x + 1) - layer(x)  # the layer is affine
    torch.testing.assert_close(tangent, expected, rtol=SUMS32, atol=SUMS32)


def test_where_it_does_not_pay_it_is_not_used():
    assert chains.nd_linear_chain(((197, 197), (64, 64)), 16, "ascending") is None
    assert chains.tensor_train_chain(((1, 32, 32, 32), (32, 32, 32, 1)), 1024, True) is None
    assert chains.tensor_train_chain(((1, 64, 64, 1),), 64, True) is None
    assert chains.nd_linear_chain(((2, 2),) * 17, 16, None) is None
