"""Whether a source is a table of texts and their classes, before it is read as one."""

from collections.abc import Sequence
from typing import Any

from multiway.data.findings import Findings, Unreadable
from multiway.data.labelled_text.loading import load_texts
from multiway.data.labelled_text.options import LabelledTextOptions
from multiway.data.labelled_text.roles import TARGET_NAMES, TEXT_NAMES, WORDS, usual, words_of
from multiway.data.raw import TIME_NAMES
from multiway.errors import DataError


def looks_like_texts(source: Any) -> bool:
    """Whether it holds a column of texts and one of classes, both by their usual names, and no times."""
    if isinstance(source, tuple):
        return len(source) == 2 and _holds_texts(source[0])
    try:
        table = load_texts(source, LabelledTextOptions(), Findings(""))
    except (DataError, Unreadable):
        return False
    if any(name.lower() in TIME_NAMES for name in table.names):
        return False
    text, target = (usual(table.names, names, set()) for names in (TEXT_NAMES, TARGET_NAMES))
    return text is not None and target is not None and words_of(table.frame[text]) >= WORDS


def _holds_texts(values: Any) -> bool:
    """A list or series whose first items are texts."""
    if isinstance(values, str) or hasattr(values, "columns") or not hasattr(values, "__len__") or not len(values):
        return False
    first = values[:1] if isinstance(values, Sequence) else getattr(values, "head", lambda count: values[:count])(1)
    return all(isinstance(value, str) for value in first)
