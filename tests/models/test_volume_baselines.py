import pytest
import torch
from safetensors.torch import load, save

import children
from multiway.errors import ConfigError, ShapeError
from multiway.models import CNNVolumeClassifier, create_model
from multiway_papers.peers import ResNet3D
from tolerances import assert_same

SIZES = (9, 8, 16)


def small_cnn(**fields: object) -> CNNVolumeClassifier:
    torch.manual_seed(3)
    base = {"sizes": (5, 8, 7), "in_channels": 2, "num_classes": 3, "channels": (4, 6)}
    model = create_model("cnn_volume_classifier", **(base | fields))
    assert isinstance(model, CNNVolumeClassifier)
    return model.double().eval()


def count(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.fixture(scope="module")
def resnet() -> ResNet3D:
    pytest.importorskip("monai")
    torch.manual_seed(3)
    model = create_model("resnet18_3d", sizes=SIZES, in_channels=2, num_classes=3)
    assert isinstance(model, ResNet3D)
    return model.eval()


def test_the_small_cnn_is_of_the_size_of_the_small_hot_classifier():
    assert 0.9 < count(create_model("cnn_volume_classifier")) / count(create_model("hot_volume_classifier")) < 1.1


def test_stages_then_the_mean_then_the_head(generator):
    model = small_cnn()
    x = torch.randn(3, 2, 5, 8, 7, generator=generator, dtype=torch.float64)
    features = model.stages[1](model.stages[0](x))
    assert features.shape == (3, 6, 2, 2, 2)  # halved twice, odd sizes rounded up
    expected = features.flatten(2).mean(2) @ model.head.weight.T + model.head.bias
    assert_same(model(x), expected)


def test_a_sample_of_the_cnn_depends_only_on_itself(generator):
    model = small_cnn(dropout=0.0).train()  # in training too, as its norms are over one sample
    x = torch.randn(3, 2, 5, 8, 7, generator=generator, dtype=torch.float64)
    together = model(x)
    for index in range(3):
        assert_same(model(x[index : index + 1])[0], together[index])


def test_checkpointing_the_cnn_changes_no_value_and_no_gradient(generator):
    model = small_cnn(dropout=0.3).train()
    repeated = CNNVolumeClassifier(model.config.replace(checkpoint=True)).double().train()
    repeated.load_state_dict(model.state_dict())
    x = torch.randn(3, 2, 5, 8, 7, generator=generator, dtype=torch.float64)
    results = []
    for each in (model, repeated):
        torch.manual_seed(11)
        out = each(x)
        results.append((out, *torch.autograd.grad(out.square().sum(), list(each.parameters()))))
    assert all(map(torch.equal, *results))


def test_a_saved_cnn_is_the_same_network(generator):
    model, other = small_cnn(), small_cnn(dropout=0.2)
    torch.nn.init.zeros_(other.head.weight)
    other.load_state_dict(load(save(model.state_dict())))
    x = torch.randn(3, 2, 5, 8, 7, generator=generator, dtype=torch.float64)
    assert torch.equal(other(x), model(x))


def test_the_resnet_is_medmnist_s_form(resnet):
    """Counted by hand: a first convolution of 3 voxels, four stages of two blocks, shortcuts without bias."""
    expected = 27 * 2 * 64 + 2 * 64
    narrow = 64
    for wide in (64, 128, 256, 512):
        expected += 27 * narrow * wide + 3 * 27 * wide * wide + 4 * 2 * wide
        expected += narrow * wide + 2 * wide if narrow != wide else 0
        narrow = wide
    assert count(resnet) == expected + 512 * 3 + 3


def test_the_resnet_halves_three_times_and_never_before(resnet):
    sizes = {}
    for name in ("conv1", "layer1", "layer4"):
        getattr(resnet.network, name).register_forward_hook(
            lambda _module, _inputs, out, name=name: sizes.update({name: tuple(out.shape[2:])})
        )
    logits = resnet(torch.zeros(1, 2, *SIZES))
    assert logits.shape == (1, 3)
    assert sizes == {"conv1": SIZES, "layer1": SIZES, "layer4": (2, 1, 2)}


def test_a_sample_of_the_resnet_depends_only_on_itself_under_eval(resnet, generator):
    x = torch.randn(2, 2, *SIZES, generator=generator)
    assert_same(resnet(x[:1]), resnet(x)[:1])


def test_resnet50_has_bottlenecks():
    pytest.importorskip("monai")
    model = create_model("resnet50_3d", sizes=SIZES)
    assert model.network.fc.in_features == 4 * 512
    assert [len(getattr(model.network, f"layer{stage}")) for stage in (1, 2, 3, 4)] == [3, 4, 6, 3]


@pytest.mark.parametrize(("name", "millions"), [("resnet18_3d", 33.1), ("resnet50_3d", 46.1)])
def test_resnets_of_volumes_are_larger_than_hot_s_table_2_says(name, millions):
    """That table has 12M and 26M."""
    pytest.importorskip("monai")
    assert round(count(create_model(name)) / 1e6, 1) == millions


def test_models_are_listed_without_monai(tmp_path):
    code = (
        "import sys; sys.modules['monai'] = None\n"
        "from multiway.models import create_model, list_models\n"
        "from multiway.errors import ConfigError\n"
        "try:\n    create_model('resnet18_3d')\n"
        "except ConfigError as error:\n    print(list_models('resnet*'), error)"
    )
    assert children.run_program(code, tmp_path).stdout.strip() == (
        "['resnet18_3d', 'resnet50_3d'] ResNet3D: resnet18_3d is built by MONAI, which is not installed. "
        "Run pip install 'multiway[volumes]'."
    )


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("cnn_volume_classifier", {"sizes": (0, 4, 4)}, r"sizes must be positive\. Got sizes=\(0, 4, 4\)"),
        ("cnn_volume_classifier", {"channels": ()}, r"one positive number per stage"),
        ("cnn_volume_classifier", {"kernel_size": 4}, r"kernel_size must be odd.*Got 4"),
        ("resnet18_3d", {"sizes": (4, 4, 0)}, r"sizes must be positive"),
        ("resnet18_3d", {"depth": 34}, "depth"),
    ],
    ids=str,
)
def test_a_config_that_does_not_fit_is_refused(name, fields, message):
    with pytest.raises(ConfigError, match=message):
        create_model(name, **fields)


def test_an_input_that_does_not_fit_is_refused(resnet):
    with pytest.raises(ShapeError, match=r"2 channels and sizes \(5, 8, 7\)\. Got \(3, 2, 5, 8, 8\)"):
        small_cnn()(torch.zeros(3, 2, 5, 8, 8))
    with pytest.raises(ShapeError, match=r"2 channels and sizes \(9, 8, 16\)\. Got \(2, 9, 8, 16\)"):
        resnet(torch.zeros(2, 9, 8, 16))


def test_one_small_volume_has_no_batch_statistics():
    pytest.importorskip("monai")
    model = create_model("resnet18_3d", sizes=(8, 8, 8)).train()
    with pytest.raises(ShapeError, match=r"more than one value per channel in training\. Got one volume"):
        model(torch.zeros(1, 1, 8, 8, 8))
