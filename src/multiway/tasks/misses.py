"""The test samples to look at first: the most confident errors, the largest ones, or answers that are barely right."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from multiway.report import text
from multiway.report.sections import PagePart, Table, TableCell
from multiway.tasks import pages
from multiway.tasks.choice import BLEND
from multiway.tasks.declarations import NETWORK
from multiway.tasks.run import Run
from multiway.tasks.targets import answers_of, errors_of, has_several

SHOWN, FIRST = 20, 5
"""Samples at most, and those of them that are not folded."""
LONGEST = 160
"""Letters of a cell, about; the rest of it is folded."""
LOOK = "Look at these first: a wrong label or a flaw of the data shows here."


class Misses(NamedTuple):
    """Samples of the test, those first that say most of a model.

    kind: What they are, in words.
    found: A row each: what names a sample, `true`, `predicted`, and `probability` of the predicted class, or `error`.
    remark: Said where none is wrong.
    """

    kind: str
    found: pd.DataFrame
    remark: str = ""


def misses_of(run: Run, rows: str, most: int = SHOWN) -> Misses:
    """The errors of a run's answer, or, where it has none, what it names least surely; `rows` says what samples are."""
    found = wrong_answers(run, most)
    if "error" in found:
        return Misses("largest errors", found)
    if len(found):
        return Misses("most confident errors", found)
    return Misses(
        "least sure answers", _name_samples(run).sort_values("probability", kind="stable").head(most), none(rows)
    )


def wrong_answers(run: Run, most: int = SHOWN) -> pd.DataFrame:
    """The most confident errors on classes, or the largest ones of numbers, by the answer of a run."""
    found = _name_samples(run)
    if "error" in found:
        return found.sort_values("error", key=np.abs, ascending=False, kind="stable").head(most)
    wrong = found[found["true"] != found["predicted"]]
    return wrong.sort_values("probability", ascending=False, kind="stable").head(most)


def none(rows: str) -> str:
    """That no sample was misclassified, in a sentence."""
    return f"No test {rows if rows == 'series' else rows.removesuffix('s')} was misclassified."


def _name_samples(run: Run) -> pd.DataFrame:
    """Every test sample with what the answer says of it."""
    answers, names = answers_of(run.tables, run.answer.name), run.state.classes
    named = list(answers.columns[: answers.columns.get_loc("split")].drop("model", errors="ignore"))
    found = answers[named].dropna(axis=1, how="all").assign(true=answers["label"], predicted=answers["predicted"])
    if names is None:
        return found.assign(error=found["predicted"] - found["true"])
    if has_several(run.state):
        return found.assign(error=errors_of(answers, names))
    places = pd.Index(names).get_indexer(pd.Index(found["predicted"].astype(str)))
    shares = answers[[f"p_{name}" for name in names]].to_numpy(float)
    return found.assign(probability=shares[np.arange(len(found)), places])


def model_in_words(subject: pages.Subject, runs: Sequence[Run]) -> str:
    """The model that answers, within a sentence."""
    return with_article(subject.scores(runs).name(runs[0].answer.name))


def with_article(model: str) -> str:
    """A model in words within a sentence."""
    return f"the {model}" if model in (NETWORK, BLEND) else model


def miss_tables(subject: pages.Subject, runs: Sequence[Run], *, title: str = "", note: str = "") -> Iterator[Table]:
    """A row of each, the first of them in sight and the others folded; none without a test sample."""
    found = misses_of(runs[0], subject.rows).found
    columns, rows, style = [name.capitalize() for name in found.columns], _cells(found), "numbers words"
    more = f"{len(rows) - FIRST} more"
    if rows:
        alone = len(rows) <= FIRST
        yield Table(columns=columns, rows=rows[:FIRST], title=title, note=note if alone else "", style=style)
        if not alone:
            yield Table(columns=columns, rows=rows[FIRST:], fold=more, note=note, style=style)


def miss_part(subject: pages.Subject, runs: Sequence[Run]) -> Iterator[PagePart]:
    """Those of the first run as a part of the page."""
    kind, found, remark = misses_of(runs[0], subject.rows)
    if len(found):
        words = f"The {kind} of {model_in_words(subject, runs)} on test {subject.rows}, {SHOWN} at most."
        side = [*([remark] if remark else []), words, *([] if remark else [LOOK])]
        yield PagePart(id="wrong", title=kind.capitalize(), side=side, content=[*miss_tables(subject, runs)])


def _cells(found: pd.DataFrame) -> list[list[TableCell]]:
    """Numbers that were predicted to the digits that tell them apart; of long texts the rest is folded."""
    known = [name for name in ("true", "predicted", "error") if "error" in found]
    measured = [name for name in known if pd.api.types.is_numeric_dtype(found[name])]
    decimals = text.decimals_for(found[measured[0]]) if measured else 0
    shown = found.astype(object).where(found.notna(), text.MISSING)
    for name in measured:
        shown[name] = [text.number(float(value), decimals) for value in found[name]]
    if not measured:
        shown["probability"] = [text.percent(100 * value, 1) for value in found["probability"]]
    return [[_cell(str(value)) for value in row] for row in shown.to_numpy()]


def _cell(words: str) -> TableCell:
    """A text whose rest, from the last blank before the limit on, is folded."""
    if len(words) <= LONGEST:
        return TableCell(words)
    end = max(words.rfind(" ", LONGEST // 2, LONGEST), 0) or LONGEST
    return TableCell(words[:end], rest=words[end:])
