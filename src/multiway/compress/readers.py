"""Layers whose weight a model reads in place of calling the layer: by the code of its modules, and by running it."""

import ast
import contextlib
import functools
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from torch import nn

from multiway.nn import KroneckerAttention

READERS: tuple[type[nn.Module], ...] = (nn.MultiheadAttention, KroneckerAttention)
"""Modules that read the weights of all layers below them."""
LEFT_FAST_PATHS: tuple[type[nn.Module], ...] = (nn.TransformerEncoderLayer, nn.TransformerEncoder)
"""Modules that read weights on a path which a swap switches off."""
NOT_RUN = ("__init__", "extra_repr", "reset_parameters", "init_weights", "_init_weights", "_reset_parameters")
"""Methods that a model that is trained does not call any more."""


def reads(parent: nn.Module, name: str) -> bool:
    """Whether a module reads the weight of a layer below it: by its kind, in `read_layers`, or in its code."""
    named = name in getattr(parent, "read_layers", ())
    return isinstance(parent, READERS) or named or name in read_in_code(type(parent))  # type: ignore[arg-type]


@functools.lru_cache(maxsize=4096)
def read_in_code(cls: type[nn.Module]) -> frozenset[str]:
    """Names of the layers of which a class's methods read `self.NAME.weight`."""
    if issubclass(cls, LEFT_FAST_PATHS):
        return frozenset()
    names = set[str]()
    for each in cls.__mro__[: cls.__mro__.index(nn.Module)]:
        for key, value in vars(each).items():
            names |= _weights_of_self(value) if inspect.isfunction(value) and key not in NOT_RUN else set()
    return frozenset(names)


def _weights_of_self(function: Any) -> set[str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # no source at hand
        return set()
    chains = (
        _chain(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "weight"
    )
    return {chain.removeprefix("self.") for chain in chains if chain.startswith("self.")}


def _chain(node: ast.expr) -> str:
    """An expression such as `self.a.b` as text; "" for any other."""
    if isinstance(node, ast.Name):
        return node.id
    before = _chain(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{before}.{node.attr}" if before and isinstance(node, ast.Attribute) else ""


@contextlib.contextmanager
def watched(layers: Mapping[str, nn.Module]) -> Iterator[set[str]]:
    """Names of those layers whose weight is read while the block runs, other than by their own forward."""
    seen, kinds = set[str](), {name: type(layer) for name, layer in layers.items()}
    try:
        for name, layer in layers.items():
            layer.__class__ = _watching(type(layer), name, seen)
        yield seen
    finally:
        for name, layer in layers.items():
            layer.__class__ = kinds[name]


def _watching(cls: type[nn.Module], name: str, seen: set[str]) -> type[nn.Module]:
    """A class like this one that says when its weight is read from outside."""
    running: list[bool] = []

    def __getattr__(self: nn.Module, attribute: str) -> Any:
        if attribute == "weight" and not running:
            seen.add(name)
        return nn.Module.__getattr__(self, attribute)

    def forward(self: nn.Module, *inputs: Any, **named: Any) -> Any:
        running.append(True)
        try:
            return cls.forward(self, *inputs, **named)
        finally:
            running.pop()

    return type(cls.__name__, (cls,), {"__getattr__": __getattr__, "forward": forward, "__module__": cls.__module__})
