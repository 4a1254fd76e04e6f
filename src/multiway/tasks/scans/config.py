"""Configs of runs on scans: a class or a number for each of them, or a mask for each volume or scene."""

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from multiway.config import Config, Flag, Plain, merge
from multiway.data.options import AugmentOptions, LabelKind, VolumeOptions, VolumeSplit
from multiway.tasks.candidate import baseline_of
from multiway.tasks.options import NetworkConfig, Refitting, RunConfig, check_class_losses, starting_from
from multiway.tasks.settings import Predict, TaskSettings
from multiway.training.config import TrainingConfig

CLASSIFIER = "hot_volume_classifier"
OfClasses = Annotated[str, baseline_of("multiway.tasks.scans.candidates.volumes", "volumes")]
OfMasks = Annotated[str, baseline_of("multiway.tasks.scans.candidates.segment", "segment")]
SEGMENTERS = {3: ("hot_volume_unet", "volume_unet"), 2: ("hot_segmenter_2d", "unet_2d")}
"""By number of modes, the network that is trained for masks and its plain baseline."""
CLASS_TRAINING: Plain = {
    "loss": "cross_entropy",
    "epochs": 60,
    "learning_rate": 1e-3,
    "weight_decay": 0.05,
    "patience": 0,
}
TAKEN = ("case", "patient", "model", "split", "label", "predicted", "predicted_at_threshold", "set")
"""Columns of predictions."""
MASK_TRAINING: Plain = {"epochs": 30, "learning_rate": 2e-3, "warmup_steps": 50, "patience": 0}
"""Fields of `TrainingConfig` where training on scans differs from that of a forecast."""


