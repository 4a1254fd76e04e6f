"""Texts with their classes: read, checked, split, and made into what networks see."""

from typing import TYPE_CHECKING

from multiway.data.labelled_text.checking import check_texts as check_texts
from multiway.data.labelled_text.looking import looks_like_texts as looks_like_texts
from multiway.data.labelled_text.options import InputKind as InputKind
from multiway.data.labelled_text.options import LabelledTextOptions as LabelledTextOptions
from multiway.data.labelled_text.options import TextSplit as TextSplit
from multiway.data.labelled_text.options import WordOptions as WordOptions
from multiway.data.labelled_text.reading import read_frame as read_frame
from multiway.data.labelled_text.reading import read_texts as read_texts
from multiway.data.labelled_text.splitting import split_texts as split_texts
from multiway.data.labelled_text.table import TextTable as TextTable
from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.data.labelled_text.inputs import make_inputs as make_inputs
    from multiway.data.labelled_text.prepared import PreparedTexts as PreparedTexts
    from multiway.data.labelled_text.prepared import match_texts as match_texts
    from multiway.data.labelled_text.prepared import prepare_texts as prepare_texts
    from multiway.data.labelled_text.state import TextState as TextState

__getattr__ = lazily(
    __name__,
    {
        "multiway.data.labelled_text.inputs": ("make_inputs",),
        "multiway.data.labelled_text.prepared": ("PreparedTexts", "match_texts", "prepare_texts"),
        "multiway.data.labelled_text.state": ("TextState",),
    },
)
