"""A model in a folder: weights, what was swapped in it, what it is built from, and a model card."""

import functools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from multiway import files, hub
from multiway.compress.attentions import open_attentions
from multiway.compress.budget import count_parameters
from multiway.compress.fits import Compressed
from multiway.compress.kinds import features_of, layer_kind, transformers
from multiway.compress.layers import build_layer, describe_layer
from multiway.compress.page import becomes
from multiway.compress.rules import SWAPS
from multiway.compress.swap import is_swapped, require_record, swap_in, to_save
from multiway.errors import ConfigError, MultiwayError, RunError, in_a_line
from multiway.models.registry import Created, create_model
from multiway.nn import CPConv, TTEmbedding, TuckerConv

WEIGHTS, CONFIG = "weights.safetensors", "config.json"
FORMAT = 1


def save_pretrained(model: nn.Module, folder: str | Path, *, scores: Mapping[str, float] | None = None) -> None:
    """Write a model as `save` does, with a model card: its layers, parameters and errors, and scores that you name.

    Args:
        model: From `create_model`, trained or not, or from `Plan.apply` or `load`.
        folder: To write to; files of an earlier save are replaced.
        scores: What you measured, such as `{"accuracy before": .91, "after": .84, "recovered": .905}`.

    Raises:
        ConfigError: `create_model` did not build it and nothing was swapped in it, or it has adapters.
        RunError: The folder cannot be written.
    """
    save(model, folder)
    model = to_save(model)
    created = _read_origin(model)
    lines = [f"| {name} | {value:.4g} |" for name, value in (scores or {}).items()]
    scored = ["", "| score | value |", "|---|---|", *lines] if lines else []
    if created is None:
        hub.write_card(
            Path(folder), "compressed", f"{type(model).__name__}, made smaller", [*describe_swaps(model), *scored]
        )
    else:
        size = f"`create_model({created.name!r})` of multiway, {count_parameters(model):,} parameters."
        hub.write_card(Path(folder), "model", created.name, [size, "", *describe_swaps(model), *scored])


def push_to_hub(
    model: nn.Module, name: str, *, scores: Mapping[str, float] | None = None, private: bool = True
) -> None:
    """Send such a model with its card to the repository of that name, which is made if it is not there."""
    hub.send(functools.partial(save_pretrained, model, scores=scores), name, private=private)


def from_pretrained(name: str | Path, model: nn.Module | None = None) -> nn.Module:
    """Take up a model from a folder, or from the repository of that name; `model` as for `load`.

    Raises:
        ConfigError: There is no such folder or repository, or this version does not know the model or a field.
        RunError: The folder holds something else, or is damaged.
    """
    return load(hub.find_folder(name, "model"), model)


def describe_swaps(model: nn.Module) -> list[str]:
    """What was swapped in a model and what that saved, as lines of a card; none if it is as it was."""
    if not is_swapped(model):
        return []
    after, rows, saved = count_parameters(model), list[str](), 0
    for name in require_record(model).swaps:
        layer: Any = model.get_submodule(name)
        dense, small = dense_parameters(layer), count_parameters(layer)
        error = "-" if layer.approximation is None else f"{layer.approximation.error:.3f}"
        rows.append(f"| {name} | {becomes(layer)} | {dense:,} | {small:,} | {error} |")
        saved += dense - small
    before = after + saved
    return [
        f"{len(rows)} layers swapped: {before:,} parameters before, {after:,} after ({after / before:.1%}).",
        "",
        "| layer | became | parameters before | after | weight error |",
        "|---|---|---|---|---|",
        *rows,
    ]


def dense_parameters(layer: Compressed) -> int:
    """Numbers that the layer held before it was swapped."""
    if isinstance(layer, TTEmbedding):
        return layer.num_words * math.prod(layer.sizes)
    return count_parameters(layer.to_convolution() if isinstance(layer, TuckerConv | CPConv) else layer.to_linear())


def save(model: nn.Module, folder: str | Path) -> None:
    """Write a model: `weights.safetensors`, `compression.json` if layers were swapped, and `config.json` if it has one.

    `config.json` holds the name and the fields of a model that `create_model` built, or the config of a Hugging Face
    model. The folder appears when it is whole, and what it held besides stays.

    Raises:
        ConfigError: `create_model` did not build the model and nothing was swapped in it, or it has adapters.
        RunError: The folder cannot be written.
    """
    path, model = Path(folder), to_save(model)
    created = _read_origin(model)
    config: Any = getattr(model, "config", None)
    if created is None and not is_swapped(model):
        raise ConfigError(
            f"save: {type(model).__name__} is no model that create_model built, and nothing was swapped in this model. "
            f"Build it by name, or give the model that plan.apply() returned."
        )
    with files.folder_to_fill(path) as made:
        tied = save_tensors(model.state_dict(), made / WEIGHTS)
        facts = {"weights": files.sha256_of(made / WEIGHTS), "tied": tied}
        content: dict[str, Any] | None = None
        if created is not None:
            content = {"format": FORMAT, "model": created.name, "fields": created.config.plain(), **facts}
        elif hasattr(config, "to_json_string"):
            content = {**json.loads(config.to_json_string()), "architectures": [type(model).__name__]}
        if content is not None:
            files.write_text(made / CONFIG, json.dumps(content, indent=1) + "\n")
        (made / SWAPS).unlink(missing_ok=True)
        if is_swapped(model):
            write_swaps(model, made, **facts)


def _read_origin(model: nn.Module) -> Created | None:
    created = getattr(model, "created_as", None)
    return created if isinstance(created, Created) else None


