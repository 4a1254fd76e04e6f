"""Tensors in safetensors files: what is not readable, or not of the model that is asked for, is one line."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_module_registration_hook

from multiway.errors import RunError

MOST_MODULES = 10_000


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Tensors of a file by name.

    Raises:
        RunError: The file is missing or damaged.
    """
    from safetensors.torch import load_file

    with usable(path):
        return load_file(path)


def check_shapes(path: Path, model: nn.Module) -> None:
    """Compare the head of a file with a model, which may be on the device `meta`: neither is allocated for it.

    Raises:
        RunError: The file is damaged, or of another model.
    """
    from safetensors import safe_open

    with usable(path), safe_open(path, framework="pt") as file:
        stored = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}
    wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    for name in sorted(stored.keys() | wanted.keys()):
        if stored.get(name) != wanted.get(name):
            raise RunError(
                f"{path} is of another model than its run: {name} is {stored.get(name, 'absent')} in the file and "
                f"{wanted.get(name, 'absent')} by the config. Train the run again."
            )


@contextlib.contextmanager
def sketched() -> Iterator[None]:
    """Within this block modules are built without memory, and no more of them than any network has.

    Raises:
        RunError: There are more; a config with a depth of a billion would be built for hours.
    """
    count = 0

    def register(*_: object) -> None:
        nonlocal count
        count += 1
        if count > MOST_MODULES:
            raise RunError(f"the config is of a network of more than {MOST_MODULES:,} modules. Train the run again.")

    handle = register_module_module_registration_hook(register)
    try:
        with torch.device("meta"):
            yield
    finally:
        handle.remove()


@contextlib.contextmanager
def usable(path: Path) -> Iterator[None]:
    """Say in one line what is wrong with a file of tensors.

    Raises:
        RunError: It is missing, damaged, or of another model.
    """
    try:
        yield
    except _errors() as error:
        message = " ".join(str(error).split())[:160]
        raise RunError(f"{path} cannot be used: {message}. Train the run again.") from None


def _errors() -> tuple[type[Exception], ...]:
    from safetensors import SafetensorError

    known: tuple[Any, ...] = (SafetensorError, OSError, RuntimeError, ValueError, KeyError, TypeError)
    return known
