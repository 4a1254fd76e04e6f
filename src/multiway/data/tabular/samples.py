"""Encoded rows as the training loop takes them."""

import torch
from torch import Tensor

from multiway.data.tabular.encoding import Encoding
from multiway.data.tabular.table import Table


class Samples:
    """Inputs `(rows, inputs)` and targets `(rows,)`, gathered by index."""

    def __init__(self, table: Table, encoding: Encoding) -> None:
        self.inputs = torch.from_numpy(encoding.inputs(table))
        self.targets = torch.from_numpy(encoding.targets(table))

    def __len__(self) -> int:
        return len(self.inputs)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Inputs and targets of some rows."""
        return {"inputs": self.inputs[index], "target": self.targets[index]}