def load(folder: str | Path, model: nn.Module | None = None) -> nn.Module:
    """Read what `save` wrote.

    Args:
        folder: From `save`.
        model: A dense model of the same architecture, whatever its weights; it is changed and returned. A Hugging
            Face model, and one that `create_model` built, needs none: it is built from `config.json`.

    Raises:
        RunError: The folder is incomplete or damaged, or the model is of another architecture.
    """
    path = Path(folder)
    source, stored = _read_facts(path)
    if files.sha256_of(_present(path / WEIGHTS)) != stored.get("weights"):
        raise RunError(f"{path / WEIGHTS} does not belong to {source} next to it. Save the model again.")
    built = _build(path) if model is None else model
    if has_swaps(path):
        restore(built, path)
    tensors = read_tensors(path / WEIGHTS)
    tensors |= {name: tensors[kept] for name, kept in stored.get("tied", {}).items() if kept in tensors}
    if model is None:
        for name, own in built.state_dict(keep_vars=True).items():  # what was not saved keeps its own precision
            if name in tensors:
                own.data = own.data.to(tensors[name].dtype)
    fill(built, tensors, path / WEIGHTS)
    return built


def _read_facts(folder: Path) -> tuple[str, dict[str, Any]]:
    """What a folder says of its weights, and the file that says it."""
    if has_swaps(folder) or not (folder / CONFIG).is_file():
        return SWAPS, _read_swaps(folder)
    stored = read_json(folder / CONFIG)
    if not _is_created(stored):
        raise RunError(f"{folder} holds no model of save_pretrained. A run is taken up by its estimator.")
    return CONFIG, stored


def _is_created(config: Any) -> bool:
    """Whether a config is of a model that `create_model` builds."""
    names = {"format", "model", "fields", "weights", "tied"}
    return isinstance(config, dict) and config.keys() == names and config["format"] == FORMAT


def _build(folder: Path) -> nn.Module:
    if not (folder / CONFIG).is_file():
        raise RunError(f"{folder} holds no {CONFIG} to build a model from. Give a dense one: load(folder, model=...).")
    config = read_json(folder / CONFIG)
    if _is_created(config):
        return create_model(config["model"], **config["fields"]).eval()
    cls = model_class(config, folder)
    model: nn.Module = cls(cls.config_class.from_pretrained(str(folder), local_files_only=True))
    return model.eval()


def has_swaps(folder: Path) -> bool:
    """Whether a compressed model lies here."""
    return (folder / SWAPS).is_file()


def restore(model: nn.Module, folder: Path) -> None:
    """Put the layers that `compression.json` lists into a freshly built dense model; their weights are still to come.

    Raises:
        RunError: The file is damaged, or the model is of another architecture.
    """
    try:
        entries = {tuple(entry["names"]): entry for entry in _read_swaps(folder)["layers"]}
        with open_attentions(model):
            layers = {names: _layer(model, names, entry) for names, entry in entries.items()}
        swap_in(model, layers, keep_originals=False)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, MultiwayError):
            raise RunError(f"{folder / SWAPS}: {error}") from None
        raise RunError(f"{folder / SWAPS} holds no compression that this version can read ({error}).") from None


def write_swaps(model: nn.Module, folder: Path, **facts: Any) -> None:
    """Write `compression.json`: every swapped layer's names, kind, sizes and ranks."""
    record = require_record(model)
    layers = [
        {"names": swap.names, "dense": swap.kind, **describe_layer(model.get_submodule(name))}  # type: ignore[arg-type]
        for name, swap in record.swaps.items()
    ]
    content = {"format": FORMAT, **facts, "layers": layers}
    files.write_text(folder / SWAPS, json.dumps(content, indent=1) + "\n")


def save_tensors(tensors: Mapping[str, Tensor], path: Path) -> dict[str, str]:
    """Write tensors; those that are one and the same are written once, and returned as name: name that was written."""
    written: dict[tuple[int, torch.Size, tuple[int, ...]], str] = {}
    tied = {}
    for name, tensor in tensors.items():
        kept = written.setdefault((tensor.data_ptr(), tensor.shape, tensor.stride()), name)
        if kept != name and tensor.numel():
            tied[name] = kept
    files.write_tensors(path, {name: tensor for name, tensor in tensors.items() if name not in tied})
    return tied


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read named tensors."""
    return files.read_tensors(_present(path), fix="Save the model again.")


def fill(module: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Give a module all its parameters and buffers."""
    with files.usable(path, fix="Save the model again."):
        module.load_state_dict(tensors)


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    try:
        return json.loads(_present(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read: {in_a_line(error)}.") from None


def model_class(config: Mapping[str, Any], folder: Path) -> Any:
    """The Hugging Face class that `config.json` names."""
    names = config.get("architectures") or []
    library = transformers()
    cls = getattr(library, str(names[0]), None) if names else None
    if not (isinstance(cls, type) and issubclass(cls, library.PreTrainedModel)):
        raise RunError(
            f"{folder / CONFIG}: transformers knows no model {', '.join(map(str, names)) or '(none is named)'}."
        )
    return cls


def _layer(model: nn.Module, names: tuple[str, ...], entry: Mapping[str, Any]) -> Compressed:
    dense = model.get_submodule(names[0])
    if layer_kind(dense) != entry["dense"]:
        raise RunError(
            f"{names[0]} is {type(dense).__name__} in this model and was {entry['dense']}. Give a dense model."
        )
    layer = build_layer(entry, features_of(dense), dense)
    return layer.to(dense.get_parameter("weight"))


def _read_swaps(folder: Path) -> dict[str, Any]:
    stored = read_json(folder / SWAPS)
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise RunError(f"{folder / SWAPS} is of a format that this version cannot read.")
    return stored


def _present(path: Path) -> Path:
    if not path.is_file():
        raise RunError(f"{path} is missing. Point at a folder that compress.save wrote.")
    return path
