"""The comparison sets each run's chosen model side by side, and says when the scores cannot be compared."""

import re

import pytest

from multiway.errors import DataError
from multiway.report import ForecastReport, ScoreRow, Selection, SplitSpan, StepErrors, render_comparison


def run(title, value, **more):
    scores = [
        ScoreRow(model="ridge", metric="MSE", value=0.4),
        ScoreRow(model="network", metric="MSE", value=value),
    ]
    return ForecastReport(
        title=title,
        scores=scores,
        selection=Selection(chosen="network"),
        step_errors=StepErrors(lines={"network": [0.1, value], "ridge": [0.2, 0.4]}),
        **more,
    )


def said(page):
    body = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_runs_stand_side_by_side_with_their_differences():
    page = said(render_comparison([run("a", 0.38), run("b", 0.361)]))
    assert "0.3800" in page and "0.3610 (best) −5.0 %" in page
    assert "Error by step" in page


def test_what_differs_is_listed_and_what_does_not_is_left_out():
    page = said(
        render_comparison(
            [
                run("a", 0.38, environment={"torch": "2.13.0", "seed": "1"}),
                run("b", 0.36, environment={"torch": "2.13.0", "seed": "2"}),
            ]
        )
    )
    assert "seed" in page
    assert "2.13.0" not in page


def test_other_test_rows_are_warned_of():
    spans = [[SplitSpan(name="test", first=0, last=last, rows=9)] for last in (8, 9)]
    page = said(render_comparison([run("a", 0.38, splits=spans[0]), run("b", 0.36, splits=spans[1])]))
    assert "scored on different test rows: their scores cannot be compared" in page


def test_titles_alike_are_numbered_and_hostile_ones_are_text():
    page = render_comparison([run("<script>", 0.38), run("<script>", 0.36)])
    assert page.count("<script>") == 1
    assert "&lt;script&gt; (2)" in page


def test_runs_without_scores_are_shown_without():
    assert "No run has scores." in render_comparison([ForecastReport(title="a"), ForecastReport(title="b")])


def test_one_run_is_nothing_to_compare():
    with pytest.raises(DataError, match=r"give 2 to 8 runs\. Got 1"):
        render_comparison([run("a", 0.38)])
