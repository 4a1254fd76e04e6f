"""A case in three planes: every slice of a plane stands in one strip, and the page shows one at a time."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multiway.explain.planes import (
    COOL_WARM,
    WARM,
    Array,
    Plane,
    attention_level,
    gradient_level,
    grey_levels,
    planes,
    ramp,
    strongest_slice,
)
from multiway.report import text
from multiway.report.classification_content import CaseView
from multiway.report.png import grey_png, palette_png

MAX_SLICES = 32
MAX_SIDE = 96
LEVELS = 15
MAX_CASES = 24


class Film(NamedTuple):
    """One plane: the strip of its slices, strips of overlays by name, and a word for each slice.

    at: The slice shown first, that with the strongest gradients or the most attention.
    """

    name: str
    num_slices: int
    at: int
    ratio: float
    edges: tuple[str, str, str, str]
    words: list[str]
    scan: str
    overlays: dict[str, str]


class Case(NamedTuple):
    """One case as it is set."""

    name: str
    patient: str
    sentence: str
    is_wrong: bool
    films: list[Film]
    overlays: list[str]
    note: str


def cases(views: Sequence[CaseView]) -> list[tuple[str, list[Case]]]:
    """Cases under their headings, in the order given."""
    found: dict[str, list[Case]] = {}
    for view in views[:MAX_CASES]:
        found.setdefault(view.group, []).append(_case(view))
    return list(found.items())


def _case(view: CaseView) -> Case:
    overlays = {}
    if view.attention is not None:
        overlays["attention"] = (attention_level(np.asarray(view.attention)), ramp(WARM, LEVELS))
    if view.gradients is not None:
        overlays["gradients"] = (gradient_level(np.asarray(view.gradients)), ramp(COOL_WARM, LEVELS))
    levels = grey_levels(np.asarray(view.volume))
    telling = next((item for item in (view.gradients, view.attention) if item is not None), view.volume)
    shown = planes(levels.shape, view.axes, view.spacing, view.orientation)
    return Case(
        name=view.name,
        patient=view.patient or "",
        sentence=_sentence(view),
        is_wrong=view.actual is not None and view.actual != view.predicted,
        films=[_film(plane, levels, overlays, strongest_slice(np.asarray(telling), plane.axis)) for plane in shown],
        overlays=list(overlays),
        note=_note(view),
    )


def _sentence(view: CaseView) -> str:
    named = f"named {view.predicted} with {text.percent(100 * view.probability, 0)}"
    if view.actual is None:
        return text.sentence_case(named)
    if view.actual == view.predicted:
        return f"Is {view.actual}, {named}"
    given = "" if view.actual_probability is None else f" ({text.percent(100 * view.actual_probability, 0)})"
    return f"Is {view.actual}{given}, {named}"


def _note(view: CaseView) -> str:
    if view.sums is None:
        return ""
    total, change = view.sums
    return f"The gradients sum to {text.signed(total, 2)}; the logit changes by {text.signed(change, 2)}."


def _film(plane: Plane, levels: Array, overlays: dict[str, tuple[Array, Array]], at: int) -> Film:
    stack = plane.stack(levels)
    kept = np.unique(np.linspace(0, len(stack) - 1, min(len(stack), MAX_SLICES)).round().astype(int))
    step = -(-max(stack.shape[1:]) // MAX_SIDE)
    return Film(
        name=plane.name,
        num_slices=len(kept),
        at=int(np.abs(kept - at).argmin()),
        ratio=round(plane.ratio, 4),
        edges=plane.edges,
        words=[_word(plane, int(index), len(stack)) for index in kept],
        scan=grey_png(_strip(stack[kept, ::step, ::step])),
        overlays={
            name: palette_png(_strip(_indices(plane.stack(level)[kept, ::step, ::step])), colours)
            for name, (level, colours) in overlays.items()
        },
    )


def _indices(level: Array) -> Array:
    return np.round((LEVELS - 1) * level).astype(np.uint8)


def _strip(stack: Array) -> Array:
    return np.ascontiguousarray(stack.reshape(-1, stack.shape[2]))


def _word(plane: Plane, index: int, count: int) -> str:
    depth = "" if plane.spacing is None else f", {(index + 0.5) * plane.spacing:.4g} mm"
    return f"slice {index} of 0–{count - 1}{depth}"
