"""The sizes that a stranger's model declares, held to the weights that lie beside them."""

import json
import math
from pathlib import Path
from typing import Any

from multiway.data.findings import quoted
from multiway.errors import ConfigError, in_a_line

LAYERS = ("num_hidden_layers", "num_layers", "n_layers", "n_layer")
WIDTHS = (
    "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size", "max_position_embeddings", "d_model",
    "num_heads", "n_heads", "n_head", "n_embd", "dim", "hidden_dim", "image_size", "patch_size", "num_channels",
)  # fmt: skip
"""Whole numbers of a configuration, by the names that architectures have for them."""
MOST = 10_000_000
"""Bytes of a configuration at most."""


def check_declared_sizes(folder: Path, config: str) -> None:
    """Refuse layers that the weights of a folder have no tensors for, and sizes that they have no numbers for.

    Without it a number in a text file decides how much memory is taken.
    """
    known = _read(folder / config)
    tensors, numbers = _weights(folder)
    for names, most, what in ((LAYERS, tensors, "tensors"), (WIDTHS, numbers, "numbers")):
        for name in (name for name in names if known.get(name) is not None):
            value = known[name]
            if isinstance(value, list) and all(isinstance(part, int) for part in value):
                value = max(value, default=0)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise ConfigError(
                    f"{folder / config}: {name} is a whole number from 1 to {most:,}, as the weights beside it have "
                    f"{most:,} {what}. Got {quoted(known[name])}. Give the folder as `save_pretrained` wrote it."
                )


def _read(path: Path) -> dict[str, Any]:
    """The configuration, or what is wrong with it."""
    try:
        if path.stat().st_size > MOST:
            raise ValueError(f"it has more than {MOST:,} bytes")
        known = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(known, dict):
            raise ValueError("it is no JSON object")
    except (OSError, ValueError, RecursionError) as error:
        reason = quoted(in_a_line(error), 120)
        raise ConfigError(f"{path}: it cannot be read ({reason}). Give what `save_pretrained` wrote.") from None
    return known


def _weights(folder: Path) -> tuple[int, int]:
    """How many tensors and how many numbers there are, by the headers of the files."""
    from safetensors import SafetensorError, safe_open

    shapes: list[tuple[int, ...]] = []
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="numpy") as file:
                shapes += [tuple(file.get_slice(name).get_shape()) for name in file.keys()]
        except (OSError, SafetensorError) as error:
            reason = quoted(in_a_line(error), 120)
            raise ConfigError(f"{path}: its weights cannot be read ({reason}). Copy the file again.") from None
    return len(shapes), sum(map(math.prod, shapes))
