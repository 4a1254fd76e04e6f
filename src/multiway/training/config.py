"""How a model is trained, and what the loop needs of data and task: any class with these methods."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import Field, field_validator

from multiway.config import Config, Flag

if TYPE_CHECKING:  # a config is read without torch
    from torch import Tensor, nn

LossName = Literal["mse", "mae", "huber", "cross_entropy"]
PerMode = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A number for one mode of a mode-wise map."""
USUAL_EPOCHS, USUAL_STEPS, MOST_EPOCHS = 2, 500, 20


class TrainingConfig(Config):
    """Optimiser, schedule, stopping and precision."""

    epochs: Annotated[
        int | None,
        Flag("Passes over the training data at most.", commands=("train",), usual=None),
        Field(ge=1),
    ] = None
    """Passes over the training windows at most; if not given two, or as many as make 500 steps, but 20 at most."""
    batch_size: int = Field(32, ge=1)
    """Samples per batch over all processes."""
    accumulation: int = Field(1, ge=1)
    """Batches whose gradients are added before a step."""
    optimizer: Literal["adam", "adamw"] = "adamw"
    learning_rate: float = Field(2e-3, gt=0)
    weight_decay: float = Field(0.01, ge=0)
    schedule: Literal["constant", "cosine", "steps"] = "cosine"
    """After the warm-up: stay, fall along half a cosine to zero at the last step, or fall at each milestone."""
    milestones: tuple[float, ...] = (0.5, 0.75)
    """For the schedule `steps`: shares of all steps after which the learning rate is multiplied by `factor`."""
    factor: float = Field(0.1, gt=0, le=1)
    """For the schedule `steps`: what each milestone leaves of the learning rate."""
    warmup_steps: int = Field(100, ge=0)
    """Steps over which the learning rate rises from zero; at most a third of all."""
    clip_norm: float | None = Field(1.0, gt=0)
    """Largest norm of the whole gradient; None leaves it."""
    average: float | None = Field(None, gt=0, lt=1)
    """Keep a moving average of the weights that remembers this share at every step; it is validated and kept."""
    norm_penalty: tuple[PerMode, ...] = ()
    """Added to the loss: these times the squared norms of the maps of every `NdLinear`, by mode; the last number is for
    all later modes, and without any there is no penalty."""
    orthogonality_penalty: tuple[PerMode, ...] = ()
    """As `norm_penalty`, times ‖W Wᵀ - I‖²."""
    mode_rates: tuple[PerMode, ...] = ()
    """What the learning rate of the weights of every `NdLinear` is multiplied by, by mode; the last number is for all
    later modes, and without any it is 1."""
    loss: LossName = "mae"
    """mse, mae or huber for numbers; cross_entropy for classes."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """For cross_entropy: share of the target spread evenly over all classes."""
    class_weights: Literal["none", "balanced"] = "none"
    """For cross_entropy: count samples alike, or so that every class weighs the same in the training rows."""
    validation_loss: LossName | None = None
    """Which loss chooses the best weights; the training loss if not given."""
    validation_batch_size: int | None = Field(None, ge=1)
    """Samples per batch in validation; `batch_size`, but at least 256, if not given."""
    patience: int = Field(3, ge=0)
    """Validations without a better one before training stops; 0 never stops early."""
    keep: Literal["best", "last"] = "best"
    """Weights that a training leaves: of the best validation, or of the last one, which `patience` never hastens."""
    validations_per_epoch: int = Field(1, ge=1)
    precision: Literal["float32", "bf16"] = "float32"
    compile: bool = False
    """Pass the model through `torch.compile`."""
    seed: Annotated[
        int, Flag("Seed of everything random but a random split, which has its own.", commands=()), Field(ge=0)
    ] = 0
    checkpoint_seconds: float = Field(30.0, ge=0)
    """Longest time between two saved states; 0 saves after every step."""
    track: Annotated[
        Literal["tensorboard", "trackio"] | None,
        Flag(
            "Show validations as they come, in tensorboard or trackio; nowhere if not given.",
            commands=("train",),
            is_argument=False,
        ),
    ] = None
    """Where the validations of a run with a folder are shown as they come; None keeps them in its log alone."""

    @field_validator("milestones")
    @classmethod
    def _milestones_are_shares(cls, milestones: tuple[float, ...]) -> tuple[float, ...]:
        if not all(0 < share < 1 for share in milestones):
            raise ValueError("milestones are shares of all steps, between 0 and 1")
        return tuple(sorted(milestones))

    def epochs_of(self, samples: int) -> int:
        """Passes over so many samples, counted out where the config leaves them open."""
        if self.epochs is not None:
            return self.epochs
        steps_per_epoch = -(-samples // (self.batch_size * self.accumulation))
        return max(USUAL_EPOCHS, min(MOST_EPOCHS, -(-USUAL_STEPS // steps_per_epoch)))


Batch = dict[str, "Tensor"]


class Source(Protocol):
    """Samples that can be gathered by index, a batch at a time."""

    def __len__(self) -> int:
        """Number of samples."""

    def gather(self, index: "Tensor") -> Batch:
        """Tensors of the samples with these indices, batch axis first."""


class Callback(Protocol):
    """What hears of a training; any tracker of Accelerate is one."""

    def log(self, values: dict[str, Any], step: int | None = None) -> None:
        """Take the row of a validation; what it raises ends the training."""

    def finish(self) -> None:
        """The training has ended, however it did."""


class Objective(Protocol):
    """What is minimised."""

    def __call__(self, model: "nn.Module", batch: Batch) -> "tuple[Tensor, Tensor]":
        """Sum of losses over the batch, and the number of terms in it."""
