"""Fit the network and its baselines, choose by validation, then read the test cases once."""

import dataclasses
import math
import time
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from multiway.config import Config
from multiway.data.volumes import IntensityScale
from multiway.errors import ConfigError
from multiway.models import create_model, model_config
from multiway.tasks.segmentation.config import LARGEST_PATCH, SegmentConfig
from multiway.tasks.segmentation.evaluation import headline, measure, score_of, score_rows
from multiway.tasks.segmentation.examples import Examples
from multiway.tasks.segmentation.patches import GridPatches, TrainingPatches, fit_scale
from multiway.tasks.segmentation.predictors import (
    ConstantPredictor,
    LogisticPredictor,
    NetworkPredictor,
    Predictor,
    ThresholdPredictor,
)
from multiway.training import Batch, RunFolder, seed_everything, train
from multiway.training.overlap_losses import segmentation_loss

OURS, PLAIN = "multiway", "unet"


@dataclasses.dataclass(kw_only=True)
class Fitted:
    """Everything that was fitted and measured.

    predictors: By model: the network first, then the baselines.
    cases: One row per split, model, case and class.
    """

    predictors: dict[str, Predictor]
    scale: IntensityScale
    patch: tuple[int, ...]
    scores: list[dict[str, Any]]
    cases: pd.DataFrame
    seconds: dict[str, float]


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


def fit(examples: Examples, config: SegmentConfig, *, run: RunFolder | None = None, progress: bool = False) -> Fitted:
    """Fit everything on the training cases, score on validation and, once, on the test cases."""
    scale = fit_scale(examples, config.read)
    names = baselines_of(config, examples)
    patch = patch_of(config, examples)
    seconds: dict[str, float] = {}
    predictors: dict[str, Predictor] = {}
    for name in (OURS, *names):
        clock = time.perf_counter()
        if name in (OURS, PLAIN):
            model = build_network(config, examples, plain=name == PLAIN)
            folder = run if run is None or name == OURS else run.part(name)
            _train(model, examples, scale, patch, config, folder, progress)
            predictors[name] = network_predictor(model, scale, patch, config)
        else:
            predictors[name] = _fit_baseline(name, examples, scale, config.training.seed)
        seconds[name] = time.perf_counter() - clock
    clock = time.perf_counter()
    scores, cases = score_all(predictors, examples, config, ("validation", "test"))
    seconds["evaluation"] = time.perf_counter() - clock
    return Fitted(predictors=predictors, scale=scale, patch=patch, scores=scores, cases=cases, seconds=seconds)


def score_all(
    predictors: dict[str, Predictor], examples: Examples, config: SegmentConfig, splits: tuple[str, ...]
) -> tuple[list[dict[str, Any]], pd.DataFrame]:
    """Score every model on some splits; also the table behind the scores."""
    scores, tables = [], []
    for split in splits:
        for name, predict in predictors.items():
            frame = measure(predict, examples, examples.rows(split))
            scores += score_rows(frame, name, split, config.draws, config.training.seed)
            tables.append(frame.assign(split=split, model=name))
    return scores, pd.concat(tables, ignore_index=True)


def baselines_of(config: SegmentConfig, examples: Examples) -> tuple[str, ...]:
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
    modes = getattr(_model_config(name, fields, examples), "num_modes", 2)
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
    name, fields = config.network(examples.num_modes)
    stride = int(getattr(_model_config(name, fields, examples), "stride", 1))
    if examples.num_modes == 2:
        plain, plain_fields = config.network(2, plain=True)
        stride = math.lcm(stride, int(getattr(_model_config(plain, plain_fields, examples), "stride", 1)))
    if config.patch is not None:
        if len(config.patch) != examples.num_modes or any(side % stride for side in config.patch):
            raise ConfigError(
                f"patch: {examples.num_modes} sizes are needed, each a multiple of {stride}, the model's stride. Got "
                f"{config.patch}. Set others (--set patch={[8 * stride] * examples.num_modes})."
            )
        return config.patch
    sizes = [examples.read(row).target.shape for row in examples.rows("train")]
    if examples.num_modes == 2:
        return tuple(max(min(each) // stride, 1) * stride for each in zip(*sizes, strict=True))
    return tuple(-(-min(max(each), LARGEST_PATCH) // stride) * stride for each in zip(*sizes, strict=True))


def build_network(config: SegmentConfig, examples: Any, *, plain: bool) -> nn.Module:
    """Draw a network of the right channels and classes, seeded.

    Args:
        config: Name and fields.
        examples: Anything with `num_modes`, `channels` and `classes`.
        plain: The plain one of equal size.
    """
    name, fields = config.network(examples.num_modes, plain)
    seed_everything(config.training.seed)
    return create_model(name, **fields, **_sizes(examples))


def _model_config(name: str, fields: dict[str, Any], examples: Examples) -> Config:
    return model_config(name, **fields, **_sizes(examples))


def _sizes(examples: Any) -> dict[str, int]:
    return {"in_channels": examples.channels, "num_classes": len(examples.classes)}


def network_predictor(
    model: nn.Module, scale: IntensityScale, patch: tuple[int, ...], config: SegmentConfig
) -> NetworkPredictor:
    """Predict with a trained network as the config says."""
    return NetworkPredictor(
        model=model.eval(), scale=scale, patch=patch, overlap=config.overlap, batch_size=config.training.batch_size
    )


def _train(
    model: nn.Module,
    examples: Examples,
    scale: IntensityScale,
    patch: tuple[int, ...],
    config: SegmentConfig,
    run: RunFolder | None,
    progress: bool,
) -> None:
    """Train and keep the weights of the best validation Dice."""
    train(
        model,
        PatchLoss(config, examples.background),
        TrainingPatches(
            examples, examples.rows("train"), scale, patch,
            per_case=config.patches_per_case, foreground=config.foreground, options=config.augment,
        ),
        GridPatches(examples, examples.rows("validation"), scale, patch),
        config.training,
        validation_score=lambda trained: mean_dice(
            network_predictor(trained, scale, patch, config), examples, "validation"
        ),
        run=run,
        progress=progress,
    )  # fmt: skip
    model.to("cpu")


def _fit_baseline(name: str, examples: Examples, scale: IntensityScale, seed: int) -> Predictor:
    if name == "background":
        return ConstantPredictor.fit(examples)
    if name == "threshold":
        return ThresholdPredictor.fit(examples)
    return LogisticPredictor.fit(examples, scale, seed)


def mean_dice(predict: Predictor, examples: Examples, split: str) -> float:
    """Mean Dice of a split, by cases of volumes and over all pixels of a scene; 0 where nothing is defined."""
    rows = score_rows(measure(predict, examples, examples.rows(split), surfaces=False), OURS, split, 0, 0)
    return score_of(rows, OURS, split, headline(examples.num_modes)) or 0.0
