"""How a model is trained; what it is and what it is trained on are elsewhere."""

from typing import Literal

from pydantic import Field

from multiway.config import Config


class TrainingConfig(Config):
    """Optimiser, schedule, stopping and precision."""

    epochs: int = Field(10, ge=1)
    """Passes over the training windows at most."""
    batch_size: int = Field(32, ge=1)
    """Samples per batch over all processes."""
    accumulation: int = Field(1, ge=1)
    """Batches whose gradients are added before a step."""
    optimizer: Literal["adam", "adamw"] = "adamw"
    learning_rate: float = Field(1e-3, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    schedule: Literal["constant", "cosine"] = "cosine"
    """After the warm-up: stay, or fall along half a cosine to zero at the last step."""
    warmup_steps: int = Field(0, ge=0)
    """Steps over which the learning rate rises from zero."""
    clip_norm: float | None = Field(1.0, gt=0)
    """Largest norm of the whole gradient; None leaves it."""
    loss: Literal["mse", "mae", "huber"] = "mse"
    validation_loss: Literal["mse", "mae", "huber"] | None = None
    """Which loss chooses the best weights; the training loss if not given."""
    patience: int = Field(3, ge=0)
    """Validations without a better one before training stops; 0 never stops early."""
    validations_per_epoch: int = Field(1, ge=1)
    precision: Literal["float32", "bf16"] = "float32"
    compile: bool = False
    """Pass the model through `torch.compile`."""
    seed: int = Field(0, ge=0)
    checkpoint_seconds: float = Field(30.0, ge=0)
    """Longest time between two saved states; 0 saves after every step."""
