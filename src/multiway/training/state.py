"""The whole state of a training in one safetensors file, replaced atomically: no pickle, no second file to lose."""

import hashlib
import json
from pathlib import Path

import torch
from torch import Tensor, nn

from multiway import files
from multiway.errors import RunError
from multiway.training.log import Position

STATE_FILE = "training.safetensors"
RESTART = "Remove its folder to train from the start."
UNFIT = (RuntimeError, KeyError, ValueError, TypeError, AttributeError, IndexError)
"""What torch raises where a state is not that of the model."""


def save_state(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    best: dict[str, Tensor],
    average: dict[str, Tensor],
    position: Position,
) -> None:
    """Write model, optimiser, best and averaged weights, random state and position, with their hash.

    Raises:
        RunError: The disk is full; the state before is untouched.
    """
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    tensors |= {f"average.{name}": tensor for name, tensor in average.items()}
    tensors |= _optimizer_tensors(optimizer)
    tensors["random.torch"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    files.make_folder(folder, parents=False)
    text = json.dumps(position.model_dump())
    files.write_tensors(folder / STATE_FILE, plain, {"position": text, "sha256": _digest(plain, text)})


def load_state(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[Position, dict[str, Tensor], dict[str, Tensor]] | None:
    """Restore what `save_state` wrote, in place; return position, best and averaged weights, or None without a state.

    Raises:
        RunError: The file is damaged, or belongs to another model.
    """
    path = folder / STATE_FILE
    if not path.is_file():
        return None
    tensors, position = _read(path)
    best, average = _part(tensors, "best."), _part(tensors, "average.")
    try:
        for kept in (best, average):
            _check_like(kept, model.state_dict())
        model.load_state_dict(_part(tensors, "model."))
        _restore_optimizer(optimizer, tensors)
        torch.set_rng_state(tensors["random.torch"])
        if torch.cuda.is_available() and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"])
    except UNFIT as error:
        message = " ".join(str(error).split())[:160]
        raise RunError(f"{path} does not fit this model: {message}. Start the run anew.") from None
    return position, best, average


def _read(path: Path) -> tuple[dict[str, Tensor], Position]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}
            stored = file.metadata()
        if stored["sha256"] != _digest(tensors, stored["position"]):
            raise ValueError("its content does not have its hash")
        return tensors, Position.parse(json.loads(stored["position"]), "position")
    except (SafetensorError, OSError, RecursionError, *UNFIT) as error:
        message = " ".join(str(error).split())[:160]
        raise RunError(f"{path} is damaged: {message}. {RESTART}") from None


def _digest(tensors: dict[str, Tensor], position: str) -> str:
    """Hash of names, types, shapes and bytes of tensors, and of the position."""
    found = hashlib.sha256(position.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _check_like(tensors: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    """Kept weights are none at all, or those of the model."""
    shapes, own = ({name: tensor.shape for name, tensor in each.items()} for each in (tensors, wanted))
    if shapes and shapes != own:
        raise ValueError("the weights that were kept are those of another model")


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    states = optimizer.state_dict()["state"]
    return {
        f"optimizer.{number}.{key}": torch.as_tensor(value)
        for number, state in states.items()
        for key, value in state.items()
    }


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """The hyperparameters come from the config; only moments and step counts are stored."""
    state: dict[int, dict[str, Tensor]] = {}
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for name, tensor in _part(tensors, "optimizer.").items():
        number, key = name.split(".", 1)
        if tensor.shape != (torch.Size() if key == "step" else parameters[int(number)].shape):
            raise ValueError(f"{name} is of another shape")
        state.setdefault(int(number), {})[key] = tensor
    if not all(each.keys() == {"step", "exp_avg", "exp_avg_sq"} for each in state.values()):
        raise ValueError("the optimiser's moments are not complete")
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
