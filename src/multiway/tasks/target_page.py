"""The report of tasks on samples: their splits, errors on classes or numbers, the surest of them, and calibration."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.metrics import classes as metrics
from multiway.report import text
from multiway.report.curves import RocCurve, confusion_table, frequent_confusions, reliability_chart, roc_chart
from multiway.report.scores import verdict
from multiway.report.sections import PagePart, Section, Table, Text
from multiway.tasks import pages
from multiway.tasks.comparing import Groups, comparison
from multiway.tasks.declarations import NETWORK
from multiway.tasks.misses import miss_part, model_in_words, none, with_article
from multiway.tasks.page_parts import split_table
from multiway.tasks.run import Run
from multiway.tasks.targets import answers_of, has_several, truth_and_shares

TENTHS, MAJORITY = 10, "majority"
MOST_CLASSES = 10
"""Classes of a matrix; of more, that many confusions are listed."""
Values = NDArray[np.float64]
Labels = NDArray[np.int64]
TITLES = {"samples": "Samples", "groups": "Groups", "classes": "Classes"}
SIDE = ["Fitted on the first, chosen on the second, scored once on the last."]


def no_parts(runs: Sequence[Run]) -> Iterable[Any]:
    """Nothing more."""
    return ()


@dataclasses.dataclass(frozen=True)
class SplitPage:
    """What a run says of itself: its splits, and the parts of its task.

    SUBJECT: What the pages have to know of the task.
    parts: Those of the task alone.
    titles: Facts of a split that are shown, and their heads.
    total: The fact that counts by name are shares of; the only one of a split that is a number.
    shares: Other facts that are printed with their share.
    support: What the verdict should be read with.
    headline: What the reader came for, in one sentence; if empty, the verdict on the scores.
    tables: Sections between the scores and the costs.
    """

    SUBJECT: pages.Subject
    parts: Callable[[Sequence[Run]], Iterable[PagePart]] = no_parts
    _: dataclasses.KW_ONLY
    titles: Mapping[str, str]
    total: str
    shares: Sequence[str] = ()
    support: Callable[[Sequence[Run]], Iterable[str]] = no_parts
    headline: Callable[[pages.Subject, Run], str] = lambda subject, run: ""
    tables: Callable[[Sequence[Run]], Iterable[Section]] = no_parts

    def report(self, runs: Sequence[Run]) -> str:
        """The HTML report of runs that differ in their seed; the first is shown in detail."""
        said, headline = verdict(self.SUBJECT.scores(runs)), self.headline(self.SUBJECT, runs[0])
        facts = runs[0].facts.get("splits", {})
        counts = {split: part if isinstance(part, Mapping) else {self.total: part} for split, part in facts.items()}
        are_patients = self.titles.get("groups") == "Patients" and any(part.get("groups") for part in counts.values())
        alone = ["No patient is in two of them."] if are_patients else []
        later, rows = runs[0].facts.get("refitted"), self.SUBJECT.rows
        refit = [f"For later {rows} the answer is then refitted on {later['rows']:,}."] if later else []
        table = split_table(counts, self.titles, total=self.total, shares=self.shares)
        summary = pages.Summary(
            headline=headline or said,
            verdict=said if headline else "",
            support=list(self.support(runs)),
            splits=PagePart(id="splits", title="Splits", side=[*SIDE, *alone, *refit], content=[table]),
            tables=list(self.tables(runs)),
        )
        return pages.report(self.SUBJECT, runs, summary, self.parts(runs))

    def compare(self, groups: Groups) -> str:
        """Groups of runs side by side."""
        return comparison(self.SUBJECT, groups)


Parts = Callable[[Sequence[Run]], Iterable[PagePart]]


def class_page(subject: pages.Subject, first: Parts = no_parts, more: Parts = no_parts) -> SplitPage:
    """What a run on samples with classes says of itself: `first`, errors, calibration, splits, and more parts."""

    def parts(runs: Sequence[Run]) -> Iterator[PagePart]:
        yield from first(runs)
        yield from target_parts(subject, runs, runs[0].state.classes)
        yield from more(runs)

    return SplitPage(subject, parts, titles=TITLES, total="samples", headline=target_headline)


def target_headline(subject: pages.Subject, run: Run) -> str:
    """How often the answer is right, or how far it is off, compared with what needs no model."""
    test = answers_of(run.tables, run.answer.name)
    if run.state.classes is not None:
        if not len(test):
            return ""
        right = (test["label"] == test["predicted"]).mean()
        if has_several(run.state):
            return f"{text.percent(100 * right)} of {len(test):,} test {subject.rows} have all their labels right."
        return f"{text.percent(100 * right)} of {len(test):,} test {subject.rows} are named correctly{_always(run)}."
    off, name = float((test["predicted"] - test["label"]).abs().mean()), getattr(run.state, "target_name", "target")
    rows = run.tables["predictions"]
    if "model" in rows and (rows["model"] == "mean").any():
        known = float(rows.loc[rows["model"] == "mean", "predicted"].iloc[0])
    else:  # the mean of the validation rows
        known = float(rows.loc[rows["split"] != "test", "label"].mean())
    alone = float((test["label"] - known).abs().mean())
    side = "better" if off < alone else "worse"
    rival = f"; {text.percent(100 * abs(1 - off / alone), 0)} {side} than the mean alone" if alone else ""
    size = text.with_unit(off, getattr(run.state, "target_sign", ""))
    return f"{text.sentence_case(name)} is off by {size} on average{rival}."


def _always(run: Run) -> str:
    """How often the most frequent class of the training is right, where that is a candidate."""
    test, names = answers_of(run.tables, MAJORITY), run.state.classes
    if not len(test):
        return ""
    name = names[int(test[[f"p_{name}" for name in names]].iloc[0].to_numpy(float).argmax())]
    share = (test["label"].astype(str) == name).mean()
    return f"; always naming {name}, the most frequent class in training, is right in {text.percent(100 * share)}"


def target_parts(subject: pages.Subject, runs: Sequence[Run], names: Sequence[str] | None) -> Iterator[PagePart]:
    """What the table `predictions` of the first run says of its test rows; without names the target is a number."""
    test = runs[0].tables["predictions"].query("split == 'test'")
    answer = runs[0].answer.name
    of_model = {str(name): rows for name, rows in test.groupby("model", sort=False)}
    if names is None:
        yield number_errors(of_model[answer], subject.rows)
        yield from miss_part(subject, runs)
        return
    if has_several(runs[0].state):
        yield label_part(subject, runs, of_model)
        yield from miss_part(subject, runs)
        return
    labels, _ = truth_and_shares(of_model[answer], names)
    shares = {model: truth_and_shares(rows, names)[1] for model, rows in of_model.items()}
    scores, model_words = subject.scores(runs), model_in_words(subject, runs)
    words = {name: scores.name(name) for name in shares}
    colours = {scores.name(name): colour for name, colour in pages.colours_of(scores).items()}
    curves = class_curves(names, labels, {words[name]: values for name, values in shares.items()}, words[answer])
    predicted = pd.Index(names).get_indexer(pd.Index(of_model[answer]["predicted"].astype(str)))
    yield confusion_part(names, labels, predicted, curves, colours, model_words, subject.rows)
    yield from miss_part(subject, runs)
    part = calibration_part(labels, shares[answer], subject.rows, model=model_words)
    yield part._replace(side=[*part.side, *recalibration_lines(runs[0], subject.rows)])


def label_part(subject: pages.Subject, runs: Sequence[Run], of_model: Mapping[str, pd.DataFrame]) -> PagePart:
    """How well each of several labels is found by the answer: its share, AUC, average precision and F1."""
    names = runs[0].state.classes
    truth, shares = truth_and_shares(of_model[runs[0].answer.name], names, several=True)
    rows = []
    for place, name in enumerate(names):
        known, own = truth[:, place], shares[:, place]
        pair = np.stack([1 - own, own], axis=1)
        scores = [score(known, pair) for score in (metrics.auc, metrics.average_precision, metrics.f1)]
        cells = [text.MISSING if score is None else text.number(score, 3) for score in scores]
        rows.append([name, str(int(known.sum())), text.percent(100 * float(known.mean()) if len(known) else 0), *cells])
    model_words = model_in_words(subject, runs)
    side = [f"Each label on the test {subject.rows} by {model_words}.", "Its share is the average precision of chance."]
    heads = ["Label", subject.rows.capitalize(), "Share", "AUC", "Average precision", "F1"]
    return PagePart(id="errors", title="Each label", side=side, content=[Table(columns=heads, rows=rows)])


def recalibration_lines(run: Run, rows: str) -> Iterator[str]:
    """What a temperature of the answer does, where it has one."""
    found = run.facts.get("recalibration")
    if found:
        before, after = (text.number(found[name], 3) for name in ("before", "after"))
        yield f"Log odds are divided by {text.number(found['temperature'], 2)}, a temperature chosen on validation."
        yield f"On the test {rows} the calibration error is {before} without it and {after} with it."


def class_curves(
    names: Sequence[str], labels: Labels, shares: Mapping[str, Values], answer: str = NETWORK
) -> list[RocCurve]:
    """A curve per model for two classes; for more, a curve of the answer per class."""
    if len(names) == 2:
        curves = [class_curve(model, labels == 1, values[:, 1]) for model, values in shares.items()]
    else:
        curves = [class_curve(name, labels == label, shares[answer][:, label]) for label, name in enumerate(names)]
    return [curve for curve in curves if curve is not None]


def confusion_part(
    classes: Sequence[str],
    labels: Labels,
    predicted: Labels,
    curves: Sequence[RocCurve],
    colours: Mapping[str, int],
    model: str,
    rows: str,
) -> PagePart:
    """Confusion matrix and ROC curves of the test samples; `colours` are numbers by name of a curve."""
    counts = metrics.confusion_matrix(labels, predicted, len(classes))
    side, table = f"A row of the matrix is a class, a column what {model} predicted.", confusion_table(classes, counts)
    if len(classes) > MOST_CLASSES:
        side, table = f"Which classes {model} took for which.", frequent_confusions(classes, counts, MOST_CLASSES)
    alone = [] if (labels != predicted).any() else [Text(words=none(rows))]
    content = [
        *(alone if len(labels) else []),
        table if len(labels) and table.rows else None,
        roc_chart(curves, colours) if curves else None,
    ]
    return PagePart(id="errors", title="Which errors", side=[f"On the test {rows}. {side}"], content=content)


def class_curve(name: str, is_class: NDArray[np.bool_], scores: Values) -> RocCurve | None:
    """ROC curve of a score for a class; None where all cases are in it, or none."""
    points = metrics.roc_points(is_class, scores)
    if points is None:
        return None
    false, true = (np.array(points[f"{kind}_positive_rate"]) for kind in ("false", "true"))
    return RocCurve(name, false, true, float(((true[1:] + true[:-1]) / 2 * np.diff(false)).sum()))


def calibration_part(
    labels: Labels, probabilities: Values, rows: str = "cases", bins: int = metrics.BINS, model: str = NETWORK
) -> PagePart:
    """How often the answer is right, by confidence; `rows` says what is counted."""
    table = metrics.reliability_table(labels, probabilities, bins=bins) if len(labels) else []
    side = [
        f"How often {with_article(model)} is right among test {rows} of like confidence.",
        "On the dashed line confidence can be taken at its word; below it there is too much.",
        f"The larger a dot, the more {rows}; lines are the 95\u202f% interval of each share (Wilson).",
    ]
    return PagePart(id="calibration", title="Calibration", side=side, content=[reliability_chart(table, rows)])


def number_errors(test: pd.DataFrame, rows: str) -> PagePart:
    """Truth and prediction, over tenths of the test rows by what is predicted.

    `test` has the columns `label` and `predicted` of one model.
    """
    ranked = test.sort_values("predicted", kind="stable")
    decimals = text.decimals_for(test["label"])
    tenth = np.arange(len(ranked)) * min(TENTHS, len(ranked)) // len(ranked)
    means = ranked.groupby(tenth).agg(predicted=("predicted", "mean"), true=("label", "mean"), spread=("label", "std"))
    cells = [[text.number(float(value), decimals) for value in row] for row in means.fillna(0.0).to_numpy()]
    table = Table(columns=["Predicted", "True", "Deviation of the true"], rows=cells)
    side = [f"Test {rows} in tenths, from the lowest to the highest prediction: means, and how far the truth spreads."]
    return PagePart(id="errors", title="Truth by prediction", side=side, content=[table])
