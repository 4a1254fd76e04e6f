import itertools

import pytest
import torch
from torch import Tensor

from multiway.errors import ConfigError, ShapeError
from multiway.models import HOTVolumeClassifier, HOTVolumeClassifierConfig, create_model
from tolerances import assert_same

SIZES = (9, 13, 17)  # 3, 4 and 5 tokens
ORDERS = [(), (0,), (0, 1), (0, 1, 2)]


def small(**fields: object) -> HOTVolumeClassifier:
    """A tiny classifier in float64 and eval mode."""
    torch.manual_seed(3)
    base = {"sizes": SIZES, "in_channels": 2, "num_classes": 3, "dim": 16, "num_heads": 2, "stem_channels": 8}
    return HOTVolumeClassifier(HOTVolumeClassifierConfig.parse(base | {"dropout": 0.3} | fields)).double().eval()


def volumes(generator: torch.Generator, batch: int = 3) -> Tensor:
    return torch.randn(batch, 2, *SIZES, generator=generator, dtype=torch.float64)


def count(model: torch.nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_the_size_that_the_paper_publishes():
    stem = 5**3 * 64 + 5**3 * 64 * 256 + 2 * (64 + 256)
    attention = 3 * 2 * 256**2 + 2 * (256**2 + 256)  # Q and K per mode, V and O
    scales = 3 * 2 * 32 + 3 * 8  # of normalised queries and keys, and temperatures
    swiglu = 3 * 256 * 1024
    expected = stem + 4 * (attention + scales + swiglu + 2 * 256) + 256 + 256 * 2 + 2
    assert round(expected / 1e6) == 7
    assert count(create_model("hot_volume_classifier_7m")) == expected


def test_the_form_in_print_has_the_published_count():
    stem = 5**3 * 88 + 5**3 * 88 * 256 + 2 * (88 + 256)
    attention = 4 * (256**2 + 256)  # one Q, K, V, O for all modes, with biases
    expected = stem + 4 * (attention + 3 * 256 * 1024 + 2 * 256) + 256 + 256 * 2 + 2
    model = create_model("hot_volume_classifier_paper")
    assert count(model) == expected == 7_028_906
    assert (model.config.preset, model.config.feature_map, model.config.pooling) == ("paper", "smreg", "mean")


def test_the_default_is_below_a_million():
    assert count(create_model("hot_volume_classifier")) < 1_000_000


def test_every_order_of_attention_has_as_many_parameters():
    assert len({count(small(attended_modes=modes)) for modes in ORDERS}) == 1


def test_the_printed_form_has_one_query_and_key_for_all_modes():
    default, printed = (count(create_model("hot_volume_classifier_7m", preset=name)) for name in ("trainable", "paper"))
    scales = 3 * 2 * 32 + 3 * 8
    assert default - printed == 4 * (2 * 2 * 256**2 + scales - 2 * 256)  # the one pair has biases
    assert (round(default / 1e6, 1), round(printed / 1e6, 1)) == (7.3, 6.3)


def test_full_attention_has_fewer_parameters_than_the_default():
    kinds = (create_model("hot_volume_classifier", attention=kind) for kind in ("kronecker", "full"))
    assert [round(count(model) / 1e6, 2) for model in kinds] == [0.34, 0.27]


@pytest.mark.parametrize(
    "fields",
    [
        *({"attended_modes": modes} for modes in ORDERS),
        {"pooling": "flatten"},
        {"preset": "paper", "feature_map": "smreg"},
        {"combine": "sum", "preset": "per_mode"},
        {"attention": "full"},
        {"attention": "full", "feature_map": "smreg"},
        {"norm": "layer", "kernel_size": 5},
        *({"mode_pooling": pooling} for pooling in ("sum", "max", "learned")),
    ],
    ids=str,
)
def test_a_sample_alone_is_as_in_a_batch_and_every_used_weight_has_a_gradient(generator, fields):
    model, x = small(**fields), volumes(generator)
    together = model(x)
    assert_same(torch.cat([model(x[i : i + 1]) for i in range(3)]), together)
    together.square().sum().backward()
    grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert all(grad.isfinite().all() for grad in grads.values())
    assert {"head.weight", "stem.layers.0.0.weight", "blocks.1.attention.out.weight"} <= {
        name for name, grad in grads.items() if grad.any()
    }


def test_the_attention_pools_as_the_config_says():
    for pooling in ("mean", "sum", "max", "learned"):
        assert {block.attention.pooling for block in small(mode_pooling=pooling).blocks} == {pooling}


@pytest.mark.parametrize("modes", ORDERS, ids=str)
def test_tokens_exchange_information_only_along_attended_modes(generator, modes):
    """Seen behind the stem, whose convolutions and norms mix tokens on their own."""
    model = small(attended_modes=modes, num_blocks=1, preset="paper")
    attention = model.blocks[0].attention
    torch.nn.init.zeros_(attention.query_key[0].weight)  # even weights, whatever the tokens
    tokens = torch.randn(1, 3, 4, 5, 16, generator=generator, dtype=torch.float64)
    changed = tokens.clone()
    changed[0, 1, 2, 3] += torch.randn(16, generator=generator, dtype=torch.float64)
    moved = (model.blocks[0](tokens) - model.blocks[0](changed)).abs().sum(-1)[0] > 1e-9
    for index in itertools.product(range(3), range(4), range(5)):
        reached = all(here == there for mode, (here, there) in enumerate(zip(index, (1, 2, 3), strict=True))
                      if mode not in modes)  # fmt: skip
        assert bool(moved[index]) == reached, index


def test_maps_are_one_per_mode_and_their_logits_those_of_forward(generator):
    model, x = small(), volumes(generator)
    logits, maps = model.forward_with_maps(x)
    assert_same(logits, model(x))
    assert [[tuple(item.shape) for item in block] for block in maps] == [[(3, 2, n, n) for n in (3, 4, 5)]] * 2
    for item in itertools.chain.from_iterable(maps):
        assert_same(item.sum(-1), torch.ones_like(item[..., 0]))
        assert (item > 0).all()


def test_features_and_head_make_the_logits(generator):
    for pooling in ("mean", "flatten"):
        model, x = small(pooling=pooling), volumes(generator)
        features = model.forward_features(x)
        rows = features.reshape(3, -1) if pooling == "flatten" else features.reshape(3, -1, 16).sum(1) / 60
        assert_same(rows @ model.head.weight.T + model.head.bias, model(x))


def test_checkpointing_changes_neither_values_nor_gradients(generator):
    x = volumes(generator)
    results = []
    for repeated in (False, True):
        model = small(checkpoint=repeated).train()
        torch.manual_seed(5)  # dropout, drawn again in the backward pass
        out = model(x)
        results.append([out, *torch.autograd.grad(out.square().sum(), list(model.parameters()))])
    for plain, recomputed in zip(*results, strict=True):
        torch.testing.assert_close(recomputed, plain, rtol=0, atol=0)


def test_checkpointing_keeps_less_between_forward_and_backward(generator):
    def kept(model: torch.nn.Module) -> int:
        seen: dict[int, int] = {}

        def note(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            seen[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            model.train()(volumes(generator, batch=8))
        return sum(seen.values())

    assert kept(small(checkpoint=True)) < kept(small()) / 3


def test_a_model_is_rebuilt_from_its_config_and_weights(generator):
    model, x = small(), volumes(generator)
    twin = HOTVolumeClassifier(HOTVolumeClassifierConfig.parse(model.config.plain())).double().eval()
    twin.load_state_dict(model.state_dict())
    torch.testing.assert_close(twin(x), model(x), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("shape", "got"),
    [((1, 2, 9, 13), r"\(1, 2, 9, 13\)"), ((1, 1, 9, 13, 17), "2 channels"), ((1, 2, 9, 17, 13), "sizes")],
)
def test_a_misfit_names_sizes_and_order(shape, got):
    with pytest.raises(ShapeError, match=rf"HOTVolumeClassifier: x must be .*{got}"):
        small()(torch.zeros(shape, dtype=torch.float64))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dim": 18, "num_heads": 4}, "dim must be an even multiple of num_heads"),
        ({"attended_modes": (0, 3)}, r"attended_modes must be some of \(0, 1, 2\)"),
        ({"attended_modes": (1, 0)}, "in order"),
        ({"sizes": (0, 4, 4)}, "sizes must be positive"),
        ({"kernel_size": 4}, "kernel_size"),
        ({"num_clases": 4}, "did you mean num_classes"),
    ],
)
def test_a_config_that_cannot_be_built_says_why(fields, words):
    with pytest.raises(ConfigError, match=words):
        create_model("hot_volume_classifier", **fields)


def test_full_attention_has_no_map_per_mode(generator):
    with pytest.raises(ConfigError, match="maps per mode exist only where attention is 'kronecker'"):
        small(attention="full").forward_with_maps(volumes(generator))
