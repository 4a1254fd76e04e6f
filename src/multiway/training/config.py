"""How a model is trained; what it is and what it is trained on are elsewhere."""

from typing import Literal

from pydantic import Field

from multiway.config import Config

USUAL_EPOCHS, USUAL_STEPS, MOST_EPOCHS = 2, 500, 20


class TrainingConfig(Config):
    """Optimiser, schedule, stopping and precision."""

    epochs: int | None = Field(None, ge=1)
    """Passes over the training windows at most; if not given two, or as many as make 500 steps, but 20 at most."""
    batch_size: int = Field(32, ge=1)
    """Samples per batch over all processes."""
    accumulation: int = Field(1, ge=1)
    """Batches whose gradients are added before a step."""
    optimizer: Literal["adam", "adamw"] = "adamw"
    learning_rate: float = Field(2e-3, gt=0)
    weight_decay: float = Field(0.01, ge=0)
    schedule: Literal["constant", "cosine"] = "cosine"
    """After the warm-up: stay, or fall along half a cosine to zero at the last step."""
    warmup_steps: int = Field(100, ge=0)
    """Steps over which the learning rate rises from zero; at most a third of all."""
    clip_norm: float | None = Field(1.0, gt=0)
    """Largest norm of the whole gradient; None leaves it."""
    loss: Literal["mse", "mae", "huber"] = "mae"
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

    def epochs_of(self, steps_per_epoch: int) -> int:
        """Passes over the data, counted out where the config leaves them open."""
        if self.epochs is not None:
            return self.epochs
        return max(USUAL_EPOCHS, min(MOST_EPOCHS, -(-USUAL_STEPS // steps_per_epoch)))
