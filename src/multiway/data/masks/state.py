"""What training learnt of images with masks."""

from multiway.config import Config
from multiway.data.volumes import IntensityScale
from multiway.data.volumes.spacing import Spacings


class SegmentState(Config):
    """What a run has learnt of its images."""

    classes: tuple[str, ...]
    """Names, in the order of the logits."""
    values: tuple[int, ...]
    """Values of the masks, in the order of `classes`."""
    channels: int
    """Values per voxel."""
    axes: tuple[str, ...]
    """Names of the axes of an image."""
    scale: IntensityScale
    """Intensities of the training images."""
    patch: tuple[int, ...]
    """Sizes that the network sees at once."""
    background: bool
    """Whether class 0 is what no mask marks."""
    spacings: Spacings | None = None
    """Least and greatest millimetres per voxel after preparing; None where the images do not say it."""

    @property
    def num_modes(self) -> int:
        """Axes of an image."""
        return len(self.axes)
