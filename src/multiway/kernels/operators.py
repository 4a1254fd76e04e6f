"""Kernels as operators of torch, for graphs: `torch.ops.multiway.<name>(x, parameters, …)` and `<name>_backward`.

Outside a graph the kernels are called directly, as calling an operator costs more than many a layer. An operator
computes the same everywhere: by its kernel where that can run, by operations of torch elsewhere. Where nodes of
autograd were built, the passes of a chain's operators run without Python from their second call on.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from multiway.kernels.compiled import Chain, plain_gradients, started_nodes

LIBRARY = torch.library.Library("multiway", "DEF")
TAGS = (torch.Tag.pt2_compliant_tag,)
DEVICES = ("CPU", "CUDA")

Gradients = list[Tensor | None]


def call_operator(name: str, x: Tensor, parameters: Sequence[Tensor], *constants: Any) -> Tensor:
    """Call an operator, as a graph does; where no gradient is followed its forward pass, which costs less to call."""
    name = name if torch.is_grad_enabled() else f"{name}_forward"
    out: Tensor = getattr(torch.ops.multiway, name).default(x, parameters, *constants)
    return out


class Operator(NamedTuple):
    """A function of x, of parameters and of constants, in its ways.

    `forward` and `gradients` are the kernel's, and return None where it cannot run.
    """

    name: str
    constants: str
    """What follows x and parameters in the schema."""
    plain: Callable[..., Tensor]
    """In operations of torch, of x, parameters and constants."""
    shape: Callable[..., Sequence[Any]]
    """Of the result; same arguments."""
    forward: Callable[..., Tensor | None]
    """Same arguments."""
    gradients: Callable[..., Gradients | None]
    """Of the result's gradient, x and parameters, which of these need one, and constants."""
    find: Callable[..., Chain | None] | None = None
    """The chain that the kernel is, if it is one; same arguments as `plain`."""

    def register(self) -> None:
        """Define the operator and its passes, and how graphs, derivatives, vmap and autocast see them."""
        schema = f"Tensor x, Tensor[] parameters{self.constants}"
        needed = schema.replace("parameters", "parameters, bool[] needed", 1)
        define(self.name, schema, "Tensor", self._run, self._fake)
        define(f"{self.name}_forward", schema, "Tensor", self._run, self._fake)
        define(f"{self.name}_backward", f"Tensor grad, {needed}", "Tensor[]", self._run_backward, _fake_gradients)
        LIBRARY.impl(self.name, self._follow, "Autograd")
        for device in DEVICES:
            LIBRARY.impl(self.name, self._cast, f"Autocast{device}")
        torch.library.register_vmap(f"{LIBRARY.ns}::{self.name}", self._batched, lib=LIBRARY)

    def _follow(self, x: Tensor, parameters: Sequence[Tensor], *constants: Any) -> Tensor:
        """With a gradient where one is needed; a graph then holds the passes, which cost least to call."""
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (x, *parameters)):
            return _Followed.apply(self, constants, x, *parameters)  # type: ignore[no-any-return,no-untyped-call]
        with torch.no_grad():
            return call_operator(self.name, x, parameters, *constants)

    def _run(self, x: Tensor, parameters: Sequence[Tensor], *constants: Any) -> Tensor:
        _leave_python(self)
        out = self.forward(x.contiguous(), [each.contiguous() for each in parameters], *constants)
        return self.plain(x, parameters, *constants).contiguous() if out is None else out

    def _run_backward(
        self, grad: Tensor, x: Tensor, parameters: Sequence[Tensor], needed: Sequence[bool], *constants: Any
    ) -> list[Tensor]:
        _leave_python(self)
        tensors = [tensor.contiguous() for tensor in (x, *parameters)]
        grads = self.gradients(grad.contiguous(), tensors, needed, *constants)
        if grads is None:
            with _autograd(), torch.no_grad():
                leaves = [tensor.detach().requires_grad_(need) for tensor, need in zip(tensors, needed, strict=True)]
                grads = self._plain_gradients(grad, leaves, needed, constants)
        pairs = zip(grads, needed, strict=True)
        return [each.contiguous() if need and each is not None else grad.new_empty(0) for each, need in pairs]

    def _plain_gradients(
        self, grad: Tensor, tensors: Sequence[Tensor], needed: Sequence[bool], constants: Sequence[Any]
    ) -> Gradients:
        return plain_gradients(lambda x, *others: self.plain(x, others, *constants), tensors, needed, grad)

    def _fake(self, x: Tensor, parameters: Sequence[Tensor], *constants: Any) -> Tensor:
        return x.new_empty(self.shape(x, parameters, *constants))

    def differentiate(
        self, grad: Tensor, tensors: Sequence[Tensor], needed: Sequence[bool], constants: Sequence[Any]
    ) -> Gradients:
        """The gradients that are needed; by operations of torch where they are to be differentiated."""
        if torch.is_grad_enabled():
            return self._plain_gradients(grad, tensors, needed, constants)
        backward = getattr(torch.ops.multiway, f"{self.name}_backward").default
        made = backward(grad, tensors[0], tensors[1:], needed, *constants)
        return [each if need else None for each, need in zip(made, needed, strict=True)]

    def _batched(
        self, info: Any, in_dims: Any, x: Tensor, parameters: Sequence[Tensor], *constants: Any
    ) -> tuple[Tensor, int]:
        """One call for each member of the batch."""
        dims, tensors = (in_dims[0], *in_dims[1]), (x, *parameters)

        def member(index: int) -> Tensor:
            first, *others = (
                each if dim is None else each.select(dim, index) for each, dim in zip(tensors, dims, strict=True)
            )
            return call_operator(self.name, first, others, *constants)

        return torch.stack([member(index) for index in range(info.batch_size)]), 0

    def _cast(self, x: Tensor, parameters: Sequence[Tensor], *constants: Any) -> Tensor:
        """In the type of autocast, as products are."""
        device = x.device.type
        dtype = torch.get_autocast_dtype(device)
        with torch.autocast(device, enabled=False):
            return call_operator(self.name, x.to(dtype), [each.to(dtype) for each in parameters], *constants)


