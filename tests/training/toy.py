"""A small problem to train on, also in a process that can be killed."""

from pathlib import Path

import torch
from torch import Tensor, nn

from multiway.training import LOSSES, RunFolder, TrainingConfig, train


class Points:
    """Rows of noise whose sum is the target; some cells unobserved on request."""

    def __init__(self, count: int, masked: bool = False) -> None:
        generator = torch.Generator().manual_seed(count)
        self.x = torch.randn(count, 5, generator=generator)
        self.y = self.x.sum(1, keepdim=True) + 0.1 * torch.randn(count, 1, generator=generator)
        self.seen = torch.rand(count, 1, generator=generator) > 0.3 if masked else None

    def __len__(self) -> int:
        return len(self.x)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        batch = {"x": self.x[index], "y": self.y[index]}
        return batch if self.seen is None else {**batch, "seen": self.seen[index]}


def objective(model: nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    return LOSSES["mse"](model(batch["x"]), batch["y"], batch.get("seen"))


def make_model(dropout: float = 0.2) -> nn.Module:
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(5, 17), nn.Tanh(), nn.Dropout(dropout), nn.Linear(17, 1))


def make_config(**changes: object) -> TrainingConfig:
    usual = {"epochs": 4, "batch_size": 16, "learning_rate": 0.01, "patience": 0, "warmup_steps": 5}
    return TrainingConfig.parse({**usual, **changes})


def score(model: nn.Module) -> float:
    """Share of held-out signs that are right: a score with ties, that the loss does not follow."""
    data = Points(61)
    return float((model(data.x).sign() == data.y.sign()).float().mean())


def run_to_the_end(path: Path, by_score: bool = False, seconds: float = 0, **changes: object) -> nn.Module:
    """Start or continue a run in a folder, which saves its state so often; leave its weights next to it."""
    run = RunFolder.open(path) if path.exists() else RunFolder.create(path, {"task": "toy"})
    run.clean()
    model = make_model()
    train(
        model, objective, Points(203), Points(61), make_config(checkpoint_seconds=seconds, **changes),
        validation_score=score if by_score else None, run=run,
    )  # fmt: skip
    run.save_weights(model)
    return model


def toy(path: Path, epochs: int) -> None:
    """What a process of its own does."""
    torch.set_num_threads(1)
    run_to_the_end(path, epochs=epochs)
