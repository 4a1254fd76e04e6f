"""A compressed model on disk: its weights, what was swapped, and the folder of a Hugging Face model."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from multiway import files
from multiway.compress.attentions import opened
from multiway.compress.fits import Compressed
from multiway.compress.kinds import features_of, layer_kind, transformers
from multiway.compress.rules import CP, LowRank, NdLinear, TensorTrain, Tucker
from multiway.compress.swap import required_record, swap_in, to_save
from multiway.errors import MultiwayError, RunError, in_a_line
from multiway.nn import Approximation, CPConv, LowRankLinear, TTEmbedding, TTLinear, TuckerConv
from multiway.nn import NdLinear as NdLayer

WEIGHTS, CONFIG = "weights.safetensors", "config.json"
SWAPS = "compression.json"
"""File of a folder that says what became of its layers."""
FILES = ("*.safetensors", "*.json", "*.txt", "*.model", "*.md")
"""What a compressed model consists of, a tokenizer with it; nothing else is fetched from the hub."""
FORMAT = 1
TABLE = "tt_embedding"
CHAINS: dict[str, type[TuckerConv] | type[CPConv]] = {Tucker.kind: TuckerConv, CP.kind: CPConv}
KEPT: dict[str, tuple[type[nn.Module], tuple[str, ...]]] = {
    Tucker.kind: (TuckerConv, ("ranks",)),
    CP.kind: (CPConv, ("ranks",)),
    TABLE: (TTEmbedding, ("tt_ranks", "padding_idx", "words", "sizes")),
    LowRank.kind: (LowRankLinear, ("rank",)),
    TensorTrain.kind: (TTLinear, ("tt_ranks", "in_sizes", "out_sizes")),
    NdLinear.kind: (NdLayer, ("rank", "in_sizes", "out_sizes")),
}
"""Layers by the name of their kind, and what of each is needed to rebuild it."""


def save(model: nn.Module, folder: str | Path) -> None:
    """Write a compressed model: `weights.safetensors`, `compression.json`, and `config.json` if it has a config.

    Files of an earlier save are replaced, each in one step.

    Raises:
        ConfigError: Nothing was swapped in this model, or it has adapters.
        RunError: The folder cannot be written.
    """
    path, model = Path(folder), to_save(model)
    required_record(model)
    files.make_folder(path)
    tied = save_tensors(model.state_dict(), path / WEIGHTS)
    config = getattr(model, "config", None)
    if hasattr(config, "to_json_string"):
        files.write_text(path / CONFIG, _config_text(model, config))
    write_swaps(model, path, weights=files.sha256_of(path / WEIGHTS), tied=tied)


def load(folder: str | Path, model: nn.Module | None = None) -> nn.Module:
    """Read what `save` wrote.

    Args:
        folder: From `save`.
        model: A dense model of the same architecture, whatever its weights; it is changed and returned. A Hugging
            Face model needs none: it is built from `config.json`.

    Raises:
        RunError: The folder is incomplete or damaged, or the model is of another architecture.
    """
    path = Path(folder)
    stored = _read(path)
    if files.sha256_of(_present(path / WEIGHTS)) != stored.get("weights"):
        raise RunError(f"{path / WEIGHTS} does not belong to {SWAPS} next to it. Save the model again.")
    built = _build(path) if model is None else model
    restore(built, path)
    tensors = read_tensors(path / WEIGHTS)
    tensors |= {name: tensors[kept] for name, kept in stored.get("tied", {}).items() if kept in tensors}
    if model is None:
        take_dtypes(built, tensors)
    fill(built, tensors, path / WEIGHTS)
    return built


def has_swaps(folder: Path) -> bool:
    """Whether a compressed model lies here."""
    return (folder / SWAPS).is_file()


def restore(model: nn.Module, folder: Path) -> None:
    """Put the layers that `compression.json` lists into a freshly built dense model; their weights are still to come.

    Raises:
        RunError: The file is damaged, or the model is of another architecture.
    """
    try:
        entries = {tuple(entry["names"]): entry for entry in _read(folder)["layers"]}
        with opened(model):
            layers = {names: _layer(model, names, entry) for names, entry in entries.items()}
        swap_in(model, layers, keep_originals=False)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, MultiwayError):
            raise RunError(f"{folder / SWAPS}: {error}") from None
        raise RunError(f"{folder / SWAPS} holds no compression that this version can read ({error}).") from None


def write_swaps(model: nn.Module, folder: Path, **facts: Any) -> None:
    """Write `compression.json`: every swapped layer's names, kind, sizes and ranks."""
    record = required_record(model)
    layers = [
        {"names": swap.names, "dense": swap.kind, **layer_facts(model.get_submodule(name))}  # type: ignore[arg-type]
        for name, swap in record.swaps.items()
    ]
    content = {"format": FORMAT, **facts, "layers": layers}
    files.write_text(folder / SWAPS, json.dumps(content, indent=1) + "\n")


