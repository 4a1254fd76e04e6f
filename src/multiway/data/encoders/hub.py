"""Folders of models: the user's own, the Hugging Face cache, and the hub as the last resort."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway.data.encoders.quiet import quietly
from multiway.data.findings import quoted
from multiway.errors import ConfigError
from multiway.extras import load_extra

CONFIG = "config.json"
TEXTS = ["tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "*.model"]
PATTERNS = [CONFIG, "preprocessor_config.json", *TEXTS, "*.safetensors*"]
"""What is fetched: never code, never pickled weights."""
WITHOUT_NETWORK = "Known without network: hashed, and minilm where it is installed."


def find_model(name: str, kind: str = "encoder", fix: str = WITHOUT_NETWORK) -> Path:
    """Folder of a model's files: `name` itself if it is one, else a copy from the hub, local ones first.

    Args:
        name: A folder, or a name on the hub.
        kind: What users call such a model.
        fix: What helps one whose model is neither.

    Raises:
        ConfigError: It is neither, the network does not answer, or it holds no weights in safetensors.
    """
    folder = Path(name).expanduser()
    found = folder if folder.is_dir() else fetch_model(name, kind, fix)
    if not (found / CONFIG).is_file():
        raise ConfigError(f"{name} is no folder of a model: it has no {CONFIG}. Give what `save_pretrained` wrote.")
    if not any(found.glob("*.safetensors")):
        raise ConfigError(
            f"{name} holds no weights in safetensors, and pickled ones are not read. Save the model "
            f"with `save_pretrained` from transformers, and give that folder."
        )
    return found


def load_pretrained(folder: Path, name: str, loader: str, **given: Any) -> Any:
    """What a class of transformers, such as `AutoModel`, makes of a folder; no code of the model's is run.

    Raises:
        ConfigError: transformers is not installed, or cannot read the folder.
    """
    transformers = load_extra("transformers", name, "text")
    try:
        with quietly(transformers):
            kind = getattr(transformers, loader)
            return kind.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **given)
    except Exception as error:  # each tokenizer and model class raises its own
        reason = " ".join(str(error).split())[:160]
        raise ConfigError(f"{name}: {folder} cannot be loaded by transformers: {reason}.") from None


def load_network(folder: Path, name: str, unused: tuple[str, ...]) -> Any:
    """The network of a folder in float32; weights that begin with a name of `unused` may lack.

    Raises:
        ConfigError: It cannot be loaded, or others lack.
    """
    given = {"output_loading_info": True, "use_safetensors": True, "dtype": "float32"}
    model, told = load_pretrained(folder, name, "AutoModel", **given)
    missing = sorted(key for key in told["missing_keys"] if not key.startswith(unused))
    if missing:
        raise ConfigError(
            f"{name}: the weights in {folder} lack {len(missing)} tensors, such as {missing[0]}. "
            f"Give the folder or name of a whole model."
        )
    return model


def fetch_model(name: str, kind: str, fix: str, patterns: Sequence[str] = PATTERNS) -> Path:
    """Folder of a model's files from the Hugging Face cache, else from the hub.

    Raises:
        ConfigError: It is not there, or the network does not answer.
    """
    hub: Any = load_extra("huggingface_hub", f"the {kind} {name}", "text")
    try:
        return Path(hub.snapshot_download(name, allow_patterns=list(patterns), local_files_only=True))
    except (OSError, ValueError):  # not there yet; a wrong name is a ValueError, and said again below
        pass
    try:
        return Path(hub.snapshot_download(name, allow_patterns=list(patterns)))
    except (OSError, ValueError, RuntimeError) as error:
        reason = quoted(" ".join(str(error).split()), 120)
        raise ConfigError(
            f"the {kind} {name} is no folder, is not in the Hugging Face cache, and could not be fetched: {reason}. "
            f"{fix}"
        ) from None