class ClassOptions(VolumeOptions):
    """How scans with classes and the table that lists them are read."""

    label: Annotated[str, Flag("Column of the class or number of each scan.")] = "label"
    kind: Annotated[LabelKind, Flag("What the label is; labels: several, as cyst;stone.")] = "auto"
    subgroups: Annotated[tuple[str, ...], Flag("Columns whose subgroups are scored apart: scanner,sex,age.")] = ()
    """Columns whose values divide the cases into subgroups, numbers in halves; the report scores each. No inputs."""

    @field_validator("subgroups")
    @classmethod
    def _are_columns_of_their_own(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        taken = [name for name in names if name in TAKEN or name.startswith("p_")]
        if taken:
            raise ValueError(f"subgroups are no columns that predictions have of their own. Got {taken[0]!r}")
        return names


class MaskOptions(VolumeOptions):
    """How scans with masks and the table that lists them are read."""

    mask: Annotated[str, Flag("Column of the mask of each scan.")] = "mask"


class VolumeConfig(Refitting, NetworkConfig):
    """A run of the task `volumes`; stored in its folder. Data are a MedMNIST .npz, or a table of scans."""

    NETWORK, BY_DATA = CLASSIFIER, {"sizes": (28, 28, 28), "in_channels": 1, "num_classes": 2}
    NETWORKS = ("*volume_classifier*", "resnet*_3d")

    read: ClassOptions = ClassOptions()
    split: VolumeSplit = VolumeSplit()
    augment: AugmentOptions = AugmentOptions()
    model: Annotated[
        Plain,
        Flag(
            'Name of a classifier of volumes, see `multiway.list_models("*volume_classifier*")`.',
            key="name",
            name="model",
            usual=CLASSIFIER,
            commands=(),
        ),
    ] = Field(default_factory=dict)
    """Fields of the network without those that the data set; `name` is one of its named sizes."""
    baselines: Annotated[
        tuple[OfClasses, ...] | None,
        Flag("Some of majority, logistic, mean, ridge, features, trees, cnn, resnet18_3d, resnet50_3d.", commands=()),
    ] = None
    """Candidates beside the network; of classes majority and logistic, of numbers mean and ridge, of both features and
    trees (scikit-learn) if not given."""
    baseline_training: Plain = Field(default_factory=dict)
    """Fields of `training` that are others for the baselines that are trained."""
    training: TrainingConfig = TrainingConfig.parse(CLASS_TRAINING)
    """`loss` is that of classes; numbers have the squared error, or with `read.kind` number what is named."""
    evaluate_flips: bool = False
    """Average the probabilities of a volume over its eight reflections, outside of training."""
    draws: int = Field(1000, ge=0)
    """Bootstrap samples of cases behind each interval; 0 gives none."""

    @field_validator("training", mode="before")
    @classmethod
    def _add_usual_training(cls, training: object) -> object:
        if not isinstance(training, dict):
            return training
        return merge({**CLASS_TRAINING, "validation_batch_size": training.get("batch_size", 32)}, training)

    @model_validator(mode="after")
    def _check_losses(self) -> Self:
        if self.read.kind != "number":
            check_class_losses(self.training, self.network_training)
        return self

    @property
    def network_training(self) -> TrainingConfig:
        """How the baselines that are trained are trained."""
        return TrainingConfig.parse(merge(self.training.plain(), self.baseline_training), "baseline_training")


class SegmentTraining(TrainingConfig):
    """`TrainingConfig`, but of patches, which are few at once."""

    batch_size: int = Field(4, ge=1)
    """Patches per batch over all processes."""


class SegmentConfig(RunConfig):
    """A run of the task `segment`; stored in its folder. Data are a table of images and masks, or a scene as .npz."""

    read: MaskOptions = MaskOptions()
    split: VolumeSplit = VolumeSplit()
    augment: AugmentOptions = AugmentOptions()
    classes: tuple[str, ...] | None = None
    """Names of the mask's values in their order; the values themselves if not given."""
    ignore: int | None = None
    """Value of the mask that is neither learned from nor scored."""
    block: int = Field(12, ge=1)
    """Side of the blocks that a scene is cut into, in pixels; a block belongs to one split."""

    model: Annotated[
        Plain,
        Flag(
            "Name of a network that segments; the one for volumes or for scenes if not given.",
            key="name",
            name="model",
            commands=(),
        ),
    ] = Field(default_factory=dict)
    """Fields of the network without those that the data set; `name` is one of its named sizes."""
    baselines: Annotated[
        tuple[OfMasks, ...] | None,
        Flag("Some of background, threshold, logistic and unet; those that fit the data if not given.", commands=()),
    ] = None
    """Its baselines: everything that fits the data if not given."""
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
    """Weight of the soft Dice relative to cross-entropy in the loss."""
    cl_dice_weight: float = Field(0.0, ge=0)
    """Weight of the soft clDice, for vessels and other thin structures."""
    class_weights: tuple[float, ...] | None = None
    """Weights of the classes in the cross-entropy."""
    draws: int = Field(1000, ge=0)
    """Bootstrap samples of cases behind each interval; 0 gives none."""
    training: Annotated[SegmentTraining, starting_from(MASK_TRAINING)] = SegmentTraining.parse(MASK_TRAINING)
    """Optimiser, schedule and precision; its own losses are for other tasks and not used here."""

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        name = self.model.get("name")
        if name is not None:
            from multiway.models import list_models

        if name is not None and name not in list_models("*unet*") + list_models("*segmenter*"):
            raise ValueError(f"model.name must be one that segments, such as hot_volume_unet. Got {name!r}")
        if self.patch is not None and (len(self.patch) not in SEGMENTERS or min(self.patch) < 1):
            raise ValueError(f"patch takes three sizes for volumes and two for scenes. Got {self.patch}")
        if self.classes is not None and len(set(self.classes)) < max(len(self.classes), 2):
            raise ValueError(f"classes must be two different names or more. Got {self.classes}")
        return self

    def network(self, num_modes: int, plain: bool = False) -> tuple[str, Plain]:
        """Name and fields of the network, or of the plain baseline of equal size."""
        ours, other = SEGMENTERS[num_modes]
        fields = {name: value for name, value in self.model.items() if name != "name"}
        if not plain:
            return self.model.get("name", ours), fields
        return other, fields if num_modes == 3 and self.model.get("name", ours) == ours else {}


class ScanPredict(Predict):
    """Options of `multiway predict`."""

    keep_going: Annotated[bool, Flag("Go on after a scan that cannot be read, and list those.")] = False


class VolumePredict(ScanPredict):
    """The same, of classes."""

    maps: Annotated[str | None, Flag("Folder for maps of what the model looked at, per scan.")] = None


class MaskPredict(ScanPredict):
    """The same, of masks."""

    dicom_seg: Annotated[bool, Flag("Write each mask as a DICOM-SEG object too; the scans are DICOM series.")] = False


class ScanExplain(Config):
    """Options of `multiway explain`."""

    cases: Annotated[
        tuple[str, ...] | None,
        Flag("Scans to explain, by name, separated by commas; a few if not given."),
    ] = None


VOLUMES = TaskSettings(
    name="volumes",
    purpose="Classes or numbers of scans.",
    example="--data scans.csv --orientation RAS",
    config=VolumeConfig,
    data="read:SCANS",
    uses={"predict": VolumePredict, "explain": ScanExplain},
)
SEGMENT = TaskSettings(
    name="segment",
    purpose="A class for every voxel of a volume or pixel of a scene.",
    example="--data scans.csv",
    config=SegmentConfig,
    data="read:MASKS",
    uses={"predict": MaskPredict, "explain": ScanExplain},
)
