"""Hugging Face models in folders: compressed, and brought near their old outputs again on texts or other inputs."""

import functools
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from multiway import files
from multiway.compress.budget import RankOptions
from multiway.compress.kinds import transformers
from multiway.compress.measuring import difference, layer_outputs
from multiway.compress.plans import Plan, plan
from multiway.compress.recovering import distil
from multiway.compress.rules import Rule
from multiway.compress.storage import (
    CONFIG,
    has_swaps,
    load,
    model_class,
    read_json,
    read_tensors,
    save,
    save_pretrained,
)
from multiway.errors import ConfigError, Fix, RunError, in_a_line

Rows = Sequence[str] | Mapping[str, Tensor]
"""Texts, or tensors by the names of the model's arguments, samples first."""
HELD_OUT = 5
"""One in so many distinct rows is never learnt from."""
SHOWN, BATCH = 32, 16
"""Rows that layers are measured on, and those of a batch."""

MODEL_FILES = {".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".onnx", ".pkl"}


def compress_pretrained(
    folder: Path,
    rules: Mapping[str, Rule],
    *,
    data: Path | Rows | None = None,
    out: Path | None = None,
    **limits: Unpack[RankOptions],
) -> Plan:
    """Plan the compression of a Hugging Face model in a folder; with `out`, write it there.

    Tokenizers and whatever else lies in the folder are copied along.

    Args:
        folder: With `config.json` and weights as safetensors, or written by `save`.
        rules: As for `plan`.
        data: A safetensors file of one batch, its tensors named as the model's arguments. Or rows as for
            `distil_pretrained`, of which 32 count, none of those that it holds out.
        out: Folder to make; it appears when it is whole.
        limits: As for `plan`.

    Raises:
        RunError: The model cannot be read, or `out` holds something.
        ConfigError: The rules do not fit the model.
    """
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"{out} exists already. Set out to another folder (", Fix("out", like="FOLDER"), ").")
    made = plan(load_pretrained(folder), rules, data=_batch(folder, data), **limits)
    if out is not None:
        with files.folder_to_fill(out) as smaller:
            save(made.apply(inplace=True, keep_originals=False), smaller)
            for path in sorted(folder.iterdir()):
                is_model = path.suffix in MODEL_FILES or path.name in (CONFIG) or path.name.endswith(".index.json")
                if path.is_file() and not is_model and not (smaller / path.name).exists():
                    files.write_with(smaller / path.name, functools.partial(shutil.copyfile, path))
    return made


def _batch(folder: Path, data: Path | Rows | None) -> dict[str, Tensor] | None:
    """What layers are measured on."""
    if data is None or isinstance(data, Path):
        return None if data is None else read_tensors(data)
    return inputs_of(folder, data)(_cut(data)[0][:SHOWN])


