import pytest
import torch

from multiway.models.baselines import fit_logistic
from multiway.models.pooled_logistic import PooledLogistic


@pytest.mark.parametrize(("sizes", "pooled"), [((32, 20), (8, 8)), ((5, 9), (5, 8)), ((28, 28, 6), (7, 7, 6))])
def test_features_are_means_of_blocks_of_each_channel(sizes, pooled):
    model = PooledLogistic(sizes, 2, 3)
    x = torch.zeros(4, 2, *sizes)
    x[:, 1] = 5
    features = model.features(x).unflatten(1, (2, *pooled))
    assert (features[:, 0] == 0).all() and (features[:, 1] == 5).all()
    assert model(x).shape == (4, 3) and model(x).dtype == torch.float64


def test_it_learns_which_side_is_bright():
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(200, 1, 16, 16, generator=draw), torch.arange(200) % 2
    x[y == 1, :, :, :8] += 2
    model = PooledLogistic((16, 16), 1, 2)
    fit_logistic(model, model.features(x[:100]), y[:100], model.features(x[100:]), y[100:])
    assert (model(x[100:]).argmax(1) == y[100:]).double().mean() > 0.95
