"""The vision transformer: published counts, every part by hand, every place of the layer with its dense twin."""

import pytest
import torch
from torch.nn import functional as F

from multiway.errors import ConfigError, ShapeError
from multiway.models import VisionTransformer, create_model
from multiway.models.vision_transformer import image_patches
from multiway_papers.networks.sizes import vision_transformer
from tolerances import assert_same

IMAGE = {"sizes": (6, 4), "in_channels": 3, "num_classes": 5}
SMALL = {"patch_size": 2, "dim": 8, "num_blocks": 1}
BLOCK = {"num_heads": 2, "norm_first": True, "dropout": 0.0, "feed_forward": {"hidden": (7,)}}


def build(**fields: object) -> VisionTransformer:
    torch.manual_seed(1)
    model = create_model("vision_transformer", **(IMAGE | SMALL | {"block": BLOCK} | fields))
    assert isinstance(model, VisionTransformer)
    return model.double().eval()


def images(generator: torch.Generator, count: int = 3) -> torch.Tensor:
    return torch.randn(count, 3, 6, 4, generator=generator, dtype=torch.float64)


def count(name: str = "vision_transformer", **fields: object) -> int:
    with torch.device("meta"):
        model = create_model(name, **fields)
    return sum(parameter.numel() for parameter in model.parameters())


def student(width: int, depth: int, **feed_forward: object) -> int:
    fields = vision_transformer(width) | {"num_blocks": depth}
    if feed_forward:
        fields["block"] = fields["block"] | {"feed_forward": feed_forward}
    return count(**fields)


@pytest.mark.parametrize(
    ("depth", "nd", "naive", "printed"),
    [
        (3, (1_675_366, 2_689_966, 3_824_566), 5_115_190, ("1.68", "5.12")),
        (6, (3_152_986, 5_084_086, 7_255_186), 9_738_334, ("3.15", "9.74")),
        (9, (4_630_606, 7_478_206, 10_685_806), 14_361_478, ("4.63", "14.36")),
    ],
)
def test_parameters_are_those_of_figure_18(depth, nd, naive, printed):
    assert tuple(student(width, depth) for width in (200, 300, 400)) == nd
    assert count("vision_transformer_naive", num_blocks=depth) == naive
    assert (f"{nd[0] / 1e6:.2f}", f"{naive / 1e6:.2f}") == printed