def load_pretrained(folder: Path) -> nn.Module:
    """A Hugging Face model from a folder, compressed before or not; nothing is downloaded, and no pickle is read."""
    if not (folder / CONFIG).is_file():
        raise RunError(f"{folder} holds no model: neither config.yaml of a run nor {CONFIG} of Hugging Face.")
    if has_swaps(folder):
        return load(folder)
    cls = model_class(read_json(folder / CONFIG), folder)
    try:
        model: nn.Module = cls.from_pretrained(str(folder), local_files_only=True, use_safetensors=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise RunError(f"{folder} cannot be read by transformers: {in_a_line(error, 200)}.") from None
    return model.eval()


def distil_pretrained(
    folder: str | Path,
    teacher: str | Path,
    data: Rows,
    *,
    labels: Sequence[str | int] | None = None,
    epochs: int = 3,
    rate: float = 1e-4,
) -> dict[str, float]:
    """Train a compressed Hugging Face model in its folder towards the outputs of the one that it came from.

    Every fifth distinct row is held out: scores are of these alone.

    Args:
        folder: Written by `compress_pretrained`; its weights are replaced.
        teacher: The folder that it was made from.
        data: Texts, which the teacher's tokenizer reads, or tensors by the names of the model's arguments.
        labels: Class of each row, as `config.json` names or numbers it; only for accuracies, not learnt from.
        epochs: Passes over the rows.
        rate: Learning rate at first.

    Returns:
        The relative error of the outputs after the swap and after recovery; with labels also the accuracy before, after
        and after recovery.

    Raises:
        ConfigError: Fewer than five distinct rows, labels that the model does not know, or as `distil`.
    """
    folder, teacher = Path(folder), Path(teacher)
    small, large = load(folder), load_pretrained(teacher)
    learnt, held = _cut(data)
    take = inputs_of(teacher, data)
    batches, others = (
        [take(rows[start : start + BATCH]) for start in range(0, len(rows), BATCH)] for rows in (learnt, held)
    )
    known = None if labels is None else _number_labels(labels, large.config)[held]
    exact, swapped = layer_outputs(large, others), layer_outputs(small, others)
    distil(small, large, batches, epochs=epochs, rate=rate)
    named = {"before": exact, "after": swapped, "recovered": layer_outputs(small, others)}
    scores = {f"error {name}": difference(exact, outputs) for name, outputs in named.items() if name != "before"}
    if known is not None:
        scores |= {f"accuracy {name}": _accuracy(outputs, known) for name, outputs in named.items()}
    if (folder / "README.md").exists():  # the model's own card
        save(small, folder)
    else:
        save_pretrained(small, folder, scores=scores)
    return scores


def inputs_of(folder: Path, data: Rows) -> Callable[[Sequence[int]], dict[str, Tensor]]:
    """What makes of some rows a batch as the model of a folder takes it."""
    if isinstance(data, Mapping):
        return lambda rows: {name: tensor[torch.tensor(rows)] for name, tensor in data.items()}
    tokenizer, length = _tokenizer(folder)
    read = functools.partial(tokenizer, padding=True, truncation=True, max_length=length, return_tensors="pt")
    return lambda rows: dict(read([data[row] for row in rows]))


def _tokenizer(folder: Path) -> tuple[Any, int]:
    """The tokenizer of a folder, and the most tokens that its model takes."""
    try:
        loaded = transformers().AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise RunError(f"{folder} holds no tokenizer that can be read: {in_a_line(error, 160)}.") from None
    if len(loaded) <= len(loaded.all_special_tokens):  # transformers makes one without words where no file is
        raise RunError(f"{folder} holds no tokenizer that knows words. Copy the files of the model's own there.")
    if loaded.pad_token is None:
        loaded.pad_token = loaded.eos_token
    places = read_json(folder / CONFIG).get("max_position_embeddings")
    return loaded, min(loaded.model_max_length, places or loaded.model_max_length, 2**20)


def _cut(data: Rows) -> tuple[list[int], list[int]]:
    """Rows to learn from, in an order drawn from a seed, and those held out; copies fall on the same side."""
    numbers: dict[Any, int] = {}
    places = [numbers.setdefault(key, len(numbers)) % HELD_OUT for key in _keys(data)]
    if len(numbers) < HELD_OUT:
        raise ConfigError(
            f"compress: one row in {HELD_OUT} is held out. Give {HELD_OUT} distinct ones or more, not {len(numbers)}."
        )
    order = torch.randperm(len(places), generator=torch.Generator().manual_seed(0)).tolist()
    held = [row for row, place in enumerate(places) if place == HELD_OUT - 1]
    return [row for row in order if places[row] != HELD_OUT - 1], held


def _keys(data: Rows) -> list[Any]:
    """What is the same for rows that are copies."""
    if not isinstance(data, Mapping):
        return list(data)
    counts = {len(tensor) for tensor in data.values()}
    if len(counts) != 1:
        raise ConfigError(f"compress: the tensors have different numbers of rows, {sorted(counts)}.")
    numbers = [tensor.detach().cpu().contiguous().flatten(1).view(torch.uint8).numpy() for tensor in data.values()]
    return [b"".join(each[row].tobytes() for each in numbers) for row in range(*counts)]


def _number_labels(labels: Sequence[str | int], config: Any) -> Tensor:
    """Classes as numbers, by the names of the model's config or as numbers of its outputs."""
    known = {str(number): number for number in range(config.num_labels)} | dict(config.label2id)
    unknown = next((label for label in labels if str(label) not in known), None)
    if unknown is not None:
        raise ConfigError(
            f"compress: the model has no class {str(unknown)[:40]!r}. It has {', '.join(list(known)[:20])}. Name the "
            "classes so, or leave the column of classes out."
        )
    return torch.tensor([known[str(label)] for label in labels])


def _accuracy(outputs: Sequence[Tensor], classes: Tensor) -> float:
    """Share of rows whose largest output is the class."""
    logits = [each for each in outputs if each.ndim == 2]
    if sum(map(len, logits)) != len(classes):
        raise ConfigError("compress: this model gives no row of scores per sample. Leave the classes out.")
    return float((torch.cat(logits).argmax(1) == classes).double().mean())
