"""Encode each distinct text once, and keep what was encoded, so that a run that was killed goes on."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiway.data.encoders.cache import VectorCache, key_of
from multiway.data.encoders.encoder import TextEncoder
from multiway.data.encoders.hashed import HashedEncoder
from multiway.data.encoders.making import cache_of, make_encoder
from multiway.data.encoders.options import TextOptions
from multiway.data.encoders.progress import Progress
from multiway.data.findings import quoted
from multiway.data.text import free_memory
from multiway.errors import ConfigError, DataError

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


def encode_texts(texts: Sequence[str], options: TextOptions, *, progress: bool = False) -> Encoded:
    """Give every text its vector, from the cache where it is kept.

    Args:
        texts: In any order, with repeats.
        options: Which encoder, how it is run, and where vectors are kept.
        progress: Whether to say on stderr how far it is.

    Raises:
        ConfigError: The encoder is not there, or its weights are not sound.
        DataError: Something is no text, or there is too little memory.
        RunError: The cache cannot be written.
    """
    encoder = make_encoder(options)
    cache = None if isinstance(encoder, HashedEncoder) else VectorCache(cache_of(options), encoder.name, encoder.digest)
    return encode_with(encoder, cache, texts, progress=progress)


def encode_with(
    encoder: TextEncoder, cache: VectorCache | None, texts: Sequence[str], *, progress: bool = False
) -> Encoded:
    """As `encode_texts`, by an encoder and a cache at hand."""
    distinct, rows = _distinct(texts)
    vectors = _room(len(distinct), encoder.dim)
    keys = [key_of(text) for text in distinct] if cache else []
    found = cache.read(keys, vectors) if cache else np.zeros(len(distinct), np.bool_)
    missing = sorted(np.flatnonzero(~found).tolist(), key=lambda row: -len(distinct[row]))
    shown = Progress(len(missing), progress)
    try:
        for start in range(0, len(missing), CHUNK):
            chunk = missing[start : start + CHUNK]
            vectors[chunk] = _sound(encoder.encode([distinct[row] for row in chunk]), encoder.name)
            if cache:
                cache.write([keys[row] for row in chunk], vectors[chunk])
            shown.update(start + len(chunk))
    finally:
        shown.close()
    folder = cache.folder if cache else None
    return Encoded(
        vectors=vectors, rows=rows, name=encoder.name, digest=encoder.digest, num_new=len(missing), folder=folder
    )


def _distinct(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    row_of: dict[str, int] = {}
    rows = np.empty(len(texts), np.int64)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"texts[{place}] must be text. Got {type(text).__name__}.")
        if text not in row_of:
            _check_whole(text, place)
        rows[place] = row_of.setdefault(text, len(row_of))
    return list(row_of), rows


def _check_whole(text: str, place: int) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(
            f"texts[{place}] holds half of a character (a lone surrogate): {quoted(text)}. Remove it."
        ) from None


def _room(count: int, dim: int) -> NDArray[np.float32]:
    needed, free = count * dim * 4, free_memory()
    if needed > free:
        raise DataError(
            f"vectors of {count:,} texts would take {needed / 1e9:.2g} GB and {free / 1e9:.2g} GB are free. "
            f"Keep fewer texts, or choose a smaller encoder."
        )
    return np.zeros((count, dim), np.float32)


def _sound(vectors: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    if not np.isfinite(vectors).all():
        raise ConfigError(f"the encoder {name} gives numbers that are not finite. Its weights may be damaged.")
    return vectors
