"""What strangers bring: data in other formats, and folders of pretrained networks."""

import dataclasses
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from attacks.tiny_runs import Task, done_here
from data.encoders.networks import save_network
from data.sources.scans.scans import nifti, series
from tasks.later_data import Later, json_lines, packed, parquet, workbook

TABLES: dict[str, Callable[..., Path]] = {".parquet": parquet, ".xlsx": workbook, ".jsonl": json_lines, ".gz": packed}
SCANS = (".nii", ".nii.gz", ".npz", ".dcm")
PICTURES = (".npz", ".bmp", ".jpg", ".gif", ".tiff", ".webp")
STRANGERS = ("text", "stocks", "images", "language")
"""Tasks that take a network or a tokenizer of somebody else."""


REPLACED: dict[str, tuple[str, ...]] = {
    "text": ("inputs", "model", "text"),
    "stocks": ("text",),
    "images": (),
    "language": ("tokens",),
}
"""Settings in whose place those of such a network stand."""


def in_other_format(task: Task, folder: Path, chance: random.Random) -> tuple[str, Path]:
    """The copied data in a format that is drawn; the ending of its files, and what `--data` names then."""
    root = folder / "data"
    later = Later(task.tiny.task, root, root / task.tiny.data.relative_to(task.folder / "data"))
    if task.tiny.task == "images":
        return _pictures(later, chance.choice(PICTURES))
    if task.tiny.task in ("volumes", "segment") and chance.random() < 0.7:
        return _scans(later, chance.choice(SCANS))
    form = chance.choice(list(TABLES))
    return form, later.rewritten(write=TABLES[form])


def _pictures(later: Later, form: str) -> tuple[str, Path]:
    paths = sorted(later.data.rglob("*.png"))
    if form == ".npz":
        arrays = np.stack([np.asarray(Image.open(path)) for path in paths])
        target = later.folder / "shapes.npz"
        np.savez_compressed(target, images=arrays, labels=np.array([path.parent.name for path in paths]))
        shutil.rmtree(later.data)
        return form, target
    for path in paths:
        Image.open(path).save(path.with_suffix(form))
        path.unlink()
    return form, later.data


def _scans(later: Later, form: str) -> tuple[str, Path]:
    for path in later.folder.glob("*.npy"):
        if path.name.startswith("mask"):
            continue
        values = np.load(path).astype(np.int16)
        if form == ".npz":
            np.savez_compressed(path.with_suffix(form), values)
        elif form == ".dcm":
            series(path.with_suffix(""), values)
        else:
            nifti(path.with_suffix(form), values)
        path.unlink()
    ending = "" if form == ".dcm" else form
    data = later.rewritten(lambda rows: rows.assign(path=rows["path"].str.replace(".npy", ending)))
    return Path(f"scan{form}").suffix, data


def make_network(task: Task) -> None:
    """Write what a stranger has trained, for a task that can use it, and use it once."""
    name, network = task.tiny.task, task.folder / "network"
    if name in ("text", "stocks"):
        save_network(network)
    elif name == "images":
        _save_transformer(network)
    elif name == "language":
        save_network(network)
        for path in network.glob("*.safetensors"):
            path.unlink()
    if name in STRANGERS:
        done_here(trained_with(task, network, task.folder / "strange"))


def _save_transformer(folder: Path) -> None:
    import transformers

    sizes = {"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.ViTConfig(**sizes, image_size=8, patch_size=4)
    transformers.ViTModel(config, add_pooling_layer=False).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text('{"size": {"height": 8, "width": 8}, "image_std": [1, 1, 1]}')


def trained_with(task: Task, network: Path, out: Path) -> list[str]:
    """Words that train the task with a stranger's network."""
    encoder = {"encoder": str(network), "max_tokens": 20, "cache": str(out.parent / "vectors")}
    encoder = {f"text__{name}": value for name, value in encoder.items()}
    changes = {
        "text": {"inputs": "vectors", "model__columns": 4, **encoder},
        "stocks": encoder,
        "images": {"distill": {"teacher": str(network)}},
        "language": {"tokens": {"tokenizer": str(network), "context": 16}},
    }[task.tiny.task]
    settings = {name: value for name, value in task.tiny.settings.items() if name not in REPLACED[task.tiny.task]}
    tiny = dataclasses.replace(task.tiny, settings=settings)
    return tiny.train(out, **changes, training__epochs=1)
