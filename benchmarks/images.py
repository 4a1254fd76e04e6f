"""Training the network of NdLinear's table 2 on images of CIFAR's size, and a plain torch loop of the same model."""

import copy
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.rows import machine
from multiway.data.samples import Prepared
from multiway.data.sources.images import image_samples
from multiway.data.sources.pictures import Bytes
from multiway.models import create_model
from multiway.tasks.images import ImageConfig
from multiway.tasks.images.encode import ImageState
from multiway.tasks.images.task import TASK
from multiway.training import TrainingConfig, train
from multiway.training.losses import TargetLoss
from multiway.training.steps import epoch_order
from multiway_papers.bench import median, rounds

BATCH, STEPS, EPOCH = 64, 40, 50_000
SPLITS = ("train", "validation", "test")
CASES = {"nd_linear": "cnn_image_classifier_paper", "linear": "cnn_image_classifier_dense"}
BAR = 0.95
TRAINING = TrainingConfig(
    loss="cross_entropy",
    optimizer="adam",
    learning_rate=1e-3,
    weight_decay=0,
    batch_size=BATCH,
    epochs=1,
    patience=0,
    schedule="constant",
    warmup_steps=0,
    clip_norm=None,
)
NEAR = 0.1
"""What two trainings without dropout may differ by, of how far they moved: Adam takes full steps on rounding too."""


def run(repeats: int, shapes: list[str] | None) -> Iterator[dict[str, object]]:
    """Images per second of both ways in turns, once their weights were found to be the same."""
    prepared = make_images(BATCH * STEPS)
    for name in shapes or CASES:
        check(CASES[name])
        yield _row(name, prepared, repeats)


def make_images(count: int) -> Prepared[Bytes, ImageState]:
    """Images of chance: so many to train on and a few to validate and test."""
    draw = np.random.default_rng(0)
    total = count + 20
    images = image_samples(
        draw.integers(0, 256, (total, 32, 32, 3), dtype=np.uint8),
        list(map(str, range(total))),
        "chance",
        target=np.arange(total) % 10,
        classes=tuple(map(str, range(10))),
        official=("train",) * count + ("validation",) * 10 + ("test",) * 10,
    )
    return TASK.prepare(ImageConfig(), images)


def check(model: str, count: int = 3 * BATCH) -> None:
    """Without dropout both ways move to the same weights.

    Raises:
        RuntimeError: They do not, so there is nothing to time.
    """
    prepared, start = make_images(count), create_model(model, dropout=0, hidden_dropout=0, logit_dropout=0)
    found = [copy.deepcopy(start) for _ in range(2)]
    ours(found[0], prepared)
    plain(found[1], prepared)
    before, first, second = (nn.utils.parameters_to_vector(each.parameters()).detach() for each in (start, *found))
    apart = float((first - second).norm() / (second - before).norm())
    if not apart <= NEAR:
        raise RuntimeError(f"{model}: the two ways end {apart:.3f} of their way apart, and {NEAR} is allowed")


def ours(model: nn.Module, prepared: Prepared[Bytes, ImageState]) -> None:
    """The loop of a run."""
    training = prepared.part("train")
    objective = TargetLoss(TRAINING, training.classes, training.truth)
    train(model, objective, training, prepared.part("validation"), TRAINING)


def plain(model: nn.Module, prepared: Prepared[Bytes, ImageState]) -> None:
    """What one would write by hand: images as (channels, height, width), normalised a batch at a time."""
    part = prepared.part("train")
    images, labels = part.inputs.permute(0, 3, 1, 2).contiguous(), torch.from_numpy(part.truth)
    order: Tensor = epoch_order(len(part), TRAINING.seed, 0)
    optimizer = torch.optim.Adam(model.parameters(), lr=TRAINING.learning_rate)
    model.train()
    for rows in order.split(BATCH):
        loss = F.cross_entropy(model((images[rows].float() / 255 - 0.5) / 0.5), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()


def _row(name: str, prepared: Prepared[Bytes, ImageState], repeats: int) -> dict[str, object]:
    model = create_model(CASES[name])
    times = rounds({"ours": lambda: ours(model, prepared), "plain": lambda: plain(model, prepared)}, repeats)
    speed = {way: BATCH * STEPS / median(seconds) for way, seconds in times.items()}
    return {
        "case": name,
        "batch": BATCH,
        **machine(),
        "ours_images_per_s": round(speed["ours"], 1),
        "plain_images_per_s": round(speed["plain"], 1),
        "epoch_s": round(EPOCH / speed["ours"], 1),
        "ratio": round(speed["ours"] / speed["plain"], 3),
        "met": speed["ours"] >= BAR * speed["plain"],
    }