@pytest.mark.parametrize("depth", [3, 6, 9])
@pytest.mark.parametrize("width", [200, 300, 400])
def test_twins_of_table_7_have_as_many_parameters(width, depth):
    """A map (d, 1) to (d, 1) is one of d features, with a factor and a shift of its own."""
    nd = student(width, depth)
    dense = student(width, depth, hidden=(width,))
    bottleneck = student(width, depth, layer="low_rank", rank=width // 2, hidden=(width,))
    assert nd - dense == nd - bottleneck == 4 * depth


def test_a_published_map_is_a_dense_one(generator):
    """With axes (d, 1) the layer of table 7 computes what a dense layer of as many features does."""
    model = build(block=BLOCK | {"feed_forward": {"layer": "nd_linear", "sizes": (8, 1), "hidden": (8, 1)}})
    layer = model.blocks[0].feed_forward.up
    with torch.no_grad():
        for bias in layer.biases:
            bias.uniform_(-1, 1)
    x = torch.randn(4, 8, generator=generator, dtype=torch.float64)
    weight, (factor, shift) = layer.weights[0], (layer.weights[1].squeeze(), layer.biases[1])
    assert_same(layer(x[..., None])[..., 0], F.linear(x, factor * weight, factor * layer.biases[0] + shift))


def test_patches_are_cut_row_by_row(generator):
    x = images(generator)
    unfolded = F.unfold(x, 2, stride=2)  # (batch, channels × rows × columns, patches)
    assert_same(image_patches(x, 2), unfolded.unflatten(1, (3, 2, 2)).permute(0, 4, 2, 3, 1))


def test_the_whole_by_hand(generator):
    model, x = build(), images(generator)
    patches = model.patch_norm(image_patches(x, 2).flatten(2))
    tokens = model.token_norm(model.patches.layer(patches))
    tokens = torch.cat([model.class_token.expand(3, 1, 8), tokens], 1) + model.places
    block = model.blocks[0]
    tokens = tokens + block.attention(block.norms[0](tokens))
    tokens = tokens + block.feed_forward(block.norms[1](tokens))
    assert_same(model(x), model.head.layer(model.norm(tokens)[:, 0]))


def test_patches_by_axes(generator):
    model, x = build(patches="nd_linear"), image_patches(images(generator), 2)
    rows, columns, channels = model.patches.weights
    assert [tuple(weight.shape) for weight in model.patches.weights] == [(1, 2), (1, 2), (8, 3)]
    expected = torch.einsum("bnrsc,r,s,dc->bnd", x, rows[0], columns[0], channels)
    assert_same(model.patches(x).flatten(2), expected)


def test_tokens_by_features_at_once(generator):
    pair = {"feed_forward": {"layer": "nd_linear", "hidden": (5, 9)}}
    model = build(mixing="tokens", pooling="mean", block=BLOCK | pair)
    x = torch.randn(3, 6, 8, generator=generator, dtype=torch.float64)
    mixing = model.blocks[0].feed_forward
    up, down = ([weight for weight in each.weights] for each in (mixing.mix.up, mixing.mix.down))
    hidden = F.gelu(torch.einsum("btd,st,ed->bse", x, *up))
    assert_same(mixing(x), torch.einsum("bse,ts,de->btd", hidden, *down))


def test_dense_mixing_is_one_matrix_of_everything():
    model = build(mixing="tokens", block=BLOCK | {"feed_forward": {"hidden": (11,)}})
    assert model.blocks[0].feed_forward.mix.up.layer.weight.shape == (11, 7 * 8)


def test_the_head_on_the_grid(generator):
    model, x = build(pooling="grid", head="nd_linear"), images(generator)
    seen = []
    model.norm.register_forward_hook(lambda _module, _args, out: seen.append(out))
    logits = model(x)
    rows, columns, features = model.head.weights
    assert_same(logits, torch.einsum("brsd,r,s,cd->bc", seen[0].unflatten(1, (3, 2)), rows[0], columns[0], features))
    dense = build(pooling="grid")
    assert dense.head.layer.weight.shape == (5, 3 * 2 * 8)


def test_the_mean_of_tokens(generator):
    model, x = build(pooling="mean", num_blocks=0), images(generator)
    tokens = model.token_norm(model.patches.layer(model.patch_norm(image_patches(x, 2).flatten(2)))) + model.places
    assert model.class_token is None
    assert_same(model(x), model.head.layer(model.norm(tokens).mean(1)))


def test_the_projection_after_the_attention():
    model = build(block=BLOCK | {"output": "nd_linear"})
    assert [tuple(weight.shape) for weight in model.blocks[0].attention.output.weights] == [(2, 2), (4, 4)]


def test_images_are_brought_to_another_size(generator):
    model, x = build(resize=8, patch_size=4), images(generator)
    same = build(sizes=(8, 8), patch_size=4)
    assert_same(model(x), same(F.interpolate(x, (8, 8), mode="bilinear")))


def test_what_is_not_given_of_a_block_is_as_usual():
    block = build(block={"feed_forward": {"hidden": (7,)}}).config.block
    assert (block.norm_first, block.num_heads, block.feed_forward.hidden) == (True, 4, (7,))


@pytest.mark.parametrize("pooling", ["class_token", "mean", "grid"])
def test_an_image_alone_as_in_a_batch(pooling, generator):
    model, x = build(pooling=pooling, head="linear"), images(generator)
    assert_same(model(x)[1:2], model(x[1:2]))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"patch_size": 4}, r"patch_size must divide height and width of an image, 6 x 4\. Got 4"),
        ({"dim": 9}, r"dim must be a multiple of block\.num_heads\. Got 9 and 2"),
        ({"block": BLOCK | {"causal": True}}, r"block\.causal is for texts"),
        (
            {"patches": "low_rank"},
            r"patches_rank is for tensor_train and low_rank, which need one\. Got low_rank, patches_rank=None",
        ),
        ({"head_rank": 2}, r"head_rank is for tensor_train and low_rank, which need one\. Got linear, head_rank=2"),
        ({"block": BLOCK | {"feed_forward": {"sizes": (3, 2), "hidden": (7,)}}}, r"multiply to dim=8\. Got \(3, 2\)"),
        (
            {"mixing": "tokens", "block": BLOCK | {"feed_forward": {"sizes": (8,), "hidden": (7,)}}},
            r"sizes are tokens by features with mixing tokens\. Got \(8,\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused(fields, words):
    with pytest.raises(ConfigError, match=words):
        build(**fields)


def test_other_images_are_refused(generator):
    with pytest.raises(ShapeError, match=r"3 channels and sizes \(6, 4\)\. Got \(3, 3, 4, 6\)\."):
        build()(images(generator).transpose(2, 3))


def test_a_teachers_token_is_there_in_training_alone():
    model = create_model("vision_transformer", sizes=(8, 8), dim=8, num_blocks=1, distill_token=True)
    plain = create_model("vision_transformer", sizes=(8, 8), dim=8, num_blocks=1)
    x = torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    plain.load_state_dict({name: value for name, value in model.state_dict().items() if "distill" not in name})
    torch.testing.assert_close(model.eval()(x), plain.eval()(x))
    labels, teacher = model.train()(x)
    assert labels.shape == teacher.shape == (3, 10)
    teacher.sum().backward()
    assert model.distill_token.grad.abs().max() > 0 and model.head.layer.weight.grad is None
    model.zero_grad()
    model(x)[0].sum().backward()
    assert model.distill_head.weight.grad is None and model.distill_token.grad.abs().max() > 0


def test_tokens_are_dropped_before_the_first_block_in_training():
    model = create_model("vision_transformer", sizes=(8, 8), dim=64, num_blocks=0, embedding_dropout=0.3)
    seen = []
    model.dropout.register_forward_hook(lambda _module, args, out: seen.append((out == 0).float().mean()))
    x = torch.randn(16, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    model.train()(x)
    model.eval()(x)
    assert seen == [pytest.approx(0.3, abs=0.03), 0.0]


def test_a_teachers_token_needs_a_class_token():
    with pytest.raises(ConfigError, match="distill_token needs a class token"):
        create_model("vision_transformer", distill_token=True, pooling="mean")
