"""The learning rate of every step."""

import math

from multiway.training.config import TrainingConfig


def learning_rate_at(step: int, total: int, config: TrainingConfig) -> float:
    """Learning rate of a step: a function of the config and the step alone, so nothing has to be saved."""
    warmup = min(config.warmup_steps, total // 3)
    if step < warmup:
        return config.learning_rate * (step + 1) / warmup
    if config.schedule == "constant":
        return config.learning_rate
    if config.schedule == "steps":
        passed = sum(step >= share * total for share in config.milestones)
        return config.learning_rate * config.factor**passed
    done = (step - warmup) / max(total - warmup, 1)
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * done))