def define(name: str, schema: str, result: str, run: Callable[..., object], fake: Callable[..., object]) -> None:
    """Add an operation to the library, and what it makes of shapes alone."""
    LIBRARY.define(f"{name}({schema}) -> {result}", tags=TAGS)
    LIBRARY.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{LIBRARY.ns}::{name}", fake, lib=LIBRARY)


@functools.cache
def _leave_python(operator: Operator) -> None:
    """Have later calls of a chain served by `autograd.cpp`, which asks Python for what is not plain alone.

    At the first call, since to look for the compiled code takes time that an import should not.
    """
    module = started_nodes()
    if module is None or operator.find is None:
        return
    for name in (operator.name, f"{operator.name}_forward"):
        module.serve(name, False, operator.find, operator._run)
    module.serve(f"{operator.name}_backward", True, operator.find, operator._run_backward)


class _Followed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, operator: Operator, constants: Sequence[Any], x: Tensor, *parameters: Tensor) -> Tensor:
        ctx.operator, ctx.constants = operator, constants
        ctx.save_for_backward(x, *parameters)
        return call_operator(operator.name, x, parameters, *constants)  # autograd is off here

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> Any:
        tensors, needed = ctx.saved_tensors, ctx.needs_input_grad[2:]
        return None, None, *ctx.operator.differentiate(above[0], tensors, needed, ctx.constants)


def _fake_gradients(
    grad: Tensor, x: Tensor, parameters: Sequence[Tensor], needed: Sequence[bool], *constants: Any
) -> list[Tensor]:
    tensors = zip((x, *parameters), needed, strict=True)
    return [tensor.new_empty(tensor.shape if need else 0) for tensor, need in tensors]


@contextlib.contextmanager
def _autograd() -> Iterator[None]:
    """Let autograd follow operations inside an operator, which the dispatcher keeps from it."""
    include, exclude = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    for key in ("AutogradCPU", "AutogradCUDA", "AutogradOther", "AutogradFunctionality", "ADInplaceOrView"):
        exclude = exclude.remove(getattr(torch._C.DispatchKey, key))
    with torch._C._ForceDispatchKeyGuard(include, exclude):
        yield
