"""What training learns of images with masks, and what a config has to fit before anything is written."""

import dataclasses
import math

from multiway.config import Config
from multiway.data.sources.scans.encoding import IntensityScale, Spacings, warn_of_spacings
from multiway.data.sources.scans.options import VolumeOptions
from multiway.errors import ConfigError, Fix
from multiway.models import model_config
from multiway.tasks.segmentation.config import LARGEST_PATCH, SegmentConfig
from multiway.tasks.segmentation.patches import GridPatches
from multiway.tasks.segmentation.source import Examples

PLAIN = "unet"


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


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PreparedImages(Examples):
    """Images with what training learnt of them."""

    state: SegmentState

    def part(self, split: str) -> GridPatches:
        """Patches that cover the images of a split."""
        return GridPatches(self, self.rows(split), self.state.scale, self.state.patch)

    def counts(self, split: str) -> dict[str, int]:
        """How many images a split has."""
        return {"cases": len(self.splits[split])}


def prepared(config: SegmentConfig, examples: Examples, state: SegmentState | None) -> PreparedImages:
    """Images of a training, or later ones under what that learnt.

    Raises:
        ConfigError: They do not fit the config, or have other axes or channels than those of the training.
    """
    if state is None:
        check_fits(config, examples)
        return PreparedImages(**vars(examples), state=learn(config, examples))
    if (examples.channels, examples.num_modes) != (state.channels, state.num_modes):
        raise ConfigError(
            f"{examples.source}: the run segments images of {state.num_modes} axes and {state.channels} channels. "
            f"Got {examples.num_modes} axes and {examples.channels} channels."
        )
    spacings = {name: examples.spacing(row) for row, name in enumerate(examples.names)}
    warn_of_spacings(spacings, state.spacings)
    return PreparedImages(**{**vars(examples), "classes": state.classes}, state=state)


def learn(config: SegmentConfig, examples: Examples) -> SegmentState:
    """Classes, sizes, and the intensities of the training images alone, which are read one at a time."""
    return SegmentState(
        classes=examples.classes, values=examples.values, channels=examples.channels, axes=examples.axes,
        scale=fit_scale(examples, config.read), patch=patch_of(config, examples), background=examples.background,
        spacings=examples.spacings,
    )  # fmt: skip


def fit_scale(examples: Examples, options: VolumeOptions) -> IntensityScale:
    """Intensities of the training images."""
    return IntensityScale.fit(lambda row: examples.read(row).values, examples.rows("train"), options)


def baselines_of(config: SegmentConfig, examples: Examples | SegmentState) -> tuple[str, ...]:
    """The baselines of a run; a threshold is for one channel and two classes, a regression for several channels.

    Raises:
        ConfigError: One was asked for that does not fit the data.
    """
    is_binary = examples.channels == 1 and len(examples.classes) == 2 and examples.background
    fitting = ("background", "threshold" if is_binary else "logistic", PLAIN)
    if config.baselines is None:
        return fitting
    if "threshold" in config.baselines and not is_binary:
        raise ConfigError(
            f"baselines: a threshold needs one channel, a background and one class. Got {examples.channels} channels "
            f"and {len(examples.classes)} classes. Take logistic instead."
        )
    return tuple(dict.fromkeys(config.baselines))


def check_fits(config: SegmentConfig, examples: Examples) -> None:
    """Refuse what does not fit the data, before anything is written.

    Raises:
        ConfigError: The model takes other axes, the patch other sizes, a baseline other data, or the weights of the
            classes are not one positive number each.
    """
    name, fields = config.network(examples.num_modes)
    modes = getattr(model_config(name, **fields, **patch_sizes_of(examples)), "num_modes", 2)
    if modes != examples.num_modes:
        raise ConfigError(f"model: {name} takes images of {modes} axes. Got {examples.num_modes}: {examples.source}.")
    patch_of(config, examples)
    baselines_of(config, examples)
    weights = config.class_weights
    if weights is not None and (len(weights) != len(examples.classes) or min(weights) <= 0):
        raise ConfigError(
            f"class_weights needs a positive number for each of the {len(examples.classes)} classes. Got {weights}."
        )


def patch_of(config: SegmentConfig, examples: Examples) -> tuple[int, ...]:
    """Sizes of a patch: those of the config, else of the largest training case, or of a scene's smallest block.

    Raises:
        ConfigError: A size is no multiple of the model's stride, or their number is another than the axes'.
    """
    num_modes, stride = examples.num_modes, _stride(config, examples)
    if config.patch is not None:
        if len(config.patch) != num_modes or any(side % stride for side in config.patch):
            raise ConfigError(
                f"patch: {num_modes} sizes are needed, each a multiple of {stride}, the model's stride. Got "
                f"{config.patch}. Set others (",
                Fix("patch", [8 * stride] * num_modes),
                ").",
            )
        return config.patch
    sizes = zip(*(example.target.shape for example in examples.of("train")), strict=True)
    if num_modes == 2:
        return tuple(max(min(lengths) // stride, 1) * stride for lengths in sizes)
    return tuple(-(-min(max(lengths), LARGEST_PATCH) // stride) * stride for lengths in sizes)


def _stride(config: SegmentConfig, examples: Examples) -> int:
    """What sides of a patch are multiples of; in scenes, for the plain network too."""
    networks = [config.network(examples.num_modes)]
    networks += [config.network(2, plain=True)] if examples.num_modes == 2 else []
    configs = [model_config(name, **fields, **patch_sizes_of(examples)) for name, fields in networks]
    return math.lcm(*(int(getattr(network, "stride", 1)) for network in configs))


def patch_sizes_of(images: Examples | SegmentState) -> dict[str, int]:
    """Fields of a network on these images."""
    return {"in_channels": images.channels, "num_classes": len(images.classes)}
