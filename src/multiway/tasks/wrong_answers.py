"""The test samples that a model is most surely wrong about: where a flaw of data or model shows first."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from multiway.report import text
from multiway.report.sections import PagePart, Table
from multiway.tasks.run import Run
from multiway.tasks.targets import answers_of

SHOWN, LONGEST = 20, 80
"""Samples at most, and letters of what names one."""


def wrong_answers(run: Run, most: int = SHOWN) -> pd.DataFrame:
    """The most confident errors on classes, or the largest ones of numbers, by the answer of a run.

    Columns: what names a sample, `true`, `predicted`, and `probability` of the predicted class, or `error`.
    """
    answers, names = answers_of(run.tables, run.answer.name), run.state.classes
    named = list(answers.columns[: answers.columns.get_loc("split")].drop("model", errors="ignore"))
    found = answers[named].dropna(axis=1, how="all").assign(true=answers["label"], predicted=answers["predicted"])
    if names is None:
        found["error"] = found["predicted"] - found["true"]
        return found.sort_values("error", key=np.abs, ascending=False, kind="stable").head(most)
    places = pd.Index(names).get_indexer(pd.Index(found["predicted"].astype(str)))
    shares = answers[[f"p_{name}" for name in names]].to_numpy(float)
    found["probability"] = shares[np.arange(len(found)), places]
    return (
        found[found["true"] != found["predicted"]].sort_values("probability", ascending=False, kind="stable").head(most)
    )


def wrong_part(runs: Sequence[Run], unit: str) -> Iterator[PagePart]:
    """Those of the first run, a row each; `unit` says what samples are."""
    found, model = wrong_answers(runs[0]), runs[0].answer.name
    if len(found):
        kind = "most confident errors" if "probability" in found else "largest errors"
        side = [
            f"The {kind} of {model} on test {unit}, {SHOWN} at most.",
            "Look at these first: a wrong label or a flaw of the data shows here.",
        ]
        table = Table(columns=[name.capitalize() for name in found.columns], rows=_cells(found), style="numbers words")
        yield PagePart(id="wrong", title=kind.capitalize(), side=side, content=[table])


def _cells(found: pd.DataFrame) -> list[list[str]]:
    """Numbers that were predicted to the digits that tell them apart; of long names the start."""
    measured = [name for name in ("true", "predicted", "error") if "error" in found]
    decimals = text.decimals_for(found["true"]) if measured else 0
    shown = found.astype(object).where(found.notna(), text.MISSING)
    for name in measured:
        shown[name] = [text.number(float(value), decimals) for value in found[name]]
    if not measured:
        shown["probability"] = [text.percent(100 * value, 1) for value in found["probability"]]
    return [[_shortened(str(value)) for value in row] for row in shown.to_numpy()]


def _shortened(words: str) -> str:
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
