"""Which layers a model reads the weight of in place of calling them: by the code of its modules, and by running it."""

import ast
import contextlib
import functools
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import nn

from multiway.nn import KroneckerAttention

READERS: tuple[type[nn.Module], ...] = (nn.MultiheadAttention, KroneckerAttention)
"""Modules that read the weights of all layers below them."""
WEIGHTS = (".weight", ".in_proj_weight")
"""What code says that reads the weight of a layer, or of an attention."""
FAST_PATHS: tuple[tuple[type[nn.Module], str, Any], ...] = (
    (nn.TransformerEncoderLayer, "activation_relu_or_gelu", 0),
    (nn.TransformerEncoder, "use_nested_tensor", False),
)
"""Modules that read weights on a path which a swap switches off, and the setting that says so."""
NOT_RUN = ("__init__", "extra_repr", "reset_parameters", "init_weights", "_init_weights", "_reset_parameters")
"""Methods that a model that is trained does not call any more."""


def ancestors(model: nn.Module, name: str) -> dict[str, nn.Module]:
    """Every module above a layer, by name; the model itself is ""."""
    parts = name.split(".")[:-1]
    names = [".".join(parts[:count]) for count in range(len(parts) + 1)]
    return {above: model.get_submodule(above) for above in names}


def leave_fast_paths(model: nn.Module, names: Sequence[str]) -> list[tuple[str, str, Any]]:
    """Keep torch's Transformer encoders from reading weights in place of calling layers; return what was changed.

    In evaluation without gradients `nn.TransformerEncoderLayer` passes the weights of linear1 and linear2 to one fused
    function, and `nn.TransformerEncoder` packs padded batches for it. Both have a setting that says not to.
    """
    changed = []
    for name in names:
        for above, parent in ancestors(model, name).items():
            setting, off = next((path for kind, *path in FAST_PATHS if isinstance(parent, kind)), ("", None))
            if setting and getattr(parent, setting) != off:
                changed.append((above, setting, getattr(parent, setting)))
                setattr(parent, setting, off)
    return changed


def take_fast_paths(model: nn.Module, settings: Sequence[tuple[str, str, Any]]) -> None:
    """Undo what `leave_fast_paths` changed."""
    for name, setting, value in reversed(settings):
        setattr(model.get_submodule(name), setting, value)


def reads(parent: nn.Module, name: str) -> bool:
    """Whether a module reads the weight of a layer below it: by its kind, in `read_layers`, or in its code."""
    named = name in getattr(parent, "read_layers", ())
    return isinstance(parent, READERS) or named or name in read_in_code(type(parent))  # type: ignore[arg-type]


@functools.lru_cache(maxsize=4096)
def read_in_code(cls: type[nn.Module]) -> frozenset[str]:
    """Names of the layers of which a class says `self.NAME.weight` in `forward`, or in what that calls of itself.

    A class that has no `forward` is called by methods of any name.
    """
    if issubclass(cls, tuple(kind for kind, *_ in FAST_PATHS)):
        return frozenset()
    methods = _methods_of(cls)
    waiting = ["forward"] if "forward" in methods else [name for name in methods if name not in NOT_RUN]
    names, seen = set[str](), set[str]()
    while waiting:
        name = waiting.pop()
        chains = set[str]() if name in seen else set().union(*map(_chains_of_self, methods[name]))
        seen.add(name)
        names |= {chain.removesuffix(end) for chain in chains for end in WEIGHTS if chain.endswith(end)}
        waiting += chains & methods.keys()
    return frozenset(names)


def _methods_of(cls: type[nn.Module]) -> dict[str, list[Any]]:
    """Functions and properties of a class by name, with those of its parents, which `super()` may call."""
    methods: dict[str, list[Any]] = {}
    for each in cls.__mro__[: cls.__mro__.index(nn.Module)]:
        for name, value in vars(each).items():
            function = value.fget if isinstance(value, property) else value
            if inspect.isfunction(function):
                methods.setdefault(name, []).append(function)
    return methods


def _chains_of_self(function: Any) -> set[str]:
    """What a function says of itself, such as `a` and `a.weight` for `self.a.weight`."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # no source at hand
        return set()
    chains = (_chain(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return {chain.removeprefix("self.") for chain in chains if chain.startswith("self.")}


def _chain(node: ast.expr) -> str:
    """An expression such as `self.a.b` as text, `super()` being `self`; "" for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        return "self"
    before = _chain(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{before}.{node.attr}" if before and isinstance(node, ast.Attribute) else ""


@contextlib.contextmanager
def watch_weights(layers: Mapping[str, nn.Module]) -> Iterator[set[str]]:
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
