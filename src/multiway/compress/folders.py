"""Folders of Hugging Face models: read, compressed, and written beside what else they hold."""

import functools
import shutil
from collections.abc import Mapping
from pathlib import Path

from torch import nn

from multiway import files
from multiway.compress.plan import Plan, plan
from multiway.compress.rules import Rule
from multiway.compress.storage import CONFIG, SWAPS, has_swaps, load, model_class, read_json, read_tensors, save
from multiway.errors import RunError

MODEL_FILES = {".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".onnx", ".pkl"}


def compress_pretrained(
    folder: Path,
    rules: Mapping[str, Rule],
    *,
    data: Path | None = None,
    max_parameters: float | None = None,
    max_error: float | None = None,
    out: Path | None = None,
) -> Plan:
    """Plan the compression of a Hugging Face model in a folder; with `out`, write it there.

    Tokenizers and whatever else lies in the folder are copied along.

    Args:
        folder: With `config.json` and weights as safetensors, or written by `save`.
        rules: As for `plan`.
        data: A safetensors file of one batch, its tensors named as the model's arguments.
        max_parameters: As for `plan`.
        max_error: As for `plan`.
        out: Folder to make.

    Raises:
        RunError: The model cannot be read, or `out` exists.
        ConfigError: The rules do not fit the model.
    """
    if out is not None and out.exists():
        raise RunError(f"{out} exists already. Set out to another folder (--out FOLDER).")
    batch = None if data is None else dict(read_tensors(data))
    made = plan(load_pretrained(folder), rules, data=batch, max_parameters=max_parameters, max_error=max_error)
    if out is not None:
        save(made.apply(inplace=True, keep_originals=False), out)
        _copy_others(folder, out)
    return made


def load_pretrained(folder: Path) -> nn.Module:
    """A Hugging Face model from a folder, compressed before or not; nothing is downloaded, and no pickle is read.

    Raises:
        RunError: The folder holds none, or transformers is missing.
    """
    if not (folder / CONFIG).is_file():
        raise RunError(f"{folder} holds no model: neither config.yaml of a run nor {CONFIG} of Hugging Face.")
    if has_swaps(folder):
        return load(folder)
    cls = model_class(read_json(folder / CONFIG), folder)
    try:
        model: nn.Module = cls.from_pretrained(str(folder), local_files_only=True, use_safetensors=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise RunError(f"{folder} cannot be read by transformers: {' '.join(str(error).split())[:200]}.") from None
    return model.eval()


def _copy_others(folder: Path, out: Path) -> None:
    for path in sorted(folder.iterdir()):
        is_model = path.suffix in MODEL_FILES or path.name in (CONFIG, SWAPS) or path.name.endswith(".index.json")
        if path.is_file() and not is_model and not (out / path.name).exists():
            files.write_with(out / path.name, functools.partial(shutil.copyfile, path))
