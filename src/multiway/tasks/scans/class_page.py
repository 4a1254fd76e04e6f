"""What the report of a run on volumes says: cases, errors, calibration, attention."""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from multiway.data.scaling import evenly
from multiway.data.sources.scans.cases import Cases
from multiway.errors import ConfigError
from multiway.explain import average_curves
from multiway.report import text
from multiway.report.attention import films
from multiway.report.curves import deletion_sections
from multiway.report.sections import PagePart, Planes, Section, Table, Text
from multiway.tasks import pages
from multiway.tasks.lifecycle import if_there
from multiway.tasks.page_parts import NOT_ATTRIBUTION, add_headings, maps_part
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run
from multiway.tasks.scans.explain import (
    SHOWN_CASES,
    SHOWN_RIGHT,
    CaseExplanation,
    affordable,
    average_attention,
    explain_case,
    interesting,
    is_large,
    reload_cases,
)
from multiway.tasks.target_page import SplitPage, target_headline, target_parts
from multiway.tasks.targets import answers_of, thresholds_of

TITLES = {"samples": "Cases", "groups": "Patients", "classes": "Classes"}
INTERVAL = "over cases, or over patients where they are known (bootstrap)"
AVERAGED_CASES, DELETION_CASES = 64, 8
TOLERANCE, MOST_POINTS = 0.1, 17
"""Of the gradients of large volumes: share of the change that their sum may miss, and points at most."""
DIM = 0.3
"""Brightness of what a size cuts off."""
LARGE = "Of volumes this large fewer cases are shown; `multiway explain` shows any."
OF_NETWORK = "Maps and probabilities here are of the network, which alone has maps, though another model answers."
POINTS = (
    "Of volumes this large 9 points are taken, and more until the sum is within "
    f"{100 * TOLERANCE:.0f} % of the change, {MOST_POINTS} at most; `multiway explain` takes more."
)


def sections(runs: Sequence[Run], cases: Cases | None) -> Iterator[PagePart]:
    """Cases first; those parts that need the data are left out when its file is no longer there."""
    run, named, explained = runs[0], list[tuple[str, int]](), list[CaseExplanation]()
    content: list[Section] = [Text(words="Cases and attention need the data, which could not be reread.")]
    if cases is not None:
        named = interesting(run, cases, affordable(run, SHOWN_CASES, 2), affordable(run, SHOWN_RIGHT))
        explained, remark = _explain(run, cases, [index for _, index in named], deletion=False)
        pairs = zip(named, explained, strict=True)
        content = list(add_headings((heading, _show_case(run, item)) for (heading, _), item in pairs))
        content += _show_cut(cases, named[0][1]) if named else []
        content += [Text(words=remark)] if remark else []
    side: list[str | tuple[str, str]] = [
        "Test cases in three planes. Press a word above them to see what the network went by.",
        "Move a slider to go through the slices. Each plane opens where gradients are strongest, or else attention.",
        ("warm", "attention: where the network looked more than on average; the brighter, the more"),
        ("cool-warm", "gradients: orange speaks for the predicted class, blue against it"),
        NOT_ATTRIBUTION,
        *[OF_NETWORK] * (run.answer.name != NETWORK),
        *[LARGE] * is_large(run),
    ]
    yield PagePart(id="cases", title="Cases", side=side, content=content)
    yield from target_parts(SUBJECT, runs, run.state.classes)
    if cases is not None:
        yield _attention(run, cases)
        yield _gradients(run, explained)


def choice_of_epoch(score: str, run: Run) -> str:
    """What chose the epoch of a run: this score, or the loss where validation leaves it undefined."""
    is_score = run.facts["best"].get(NETWORK, {}).get("validation_score") is not None
    return f"highest validation {score}" if is_score else "lowest validation loss"


def _setting(run: Run) -> dict[str, str]:
    return {
        "Volumes": " × ".join(str(size) for size in run.state.sizes),
        "Channels": str(run.state.channels),
        "Axes": ", ".join(run.state.axes),
        "Classes": str(len(run.state.classes)),
        "Model": run.config.model_name,
    }


SUBJECT = pages.Subject(
    kicker="Report on volumes",
    rows="cases",
    setting=_setting,
    selected_by=functools.partial(choice_of_epoch, "AUC"),
    interval=INTERVAL,
)


def support(runs: Sequence[Run]) -> Iterator[str]:
    """What the verdict should be read with: undefined metrics, the threshold."""
    run, scores = runs[0], SUBJECT.scores(runs)
    answer = run.answer.name
    undefined = [scores.heading(name) for name, _ in scores.columns() if scores.get(answer, name).value is None]
    if undefined:
        yield f"{text.listing(undefined)} is undefined: the test cases are all of one class."
    threshold = thresholds_of(run.calibration, [answer])[answer]
    if threshold is not None:
        yield (
            f"Sensitivity and specificity are those at {text.number(threshold, 3)} for {run.state.classes[1]}, a "
            "threshold chosen on validation."
        )


