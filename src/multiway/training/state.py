"""The whole state of a training in one safetensors file, replaced atomically: no pickle, no second file to lose."""

import dataclasses
import json
from pathlib import Path
from typing import Any, Self

import torch
from pydantic import Field, field_validator, model_validator
from torch import Tensor

from multiway import files
from multiway.config import Config
from multiway.errors import RunError, in_a_line
from multiway.training.run_folder import LogRow, RunFolder, resuming
from multiway.training.steps import Standing, Steps
from multiway.training.stored import Sha256

STATE_FILE = "training.safetensors"
RESTART = "Remove its folder to train from the start."
UNFIT = (RuntimeError, KeyError, ValueError, TypeError, AttributeError, IndexError)
"""What torch raises where a state is not that of the model."""
CARRIED = tuple(field.name for field in dataclasses.fields(Standing) if field.name != "best")
"""Variables of a training that are numbers and rows, not weights."""


class Position(Config):
    """Where a training stands, and what it can be continued by.

    config_sha256: Of the run's `config.yaml`.
    rows: Of the log.
    samples: Training samples.
    world: Processes.
    threads, torch: Others give sums in another order.
    """

    config_sha256: Sha256
    step: int = Field(ge=0)
    total_steps: int = Field(ge=0)
    samples: int = Field(ge=0)
    world: int = Field(ge=1)
    threads: int = Field(ge=1)
    torch: str
    best_loss: float
    best_score: float | None
    best_epoch: float = Field(ge=0)
    bad_validations: int = Field(ge=0)
    loss_sum: float
    loss_count: float = Field(ge=0)
    seconds: float = Field(ge=0)
    finished: bool
    rows: list[dict[str, Any]]

    @field_validator("rows")
    @classmethod
    def _rows_are_of_a_log(cls, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [LogRow.parse(row, "rows").plain() for row in rows]

    @model_validator(mode="after")
    def _step_is_within_the_training(self) -> Self:
        if self.step > self.total_steps:
            raise ValueError(f"step {self.step} of {self.total_steps}")
        return self


class Checkpoint:
    """The saved state of one training in the folder of its run; without a folder nothing is saved.

    Attributes:
        folder: What this process writes to; none where another one writes, or nothing is kept.
    """

    def __init__(self, run: RunFolder | None, steps: Steps) -> None:
        self.run, self.steps = run, steps
        self.folder = run if steps.engine.is_main else None

    def restore(self) -> tuple[Standing, tuple[str, ...]]:
        """Where the training stands, with notes; at its start if no state lies there."""
        if self.run is None:
            return Standing(), ()
        path, standing, notes = self.run.state_dir / STATE_FILE, Standing(), tuple[str, ...]()
        if path.is_file():
            tensors, position = _read(path)
            parts = {name: _part(tensors, f"{name}.") for name in ("model", "best", "average")}
            self._fill(path, tensors, parts)
            notes = self._check_same_training(position, self.run)
            standing = Standing(**{name: getattr(position, name) for name in CARRIED}, best=parts["best"])
            if self.steps.average is not None:
                self.steps.average.restore(parts["average"])
        self.run.rewrite_log(standing.rows)
        return standing, notes

    def _fill(self, path: Path, tensors: dict[str, Tensor], parts: dict[str, dict[str, Tensor]]) -> None:
        """Give model, optimiser and generators what was saved of them."""
        model = self.steps.engine.model
        shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
        try:
            for name in ("best", "average"):  # none at all, or those of the model
                if parts[name] and {key: tensor.shape for key, tensor in parts[name].items()} != shapes:
                    raise ValueError("the weights that were kept are those of another model")
            model.load_state_dict(parts["model"])
            self._fill_optimizer(_part(tensors, "optimizer."))
            torch.set_rng_state(tensors["random.torch"])
            if torch.cuda.is_available() and "random.cuda" in tensors:
                torch.cuda.set_rng_state(tensors["random.cuda"])
        except UNFIT as error:
            raise RunError(f"{path} does not fit this model: {in_a_line(error)}. Start the run anew.") from None

    def _fill_optimizer(self, tensors: dict[str, Tensor]) -> None:
        """Moments and counts of steps alone; the hyperparameters come from the config."""
        optimizer, state = self.steps.optimizer, dict[int, dict[str, Tensor]]()
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        for name, tensor in tensors.items():
            number, key = name.split(".", 1)
            if tensor.shape != (torch.Size() if key == "step" else parameters[int(number)].shape):
                raise ValueError(f"{name} is of another shape")
            state.setdefault(int(number), {})[key] = tensor
        if not all(moments.keys() == {"step", "exp_avg", "exp_avg_sq"} for moments in state.values()):
            raise ValueError("the optimiser's moments are not complete")
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})

    def _check_same_training(self, position: Position, run: RunFolder) -> tuple[str, ...]:
        """Refuse what would be another training; another machine only rounds differently, which is noted."""
        if position.config_sha256 != run.config_sha256:
            raise RunError(
                f"{run.path}: the saved state was made with another config.yaml. Restore it, or start a new run."
            )
        here = self._circumstances()
        for name in ("total_steps", "samples", "world"):
            stored = getattr(position, name)
            if stored != here[name]:
                raise RunError(
                    f"{run.path}: the saved state is of a training with {name}={stored} and this one has "
                    f"{name}={here[name]}. Resume it as it was started, or start a new run."
                )
        other = [name for name in ("threads", "torch") if getattr(position, name) != here[name]]
        was = ", ".join(f"{name} {getattr(position, name)}" for name in other)
        now = ", ".join(f"{name} {here[name]}" for name in other)
        note = (
            f"The training was begun with {was} and continued with {now}: its weights are not to the bit those "
            f"of a training that was left alone."
        )
        return (note,) if other else ()

    def _circumstances(self) -> dict[str, Any]:
        """What a training can be continued by."""
        steps = self.steps
        return {
            "total_steps": steps.total,
            "samples": steps.count,
            "world": steps.engine.world,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
        }

    def save(self, standing: Standing) -> None:
        """Save model, optimiser, best and averaged weights, random state and position, in the process that writes."""
        steps = self.steps
        if self.folder is None or steps.engine.sharded:
            return
        average = {} if steps.average is None else steps.average.values
        parts = {"model": steps.engine.model.state_dict(), "best": standing.best, "average": average}
        tensors = {f"{part}.{name}": tensor for part, named in parts.items() for name, tensor in named.items()}
        for number, state in steps.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{key}": torch.as_tensor(value) for key, value in state.items()}
        tensors["random.torch"] = torch.get_rng_state()
        if torch.cuda.is_available():
            tensors["random.cuda"] = torch.cuda.get_rng_state()
        plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
        carried = {name: getattr(standing, name) for name in CARRIED}
        position = Position(config_sha256=self.folder.config_sha256, **self._circumstances(), **carried)
        text = json.dumps(position.model_dump())
        files.make_folder(self.folder.state_dir, parents=False)
        path = self.folder.state_dir / STATE_FILE
        files.write_tensors(path, plain, {"position": text, "sha256": files.tensor_digest(plain, text)})

    def how_to_continue(self) -> str:
        """What a user does after a stop."""
        return "Nothing was saved." if self.run is None else f"Continue with {resuming(self.run.root)}."


def _read(path: Path) -> tuple[dict[str, Tensor], Position]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}
            stored = file.metadata()
        if stored["sha256"] != files.tensor_digest(tensors, stored["position"]):
            raise ValueError("its content does not have its hash")
        return tensors, Position.parse(json.loads(stored["position"]), "position")
    except (SafetensorError, OSError, RecursionError, *UNFIT) as error:
        raise RunError(f"{path} is damaged: {in_a_line(error)}. {RESTART}") from None


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
