"""Compressed models as folders with a model card, on the Hugging Face hub and from there; how any folder gets there."""

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from multiway import files
from multiway.compress.budget import count_parameters
from multiway.compress.fits import Compressed
from multiway.compress.page import becomes
from multiway.compress.storage import FILES, load, save
from multiway.compress.swap import record_of, required_record, to_save
from multiway.errors import ConfigError, in_a_line
from multiway.lazy import load_extra
from multiway.nn import CPConv, TTEmbedding, TuckerConv

HOW = "Load it with `{}` of the Python library multiway."


def save_pretrained(model: nn.Module, folder: str | Path, *, scores: Mapping[str, float] | None = None) -> None:
    """Write a compressed model as `save` does, with a card: layers, ratio, errors, and scores that you name.

    Args:
        model: From `Plan.apply` or `load`.
        folder: To write to.
        scores: What you measured, such as `{"accuracy before": .91, "after": .84, "recovered": .905}`.

    Raises:
        ConfigError: Nothing was swapped in this model, or it has adapters.
        RunError: The folder cannot be written.
    """
    model = to_save(model)
    save(model, folder)
    lines = [*card_head("compressed"), f"# {type(model).__name__}, made smaller", "", *card_lines(model)]
    lines += [*score_lines(scores or {}), "", HOW.format("multiway.compress.from_pretrained"), ""]
    files.write_text(Path(folder) / "README.md", "\n".join(lines))


def push_to_hub(
    model: nn.Module, name: str, *, scores: Mapping[str, float] | None = None, private: bool = True
) -> None:
    """Send a compressed model with its card to the repository of that name, which is made if it is not there."""
    send_saved(partial(save_pretrained, model, scores=scores), name, private=private)


def from_pretrained(name: str | Path, model: nn.Module | None = None) -> nn.Module:
    """Take up a compressed model from a folder, or from the repository of that name; `model` as for `load`."""
    return load(name if Path(name).is_dir() else fetched(str(name), FILES, "model"), model)


def card_head(tag: str) -> list[str]:
    """First lines of a card, as the hub reads them."""
    return ["---", "library_name: multiway", f"tags: [multiway, {tag}]", "---"]


def score_lines(scores: Mapping[str, float]) -> list[str]:
    """What was measured, as a table; nothing if nothing was."""
    values = [f"| {name} | {value:.4g} |" for name, value in scores.items()]
    return ["", "| score | value |", "|---|---|", *values] if values else []


def card_lines(model: nn.Module) -> list[str]:
    """What was swapped in a model and what that saved; nothing if it is as it was."""
    if record_of(model) is None:
        return []
    layers: dict[str, Any] = {name: model.get_submodule(name) for name in required_record(model).swaps}
    counts = {name: (dense_parameters(layer), count_parameters(layer)) for name, layer in layers.items()}
    after = count_parameters(model)
    before = after + sum(dense - small for dense, small in counts.values())
    rows = [
        f"| {name} | {becomes(layer)} | {counts[name][0]:,} | {counts[name][1]:,} | {_error(layer)} |"
        for name, layer in layers.items()
    ]
    return [
        f"{len(layers)} layers swapped: {before:,} parameters before, {after:,} after ({after / before:.1%}).", "",
        "| layer | became | parameters before | after | weight error |", "|---|---|---|---|---|", *rows,
    ]  # fmt: skip


def dense_parameters(layer: Compressed) -> int:
    """Numbers that the layer held before it was swapped."""
    if isinstance(layer, TTEmbedding):
        return layer.num_words * math.prod(layer.sizes)
    if isinstance(layer, TuckerConv | CPConv):
        dense = layer.to_convolution()
    else:
        dense = layer.to_linear()
    return count_parameters(dense)


def _error(layer: Compressed) -> str:
    """Relative, of the weight, before any training."""
    return "-" if layer.approximation is None else f"{layer.approximation.error:.3f}"


def send_saved(save_to: Callable[[str], None], name: str, *, private: bool) -> None:
    """Send what is saved to a folder that goes afterwards."""
    with tempfile.TemporaryDirectory() as scratch:
        save_to(scratch)
        send(scratch, name, private=private)


def send(folder: str | Path, name: str, *, private: bool) -> None:
    """Send a folder to the repository of that name."""
    hub: Any = load_extra("huggingface_hub", "push_to_hub", "text")
    hub.HfApi().create_repo(name, private=private, exist_ok=True)
    hub.HfApi().upload_folder(repo_id=name, folder_path=str(folder))


def fetched(name: str, patterns: Sequence[str], what: str) -> Path:
    """The folder of a repository, downloaded as far as the patterns say."""
    hub: Any = load_extra("huggingface_hub", "from_pretrained", "text")
    try:
        return Path(hub.snapshot_download(name, allow_patterns=list(patterns)))
    except (OSError, ValueError, RuntimeError) as error:
        reason = in_a_line(error, 120)
        raise ConfigError(f"{name} is no folder, and the hub has no such {what}: {reason}. Name another.") from None
