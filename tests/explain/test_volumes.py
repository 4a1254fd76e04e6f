"""One volume explained: what a network without maps still gives, and labels in slices and millimetres."""

import pytest
import torch
from torch import nn

from multiway.explain import explain_volume, has_maps, maps_of, span_labels, strongest, volume_maps
from multiway.models import create_model
from tolerances import SUMS32

AXES = ("depth", "height", "width")


@pytest.fixture
def x(generator):
    return torch.randn(1, 1, 4, 6, 5, generator=generator)


def test_gradients_of_a_linear_network_are_its_weights_times_the_volume(x):
    pytest.importorskip("captum")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(120, 3))
    found = explain_volume(model, x, 2, AXES)
    wanted = model[1].weight[2].detach().reshape(4, 6, 5) * x[0, 0]
    torch.testing.assert_close(torch.from_numpy(found.gradients), wanted, rtol=SUMS32, atol=SUMS32)
    assert found.sums[0] == pytest.approx(found.sums[1], abs=SUMS32) == pytest.approx(float(wanted.sum()), abs=SUMS32)
    assert found.maps == [] and found.attention is None and list(found.overlays) == ["gradients"]
    share = model(x).double().softmax(1)[0, 2].item()
    assert found.deletion.marked["gradients"][0] == pytest.approx(share)


def test_maps_are_labelled_by_slices_and_millimetres(x):
    torch.manual_seed(0)
    model = create_model(
        "hot_volume_classifier", sizes=(4, 6, 5), num_classes=2, dim=16, num_heads=2, stem_channels=4, num_blocks=1
    )
    found = explain_volume(model, x, 0, AXES, (2.0, 1.0, 0.5), name="scan", gradients=False, deletion=False)
    assert [item.mode for item in found.maps] == list(AXES) and {item.sample for item in found.maps} == {"scan"}
    assert found.maps[1].key_labels == ("slices 0–3, 0–4 mm", "slices 4–5, 4–6 mm")
    assert found.attention.shape == (4, 6, 5) and found.gradients is found.deletion is None
    bare = volume_maps(model, maps_of(model, x), (4, 6, 5), AXES)
    assert bare[1].key_labels == ("slices 0–3", "slices 4–5")
    assert strongest(bare[1:2], 1)[0].startswith("height, block 0: slices ")


def test_full_attention_has_no_map_per_mode():
    model = create_model("hot_volume_classifier", sizes=(4, 4, 4), num_classes=2, dim=16, num_heads=2, attention="full")
    assert not has_maps(model) and maps_of(model, torch.zeros(1, 1, 4, 4, 4)) == []


def test_spans_are_named_by_their_voxels():
    assert span_labels(10, 3) == ("0-3", "4-7", "8-9")
    assert span_labels(3, 3) == ("0", "1", "2")
