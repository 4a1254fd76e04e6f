"""Everything that determines a segmentation run."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from multiway.config import Plain
from multiway.data.augmentation import AugmentOptions
from multiway.data.sources.scans.options import VolumeOptions, VolumeSplit
from multiway.models import list_models
from multiway.tasks.encoded_task import SampleFacts
from multiway.tasks.options import RunConfig, starting_from
from multiway.training import TrainingConfig

Baseline = Literal["background", "threshold", "logistic", "unet"]
NETWORKS = {3: ("hot_volume_unet", "volume_unet"), 2: ("hot_segmenter_2d", "unet_2d")}
"""By number of modes, the network that is trained and the plain one beside it."""
LARGEST_PATCH = 64
TRAINING: Plain = {
    "epochs": 30, "learning_rate": 2e-3, "warmup_steps": 50, "patience": 0,
}  # fmt: skip
"""Fields of `TrainingConfig` where a segmentation differs from a forecast."""


class SegmentTraining(TrainingConfig):
    """`TrainingConfig`, but of patches, which are few at once."""

    batch_size: int = Field(4, ge=1)
    """Patches per batch over all processes."""


class SegmentConfig(RunConfig):
    """A run of the task `segment`; stored in its folder. Data are a table of images and masks, or a scene as .npz."""

    read: VolumeOptions = VolumeOptions()
    split: VolumeSplit = VolumeSplit()
    augment: AugmentOptions = AugmentOptions()
    classes: tuple[str, ...] | None = None
    """Names of the mask's values in their order; the values themselves if not given."""
    ignore: int | None = None
    """Value of the mask that is neither learned from nor scored."""
    block: int = Field(12, ge=1)
    """Side of the blocks that a scene is cut into, in pixels; a block belongs to one split."""

    baselines: tuple[Baseline, ...] | None = None
    """What is measured beside it: everything that fits the data if not given."""
    patch: tuple[int, ...] | None = None
    """Voxels along each axis that the model sees at once. If not given: the largest training case, but 64 at most; in a
    scene the smallest block."""
    patches_per_case: int = Field(1, ge=1)
    """Patches drawn from each case in an epoch."""
    foreground: float = Field(0.67, ge=0, le=1)
    """Share of patches drawn about a voxel of a class, each class as often as the others; the rest anywhere."""
    overlap: float = Field(0.5, ge=0, lt=1)
    """Share of a patch that windows have in common in prediction."""
    dice_weight: float = Field(1.0, ge=0)
    """Weight of the soft Dice beside cross-entropy in the loss."""
    cl_dice_weight: float = Field(0.0, ge=0)
    """Weight of the soft clDice, for vessels and other thin structures."""
    class_weights: tuple[float, ...] | None = None
    """Weights of the classes in the cross-entropy."""
    draws: int = Field(1000, ge=0)
    """Bootstrap samples of cases behind each interval; 0 gives none."""
    training: Annotated[SegmentTraining, starting_from(TRAINING)] = SegmentTraining.parse(TRAINING)
    """Optimiser, schedule and precision; its own losses are for other tasks and not used here."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        name = self.model.get("name")
        if name is not None and name not in list_models("*unet*") + list_models("*segmenter*"):
            raise ValueError(f"model.name must be one that segments, such as hot_volume_unet. Got {name!r}")
        if self.patch is not None and (len(self.patch) not in NETWORKS or min(self.patch) < 1):
            raise ValueError(f"patch takes three sizes for volumes and two for scenes. Got {self.patch}")
        if self.classes is not None and len(set(self.classes)) < max(len(self.classes), 2):
            raise ValueError(f"classes must be two different names or more. Got {self.classes}")
        return self

    def network(self, num_modes: int, plain: bool = False) -> tuple[str, Plain]:
        """Name and fields of the network, or of the plain one of equal size beside it."""
        ours, other = NETWORKS[num_modes]
        fields = {name: value for name, value in self.model.items() if name != "name"}
        if not plain:
            return self.model.get("name", ours), fields
        return other, fields if num_modes == 3 and self.model.get("name", ours) == ours else {}


class SegmentFacts(SampleFacts):
    """Of images with masks: sizes of one, and the unit of distances."""

    sizes: list[int]
    distance: str
