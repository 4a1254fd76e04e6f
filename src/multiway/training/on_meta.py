"""Models without memory: what is compared with a file, or with a limit, before anything is allocated."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_module_registration_hook
from torch.overrides import TorchFunctionMode

from multiway import files
from multiway.errors import RunError

MOST_MODULES = 10_000


def check_shapes(path: Path, model: nn.Module) -> None:
    """Compare the head of a file with a model, which may be on the device `meta`: neither is allocated for it.

    Where a module names `open_buffers`, their axes without a size have that of the file.
    """
    from safetensors import safe_open

    with files.usable(path), safe_open(path, framework="pt") as file:
        stored = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    for prefix, module in model.named_modules():
        for buffer in getattr(module, "open_buffers", ()):
            name = f"{prefix}.{buffer}" if prefix else buffer
            sizes = stored.get(name, ())
            if len(sizes) == len(expected[name]):
                expected[name] = tuple(own or size for own, size in zip(expected[name], sizes, strict=True))
    for name in sorted(stored.keys() | expected.keys()):
        if stored.get(name) != expected.get(name):
            raise RunError(
                f"{path} is of another model than its run: {name} is {stored.get(name, 'absent')} in the file and "
                f"{expected.get(name, 'absent')} by the config. Train the run again."
            )


@contextlib.contextmanager
def build_on_meta() -> Iterator[None]:
    """Within this block modules are built without memory, and no more of them than any network has."""
    count = 0

    def register(*_: object) -> None:
        nonlocal count
        count += 1
        if count > MOST_MODULES:
            raise RunError(f"the config is of a network of more than {MOST_MODULES:,} modules. Train the run again.")

    handle = register_module_module_registration_hook(register)
    try:
        with torch.device("meta"), Undrawn():
            yield
    finally:
        handle.remove()


class Undrawn(TorchFunctionMode):
    """Leave tensors without values where a module would draw them or set a unit matrix.

    On meta there are no values, and torch would import its compiler for these, which takes a second. It does so for any
    arithmetic: constructors leave it out there.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call whatever is neither of `torch.nn.init` nor a unit matrix."""
        given = kwargs or {}
        if getattr(func, "__module__", None) == nn.init.__name__:
            return args[0] if args else given["tensor"]
        if func is torch.eye:
            return torch.empty(args[0], args[-1], **given)
        if func is torch.randint:
            return torch.empty(args[-1], dtype=torch.int64)
        if func in (torch.rand, torch.randn):
            return torch.empty(*args, **{name: each for name, each in given.items() if name != "generator"})
        return func(*args, **given)
