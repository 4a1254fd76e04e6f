"""How text is read, split into documents, and cut into tokens."""

from typing import Literal

from pydantic import Field

from multiway.config import Config
from multiway.data.sources.bytes import MAX_BYTES
from multiway.data.splitting import Shares


class TextOptions(Config):
    """Where the text stands, and where a document ends."""

    column: str | None = None
    """Column of the text in a table or in JSON lines; `text`, or the only column, if not given."""
    documents: Literal["auto", "file", "line", "paragraph", "heading"] = "auto"
    """What a document of a text file is: all of it, a line, a paragraph, or what follows a heading `= Title =`, as in
    WikiText; `auto` looks for such headings. Rows of a table are documents."""
    most_documents: int | None = Field(None, ge=1)
    """Documents to read of each file at most; all if not given."""
    encoding: str | None = None
    """Text encoding; UTF-8, else Windows-1252, if not given."""
    max_bytes: int = Field(4 * MAX_BYTES, gt=0)
    """What a packed file may unfold to."""


class TextSplit(Shares):
    """Shares of the text, the last of it for the test; files called train, validation and test are such splits."""

    validation: float = Field(0.1, gt=0, lt=1)
    """Share to choose the best epoch on."""
    test: float = Field(0.1, gt=0, lt=1)
    """Share to test on, once, at the end."""


class TokenOptions(Config):
    """What the network reads: tokens, and how many at once."""

    tokenizer: str = Field("bpe", min_length=1)
    """bpe: byte pairs learnt from the training text, with the library tokenizers; bytes: each byte a token; or the
    folder or the name of a tokenizer of Hugging Face."""
    vocabulary: int = Field(4096, ge=300)
    """Tokens of `bpe` at most."""
    context: int = Field(128, ge=2)
    """Tokens of a window; windows do not overlap, and none crosses a document's end."""
    most_tokens: int | None = Field(None, ge=1)
    """Tokens of training text to learn from, the first ones in whole windows; all if not given."""
