"""Modules whose buffers have the sizes of what was fitted, which a file alone knows."""

from typing import Any, ClassVar

import torch
from torch import nn


class OpenBuffers(nn.Module):
    """A module whose `open_buffers` take the sizes of what is loaded."""

    open_buffers: ClassVar[tuple[str, ...]] = ()

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        for name in self.open_buffers:
            if prefix + name in state_dict:
                setattr(self, name, torch.empty_like(state_dict[prefix + name]))
        super()._load_from_state_dict(state_dict, prefix, *args)
