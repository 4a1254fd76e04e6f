"""Texts to vectors: encoders, and a cache so that each text is encoded once; knows no task."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.data.encoders.choice import TextEncoder as TextEncoder
    from multiway.data.encoders.choice import choose_encoder as choose_encoder
    from multiway.data.encoders.choice import make_encoder as make_encoder
    from multiway.data.encoders.choice import token_encoder as token_encoder
    from multiway.data.encoders.encoding import Encoded as Encoded
    from multiway.data.encoders.encoding import encode_texts as encode_texts
    from multiway.data.encoders.hashed import HashedEncoder as HashedEncoder
    from multiway.data.options import EncoderOptions as EncoderOptions

__getattr__ = lazily(__name__)
