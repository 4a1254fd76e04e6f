"""Kernels as operators of torch, for graphs: `torch.ops.multiway.<name>(x, parameters, …)` and `<name>_backward`.

Outside a graph the kernels are called directly, as calling an operator costs more than many a layer. An operator
computes the same everywhere: by its kernel where that can run, by operations of torch elsewhere.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import torch
from torch import Tensor

from multiway.kernels.compiled import Gradients, Kernel, can_run, plain_gradients
from multiway.kernels.library import library

LIBRARY = torch.library.Library("multiway", "DEF")
TAGS = (torch.Tag.pt2_compliant_tag,)
DEVICES = ("CPU", "CUDA")


def call_operator(name: str, x: Tensor, parameters: Sequence[Tensor], *constants: Any) -> Tensor:
    """Call an operator, as a graph does."""
    out: Tensor = getattr(torch.ops.multiway, name).default(x, parameters, *constants)
    return out


class Operator(NamedTuple):
    """A function of x, of parameters and of constants, in its ways; all of them take the same arguments."""

    name: str
    constants: str
    """What follows x and parameters in the schema."""
    plain: Callable[..., Tensor]
    """In operations of torch."""
    shape: Callable[..., Sequence[Any]]
    """Of the result."""
    find: Callable[..., Kernel | None]
    """The kernel for these sizes, if there is one."""

    def register(self) -> None:
        """Define the operator and its passes, and how graphs, derivatives, vmap and autocast see them."""
        schema = f"Tensor x, Tensor[] parameters{self.constants}"
        needed = schema.replace("parameters", "parameters, bool[] needed", 1)
        define(self.name, schema, "Tensor", self._run, self._fake)
        define(f"{self.name}_backward", f"Tensor grad, {needed}", "Tensor[]", self._run_backward, _fake_gradients)
        name = f"{LIBRARY.ns}::{self.name}"
        torch.library.register_autograd(name, self._differentiate, setup_context=_keep, lib=LIBRARY)
        torch.library.register_vmap(name, self._map_batch, lib=LIBRARY)
        for device in DEVICES:
            LIBRARY.impl(self.name, self._cast, f"Autocast{device}")

    def _kernel(self, x: Tensor, parameters: Sequence[Tensor], constants: Sequence[Any], *others: Tensor) -> Any:
        """The kernel, if it can run on these contiguous tensors and others."""
        kernel = self.find(x, parameters, *constants) if library() and can_run((x, *parameters, *others)) else None
        return kernel if kernel is not None and kernel.fits(x, *parameters) else None

    def _run(self, x: Tensor, parameters: Sequence[Tensor], *constants: Any) -> Tensor:
        x, *parameters = (each.contiguous() for each in (x, *parameters))
        kernel = self._kernel(x, parameters, constants)
        made = self.plain(x, parameters, *constants) if kernel is None else kernel.forward((x, *parameters))
        return made.contiguous()

    def _run_backward(
        self, grad: Tensor, x: Tensor, parameters: Sequence[Tensor], needed: Sequence[bool], *constants: Any
    ) -> list[Tensor]:
        grad, x, *parameters = (each.detach().contiguous() for each in (grad, x, *parameters))
        kernel = self._kernel(x, parameters, constants, grad)
        if kernel is None:
            leaves = [each.requires_grad_(need) for each, need in zip((x, *parameters), needed, strict=True)]
            with ThreadPoolExecutor(1) as pool:  # autograd follows nothing in the thread that is inside an operator
                grads = pool.submit(torch.no_grad()(self._plain_gradients), leaves, needed, constants, grad).result()
        else:
            grads = kernel.gradients(grad, (x, *parameters), needed)
        pairs = zip(grads, needed, strict=True)
        return [each.contiguous() if need and each is not None else grad.new_empty(0) for each, need in pairs]

    def _plain_gradients(
        self, tensors: Sequence[Tensor], needed: Sequence[bool], constants: Sequence[Any], grad: Tensor
    ) -> Gradients:
        return plain_gradients(lambda x, *others: self.plain(x, others, *constants), tensors, needed, grad)

    def _fake(self, x: Tensor, parameters: Sequence[Tensor], *constants: Any) -> Tensor:
        return x.new_empty(self.shape(x, parameters, *constants))

    def _differentiate(self, ctx: Any, above: Tensor) -> tuple[Any, ...]:
        """By operations of torch where the gradients are to be differentiated."""
        (x, *parameters), constants = ctx.saved_tensors, ctx.constants
        needed = [ctx.needs_input_grad[0], *ctx.needs_input_grad[1]]
        grads: Gradients
        if torch.is_grad_enabled():
            grads = self._plain_gradients((x, *parameters), needed, constants, above)
        else:
            backward = getattr(torch.ops.multiway, f"{self.name}_backward").default
            made = backward(above, x, parameters, needed, *constants)
            grads = [each if need else None for each, need in zip(made, needed, strict=True)]
        return grads[0], grads[1:], *[None] * len(constants)

    def _map_batch(
        self, info: Any, in_dims: Any, x: Tensor, parameters: Sequence[Tensor], *constants: Any
    ) -> tuple[Tensor, int]:
        """One call for each member of the batch."""
        dims, tensors = (in_dims[0], *in_dims[1]), (x, *parameters)

        def member(index: int) -> Tensor:
            pairs = zip(tensors, dims, strict=True)
            first, *others = (each if dim is None else each.select(dim, index) for each, dim in pairs)
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


def _keep(ctx: Any, inputs: Any, output: Tensor) -> None:
    x, parameters, *ctx.constants = inputs
    ctx.save_for_backward(x, *parameters)


def _fake_gradients(
    grad: Tensor, x: Tensor, parameters: Sequence[Tensor], needed: Sequence[bool], *constants: Any
) -> list[Tensor]:
    tensors = zip((x, *parameters), needed, strict=True)
    return [tensor.new_empty(tensor.shape if need else 0) for tensor, need in tensors]
