"""Which columns of a raw table hold texts and classes."""

import pandas as pd

from multiway.data.cells import as_text
from multiway.data.columns import require_column
from multiway.data.findings import Findings, listed
from multiway.data.labelled_text.options import LabelledTextOptions
from multiway.data.labelled_text.table import TextColumns
from multiway.data.raw import Table

TEXT_NAMES = ("text", "sentence", "review", "content", "document", "question", "tweet", "message", "comment", "body")
TARGET_NAMES = ("label", "target", "class", "category", "sentiment", "y")
WORDS = 3.0
"""Words of a cell, on average, from which on a column of another name is taken as one of texts."""
LOOKED_AT = 1000


def find_columns(raw: Table, options: LabelledTextOptions, findings: Findings) -> TextColumns:
    """The named columns, else those with a usual name; of texts also the one of the most words."""
    for option in ("second", "group", "split"):
        name = getattr(options, option)
        if name is not None:
            require_column(raw.names, name, option, findings)
    taken = {options.second, options.group, options.split, options.target, *options.where}
    text = options.text or usual(raw.names, TEXT_NAMES, taken) or _wordy(raw, taken)
    if text is None:
        fix = f"Name it (--text NAME). There are {listed(raw.names)}."
        raise findings.fatal("text", "no column of texts was found", fix)
    require_column(raw.names, text, "text", findings)
    target = options.target or usual(raw.names, TARGET_NAMES, taken | {text})
    if target is not None:
        require_column(raw.names, target, "target", findings)
    return TextColumns(text=text, second=options.second, target=target)


def usual(names: list[str], known: tuple[str, ...], taken: set[str | None]) -> str | None:
    """The first of the known names that a column has, whatever its case."""
    free = {name.lower(): name for name in reversed(names) if name not in taken}
    return next((free[name] for name in known if name in free), None)


def _wordy(raw: Table, taken: set[str | None]) -> str | None:
    """The column of the most words, if those are several a cell."""
    counts = {name: words_of(raw.frame[name]) for name in raw.names if name not in taken}
    best = max(counts, key=lambda name: counts[name], default=None)
    return best if best is not None and counts[best] >= WORDS else None


def words_of(column: pd.Series) -> float:
    """Words of a cell on average; none in a column of numbers."""
    if pd.api.types.is_numeric_dtype(column):
        return 0.0
    cells = as_text(column.head(LOOKED_AT))
    return float(cells.map(lambda cell: len(cell.split())).mean())