def _show_cut(cases: Cases, index: int) -> list[Section]:
    """A scan before a size cuts it, dim where it is cut."""
    found = cases.inputs.find_uncut(index)
    if found is None:
        return []
    scan, left = found
    grey = scan.values.mean(axis=0, dtype=np.float32)
    shown = np.where(left, grey, grey.min() + DIM * (grey - grey.min()))
    planes = Planes(
        name=cases.names["case"][index],
        films=films(shown, axes=scan.axes, spacing=scan.spacing, orientation=scan.orientation),
        sentence="The network sees the bright box.",
    )
    return [Text(words="The whole scan", style="heading"), planes]


def _explain(run: Run, cases: Cases, indices: Sequence[int], **options: Any) -> tuple[list[CaseExplanation], str]:
    """Explained cases; without captum there are no gradients, and the remark says so."""
    if is_large(run):
        options |= {"tolerance": TOLERANCE, "steps": MOST_POINTS}
    try:
        return [explain_case(run, cases, index, **options) for index in indices], ""
    except ConfigError as error:
        return [explain_case(run, cases, index, gradients=False, **options) for index in indices], str(error)


def _show_case(run: Run, item: CaseExplanation) -> Planes:
    """A case in its planes, with what it is and what was predicted."""
    assert item.label is not None
    scan, patient = item.volume, item.patient or ""
    is_named = not patient or patient.lower().startswith("patient")  # a name may say itself that it is a patient's
    (actual, share), (predicted, own) = (
        (run.state.classes[label], text.percent(100 * float(item.probabilities[label]), 0))
        for label in (item.label, item.answer)
    )
    is_wrong = item.label != item.answer
    return Planes(
        name=item.name,
        films=films(item.picture, axes=scan.axes, spacing=scan.spacing, orientation=scan.orientation, **item.overlays),
        remark=f", {patient if is_named else f'patient {patient}'}" if patient else "",
        sentence=f"Is {actual}{f' ({share})' if is_wrong else ''}, predicted {predicted} with {own}",
        is_wrong=is_wrong,
    )


def _gradients(run: Run, explained: Sequence[CaseExplanation]) -> PagePart:
    """How exact the gradients of each case are."""
    rows = []
    for item in explained:
        if item.sums is not None:
            total, change = item.sums
            gap = text.percent(100 * abs(total / change - 1), 0) if change else text.MISSING
            rows.append([item.name, str(item.points), text.with_sign(total, 2), text.with_sign(change, 2), gap])
    side = [
        "Gradients are added up at points on the way from an empty volume to the case (integrated gradients).",
        "Their sum should be the change of the log odds on that way; the gap is what is missing.",
        *[POINTS] * is_large(run),
    ]
    columns = ["Case", "Points", "Sum of gradients", "Change of the log odds", "Gap"]
    content = [Table(columns=columns, rows=rows) if rows else None]
    return PagePart(id="gradients", title="Gradients", side=side, content=content, is_method=True)


def _attention(run: Run, cases: Cases) -> PagePart:
    """Maps in the mean over test cases, and the deletion test."""
    indices = {name: index for index, name in enumerate(cases.names["case"])}
    tested = [indices[name] for name in answers_of(run.tables)["case"].astype(str) if name in indices]
    chosen = _spread(run, tested, AVERAGED_CASES)
    maps = average_attention(run, cases, chosen, sample=f"mean over {len(chosen)} test cases", first=1)
    side = [
        "One map per mode of the volume. Each row is a span of slices that looks.",
        "The shade says how much of its look falls on each column.",
        f"{NOT_ATTRIBUTION} The deletion test measures whether it matters.",
    ]
    explained, _ = _explain(run, cases, _spread(run, tested, DELETION_CASES))
    curves = [item.deletion for item in explained if item.deletion is not None]
    words = (
        f"Blocks are hidden, the most important first, in the mean over {len(curves)} test "
        f"case{'s' if len(curves) > 1 else ''}. If a map marks what matters, the probability of the predicted class "
        "falls faster than with blocks at random."
    )
    deletion: list[Section] = [Text(words="Deletion test", style="heading"), Text(words=words)]
    if curves:
        deletion += deletion_sections(average_curves(curves), "the predicted class")
    return maps_part(maps, side, deletion if curves else [])


def _spread(run: Run, indices: Sequence[int], most: int) -> list[int]:
    """Some of the cases, evenly over all; fewer of large volumes."""
    return [indices[position] for position in evenly(len(indices), affordable(run, most)).tolist()]


PAGE = SplitPage(
    SUBJECT,
    lambda runs: sections(runs, if_there(lambda: reload_cases(runs[0]))),
    support=support,
    total="samples",
    titles=TITLES,
    headline=target_headline,
)
