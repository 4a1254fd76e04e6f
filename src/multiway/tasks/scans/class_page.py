"""What the report of a run on volumes says: cases, errors, calibration, attention."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.scaling import evenly
from multiway.data.sources.scans.cases import Cases
from multiway.errors import ConfigError
from multiway.explain import average_curves
from multiway.metrics import labels
from multiway.metrics.classes import accuracy, auc
from multiway.metrics.confidence import accuracy_above, class_sets, net_benefit, share_held
from multiway.metrics.regression import mae, r2
from multiway.metrics.resampling import ScoreFunction, score_rows
from multiway.report import text
from multiway.report.attention import films
from multiway.report.curves import benefit_chart, deletion_sections
from multiway.report.sections import PagePart, Planes, Section, Table, Text
from multiway.tasks import pages
from multiway.tasks.lifecycle import if_there
from multiway.tasks.misses import model_in_words
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
from multiway.tasks.targets import LEVEL, answers_of, limits_of, numbers_of, thresholds_of, truth_and_shares

TITLES = {"samples": "Cases", "groups": "Patients", "classes": "Classes"}
INTERVAL = "over cases, or over patients where they are known (bootstrap)"
AVERAGED_CASES, DELETION_CASES = 64, 8
TOLERANCE, MOST_POINTS = 0.1, 17
"""Of the gradients of large volumes: share of the change that their sum may miss, and points at most."""
ANSWERED = (1.0, 0.9, 0.8, 0.7, 0.5)
"""Shares of the cases of validation, the surest first, that are answered in turn."""
THRESHOLDS = np.linspace(0.02, 0.9, 45)
MOST_WORDS = 5
"""Numbers of a column up to which each is a subgroup."""
FEW = "too few cases: in every set"
DIM = 0.3
"""Brightness of what a size cuts off."""
LARGE = "Of volumes this large fewer cases are shown; `multiway explain` shows any."
LARGER = "gradients: orange makes the number larger, blue smaller"
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
        (
            "cool-warm",
            "gradients: orange speaks for the predicted class, blue against it" if run.state.classes else LARGER,
        ),
        NOT_ATTRIBUTION,
        *[OF_NETWORK] * (run.answer.name != NETWORK),
        *[LARGE] * is_large(run),
    ]
    yield PagePart(id="cases", title="Cases", side=side, content=content)
    yield from target_parts(SUBJECT, runs, run.state.classes)
    yield from trust_part(runs)
    yield from subgroup_part(runs)
    if cases is not None:
        yield _attention(run, cases)
        yield _gradients(run, explained)


def trust_part(runs: Sequence[Run]) -> Iterator[PagePart]:
    """Accuracy of the surest answers, sets of classes, and what acting on an answer is worth; on the test cases."""
    run, names, answer = runs[0], runs[0].state.classes, runs[0].answer.name
    validation, test = (answers_of(run.tables, answer, split) for split in ("validation", "test"))
    if run.state.kind != "classes" or not len(validation) or not len(test):
        return
    labels, shares = truth_and_shares(test, names)
    edges = limits_of(run.tables, answer, names)
    sizes = class_sets(shares, edges).sum(1)
    alone, empty = (text.percent(100 * float((sizes == count).mean()), 0) for count in (1, 0))
    side = [
        "The surest answers are given, the others are left to a person. Validation sets the limits.",
        f"A set has the classes that a case may have. It should hold the class of {LEVEL:.0f} % of new cases of each.",
        f"{alone} of the sets hold one class, and {empty} none: such a case is like no class.",
    ]
    content: list[Section] = [_referral(run, validation, test), _sets(run, validation, test, edges)]
    if len(names) == 2:
        side += [
            "Net benefit counts cases found, less false alarms at the odds of the probability from which one acts."
        ]
        scores = {model_in_words(SUBJECT, runs): shares[:, 1], "all cases": np.ones(len(test))}
        scores["no case"] = np.zeros(len(test))
        benefits = {
            word: np.array([net_benefit(labels, own, threshold) for threshold in THRESHOLDS])
            for word, own in scores.items()
        }
        content.append(benefit_chart(THRESHOLDS, benefits, names[1]))
    yield PagePart(id="trust", title="How far to trust it", side=side, content=content)


def subgroup_part(runs: Sequence[Run]) -> Iterator[PagePart]:
    """AUC and accuracy of the answer in each subgroup of the test cases, or errors of its numbers."""
    run, answer = runs[0], runs[0].answer.name
    scores: dict[str, dict[str, ScoreFunction]] = {
        "classes": {"AUC": auc, "Accuracy": accuracy},
        "labels": {"AUC": labels.auc, "F1": labels.micro_f1},
        "number": {"MAE": mae, "R²": r2},
    }
    chosen = scores[run.state.kind]
    test, rows = answers_of(run.tables, answer), []
    every = pd.concat([answers_of(run.tables, answer, "validation"), test])
    for column in run.config.read.subgroups:
        parts = halves_or_words(every[column]).iloc[len(every) - len(test) :]
        for name, own in test.groupby(parts.to_numpy()):
            rows.append(
                [
                    f"{column}: {name}",
                    str(len(own)),
                    *_with_intervals(run, own, [*chosen.values()]),
                ]
            )
    side = [
        "The answer on each subgroup of the test cases by itself, with 95 % intervals; numbers in halves.",
        "A subgroup of few cases says little: look at its interval.",
    ]
    if rows:
        table = Table(columns=["Subgroup", "Test cases", *chosen], rows=rows)
        yield PagePart(id="subgroups", title="Subgroups", side=side, content=[table])


def halves_or_words(values: pd.Series) -> pd.Series:
    """What each of the values says: numbers, if there are many, which half they are in; empty ones that they lack."""
    numbers, words = pd.to_numeric(values, errors="coerce"), values.astype(str).where(values != "", "not known")
    if (numbers.isna() & (values != "")).any() or numbers.nunique() <= MOST_WORDS:
        return words
    middle = numbers.median()
    halves = np.where(numbers <= middle, f"up to {middle:g}", f"above {middle:g}")
    return words.where(numbers.isna(), pd.Series(halves, index=values.index))


def _referral(run: Run, validation: pd.DataFrame, test: pd.DataFrame) -> Table:
    """Accuracy where only the surest cases are answered, a row for each share of those of validation."""
    (_, seen), (_, shares) = (truth_and_shares(part, run.state.classes) for part in (validation, test))
    limits = np.quantile(seen.max(1), [1 - share for share in ANSWERED]).tolist()
    accuracies = _with_intervals(run, test, [partial(accuracy_above, limit=limit) for limit in limits])
    rows = [
        [
            text.percent(100 * share, 0),
            text.number(limit, 3),
            text.percent(100 * float((shares.max(1) >= limit).mean()), 0),
            accuracy,
        ]
        for share, limit, accuracy in zip(ANSWERED, limits, accuracies, strict=True)
    ]
    heads = ["Answered on validation", "From a probability of", "Answered on test", "Accuracy"]
    return Table(title="If the surest cases are answered", columns=heads, rows=rows)


def _sets(run: Run, validation: pd.DataFrame, test: pd.DataFrame, limits: NDArray[np.float64]) -> Table:
    """How often the sets of the test cases hold their class, a row for each; or that it has too few cases."""
    names, counts = run.state.classes, validation["label"].astype(str).value_counts()
    held = _with_intervals(run, test, [partial(share_held, limits=limits, label=place) for place in range(len(names))])
    rows = [
        [name, str(counts.get(name, 0)), FEW if np.isinf(limit) else share]
        for name, limit, share in zip(names, limits, held, strict=True)
    ]
    heads = ["Class", "Cases of validation", "Test cases that have it in their set"]
    return Table(title="Sets of classes", columns=heads, rows=rows)


def _with_intervals(run: Run, test: pd.DataFrame, shares: Sequence[ScoreFunction]) -> list[str]:
    """Shares in percent, or scores of numbers, on test cases; intervals are over patients where these are known."""
    has_patients = "patient" in test and test["patient"].notna().all()
    units = test["patient"].to_numpy(dtype=str) if has_patients else None
    named = {str(place): share for place, share in enumerate(shares)}
    classes = run.state.classes
    known = numbers_of(test) if classes is None else truth_and_shares(test, classes, several=run.state.several)
    times, decimals = (1, 3) if classes is None else (100, 1)
    found = score_rows(named, *known, units=units, draws=run.config.draws)
    cells = []
    for row in found:
        ends = [text.number(times * row[side], decimals) for side in ("low", "high") if row[side] is not None]
        value = text.MISSING if row["value"] is None else text.number(row["value"], decimals)
        value = value if classes is None or row["value"] is None else text.percent(100 * row["value"])
        cells.append(f"{value} ({' to '.join(ends)})" if ends else value)
    return cells


def choice_of_epoch(score: str, run: Run) -> str:
    """What chose the epoch of a run: this score, or the loss where validation leaves it undefined."""
    is_score = run.facts["best"].get(NETWORK, {}).get("validation_score") is not None
    return f"highest validation {score}" if is_score else "lowest validation loss"


def target_in_words(run: Run) -> dict[str, str]:
    """How many classes there are, or which number is predicted."""
    classes = run.state.classes
    return {"Target": run.state.target_name or "number"} if classes is None else {"Classes": str(len(classes))}


def _setting(run: Run) -> dict[str, str]:
    return {
        "Volumes": " × ".join(str(size) for size in run.state.sizes),
        "Channels": str(run.state.channels),
        "Axes": ", ".join(run.state.axes),
        **target_in_words(run),
        "Model": run.config.model_name,
    }


SUBJECT = pages.Subject(
    kicker="Report on volumes",
    rows="cases",
    setting=_setting,
    selected_by=partial(choice_of_epoch, "AUC"),
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
    actual, predicted, own = item.words(run.state.classes)
    is_wrong = run.state.kind == "classes" and item.label != item.answer
    share = f" ({text.percent(100 * float(item.probabilities[int(item.label)]), 0)})" if is_wrong else ""
    sure = "" if own is None else f" with {text.percent(100 * own, 0)}"
    return Planes(
        name=item.name,
        films=films(item.picture, axes=scan.axes, spacing=scan.spacing, orientation=scan.orientation, **item.overlays),
        remark=f", {patient if is_named else f'patient {patient}'}" if patient else "",
        sentence=f"Is {actual}{share}, predicted {predicted}{sure}",
        is_wrong=is_wrong,
    )


def _gradients(run: Run, explained: Sequence[CaseExplanation]) -> PagePart:
    """How exact the gradients of each case are."""
    rows, changed = [], "number" if run.state.classes is None else "log odds"
    for item in explained:
        if item.sums is not None:
            total, change = item.sums
            gap = text.percent(100 * abs(total / change - 1), 0) if change else text.MISSING
            rows.append([item.name, str(item.points), text.with_sign(total, 2), text.with_sign(change, 2), gap])
    side = [
        "Gradients are added up at points on the way from an empty volume to the case (integrated gradients).",
        f"Their sum should be the change of the {changed} on that way; the gap is what is missing.",
        *[POINTS] * is_large(run),
    ]
    columns = ["Case", "Points", "Sum of gradients", f"Change of the {changed}", "Gap"]
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
