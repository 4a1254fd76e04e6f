"""PNG files written by hand, as data URIs: greys, and a palette with transparency.

They are markup, so that a page takes them whole, as it does no word from data.
"""

import base64
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

Bytes = npt.NDArray[np.uint8]


def grey_png(levels: Bytes) -> Markup:
    """Write `(rows, columns)` of greys, 0 black."""
    return _png(levels, colour_type=0, extra=[])


def colour_png(pixels: Bytes) -> Markup:
    """Write `(rows, columns, 3)` of red, green and blue."""
    return _png(pixels.reshape(len(pixels), -1), colour_type=2, extra=[], columns=pixels.shape[1])


def palette_png(indices: Bytes, colours: Bytes) -> Markup:
    """Write `(rows, columns)` of places in `colours`, `(count, 4)` of red, green, blue and opacity."""
    palette = (b"PLTE", np.ascontiguousarray(colours[:, :3]).tobytes())
    return _png(indices, colour_type=3, extra=[palette, (b"tRNS", np.ascontiguousarray(colours[:, 3]).tobytes())])


def _png(values: Bytes, colour_type: int, extra: list[tuple[bytes, bytes]], columns: int | None = None) -> Markup:
    rows: Any = np.concatenate([np.zeros((len(values), 1), np.uint8), values], axis=1)  # each row: "no filter"
    header = struct.pack(">2I5B", columns or values.shape[1], len(values), 8, colour_type, 0, 0, 0)
    chunks = [(b"IHDR", header), *extra, (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")]
    content = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)
    return Markup("data:image/png;base64," + base64.b64encode(content).decode())


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
