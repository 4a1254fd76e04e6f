"""Vectors on disk, by the hash of their text; a chunk is there whole or not at all."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway import files, leftovers
from multiway.errors import StorageError

KEY_BYTES = 16


class VectorCache:
    """A folder of chunks that several processes may fill at once: each writes files of its own.

    Args:
        root: Folder that holds the caches of all encoders.
        name: The encoder's name, for people.
        digest: What its vectors depend on; another digest is another folder.
    """

    def __init__(self, root: Path, name: str, digest: str) -> None:
        self.folder = root / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name).strip('.-')[-60:]}-{digest[:16]}"

    def read(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Fill the rows of `vectors` whose keys are kept, and say which those are; unsound chunks are removed."""
        row_of = {key: row for row, key in enumerate(keys)}
        found = np.zeros(len(keys), np.bool_)
        for path in sorted(self.folder.glob("*.safetensors")):
            kept = _read_chunk(path, vectors.shape[1])
            if kept is None:
                path.unlink(missing_ok=True)
                continue
            pairs = [(row_of[key], at) for at, key in enumerate(kept[0]) if key in row_of]
            if pairs:
                rows, places = np.array(pairs).T
                vectors[rows], found[rows] = kept[1][places], True
        return found

    def write(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Keep one more chunk.

        Raises:
            StorageError: The folder cannot be made, or the disk is full; chunks before are kept.
        """
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
            go_on = "Vectors before are kept: the same again goes on. Or set text.cache to another folder"
            raise StorageError(f"{error} {go_on} (--set text.cache=FOLDER).") from None


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
