"""Which images with masks are read, and how."""

from pydantic import Field

from multiway.config import Config
from multiway.data.volumes import AugmentOptions, VolumeOptions, VolumeSplit


class MaskOptions(Config):
    """Images, masks and classes; the config of a run has these fields and more."""

    data: str | None = None
    """A table of images and masks, a scene as .npz, or a known name: lesions, indian-pines."""
    read: VolumeOptions = VolumeOptions()
    split: VolumeSplit = VolumeSplit()
    augment: AugmentOptions = AugmentOptions()
    classes: tuple[str, ...] | None = None
    """Names of the mask's values in their order; the values themselves if not given."""
    ignore: int | None = None
    """Value of the mask that is neither learned from nor scored."""
    block: int = Field(12, ge=1)
    """Side of the blocks that a scene is cut into, in pixels; a block belongs to one split."""
