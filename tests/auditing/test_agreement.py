"""Labels against their plain definition, groups on both sides of a split, and what a report prints."""

import numpy as np

from multiway.auditing import AuditReport, check_agreement, check_groups, check_one_label
from multiway.auditing.report import finding

NAMES = [f"day {place}" for place in range(200)]


def test_labels_that_agree_pass_and_others_are_counted():
    plain = np.arange(200) % 2
    assert check_agreement(plain, plain, "the truth", NAMES) == "100.00% of 200 labels agree with the truth"
    labels = plain.copy()
    labels[[3, 4, 5]] ^= 1
    finding = check_agreement(labels, plain, "the truth", NAMES)
    assert (finding.severity, finding.count) == ("error", 3)
    assert "98.50% of 200 labels agree with the truth; that of day 3 is 0 and should be 1" in finding.line()
    assert check_agreement(labels, plain, "the truth", NAMES, least=0.98).startswith("98.50%")
    assert check_agreement(labels[:0], plain[:0], "the truth", NAMES) is None


def test_one_thing_with_two_labels_is_found():
    digests, names = [b"a", b"b", b"a", None, None], ["p", "q", "r", "s", "t"]
    assert check_one_label(digests, ["x", "y", "x", "x", "y"], names, "volume") == "no volume has two labels"
    finding = check_one_label(digests, ["x", "y", "y", "x", "x"], names, "volume")
    assert finding.line() == "copies of a volume have different labels: p (x) = r (y). Correct them."


def test_a_group_in_two_splits_is_named_once():
    whole = {"train": ["ann", "ann", "bob"], "test": ["cid"]}
    assert check_groups(whole, "patient") == "none of 3 patients is in two splits"
    finding = check_groups({"train": ["ann", "bob"], "validation": ["ann"], "test": ["cid", "bob"]}, "patient")
    assert finding.count == 2 and finding.severity == "error"
    assert finding.line() == (
        "2 of 3 patients are in two splits: ann in train and validation; bob in train and test. "
        "Give each patient to one split."
    )


def test_names_from_a_file_are_escaped():
    finding = check_groups({"train": ["\x1b[31m"], "test": ["\x1b[31m"]}, "patient")
    assert "\x1b" not in finding.line() and r"\x1b[31m" in finding.line()


def test_a_report_says_leaks_first_and_counts_them():
    verdicts = ["b is sound", finding("n", "note", "a note"), None, finding("w", "warning", "odd"),
                finding("e", "error", "bad", "Fix it")]  # fmt: skip
    report = AuditReport.of("sales.csv", verdicts)
    assert report.leaks and report.lines() == [
        "sales.csv", "  leak: bad. Fix it", "  warning: odd.", "  note: a note.", "  passed: b is sound.",
        "This split leaks in one way: scores on it say little.",
    ]  # fmt: skip
    assert report.to_dict()["leaks"] is True and report.to_dict()["passed"] == ["b is sound"]
    sound = AuditReport.of("sales.csv", verdicts[:4])
    assert not sound.leaks and sound.lines()[-1] == "No leak was found."
