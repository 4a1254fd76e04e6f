import pandas as pd
import pytest

from multiway.tasks.text import TextConfig
from multiway.tasks.text.task import TASK
from tasks.text.reviews import reviews


def said(frame: pd.DataFrame, **options: object) -> str:
    return "\n".join(TASK.kind.check(TextConfig.parse({"read": options}), frame).lines())


def test_the_summary_says_what_there_is():
    found = TASK.kind.check(TextConfig(), reviews())
    assert found.is_usable and found.summary["words"] == "6 in the middle, 6 at most"
    assert found.summary["classes"] == "bad 32, good 28"
    assert found.summary["splits"] == "train 39, validation 9, test 12"


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (pd.concat([reviews(), reviews()[:2]]), "warning: 2 rows repeat an earlier one: row 60; row 61"),
        (pd.concat([reviews(), reviews()[:1].assign(label="good")]), "2 rows have equal inputs and different classes"),
        (reviews().assign(label=["good"] * 57 + ["bad"] * 3), "warning: 95.0 % of rows are 'good'"),
        (reviews().drop(columns="label"), "note: no target is named or found"),
        (reviews()[:3], "error: each split needs rows"),
    ],
)
def test_what_is_wrong_is_said(frame, text):
    assert text in said(frame.reset_index(drop=True))


def test_a_file_that_is_not_there_is_said():
    report = TASK.kind.check(TextConfig(), "nowhere.csv")
    assert not report.is_usable and "does not exist" in report.findings[0].rule
