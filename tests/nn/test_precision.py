"""Layers on the meta device, and inputs of another type than their parameters."""

import pytest
import torch

from multiway.errors import DtypeError
from multiway.nn import (
    AdditiveAttention,
    FullAttention,
    FullKernelAttention,
    KroneckerAttention,
    LowRankLinear,
    NdLinear,
    TensorGraphAttention,
    TTLinear,
)
from multiway.nn.kronecker_attention import _check_tokens as check_tokens

TOKENS, SERIES, ROWS = (2, 3, 4, 16), (2, 7, 16), (5, 16)
FEATURES = ["softmax", "smreg", "positive", "elu"]


def kronecker(**options):
    return lambda **factory: KroneckerAttention(16, num_heads=2, num_modes=2, **options, **factory)


def graph(**options):
    return lambda **factory: TensorGraphAttention(16, **options, **factory)


LAYERS = {
    **{f"kronecker {name}": (kronecker(feature_map=name, rotary_modes=(1,)), TOKENS) for name in FEATURES},
    "kronecker per mode": (kronecker(preset="per_mode", dropout=0.1), TOKENS),
    "kronecker max": (kronecker(pooling="max"), TOKENS),
    "kronecker learned": (kronecker(pooling="learned"), TOKENS),
    "kronecker causal": (kronecker(causal_modes=(0,), attended_modes=(0,)), TOKENS),
    "kronecker beside causal": (kronecker(causal_modes=(0,)), TOKENS),
    "graph": (graph(num_heads=2), SERIES),
    "graph learnt": (graph(num_heads=2, learn_damping=True), SERIES),
    "graph banded": (graph(banded=True, causal=True), SERIES),
    "nd": (lambda **factory: NdLinear((2, 8), (3, 5), rank=2, **factory), (7, 2, 8)),
    "tt": (lambda **factory: TTLinear((2, 8), (3, 5), tt_ranks=2, **factory), ROWS),
    "low rank": (lambda **factory: LowRankLinear(16, 8, rank=2, **factory), ROWS),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_on_the_meta_device_tells_the_shape_and_type_of_its_output(name):
    make, shape = LAYERS[name]
    x = torch.randn(shape)
    real, found = make()(x), make(device="meta")(x.to("meta"))
    assert found.is_meta and (found.shape, found.dtype) == (real.shape, real.dtype)


RESET = {
    **LAYERS,
    "additive": (lambda **factory: AdditiveAttention(16, num_heads=2, **factory), SERIES),
    "full": (lambda **factory: FullAttention(16, num_heads=2, num_modes=2, qk_norm="layer", **factory), TOKENS),
    "full kernel": (lambda **factory: FullKernelAttention(16, num_heads=2, num_modes=2, **factory), TOKENS),
}


@pytest.mark.parametrize("name", RESET)
def test_a_layer_from_the_meta_device_is_filled_as_a_new_one_by_reset_parameters(name):
    """As FSDP does; what has one value at the start has it again, and what is drawn has the same spread."""
    make, shape = RESET[name]
    torch.manual_seed(0)
    real, layer = make(), make(device="meta").to_empty(device="cpu")
    for tensor in layer.state_dict().values():
        tensor.fill_(torch.nan)
    for module in layer.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
    for key, tensor in layer.state_dict().items():
        new = real.state_dict()[key]
        if new.unique().numel() == 1:
            torch.testing.assert_close(tensor, new, rtol=0, atol=0)
        else:
            assert 0.3 < tensor.norm() / new.norm() < 3
    assert layer(torch.randn(shape)).isfinite().all()


@pytest.mark.parametrize("pooling", ["mean", "max", "learned"])
def test_masks_and_maps_are_made_on_the_meta_device(pooling):
    x, valid = torch.empty(TOKENS, device="meta"), torch.empty(TOKENS[:-1], dtype=torch.bool, device="meta")
    out, maps = kronecker(pooling=pooling)(device="meta").forward_with_maps(x, valid=valid)
    assert out.shape == x.shape and [each.shape for each in maps] == [(2, 2, 3, 3), (2, 2, 4, 4)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16], ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_an_input_of_another_type_is_refused_in_one_line(name, dtype):
    make, shape = LAYERS[name]
    with pytest.raises(DtypeError, match=rf": x must have the type of .* torch\.float32\. Got {dtype}; convert one"):
        make()(torch.zeros(shape, dtype=dtype))


def test_a_context_of_another_type_is_refused():
    x = torch.zeros(TOKENS)
    with pytest.raises(DtypeError, match=r"KroneckerAttention: context must have the type"):
        kronecker()()(x, x.double())


def test_whole_numbers_and_masks_of_numbers_are_refused():
    x, weight, mask = torch.zeros(TOKENS), torch.zeros(16, 16), torch.ones(TOKENS[:-1])
    with pytest.raises(DtypeError, match=r"x must have the type .* Got torch\.int64; convert one of them"):
        check_tokens("x", x.long(), None, 2, weight)
    with pytest.raises(DtypeError, match=r"the mask of valid tokens of x must be boolean and .* Got torch\.float32"):
        check_tokens("x", x, mask, 2, weight)
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(DtypeError, match=r"Got torch\.int64"):
        check_tokens("x", x.long(), None, 2, weight)


@pytest.mark.parametrize("name", LAYERS)
def test_autocast_brings_types_together(name):
    make, shape = LAYERS[name]
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.isfinite(make()(torch.randn(shape).bfloat16())).all()