def layer_facts(layer: Compressed) -> dict[str, Any]:
    """What is needed to rebuild such a layer."""
    kind = next(kind for kind, (known, _) in KEPT.items() if isinstance(layer, known))
    facts = {"kind": kind, **{name: getattr(layer, name) for name in KEPT[kind][1]}}
    if isinstance(layer, NdLayer | TTLinear | LowRankLinear):
        facts["bias"] = (layer.full_bias if isinstance(layer, NdLayer) else layer.bias) is not None
    return facts | {"error": layer.approximation.error if layer.approximation else None}


def compressed_layer(entry: Mapping[str, Any], dense: nn.Module) -> Compressed:
    """The layer that `layer_facts` describes, for the place of this one; torch's generator is left as it was."""
    kind = entry["kind"]
    if kind not in (*CHAINS, TABLE):
        return dense_branch(entry, *features_of(dense))
    with torch.random.fork_rng(devices=[]):
        if kind == TABLE:
            given = {name: entry[name] for name in KEPT[TABLE][1]}
            return _as_fitted(TTEmbedding(features_of(dense)[0], **given), entry)
        return _as_fitted(CHAINS[kind](dense, entry["ranks"]), entry)  # type: ignore[arg-type]


def _as_fitted(layer: Compressed, entry: Mapping[str, Any]) -> Compressed:
    layer.approximation = None if entry["error"] is None else Approximation(entry["error"])
    return layer


def dense_branch(entry: Mapping[str, Any], in_features: int, out_features: int) -> Compressed:
    """The same, in the place of a dense layer of these sizes."""
    with torch.random.fork_rng(devices=[]):
        return _as_fitted(_build_layer(entry, in_features, out_features), entry)


def _build_layer(entry: Mapping[str, Any], in_features: int, out_features: int) -> Compressed:
    bias, kind = bool(entry["bias"]), entry["kind"]
    if kind != LowRank.kind and (math.prod(entry["in_sizes"]), math.prod(entry["out_sizes"])) != (
        in_features,
        out_features,
    ):
        raise RunError(
            f"sizes {entry['in_sizes']} and {entry['out_sizes']} do not multiply to the layer's {in_features} inputs "
            f"and {out_features} outputs."
        )
    if kind == LowRank.kind:
        return LowRankLinear(in_features, out_features, rank=entry["rank"], bias=bias)
    if kind == TensorTrain.kind:
        return TTLinear(entry["in_sizes"], entry["out_sizes"], tt_ranks=entry["tt_ranks"], bias=bias)
    if kind == NdLinear.kind:
        full = "full" if bias else False
        return NdLayer(entry["in_sizes"], entry["out_sizes"], rank=entry["rank"], bias=full, flat=True)
    raise RunError(f"there is no kind of layer {kind!r}.")


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
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(_present(path))
    except (SafetensorError, OSError, ValueError) as error:
        raise _unusable(path, error) from None


def fill(module: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Give a module all its parameters and buffers."""
    try:
        module.load_state_dict(tensors)
    except (RuntimeError, ValueError, KeyError) as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: Exception) -> RunError:
    return RunError(f"{path} cannot be used: {in_a_line(error)}. Save the model again.")


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
    layer = compressed_layer(entry, dense)
    return layer.to(dense.get_parameter("weight"))


def _read(folder: Path) -> dict[str, Any]:
    stored = read_json(folder / SWAPS)
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise RunError(f"{folder / SWAPS} is of a format that this version cannot read.")
    return stored


def _present(path: Path) -> Path:
    if not path.is_file():
        raise RunError(f"{path} is missing. Point at a folder that compress.save wrote.")
    return path


def _config_text(model: nn.Module, config: Any) -> str:
    """A config as Hugging Face writes it, with the model's class named."""
    content = json.loads(config.to_json_string())
    return json.dumps({**content, "architectures": [type(model).__name__]}, indent=1) + "\n"


def _build(folder: Path) -> nn.Module:
    if not (folder / CONFIG).is_file():
        raise RunError(f"{folder} holds no {CONFIG} to build a model from. Give a dense one: load(folder, model=...).")
    cls = model_class(read_json(folder / CONFIG), folder)
    config = cls.config_class.from_pretrained(str(folder), local_files_only=True)
    model: nn.Module = cls(config)
    return model.eval()


def take_dtypes(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Bring parameters to the precision that they were saved in; what was not saved keeps its own."""
    for name, own in model.state_dict(keep_vars=True).items():
        if name in tensors:
            own.data = own.data.to(tensors[name].dtype)
