"""The one gate before every fast path: where it is closed, the plain form in `multiway.ops` does the work."""

import torch
from torch import Tensor
from torch.autograd import forward_ad


def is_open(x: Tensor, *, cpu: bool = False, autocast: bool = True) -> bool:
    """Whether a fast path may take `x`: nothing but autograd follows the operations one by one.

    Compilers, exporters, vmap, functional and forward derivatives follow plain operations best; the meta device has no
    others.

    Args:
        x: What the path reads.
        cpu: Whether the path is for the processor alone.
        autocast: Whether the path works under autocast.
    """
    followed = torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()
    followed = followed or forward_ad._current_level >= 0
    if followed or x.is_meta or (cpu and not x.is_cpu):
        return False
    return autocast or not torch.is_autocast_enabled(x.device.type)


def in_graph() -> bool:
    """Whether a graph is being compiled or exported; sizes may then be symbols, and must not choose the way."""
    return torch.compiler.is_compiling()
