"""Folders of models: the user's own, the Hugging Face cache, and the hub as the last resort."""

from pathlib import Path
from typing import Any

from multiway.data.findings import quoted
from multiway.errors import ConfigError
from multiway.extras import load_extra

CONFIG = "config.json"
PATTERNS = [CONFIG, "tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "*.model", "*.safetensors*"]
"""What is fetched: never code, never pickled weights."""


def find_model(name: str) -> Path:
    """Folder of a model's files: `name` itself if it is one, else a copy from the hub, local ones first.

    Raises:
        ConfigError: It is neither, the network does not answer, or it holds no weights in safetensors.
    """
    folder = Path(name).expanduser()
    found = folder if folder.is_dir() else _from_hub(name)
    if not (found / CONFIG).is_file():
        raise ConfigError(f"{name} is no folder of a model: it has no {CONFIG}. Give what `save_pretrained` wrote.")
    if not any(found.glob("*.safetensors")):
        raise ConfigError(
            f"{name} holds no weights in safetensors, and pickled ones are not read. Save the model and its tokenizer "
            f"with `save_pretrained` from transformers, and give that folder."
        )
    return found


def _from_hub(name: str) -> Path:
    hub: Any = load_extra("huggingface_hub", f"the encoder {name}", "text")
    try:
        return Path(hub.snapshot_download(name, allow_patterns=PATTERNS, local_files_only=True))
    except (OSError, ValueError):  # not there yet; a wrong name is a ValueError, and said again below
        pass
    try:
        return Path(hub.snapshot_download(name, allow_patterns=PATTERNS))
    except (OSError, ValueError, RuntimeError) as error:
        reason = quoted(" ".join(str(error).split()), 120)
        raise ConfigError(
            f"the encoder {name} is no folder, is not in the Hugging Face cache, and could not be fetched: {reason}. "
            f"Known without network: hashed, and minilm where it is installed."
        ) from None
