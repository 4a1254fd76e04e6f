"""Folders with a model card, and their way to the Hugging Face hub and back."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from multiway import files
from multiway.errors import ConfigError, in_a_line
from multiway.lazy import load_extra

FILES = ("*.safetensors", "*.json", "*.jsonl", "*.yaml", "*.parquet", "*.npz", "*.txt", "*.model", "*.md")
"""What a run or a model consists of, a tokenizer with it; nothing else is fetched."""


def card(tag: str, title: str, lines: Sequence[str]) -> str:
    """Markdown as the hub reads it: what a folder holds, and how to load it."""
    head = ["---", "library_name: multiway", f"tags: [multiway, {tag}]", "---", f"# {title}", ""]
    load = "Load it with `from_pretrained` of the Python library multiway."
    return "\n".join([*head, *lines, "", load, ""])


def write_card(folder: Path, tag: str, title: str, lines: Sequence[str]) -> None:
    """Write it as `README.md` of the folder."""
    files.write_text(folder / "README.md", card(tag, title, lines))


def send(write: Callable[[Path], object], name: str, *, private: bool) -> None:
    """Send the folder that `write` makes to the repository of that name, which is made if it is not there."""
    hub: Any = load_extra("huggingface_hub", "push_to_hub", "text")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "folder"
        write(folder)
        hub.HfApi().create_repo(name, private=private, exist_ok=True)
        hub.HfApi().upload_folder(repo_id=name, folder_path=str(folder))


def find_folder(name: str | Path, what: str) -> Path:
    """The folder of that name, or of the repository of that name, which is downloaded.

    Raises:
        ConfigError: There is neither.
    """
    if Path(name).is_dir():
        return Path(name)
    hub: Any = load_extra("huggingface_hub", "from_pretrained", "text")
    try:
        return Path(hub.snapshot_download(str(name), allow_patterns=list(FILES)))
    except (OSError, ValueError, RuntimeError) as error:
        reason = in_a_line(error, 120)
        raise ConfigError(f"{name} is no folder, and the hub has no such {what}: {reason}. Name another.") from None
