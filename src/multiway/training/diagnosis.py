"""Where the first number that is not finite comes from."""

from typing import Any

import torch
from torch import Tensor, nn

from multiway.training.protocols import Batch, Objective


def first_bad_tensor(model: nn.Module, objective: Objective, batch: Batch) -> str:
    """Name the first non-finite tensor in the order in which a step meets them: batch, weights, activations."""
    for name, tensor in batch.items():
        if not _is_finite(tensor):
            return f"the batch's {name}"
    for name, tensor in model.named_parameters():
        if not _is_finite(tensor):
            return f"the weight {name}"
    return _first_bad_output(model, objective, batch) or "the loss itself"


def _first_bad_output(model: nn.Module, objective: Objective, batch: Batch) -> str | None:
    bad: list[str] = []

    def look(name: str) -> Any:
        def hook(module: nn.Module, inputs: Any, output: Any) -> None:
            if not bad and isinstance(output, Tensor) and not _is_finite(output):
                bad.append(f"the output of {name or 'the model'}")

        return hook

    handles = [module.register_forward_hook(look(name)) for name, module in model.named_modules()]
    try:
        with torch.no_grad():
            objective(model, batch)
    finally:
        for handle in handles:
            handle.remove()
    return bad[0] if bad else None


def _is_finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())
