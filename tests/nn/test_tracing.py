"""A layer that is traced gives what the layer gives, at the size it was traced with."""

import warnings

import pytest
import torch

import shapes
from frozen_layers import LAYERS
from loops import check_all
from tolerances import assert_same


def traced_as_it_is(name):
    make, shape = LAYERS[name]
    torch.manual_seed(3)
    layer = make().double().eval()
    first, second = torch.randn(2, *shape, dtype=torch.float64)
    with warnings.catch_warnings(), shapes.checked(False):  # sizes are tensors while a layer is traced
        warnings.simplefilter("ignore")  # torch says that tracing is of the past
        traced = torch.jit.trace(layer, first, check_trace=False)
    assert_same(traced(second), layer(second))


@pytest.mark.slow
def test_every_layer_can_be_traced():
    check_all(traced_as_it_is, LAYERS)
