"""Encode each distinct text once, and keep what was encoded, so that a run that was killed goes on."""

import contextlib
import dataclasses
import hashlib
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway import files, leftovers
from multiway.data.encoders.choice import TextEncoder, cache_of, make_encoder
from multiway.data.encoders.hashed import HashedEncoder
from multiway.data.findings import quote
from multiway.data.options import EncoderOptions
from multiway.data.sources.bytes import free_memory
from multiway.errors import ConfigError, DataError, Fix, StorageError
from multiway.terminal import TerminalBar, tell

SECONDS_BETWEEN_LINES = 10.0


KEY_BYTES = 16


class VectorCache:
    """A folder of chunks that several processes may fill at once: each writes files of its own.

    `digest` stands for all that vectors depend on: another one is another folder.
    """

    def __init__(self, root: Path, name: str, digest: str) -> None:
        self.folder = root / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name).strip('.-')[-60:]}-{digest[:16]}"

    def read(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Fill the rows of `vectors` whose keys are kept, and say which those are; unsound chunks are removed."""
        row_of = {key: row for row, key in enumerate(keys)}
        is_kept = np.zeros(len(keys), np.bool_)
        for path in sorted(self.folder.glob("*.safetensors")):
            kept = _read_chunk(path, vectors.shape[1])
            if kept is None:
                path.unlink(missing_ok=True)
                continue
            pairs = [(row_of[key], at) for at, key in enumerate(kept[0]) if key in row_of]
            if pairs:
                rows, places = np.array(pairs).T
                vectors[rows], is_kept[rows] = kept[1][places], True
        return is_kept

    def write(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Keep one more chunk."""
        from safetensors.numpy import save

        stacked = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), KEY_BYTES)
        content = save({"keys": stacked, "vectors": np.ascontiguousarray(vectors)})
        name = hashlib.sha256(stacked.tobytes()).hexdigest()[:24]
        try:
            with files.all_or_nothing():
                files.make_folder(self.folder)
                leftovers.remove(self.folder)
                files.write_bytes(self.folder / f"{name}.safetensors", content)
        except StorageError as error:
            raise StorageError(
                *error.args,
                " Kept vectors stay: the same command resumes. Or set text.cache to another folder (",
                Fix("text.cache", like="FOLDER"),
                ").",
            ) from None


def key_of(text: str) -> bytes:
    """Hash of a text, by which its vector is found."""
    return hashlib.blake2b(text.encode(), digest_size=KEY_BYTES).digest()


def _read_chunk(path: Path, dim: int) -> tuple[list[bytes], NDArray[np.float32]] | None:
    """Keys and vectors; None for a file that is not what `write` wrote."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors: dict[str, Any] = load(path.read_bytes())
    except (SafetensorError, OSError, ValueError):
        return None
    keys, vectors = tensors.get("keys"), tensors.get("vectors")
    if keys is None or vectors is None or keys.dtype != np.uint8 or vectors.dtype != np.float32:
        return None
    if vectors.shape != (len(keys), dim) or keys.shape[1:] != (KEY_BYTES,):
        return None
    return [key.tobytes() for key in keys], vectors


CHUNK = 1024
"""Texts between two writes to the cache."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Encoded:
    """Vectors of distinct texts, and which of them each text has.

    vectors: `(distinct, dim)` float32, in the order in which the texts first came.
    rows: `(texts,)` int64, positions in `vectors`.
    name, digest: Of the encoder.
    num_new: Distinct texts that the cache did not have.
    folder: Where vectors are kept; None for an encoder that is faster than reading them.
    """

    vectors: NDArray[np.float32]
    rows: NDArray[np.int64]
    name: str
    digest: str
    num_new: int = 0
    folder: Path | None = None


def encode_texts(texts: Sequence[str], options: EncoderOptions, *, progress: bool = False) -> Encoded:
    """Give every text its vector, from the cache where it is kept.

    Args:
        texts: In any order, with repeats.
        options: Which encoder, how it is run, and where vectors are kept.
        progress: Whether to say on stderr how far it is.
    """
    encoder = make_encoder(options)
    cache = None if isinstance(encoder, HashedEncoder) else VectorCache(cache_of(options), encoder.name, encoder.digest)
    return encode_with(encoder, cache, texts, progress=progress)


def encode_with(
    encoder: TextEncoder, cache: VectorCache | None, texts: Sequence[str], *, progress: bool = False
) -> Encoded:
    """As `encode_texts`, by an encoder and a cache at hand."""
    distinct, rows = _distinct(texts)
    needed, free = len(distinct) * encoder.dim * 4, free_memory()
    if needed > free:
        raise DataError(
            f"vectors of {len(distinct):,} texts would take {needed / 1e9:.2g} GB and {free / 1e9:.2g} GB are free. "
            f"Keep fewer texts, or choose a smaller encoder."
        )
    vectors = np.zeros((len(distinct), encoder.dim), np.float32)
    keys = [key_of(text) for text in distinct] if cache else []
    is_kept = cache.read(keys, vectors) if cache else np.zeros(len(distinct), np.bool_)
    missing = sorted(np.flatnonzero(~is_kept).tolist(), key=lambda row: -len(distinct[row]))
    started = last = time.monotonic()
    with contextlib.closing(TerminalBar("encoding", len(missing), progress and bool(missing))) as bar:
        for start in range(0, len(missing), CHUNK):
            chunk = missing[start : start + CHUNK]
            vectors[chunk] = encoder.encode([distinct[row] for row in chunk])
            if not np.isfinite(vectors[chunk]).all():
                rule = f"the encoder {encoder.name} gives numbers that are not finite. Its weights may be damaged."
                raise ConfigError(rule)
            if cache:
                cache.write([keys[row] for row in chunk], vectors[chunk])
            done, now = start + len(chunk), time.monotonic()
            bar.update(completed=done)
            if progress and not bar.is_shown and (done == len(missing) or now - last >= SECONDS_BETWEEN_LINES):
                last = now
                tell(f"encoded {done:,} of {len(missing):,} texts  ({now - started:.0f} s)")
    folder = cache.folder if cache else None
    return Encoded(
        vectors=vectors, rows=rows, name=encoder.name, digest=encoder.digest, num_new=len(missing), folder=folder
    )


def _distinct(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    row_of: dict[str, int] = {}
    rows = np.empty(len(texts), np.int64)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"texts[{position}] must be text. Got {type(text).__name__}.")
        if text not in row_of:
            try:
                text.encode()
            except UnicodeEncodeError:
                rule = f"texts[{position}] holds half of a character (a lone surrogate): {quote(text)}. Remove it."
                raise DataError(rule) from None
        rows[position] = row_of.setdefault(text, len(row_of))
    return list(row_of), rows
