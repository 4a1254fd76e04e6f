"""`check_texts`: what a text holds, and what is wrong with it."""

import collections
from typing import Any

from multiway.data.findings import CheckReport, Findings, Place, Unreadable
from multiway.data.language.options import TextOptions, TextSplit
from multiway.data.language.reading import read_into
from multiway.data.language.splitting import split_texts
from multiway.data.language.texts import Texts, words_of
from multiway.data.sources.tables import source_name
from multiway.data.splitting import Splits
from multiway.errors import DataError, MultiwayError

ORDER = {"error": 0, "warning": 1, "note": 2}
UNKNOWN = "<unk>"
"""What a word-level set such as WikiText writes for a rare word."""
PLACES = 20


def check_texts(source: Any, options: TextOptions | None = None, split: TextSplit | None = None) -> CheckReport:
    """Say what is in a text and all that is wrong with it under these options.

    Raises:
        DataError: There is no such file, or the source holds no text.
    """
    name = source_name(source) if hasattr(source, "__fspath__") or isinstance(source, str) else "texts"
    findings = Findings(name)
    try:
        texts = read_into(source, options or TextOptions(), findings)
    except Unreadable:
        return _report(findings, {"encoding": findings.encoding})
    splits = {} if findings.errors() else _split(texts, split or TextSplit(), findings)
    _check_repeats(texts, findings)
    _check_unknown(texts, findings)
    return _report(findings, _summary(texts, splits))


def _report(findings: Findings, summary: dict[str, Any]) -> CheckReport:
    found = tuple(sorted(findings.found, key=lambda finding: ORDER[finding.severity]))
    return CheckReport(source=findings.source, summary=summary, findings=found)


def _split(texts: Texts, split: TextSplit, findings: Findings) -> Splits:
    try:
        return split_texts(texts, split)[1]
    except DataError as error:
        findings.add("split", "error", _without_source(error, texts).rstrip("."))
        return {}


def _without_source(error: MultiwayError, texts: Texts) -> str:
    return str(error).removeprefix(f"{texts.source}: ")


def _check_repeats(texts: Texts, findings: Findings) -> None:
    """Documents that are there before."""
    first: dict[str, int] = {}
    again = [row for row, text in enumerate(texts.documents) if first.setdefault(text.strip(), row) != row]
    if again:
        places = [Place(detail=texts.places[row]) for row in again[:PLACES]]
        rule = f"{len(again)} documents repeat an earlier one"
        findings.add(
            "duplicates", "warning", rule, "Keep each once; `multiway audit` compares splits.", places, len(again)
        )


def _check_unknown(texts: Texts, findings: Findings) -> None:
    """Rare words that were replaced before: a score over them is easier than one over the words."""
    count = sum(text.count(UNKNOWN) for text in texts.documents)
    if count:
        rule = f"{count:,} words are written {UNKNOWN}, as rare ones were replaced"
        findings.add("unknown", "note", rule, "Scores are comparable only with those on the same text.")


def _summary(texts: Texts, splits: Splits) -> dict[str, Any]:
    words = collections.Counter(word for text in texts.documents for word in text.split())
    return {
        "documents": len(texts),
        "characters": f"{sum(map(len, texts.documents)):,}",
        "words": f"{words.total():,}",
        "different words": f"{len(words):,}",
        "words of a document": f"{min(map(words_of, texts.documents)):,} to {max(map(words_of, texts.documents)):,}",
        "splits": ", ".join(f"{name} {len(rows)}" for name, rows in splits.items()) or None,
        "split by": "the names of the files" if texts.official else "shares of the text in its order",
        "encoding": texts.encoding,
    }
