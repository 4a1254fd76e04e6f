import numpy as np
import pandas as pd
import pytest

from multiway.auditing.near_texts import check_near_texts
from multiway.auditing.texts import _bin_lengths, audit_texts
from multiway.data import Finding
from multiway.tasks.text import TextConfig
from multiway.tasks.text.task import TASK
from tasks.text.reviews import reviews

PARTS = np.repeat(["train", "dev", "test"], [120, 30, 50])
PLACES = ["town", "village", "valley", "harbour", "forest", "castle", "market", "island", "garden", "station"]


def audited(frame: pd.DataFrame, read: dict | None = None, **split: object):
    settings = {"read": read or {}, "split": split, "inputs": "words", "text": {"encoder": "hashed"}}
    return audit_texts(TASK.prepare(TextConfig.parse(settings), frame))


def long(count: int = 200) -> pd.DataFrame:
    """Texts of nine words, no two alike."""
    draw = np.random.default_rng(3)
    texts = [" ".join(draw.choice(PLACES, 9)) for _ in range(count)]
    return pd.DataFrame({"text": texts, "label": draw.choice(["a", "b"], count), "part": PARTS[:count]})


def test_a_sound_table_passes():
    found = audited(long())
    assert not found.leaks and not found.findings, found.lines()
    assert len(found.passed) == 7


def test_copies_in_two_splits_are_a_leak_where_they_are_kept():
    frame = long()
    frame.loc[150:160, "text"] = frame.loc[:10, "text"].to_numpy()
    kept = audited(frame, {"split": "part"}, copies="keep")
    assert kept.leaks and "11 texts are in two splits" in "\n".join(kept.lines())
    assert not any("two splits (" in line for line in audited(frame, {"split": "part"}).lines())


@pytest.mark.parametrize(("split", "first", "held", "leaks"), [("test", 150, 50, True), ("validation", 120, 30, False)])
def test_near_copies_are_a_leak_in_the_test_and_a_warning_before(split, first, held, leaks):
    frame = long()
    rows = slice(first, first + 19)
    frame.loc[rows, "text"] = frame.loc[:19, "text"].to_numpy() + np.array([f" {word}" for word in PLACES * 2])
    found = audited(frame, {"split": "part"})
    said = f"20 of {held} {split} texts are training texts but for a word or two"
    assert found.leaks == leaks and said in "\n".join(found.lines())


def test_texts_that_share_a_link_alone_are_no_copies():
    frame = long()
    draw, words = np.random.default_rng(4), [f"{place}{number}" for place in PLACES for number in range(90)]
    links = [f"https://example.org/{word}/of/the/day" for word in ("news", "sport")]
    frame["text"] = [" ".join([*draw.choice(words, 4), *[links[row % 2]] * 3]) for row in range(200)]
    assert "near" not in {finding.kind for finding in audited(frame).findings}


def test_short_texts_are_not_compared():
    rows = np.arange(4)
    assert check_near_texts(["a b", "a c", "a d", "a e"], rows[:2], rows[2:], "test").startswith(
        "no test text is long enough"
    )


def test_two_labels_of_a_text_are_a_warning():
    frame = pd.concat([long(), long()[:3].assign(label="b"), long()[:3].assign(label="a")], ignore_index=True)
    (torn,) = (each for each in audited(frame).findings if each.kind == "labels")
    assert torn.severity == "warning" and torn.count == 3


@pytest.mark.parametrize("tell", [lambda text: f"{text} {text}", lambda text: f"{text} !"])
def test_a_class_that_the_form_gives_away_is_a_leak(tell):
    frame = long()
    telling = frame["label"] == "a"
    frame.loc[telling, "text"] = frame.loc[telling, "text"].map(tell)
    found = audited(frame)
    assert found.leaks and any(isinstance(each, Finding) and each.kind == "lookup" for each in found.findings)


def test_so_is_one_mark_at_the_end_of_a_class_and_another_of_the_rest():
    frame = long()
    frame["text"] += np.where(frame["label"] == "a", "!", "?")
    form, token = (finding for finding in audited(frame).findings if finding.kind == "lookup")
    assert "last mark" in form.line() and "token" in token.line() and form.severity == token.severity == "error"
    assert not audited(frame.assign(text=frame["text"].str[:-1] + ".")).leaks


def test_groups_are_compared():
    assert "none of 6 groups is in two splits" in audited(reviews(), {"group": "author"}).passed


def test_lengths_fall_into_tenths_of_the_training_texts():
    values = np.r_[np.arange(100), 10**6, -5]
    assert _bin_lengths(values, np.arange(100)).tolist() == [*(np.arange(100) // 10).tolist(), 9, 0]
    assert _bin_lengths(np.array([0, 1, 1, 1]), np.arange(4)).tolist() == [0, 9, 9, 9]


@pytest.mark.parametrize(
    "tell",
    [
        str.capitalize,
        lambda text: text.replace(" ", " , ", 1),
        lambda text: f"{text[:8]} \u201c{text[8:]}",
        lambda text: f"reuters {text}",
    ],
)
def test_a_capital_a_blank_a_mark_or_a_word_of_one_class_is_a_leak(tell):
    frame = long()
    told = audited(frame.assign(text=frame["text"].where(frame["label"] == "b", frame["text"].map(tell))))
    assert any("leak: one token of a text tells its class" in line for line in told.lines())


def test_formulas_that_many_texts_share_make_no_near_copies():
    frame = long()
    frame["text"] = (
        "we thank you for your kind letter of today " + frame["text"] + " and we remain yours in all good faith"
    )
    assert not audited(frame).leaks


def test_the_longer_part_of_a_training_text_is_a_near_copy():
    frame = long()
    draw = np.random.default_rng(5)
    frame["text"] = [" ".join(draw.choice(PLACES, 20)) for _ in range(200)]
    for row in range(150, 160):
        frame.loc[row, "text"] = " ".join(frame.loc[row - 150, "text"].split()[2:15])
    found = audited(frame, {"split": "part"})
    assert "10 of 50 test texts are training texts but for a word or two" in "\n".join(found.lines())
