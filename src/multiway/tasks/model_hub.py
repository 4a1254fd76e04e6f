"""Models by name as folders with a model card, on the Hugging Face hub and from there."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from multiway import files
from multiway.compress.budget import count_parameters
from multiway.compress.hub import HOW, card_head, card_lines, fetched, score_lines, send_saved
from multiway.compress.storage import (
    CONFIG,
    FILES,
    SWAPS,
    WEIGHTS,
    fill,
    has_swaps,
    read_json,
    read_tensors,
    restore,
    save_tensors,
    take_dtypes,
    write_swaps,
)
from multiway.compress.swap import record_of, to_save
from multiway.errors import RunError
from multiway.models.registry import Created, create_model, created_as

FORMAT = 1


def save_pretrained(model: nn.Module, folder: str | Path, *, scores: Mapping[str, float] | None = None) -> None:
    """Write a model that `create_model` built, compressed or not: weights, name, fields and a model card.

    Args:
        model: It may be trained, and its layers may be swapped by `multiway.compress`.
        folder: To write to; files of an earlier save are replaced.
        scores: What you measured, such as `{"accuracy": .91}`.

    Raises:
        ConfigError: `create_model` did not build it, or it has adapters.
        RunError: The folder cannot be written.
    """
    model = to_save(model)
    path, created = Path(folder), created_as(model)
    files.make_folder(path)
    tied = save_tensors(model.state_dict(), path / WEIGHTS)
    facts = {"weights": files.sha256_of(path / WEIGHTS), "tied": tied}
    (path / SWAPS).unlink(missing_ok=True)
    if record_of(model) is not None:
        write_swaps(model, path, **facts)
    content = {"format": FORMAT, "model": created.name, "fields": created.config.plain(), **facts}
    files.write_text(path / CONFIG, json.dumps(content, indent=1) + "\n")
    files.write_text(path / "README.md", _card(model, created, scores or {}))


def push_to_hub(
    model: nn.Module, name: str, *, scores: Mapping[str, float] | None = None, private: bool = True
) -> None:
    """Send such a model with its card to the repository of that name, which is made if it is not there."""
    send_saved(partial(save_pretrained, model, scores=scores), name, private=private)


def from_pretrained(name: str | Path) -> nn.Module:
    """Build what `save_pretrained` wrote, in evaluation mode, from a folder or the repository of that name.

    Raises:
        ConfigError: There is no such folder or repository, or this version does not know the model or a field.
        RunError: The folder holds something else, or is damaged.
    """
    folder = Path(name) if Path(name).is_dir() else fetched(str(name), FILES, "model")
    stored = _stored(folder)
    model = create_model(stored["model"], **stored["fields"])
    if has_swaps(folder):
        restore(model, folder)
    tensors = read_tensors(folder / WEIGHTS)
    tensors |= {name: tensors[kept] for name, kept in stored["tied"].items()}
    take_dtypes(model, tensors)
    fill(model, tensors, folder / WEIGHTS)
    return model.eval()


def _stored(folder: Path) -> dict[str, Any]:
    """What the folder says of its model, of which the weights are."""
    stored = read_json(folder / CONFIG)
    names = {"format", "model", "fields", "weights", "tied"}
    if not isinstance(stored, dict) or stored.keys() != names or stored["format"] != FORMAT:
        raise RunError(f"{folder} holds no model of save_pretrained. A run is taken up by its estimator.")
    if files.sha256_of(folder / WEIGHTS) != stored["weights"]:
        raise RunError(f"{folder / WEIGHTS} does not belong to {CONFIG} next to it. Save the model again.")
    return stored


def _card(model: nn.Module, created: Created, scores: Mapping[str, float]) -> str:
    """What the model is, in the form of the hub."""
    size = f"`create_model({created.name!r})` of multiway, {count_parameters(model):,} parameters."
    lines = [*card_head("model"), f"# {created.name}", "", size, "", *card_lines(model), *score_lines(scores)]
    return "\n".join([*lines, "", HOW.format("from_pretrained"), ""])
