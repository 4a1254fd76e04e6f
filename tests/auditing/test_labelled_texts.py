import numpy as np
import pandas as pd
import pytest

from data.labelled_text.reviews import reviews
from multiway.auditing.labelled_texts import audit_texts
from multiway.auditing.near_texts import check_near_texts
from multiway.data import Finding
from multiway.data.encoders import TextOptions
from multiway.data.labelled_text import LabelledTextOptions, TextSplit, WordOptions, prepare_texts

PARTS = np.repeat(["train", "dev", "test"], [120, 30, 50])
PLACES = ["town", "village", "valley", "harbour", "forest", "castle", "market", "island", "garden", "station"]


def audited(frame: pd.DataFrame, read: dict | None = None, **split: object):
    parts = (LabelledTextOptions.parse(read or {}), TextSplit.parse(split), "words", WordOptions())
    return audit_texts(prepare_texts(frame, *parts, TextOptions(encoder="hashed")))


def long(count: int = 200) -> pd.DataFrame:
    """Texts of nine words, no two alike."""
    draw = np.random.default_rng(3)
    texts = [" ".join(draw.choice(PLACES, 9)) for _ in range(count)]
    return pd.DataFrame({"text": texts, "label": draw.choice(["a", "b"], count), "part": PARTS[:count]})


def test_a_sound_table_passes():
    found = audited(long())
    assert not found.leaks and not found.findings, found.lines()
    assert len(found.passed) == 4


def test_copies_in_two_splits_are_a_leak_where_they_are_kept():
    frame = long()
    frame.loc[150:160, "text"] = frame.loc[:10, "text"].to_numpy()
    kept = audited(frame, {"split": "part"}, copies="keep")
    assert kept.leaks and "11 texts are in two splits" in "\n".join(kept.lines())
    assert not any("two splits (" in line for line in audited(frame, {"split": "part"}).lines())


def test_near_copies_are_a_leak():
    frame = long()
    frame.loc[150:169, "text"] = frame.loc[:19, "text"].to_numpy() + np.array([f" {word}" for word in PLACES * 2])
    found = audited(frame, {"split": "part"})
    assert found.leaks and "20 of 80 texts held out are training texts but for a word or two" in "\n".join(
        found.lines()
    )


def test_short_texts_are_not_compared():
    rows = np.arange(4)
    assert check_near_texts(["a b", "a c", "a d", "a e"], rows[:2], rows[2:]).startswith("no texts are long enough")


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


def test_groups_are_compared():
    assert "none of 6 groups is in two splits" in audited(reviews(), {"group": "author"}).passed
