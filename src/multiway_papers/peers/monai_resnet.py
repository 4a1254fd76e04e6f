"""ResNet-18 and ResNet-50 over volumes, through MONAI, in the form that MedMNIST measures (HOT table 2)."""

import warnings
from typing import Literal

from torch import Tensor, nn

from multiway.errors import ConfigError, ShapeError
from multiway.models.blocks import VolumeSizes

LAYERS: dict[int, tuple[str, list[int]]] = {18: ("basic", [2, 2, 2, 2]), 50: ("bottleneck", [3, 4, 6, 3])}
WIDTHS = [64, 128, 256, 512]
TOTAL_STRIDE = 8


class ResNet3DConfig(VolumeSizes):
    """Everything needed to rebuild a `ResNet3D`; saved inside each run."""

    depth: Literal[18, 50] = 18
    """Layers with weights, as in its name."""


class ResNet3D(nn.Module):
    """MONAI's ResNet with three-dimensional convolutions, as MedMNIST builds it for 28³ voxels.

    A first convolution of 3 voxels and stride 1, and no max pool. Its batch normalisation makes a sample's
    logits depend on its batch mates in training, and on that sample alone under `eval()`.

    Differs from MedMNIST's: convolutions start from MONAI's Kaiming draw for ReLU over the fan-out, not from torch's.

    Shape:
        Input `(batch, in_channels, *sizes)`; output `(batch, num_classes)`.
    """

    def __init__(self, config: ResNet3DConfig) -> None:
        super().__init__()
        self.config = config
        self.network = _build_network(config)

    def forward(self, x: Tensor) -> Tensor:
        """Class logits."""
        self._check(x)
        logits: Tensor = self.network(x)
        return logits

    def _check(self, x: Tensor) -> None:
        expected = (self.config.in_channels, *self.config.sizes)
        if x.ndim != 5 or tuple(x.shape[1:]) != expected:
            raise ShapeError(
                f"ResNet3D: x must be (batch, channels, *sizes) with {expected[0]} channels and sizes {expected[1:]}. "
                f"Got {tuple(x.shape)}. Batch first, then channels, then the three modes."
            )
        if self.training and len(x) == 1 and max(self.config.sizes) <= TOTAL_STRIDE:
            raise ShapeError(
                f"ResNet3D: batch normalisation needs more than one value per channel in training. Got one volume of "
                f"sizes {expected[1:]}. Train on larger batches or volumes."
            )


def _build_network(config: ResNet3DConfig) -> nn.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MONAI's imports use what its own dependencies have deprecated
            from monai.networks.nets.resnet import ResNet
    except ImportError:
        raise ConfigError(
            f"ResNet3D: resnet{config.depth}_3d is built by MONAI, which is not installed. Run "
            "pip install 'multiway[volumes]'."
        ) from None
    block, layers = LAYERS[config.depth]
    network: nn.Module = ResNet(
        block,
        layers,
        WIDTHS,
        n_input_channels=config.in_channels,
        conv1_t_size=3,
        conv1_t_stride=1,
        no_max_pool=True,
        num_classes=config.num_classes,
        bias_downsample=False,
    )
    return network
