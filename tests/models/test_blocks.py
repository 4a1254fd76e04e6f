"""Fields that the configs of all Higher-Order Transformers share: each does what it says, in every model and form."""

import itertools

import pytest
import torch
from torch import Tensor

from multiway import nn
from multiway.errors import ConfigError
from multiway.models import create_model
from multiway.models.blocks import checkpoint_part
from tolerances import assert_same

SIZES = {
    "hot_forecaster": {
        "num_variates": 5, "lookback": 12, "horizon": 7, "patch_length": 4,
        "linear_floor": "none", "window_norm": "none",
    },
    "hot_volume_classifier": {"sizes": (9, 13, 17), "stem_channels": 8},
    "hot_stock_classifier": {"num_stocks": 5, "num_slots": 3, "modality": "price"},
}  # fmt: skip
FORMS = [*itertools.product(("kronecker", "full"), ("softmax", "smreg"))]
ORDERED = {"hot_forecaster": (1,), "hot_volume_classifier": (0, 1, 2), "hot_stock_classifier": (1,)}
KINDS = (nn.KroneckerAttention, nn.FullAttention)
every_model = pytest.mark.parametrize("name", SIZES)
every_form = pytest.mark.parametrize(("attention", "feature_map"), FORMS, ids=str)


def small(name: str, **fields: object) -> torch.nn.Module:
    torch.manual_seed(3)
    base = SIZES[name] | {"dim": 16, "num_heads": 2, "num_blocks": 2, "dropout": 0.0}
    return create_model(name, **base | fields).double().eval()


def inputs(name: str, generator: torch.Generator) -> tuple[Tensor, ...]:
    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    if name == "hot_stock_classifier":
        return draw(2, 5, 3, 3), torch.ones(2, 5, 3, dtype=torch.bool), draw(2, 3, 3)
    return (draw(2, 12, 5),) if name == "hot_forecaster" else (draw(2, 1, 9, 13, 17),)


def attentions(model: torch.nn.Module) -> list[torch.nn.Module]:
    return [module for module in model.modules() if isinstance(module, KINDS)]


def names(model: torch.nn.Module) -> str:
    return " ".join(name for name, _ in model.named_parameters())


@every_model
@every_form
def test_rotary_turns_along_the_modes_with_an_order_or_along_none(name, attention, feature_map, generator):
    given = {"attention": attention, "feature_map": feature_map}
    models = [small(name, **given, rotary=rotary) for rotary in (True, False)]
    models[1].load_state_dict(models[0].state_dict())
    assert [layer.rotary_modes for layer in attentions(models[0])] == [ORDERED[name]] * 2
    assert [layer.rotary_modes for layer in attentions(models[1])] == [()] * 2
    batch = inputs(name, generator)
    assert not torch.allclose(*(model(*batch) for model in models))


@every_form
def test_without_rotary_the_forecaster_does_not_know_the_order_of_patches(attention, feature_map, generator):
    (past,) = inputs("hot_forecaster", generator)
    other = past.unflatten(1, (3, 4)).flip(1).flatten(1, 2)
    for rotary in (True, False):
        model = small("hot_forecaster", attention=attention, feature_map=feature_map, rotary=rotary, pooling="mean")
        assert torch.allclose(model(past), model(other)) != rotary


@every_model
@every_form
@pytest.mark.parametrize("preset", ["paper", "per_mode", "trainable"])
def test_queries_and_keys_are_normalised_as_the_preset_says_or_as_told(name, attention, feature_map, preset):
    given = {"attention": attention, "feature_map": feature_map, "preset": preset}
    wanted = {"paper": None, "per_mode": "layer", "trainable": "rms"}[preset]
    for told, expected in ((None, wanted), ("none", None), ("rms", "rms"), ("layer", "layer")):
        for layer in attentions(small(name, **given, qk_norm=told)):
            kinds = {norm.kind for pair in layer.norms or [] for norm in pair}
            assert kinds == ({expected} if expected else set())


@every_model
@every_form
def test_a_block_may_lack_either_half(name, attention, feature_map, generator):
    given = {"attention": attention, "feature_map": feature_map}
    mixing, feeding = (small(name, **given, **{half: False}) for half in ("use_ffn", "use_attention"))
    assert "ffn" not in names(mixing)
    assert "attention" not in names(feeding)
    for model in (mixing, feeding):
        out = model(*inputs(name, generator))
        out.square().sum().backward()
        assert out.isfinite().all()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters() if p.requires_grad)


@every_model
def test_a_block_without_attention_is_its_swiglu_alone(name, generator):
    block = small(name, use_attention=False).get_submodule(
        "decoder.blocks.1" if name == "hot_stock_classifier" else "blocks.1"
    )
    x = torch.randn(2, 3, 5, 16, generator=generator, dtype=torch.float64)
    assert_same(block(x), x + block.ffn(block.ffn_norm(x)))


@every_model
@every_form
def test_a_block_without_a_swiglu_is_its_attention_alone(name, attention, feature_map, generator):
    model = small(name, attention=attention, feature_map=feature_map, use_ffn=False)
    block = model.get_submodule("decoder.blocks.1" if name == "hot_stock_classifier" else "blocks.1")
    x = torch.randn(2, *(3, 5, 2)[: block.attention.num_modes], 16, generator=generator, dtype=torch.float64)
    assert_same(block(x), x + block.attention(block.attention_norm(x)))


@every_model
def test_without_attention_there_are_no_maps(name, generator):
    model = small(name, use_attention=False)
    with pytest.raises(
        ConfigError, match=r"maps per mode exist only where attention is 'kronecker'.*use_attention=False"
    ):
        model.forward_with_maps(*inputs(name, generator))


@every_model
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"use_attention": False, "use_ffn": False},
            "use_attention and use_ffn must not both be false. Set num_blocks",
        ),
        ({"dim": 18, "num_heads": 2}, "dim must be an even multiple of num_heads"),
        ({"dim": 18, "num_heads": 4, "rotary": False}, "dim must be a multiple of num_heads"),
    ],
    ids=str,
)
def test_a_contradiction_is_named(name, fields, words):
    with pytest.raises(ConfigError, match=words):
        small(name, **fields)


def test_without_rotary_a_head_may_be_odd():
    assert len(attentions(small("hot_forecaster", dim=18, num_heads=2, rotary=False))) == 2


def test_full_attention_over_three_modes_needs_a_pair_of_features_for_each():
    words = "dim must be at least 6 times num_heads, as full attention turns a pair of features along each of 3 modes"
    with pytest.raises(ConfigError, match=words):
        small("hot_volume_classifier", attention="full", num_heads=4)
    small("hot_volume_classifier", attention="full", num_heads=4, rotary=False)


def test_texts_reach_prices_by_attention_alone():
    with pytest.raises(ConfigError, match="modality='multimodal' needs use_attention"):
        small("hot_stock_classifier", modality="multimodal", use_attention=False)


@pytest.mark.parametrize(("frugal", "grad", "calls"), [(False, True, 1), (True, True, 2), (True, False, 1)])
def test_a_part_is_recomputed_for_the_gradient_where_that_is_set(frugal, grad, calls, generator):
    part, seen = torch.nn.Linear(5, 3), []
    part.register_forward_pre_hook(lambda *given: seen.append(1))
    x = torch.randn(7, 5, generator=generator).requires_grad_()
    with torch.set_grad_enabled(grad):
        out = checkpoint_part(part, x, when=frugal)
        if grad:
            out.square().sum().backward()
    assert len(seen) == calls and torch.equal(out, part(x))
