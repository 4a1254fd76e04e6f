import copy

import pytest
import torch
from benchmarks.timing import saved_bytes
from safetensors.torch import load, save
from torch.nn import functional as F

from multiway.errors import ConfigError, ShapeError
from multiway.models import VolumeUNet, VolumeUNetConfig, create_model, sliding_window
from tolerances import assert_same

NAMES = ["hot_volume_unet", "volume_unet"]
SIZES = (4, 8, 12)
SUBSETS = [(), (1,), (0, 2), (0, 1, 2)]


def small(name: str = "hot_volume_unet", **fields: object) -> VolumeUNet:
    """A tiny U-Net in float64 and eval mode."""
    torch.manual_seed(3)
    base = {"in_channels": 2, "num_classes": 3, "channels": (4, 8, 16), "num_heads": 2}
    model = create_model(name, **(base | fields))
    assert isinstance(model, VolumeUNet)
    return model.double().eval()


def volumes(generator: torch.Generator, batch: int = 3, sizes: tuple[int, ...] = SIZES) -> torch.Tensor:
    return torch.randn(batch, 2, *sizes, generator=generator, dtype=torch.float64)


def count(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"channels": (8, 16, 32), "num_heads": 2},
        {"channels": (32, 64, 128, 256), "num_blocks": (0, 1, 2, 3)},
        {"num_blocks": (2, 2, 2), "ffn_multiple": 4},
        {"preset": "paper", "feature_map": "smreg"},
        {"attended_modes": (0,)},
        {"num_modes": 2},
    ],
    ids=str,
)
def test_the_plain_network_has_as_many_parameters(fields):
    ours, plain = (count(create_model(name, in_channels=3, **fields)) for name in NAMES)
    assert abs(plain / ours - 1) <= 0.02


def test_every_subset_of_modes_has_as_many_parameters():
    assert len({count(small(attended_modes=modes)) for modes in SUBSETS}) == 1


@pytest.mark.parametrize("name", NAMES)
def test_levels_and_skips_are_wired_as_a_u(generator, name):
    model, x = small(name, channels=(4, 8), num_blocks=(0, 1)), volumes(generator)
    state = dict(model.named_parameters())
    fine = model.encoder[0].entry(x)
    down = F.conv3d(fine, state["encoder.1.entry.0.weight"], state["encoder.1.entry.0.bias"], stride=2)
    coarse = model.encoder[1].entry[1](down)
    (block,) = model.encoder[1].blocks
    coarse = block.block(coarse.permute(0, 2, 3, 4, 1)).permute(0, 4, 1, 2, 3) if "hot" in name else block(coarse)
    up = F.conv_transpose3d(coarse, state["decoder.0.up.weight"], state["decoder.0.up.bias"], stride=2)
    merged = model.decoder[0].convolve(torch.cat([up, fine], dim=1))
    expected = torch.einsum("bcijk,oc->boijk", merged, state["head.weight"][..., 0, 0, 0])
    assert_same(model(x), expected + state["head.bias"].view(-1, 1, 1, 1))


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_depends_only_on_itself(generator, name):
    model, x = small(name), volumes(generator)
    together = model(x)
    assert together.shape == (3, 3, *SIZES)
    assert torch.equal(together, model(x))
    for index in range(3):
        assert_same(model(x[index : index + 1])[0], together[index])


