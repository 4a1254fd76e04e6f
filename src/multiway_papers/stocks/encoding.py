"""Texts of stocks turned into vectors ahead of a training, which finds them in the cache."""

import dataclasses
import time
from pathlib import Path
from typing import Any

from multiway import files
from multiway.config import merge
from multiway.data import datasets
from multiway.data.encoders import Encoded, encode_texts
from multiway.data.encoders.choice import cache_of
from multiway.data.options import EncoderOptions
from multiway.errors import ConfigError, DataError, Fix
from multiway_papers.stocks.config import StockOptions
from multiway_papers.stocks.source import read_stocks

SECTIONS = ("read", "text")


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncodedTexts:
    """What was encoded, from where, and in how many seconds."""

    source: str
    encoded: Encoded
    seconds: float

    def lines(self) -> list[str]:
        """Where the vectors lie, and what they are."""
        done, distinct = self.encoded, len(self.encoded.vectors)
        what = f"{self.source}: {len(done.rows):,} texts, {distinct:,} distinct, {done.vectors.shape[1]} features"
        if done.folder is None:
            return [f"{what} by {done.name} in {self.seconds:.0f} s; not kept, since they are made as fast as read"]
        new = f"{done.num_new:,} encoded in {self.seconds:.0f} s" if done.num_new else "nothing left to encode"
        return [f"{what} by {done.name}: {new}", str(done.folder)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        done = self.encoded
        return {
            "source": self.source,
            "encoder": done.name,
            "texts": len(done.rows),
            "distinct": len(done.vectors),
            "features": done.vectors.shape[1],
            "encoded": done.num_new,
            "seconds": self.seconds,
            "folder": done.folder and str(done.folder),
        }


def encode(
    data: str | Path,
    options: dict[str, Any] | None = None,
    *,
    overrides: dict[str, Any] | None = None,
    progress: bool = False,
) -> EncodedTexts:
    """Encode the texts of a data set into the cache; what is there already is not re-encoded.

    Args:
        data: Prices with texts next to them, or the name of a known data set.
        options: The sections `read` and `text` of a run of stocks.
        overrides: More such settings, which win.
        progress: Whether to say on stderr how far it is.
    """
    given = merge(options or {}, overrides or {})
    for name, fields in given.items():
        if name not in SECTIONS or not isinstance(fields, dict):
            write = Fix("text.max_tokens", 64)
            raise ConfigError(f"encode: fields of read and text only. Got {name}. Write ", write, ".")
    text = EncoderOptions.parse(given.get("text", {}), "text")
    path = datasets.locate(str(data))
    files.check_place(cache_of(text))
    _, texts = read_stocks(path, StockOptions.parse(given.get("read", {}), "read"))
    if texts is None or not texts.count:
        raise DataError(
            f"{data}: there are no texts. Give a file or folder of them (", Fix("read.texts", like="FILE"), ")."
        )
    if texts.text is None:
        raise DataError(f"{texts.source} holds vectors already, so there is nothing to encode. Train on it as it is.")
    start = time.monotonic()
    encoded = encode_texts(texts.text, text, progress=progress)
    return EncodedTexts(source=texts.source, encoded=encoded, seconds=time.monotonic() - start)
