"""What a backward pass keeps."""

import torch
from torch import Tensor, nn


def saved_bytes(module: nn.Module, x: Tensor) -> int:
    """Bytes that autograd keeps between forward and backward, each storage once, parameters not counted."""
    own = {parameter.untyped_storage().data_ptr() for parameter in module.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = module(x)
    del out
    return sum(kept.values())
