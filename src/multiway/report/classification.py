"""The report of a classification, and the page that compares several, each as one HTML file."""

from collections.abc import Mapping, Sequence

from multiway.errors import DataError
from multiway.report import attention, charts, classification_scores, curves, diagnostics, slices, text
from multiway.report.classification_content import ClassificationReport
from multiway.report.html import render_page
from multiway.report.palette import NUM_COLOURS, number
from multiway.report.summary import cost_table

MAX_RUNS = NUM_COLOURS


def render_classification_report(content: ClassificationReport) -> str:
    """Write the report as one self-contained HTML file, as `render_forecast_report` does."""
    numbers = number(_models(content), content.chosen)
    readouts = charts.Readouts()
    styles = _roc_styles(content, numbers)
    return render_page(
        "classification.html.j2",
        content=content,
        verdict=classification_scores.verdict(content),
        supporting=classification_scores.supporting(content),
        summary_bars=classification_scores.bars(content, numbers),
        facts=classification_scores.facts(content),
        tables=classification_scores.tables(content, numbers),
        costs=cost_table(content.costs, numbers, "volume"),
        split_classes=list(dict.fromkeys(name for split in content.splits for name in split.classes)),
        roc=curves.roc_chart(content.roc, styles, readouts) if content.roc else None,
        roc_legend=curves.roc_legend(content.roc, styles),
        reliability=curves.reliability_chart(content.reliability, readouts) if _has_bins(content) else None,
        confusion=curves.confusion_table(content.confusion) if content.confusion is not None else None,
        cases=slices.cases(content.cases),
        left_out=max(0, len(content.cases) - slices.MAX_CASES),
        training=diagnostics.training_chart(content.training, readouts) if content.training else None,
        scored=any(row.score is not None for row in content.training),
        attention=attention.figures(content.maps),
        deletion=curves.deletion_chart(content.deletion, readouts) if content.deletion else None,
        deletion_rows=curves.deletion_rows(content.deletion) if content.deletion else [],
        readouts=readouts,
    )


def render_classification_comparison(contents: Sequence[ClassificationReport]) -> str:
    """Write one self-contained HTML file that compares runs, each by the model it is about.

    Raises:
        DataError: There are fewer than two runs, or more than can be told apart.
    """
    if not 2 <= len(contents) <= MAX_RUNS:
        raise DataError(
            f"render_classification_comparison: give 2 to {MAX_RUNS} runs. Got {len(contents)}; name other runs."
        )
    names = _names(contents)
    return render_page(
        "classification_comparison.html.j2",
        names=names,
        tables=_compared(contents, names),
        differences=_differences(contents),
        warning=_warning(contents),
        readouts=charts.Readouts(),
    )


def _models(content: ClassificationReport) -> list[str]:
    names = [row.model for row in content.scores] + [cost.model for cost in content.costs]
    return list(dict.fromkeys([content.chosen, *names]))


def _roc_styles(content: ClassificationReport, numbers: Mapping[str, int]) -> dict[str, int]:
    """Curves of models take the models' colours, curves of classes the colours in order."""
    return {
        item.name: numbers.get(item.name, index % NUM_COLOURS) if item.name in numbers else index % NUM_COLOURS
        for index, item in enumerate(content.roc)
    }


def _has_bins(content: ClassificationReport) -> bool:
    return any(item.count for item in content.reliability)


def _names(contents: Sequence[ClassificationReport]) -> list[str]:
    titles = [text.name(content.title) for content in contents]
    return [name if titles.count(name) == 1 else f"{name} ({index + 1})" for index, name in enumerate(titles)]


def _compared(contents: Sequence[ClassificationReport], names: Sequence[str]) -> list[classification_scores.Table]:
    """One table per split, a row per run."""
    renamed = [
        type(row)(
            model=name, metric=row.metric, value=row.value, low=row.low, high=row.high, split=row.split, seed=row.seed
        )
        for content, name in zip(contents, names, strict=True)
        for row in content.scores
        if row.model == content.chosen
    ]
    colours = {name: index for index, name in enumerate(names)}
    return classification_scores.tables(ClassificationReport(title="", chosen="", scores=renamed), colours)


def _differences(contents: Sequence[ClassificationReport]) -> list[tuple[str, list[str]]]:
    facts = [{**content.setting, **content.environment, "command": content.command} for content in contents]
    found = [
        (name, [text.name(fact.get(name, "")) or text.MISSING for fact in facts])
        for name in dict.fromkeys(name for fact in facts for name in fact)
    ]
    return [(name, values) for name, values in found if len(set(values)) > 1]


def _warning(contents: Sequence[ClassificationReport]) -> str:
    """Scores of other test cases cannot be compared, and the page says so."""
    tests = {
        (split.cases, tuple(sorted(split.classes.items())))
        for content in contents
        for split in content.splits
        if split.name == "test"
    }
    hashes = {value for content in contents for key, value in content.environment.items() if key == "data sha256"}
    if len(tests) > 1:
        return "These runs were scored on different test cases: their scores cannot be compared."
    if len(hashes) > 1:
        return "These runs read different data: their scores can only be compared if the test cases are the same."
    return ""
