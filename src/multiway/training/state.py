"""The whole state of a training in one safetensors file, replaced atomically: no pickle, no second file to lose."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from multiway import files
from multiway.errors import RunError

STATE_FILE = "training.safetensors"


def save_state(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    best: dict[str, Tensor],
    average: dict[str, Tensor],
    position: dict[str, Any],
) -> None:
    """Write model, optimiser, best and averaged weights, random state and position.

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
    plain = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
    files.make_folder(folder, parents=False)
    files.write_tensors(folder / STATE_FILE, plain, {"position": json.dumps(position)})


def load_state(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, Any], dict[str, Tensor], dict[str, Tensor]] | None:
    """Restore what `save_state` wrote, in place; return position, best and averaged weights, or None without a state.

    Raises:
        RunError: The file is damaged, or belongs to another model.
    """
    path = folder / STATE_FILE
    if not path.is_file():
        return None
    tensors, position = _read(path)
    try:
        model.load_state_dict(_part(tensors, "model."))
        _restore_optimizer(optimizer, tensors)
        torch.set_rng_state(tensors["random.torch"])
        if torch.cuda.is_available() and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"])
    except (RuntimeError, KeyError, ValueError) as error:
        message = " ".join(str(error).split())[:160]
        raise RunError(f"{path} does not fit this model: {message}. Start the run anew.") from None
    return position, _part(tensors, "best."), _part(tensors, "average.")


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}
            return tensors, json.loads(file.metadata()["position"])
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        message = " ".join(str(error).split())[:160]
        raise RunError(f"{path} is damaged: {message}. Remove its folder to train from the start.") from None


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


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
    for name, tensor in _part(tensors, "optimizer.").items():
        number, key = name.split(".", 1)
        state.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
