import pytest
import torch
from torch import nn

from multiway.errors import ConfigError, ShapeError
from multiway.models import create_model
from tolerances import ROUNDING32, ROUNDING64

LOW_RANK = {"layer": "low_rank", "hidden": (256,)}


def count(name, **fields):
    return sum(each.numel() for each in create_model(name, **fields).parameters())


@pytest.mark.parametrize(("classes", "nd_linear", "dense"), [(10, 64_858, 1_070_986), (100, 433_588, 1_094_116)])
def test_parameters_are_those_of_table_2(classes, nd_linear, dense):
    assert count("cnn_image_classifier_paper", num_classes=classes) == nd_linear
    assert count("cnn_image_classifier_dense", num_classes=classes) == dense


@pytest.mark.parametrize(("classes", "width", "rank", "counts"), [
    (10, 11, 10, (64_771, 65_930)), (100, 99, 89, (435_187, 432_868)),
])  # fmt: skip
def test_twins_have_as_many_parameters_within_two_per_cent(classes, width, rank, counts):
    dense = count("cnn_image_classifier_dense", num_classes=classes, hidden=(width,))
    low_rank = count("cnn_image_classifier_paper", num_classes=classes, rank=rank, **LOW_RANK)
    wanted = count("cnn_image_classifier_paper", num_classes=classes)
    assert (dense, low_rank) == counts
    assert max(abs(each - wanted) for each in counts) <= 0.02 * wanted


def test_the_network_is_that_of_the_paper_in_values_and_gradients():
    """Written out with torch's layers in the order of the paper: rectified before the maxima."""
    model = create_model("cnn_image_classifier_paper", dropout=0, logit_dropout=0).train().double()
    (first, norm, *_), (second, other, *_) = model.stages
    pooled = nn.Sequential(
        first, norm, nn.ReLU(), nn.MaxPool2d(2), second, other, nn.ReLU(), nn.MaxPool2d(2), model.hidden, nn.ReLU(),
        nn.Flatten(), model.head,
    )  # fmt: skip
    x = torch.randn(5, 3, 32, 32, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = []
    for network in (model, pooled):
        model.zero_grad()
        out = network(x)
        out.square().sum().backward()
        found.append([out.detach(), *(each.grad.clone() for each in model.parameters())])
    largest = max(float(each.abs().max()) for each in found[1])  # a bias under batch normalisation has none
    for left, right in zip(*found, strict=True):
        torch.testing.assert_close(left, right, rtol=ROUNDING64, atol=ROUNDING64 * largest)


@pytest.mark.parametrize(("name", "drops", "keeps"), [
    ("cnn_image_classifier_dense", "hidden_dropout", "logit_dropout"),
    ("cnn_image_classifier_paper", "logit_dropout", "hidden_dropout"),
])  # fmt: skip
def test_each_network_of_table_2_drops_what_the_public_code_drops(name, drops, keeps):
    """src/cnn_img_classification.py: the dense network its 256 hidden features, the other one its logits."""
    model, shares = create_model(name).train(), {}
    for part in (drops, keeps):
        getattr(model, part).register_forward_hook(share_dropped(shares, part))
    model(torch.randn(64, 3, 32, 32, generator=torch.Generator().manual_seed(0)))
    assert shares == {drops: pytest.approx(0.3, abs=0.08), keeps: 0.0}


def share_dropped(shares, part):
    """A hook that writes down which share of the values that are not zero becomes so."""

    def hook(_module, args, out):
        alive = args[0] != 0
        shares[part] = float((out[alive] == 0).float().mean())

    return hook


def test_a_sample_depends_on_itself_alone_in_training():
    model = create_model("cnn_image_classifier", sizes=(8, 8), channels=(4,), dropout=0, logit_dropout=0).train()
    x = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(model(x)[:1], model(x[:1]), rtol=ROUNDING32, atol=ROUNDING32)


@pytest.mark.parametrize(
    "fields",
    [
        {"layer": "linear"},
        {"layer": "tensor_train", "rank": 3},
        {"layer": "low_rank", "rank": 2},
        {"hidden": (6, 4, 2)},
    ],
)
def test_every_layer_gives_logits_and_gradients(fields):
    model = create_model("cnn_image_classifier", sizes=(8, 12), in_channels=1, channels=(4, 8), num_classes=3, **fields)
    out = model(torch.randn(2, 1, 8, 12))
    out.sum().backward()
    assert out.shape == (2, 3)
    assert all(each.grad is not None for each in model.parameters())


def test_where_a_thing_lies_changes_nothing():
    """A sprite well within the image, moved by whole cells of the last convolution, has the same logits."""
    model = create_model("cnn_image_classifier", sizes=(32, 40), channels=(4, 6), num_classes=3).eval().double()
    image = torch.zeros(1, 3, 32, 40, dtype=torch.float64)
    image[..., 12:17, 12:19] = torch.randn(1, 3, 5, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    moved = image.roll((4, 8), (-2, -1))
    for norm in (stage[1] for stage in model.stages):
        norm.weight.data.uniform_(0.5, 2)
    torch.testing.assert_close(model(moved), model(image), rtol=ROUNDING64, atol=ROUNDING64)
    whole = create_model("cnn_image_classifier", sizes=(32, 40), channels=(4, 6), num_classes=3, pooling="none")
    assert not torch.allclose(whole.double().eval()(moved), whole(image))


def test_the_head_maps_each_axis_of_the_features():
    """NdLinear, section 3.4: learnt pooling over both sizes, and channels to classes."""
    fields = {"sizes": (8, 12), "channels": (4, 8), "num_classes": 3, "place": "head", "pooling": "none"}
    model = create_model("cnn_image_classifier", **fields).eval()
    seen = []
    model.stages[-1].register_forward_hook(lambda _module, _args, out: seen.append(out))
    logits = model(torch.randn(2, 3, 8, 12))
    channels, rows, columns = model.head.weights
    assert [tuple(each.shape) for each in model.head.weights] == [(3, 8), (1, 2), (1, 3)]
    expected = torch.einsum("bchw,kc,h,w->bk", seen[0], channels, rows[0], columns[0])
    torch.testing.assert_close(logits, expected, rtol=ROUNDING32, atol=ROUNDING32)
    dense = create_model("cnn_image_classifier", layer="linear", **fields)
    assert dense.head.layer.weight.shape == (3, 8 * 2 * 3)
    with pytest.raises(ConfigError, match=r"with head there is no hidden layer\. Got \(5,\)"):
        create_model("cnn_image_classifier", hidden=(5,), **fields)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError, match=r"3 channels and sizes \(32, 32\). Got \(2, 32, 32, 3\)"):
        create_model("cnn_image_classifier")(torch.zeros(2, 32, 32, 3))
    with pytest.raises(ConfigError, match=r"images must be 8 pixels wide or more\. Got \(7, 32\)"):
        create_model("cnn_image_classifier", sizes=(7, 32))