@pytest.mark.parametrize("modes", SUBSETS, ids=str)
def test_maps_are_per_mode_and_every_used_weight_has_a_gradient(generator, modes):
    model, x = small(attended_modes=modes).train(), volumes(generator)
    for dropout in (module for module in model.modules() if isinstance(module, torch.nn.Dropout)):
        dropout.p = 0.0
    logits, maps = model.forward_with_maps(x)
    assert_same(logits, model(x))
    finer, *coarser = maps
    assert [each.shape[1:] for each in finer] == [(2, 2, 2), (2, 4, 4), (2, 6, 6)]
    assert [[each.shape[-1] for each in block] for block in coarser] == [[1, 2, 3], [1, 2, 3]]
    for mode, weights in enumerate(finer):
        assert_same(weights.sum(-1), torch.ones_like(weights[..., 0]))
        assert torch.equal(weights, torch.eye(SIZES[mode] // 2).expand_as(weights)) == (mode not in modes)
    logits.square().mean().backward()
    assert all(each.grad.isfinite().all() for each in model.parameters() if each.requires_grad)
    assert all(each.grad is None for each in model.parameters() if not each.requires_grad)


@pytest.mark.parametrize("name", NAMES)
def test_checkpointing_keeps_less_and_changes_no_value_and_no_gradient(generator, name):
    model, x = small(name, dropout=0.3).train(), volumes(generator)
    repeated = VolumeUNet(model.config.replace(checkpoint=True)).double().train()
    repeated.load_state_dict(model.state_dict())
    results = []
    for each in (model, repeated):
        torch.manual_seed(11)
        out = each(x)
        results.append(
            (out, *torch.autograd.grad(out.square().sum(), [p for p in each.parameters() if p.requires_grad]))
        )
    assert all(map(torch.equal, *results))
    assert saved_bytes(repeated, x) < 0.5 * saved_bytes(model, x)


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_network_is_the_same_network(generator, name):
    model, x = small(name, feature_map="smreg"), volumes(generator)
    other = VolumeUNet(VolumeUNetConfig.parse(model.config.plain())).double().eval()
    other.load_state_dict(load(save(model.state_dict())))
    assert torch.equal(other(x), model(x))


def test_bfloat16_stays_near_float32(generator):
    model, x = small().float(), volumes(generator).float()
    rough = copy.deepcopy(model).bfloat16()(x.bfloat16())
    assert rough.dtype == torch.bfloat16
    assert (rough.float() - model(x)).norm() < 0.05 * model(x).norm()


def test_images_and_windows(generator):
    model = small(num_modes=2)
    image = volumes(generator, sizes=(8, 20))[0]
    assert_same(sliding_window(model, image, (8, 20)), model(image[None])[0])
    assert sliding_window(model, image, (8, 8)).shape == (3, 8, 20)


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_to_find_blobs(name):
    generator = torch.Generator().manual_seed(5)
    model = create_model(name, channels=(8, 16), num_blocks=(0, 1), dropout=0.0).train()
    masks = torch.zeros(8, 8, 8, 8, dtype=torch.long)
    for index in range(8):
        i, j, k = torch.randint(0, 5, (3,), generator=generator).tolist()
        masks[index, i : i + 3, j : j + 3, k : k + 3] = 1
    x = (masks + 0.5 * torch.randn(masks.shape, generator=generator)).unsqueeze(1)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(25):
        optimiser.zero_grad()
        F.cross_entropy(model(x), masks).backward()
        optimiser.step()
    found = model.eval()(x).argmax(1)
    assert 2 * (found * masks).sum() / (found.sum() + masks.sum()) > 0.9


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_blocks": (1, 2)}, r"one number per level\. Got channels=\(16, 32, 64\), num_blocks=\(1, 2\)"),
        ({"channels": ()}, "one number per level"),
        ({"num_blocks": (0, 0, -1)}, r"num_blocks counts from 0"),
        ({"dropout": 1.0}, r"dropout: Input should be less than 1 "),
        ({"num_heads": 5}, r"an even multiple of num_heads.*num_heads=5"),
        ({"attended_modes": (0, 3)}, r"some of \(0, 1, 2\), each once and in order\. Got \(0, 3\)"),
        ({"attended_modes": (2, 1)}, r"Got \(2, 1\)"),
    ],
    ids=str,
)
def test_a_config_that_does_not_fit_is_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        create_model("hot_volume_unet", **fields)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 2, 4, 8), r"2 channels and 3 sizes\. Got \(1, 2, 4, 8\)"),
        ((1, 1, 4, 8, 8), r"Got \(1, 1, 4, 8, 8\)"),
        ((1, 2, 4, 6, 8), r"a multiple of 4, .* Got \(4, 6, 8\).*sliding_window"),
    ],
    ids=str,
)
def test_an_input_that_does_not_fit_is_refused(shape, message):
    with pytest.raises(ShapeError, match=message):
        small()(torch.zeros(shape, dtype=torch.float64))


def test_a_plain_network_has_no_maps():
    with pytest.raises(ConfigError, match=r"block is 'attention'\. Got block='convolution'"):
        small("volume_unet").forward_with_maps(torch.zeros(1, 2, *SIZES, dtype=torch.float64))
