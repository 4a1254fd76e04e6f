"""How segmenters are built and fitted: what fits the data, the loss, and the score that chooses the epoch."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from multiway.data.masks.examples import Examples
from multiway.data.masks.patches import GridPatches, TrainingPatches
from multiway.data.masks.state import SegmentState
from multiway.errors import ConfigError
from multiway.models import create_model, model_config
from multiway.tasks.fitting import announce
from multiway.tasks.protocol import OURS, Context
from multiway.tasks.run import Run
from multiway.tasks.segmentation.config import LARGEST_PATCH, SegmentConfig
from multiway.tasks.segmentation.evaluation import MEAN, headline, measure, score_rows
from multiway.tasks.segmentation.predictors import Constant, Predictor, Threshold, Voxelwise, network_predictor
from multiway.training import Batch, History, train
from multiway.training.overlap_losses import segmentation_loss

PLAIN = "unet"


class PatchLoss:
    """Loss of a segmenter on a batch of patches; a large batch goes through the model in parts.

    Args:
        config: Weights of the terms.
        background: Whether class 0 is background.
    """

    def __init__(self, config: SegmentConfig, background: bool) -> None:
        self.config, self.background = config, background

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over patches, and their number."""
        pieces = (batch[name].split(self.config.training.batch_size) for name in ("volume", "mask"))
        parts = [self._loss(model(volume), mask) for volume, mask in zip(*pieces, strict=True)]
        total, count = (torch.stack(each).sum() for each in zip(*parts, strict=True))
        return total, count

    def _loss(self, logits: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        weights = self.config.class_weights
        return segmentation_loss(
            logits,
            mask,
            background=self.background,
            dice_weight=self.config.dice_weight,
            cl_dice_weight=self.config.cl_dice_weight,
            class_weights=None if weights is None else torch.tensor(weights, device=logits.device),
        )


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
    modes = getattr(model_config(name, **fields, **_sizes(examples)), "num_modes", 2)
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
                f"{config.patch}. Set others (--set patch={[8 * stride] * num_modes})."
            )
        return config.patch
    sizes = zip(*(example.target.shape for example in examples.each("train")), strict=True)
    if num_modes == 2:
        return tuple(max(min(each) // stride, 1) * stride for each in sizes)
    return tuple(-(-min(max(each), LARGEST_PATCH) // stride) * stride for each in sizes)


def _stride(config: SegmentConfig, examples: Examples) -> int:
    """What sides of a patch are multiples of; in scenes, for the plain network too."""
    networks = [config.network(examples.num_modes)]
    networks += [config.network(2, plain=True)] if examples.num_modes == 2 else []
    configs = [model_config(name, **fields, **_sizes(examples)) for name, fields in networks]
    return math.lcm(*(int(getattr(each, "stride", 1)) for each in configs))


def build_model(config: SegmentConfig, state: SegmentState, name: str) -> nn.Module:
    """Draw a network of the right channels and classes, or a baseline, by its name in a run."""
    if name in (OURS, PLAIN):
        network, fields = config.network(state.num_modes, plain=name == PLAIN)
        return create_model(network, **fields, **_sizes(state))
    if name == "logistic":
        return Voxelwise(state.channels, len(state.classes))
    return Constant() if name == "background" else Threshold()


def fit_model(run: Run, name: str, examples: Examples, context: Context) -> History | dict[str, Any]:
    """Train a network and keep the weights of the best validation Dice; or fit a baseline."""
    model: Any = run.models[name]
    config, state = run.config, run.state
    if name not in (OURS, PLAIN):
        facts: dict[str, Any] = model.fit(examples, state.scale, config.training.seed)
        return facts
    announce(name, context)
    return train(
        model,
        PatchLoss(config, examples.background),
        TrainingPatches(
            examples, examples.rows("train"), state.scale, state.patch,
            per_case=config.patches_per_case, foreground=config.foreground, options=config.augment,
        ),
        GridPatches(examples, examples.rows("validation"), state.scale, state.patch),
        config.training,
        validation_score=lambda trained: mean_dice(network_predictor(run, trained), examples, "validation"),
        run=context.folder,
        progress=context.progress,
    )  # fmt: skip


def mean_dice(predict: Predictor, examples: Examples, split: str) -> float:
    """Mean Dice of a split, by cases of volumes and over all pixels of a scene; 0 where nothing is defined."""
    rows = score_rows(measure(predict, examples, examples.rows(split), surfaces=False), OURS, split, 0)
    wanted = (headline(examples.num_modes), MEAN)
    return next((row["value"] for row in rows if (row["metric"], row["class"]) == wanted), None) or 0.0


def _sizes(found: Examples | SegmentState) -> dict[str, int]:
    return {"in_channels": found.channels, "num_classes": len(found.classes)}
