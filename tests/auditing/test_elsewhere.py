"""Splits that were made elsewhere: what training and test rows share, and what may not be asked."""

import numpy as np
import pandas as pd
import pytest

import multiway as mw
from command import assert_one_line, call
from multiway.errors import ConfigError, DataError

ROWS = 300
DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(ROWS, 5))
Y = (X.sum(1) + DRAW.normal(0, 2, ROWS) > 0).astype(int)
ORDER = DRAW.permutation(ROWS)
SPLIT = {"train": ORDER[:200], "test": ORDER[200:]}


def leaks(*given, **split):
    return {found.kind for found in mw.audit(*given, **split).findings if found.severity == "error"}


def test_rows_at_random_are_sound_as_arrays_frames_flags_and_words():
    flags = {name: np.isin(np.arange(ROWS), rows) for name, rows in SPLIT.items()}
    frame = pd.DataFrame(X, columns=list("abcde")).assign(town=DRAW.choice(["Rome", "Bern"], ROWS))
    assert (
        not leaks(X, Y, **SPLIT) and not leaks(X, Y, **flags) and not leaks(frame, np.array(["no", "yes"])[Y], **SPLIT)
    )


def test_an_index_in_both_a_copy_and_a_torn_group_are_named():
    assert "overlap" in leaks(X, Y, train=ORDER[:210], test=ORDER[200:])
    copied = X.copy()
    copied[ORDER[200:205]] = copied[ORDER[:5]]
    assert leaks(copied, None, **SPLIT) == {"duplicates"}
    assert leaks(None, train=copied[ORDER[:200]], test=copied[ORDER[200:]]) == {"duplicates"}
    assert leaks(X, Y, groups=np.arange(ROWS) // 2, **SPLIT) == {"groups"}
    kept = {"train": np.arange(200), "test": np.arange(200, 300)}
    assert not leaks(X, Y, groups=np.arange(ROWS) // 2, **kept)


def test_windows_that_share_steps_overlap_and_windows_apart_do_not():
    series = DRAW.normal(size=5000)
    windows = np.stack([series[at : at + 24] for at in range(0, 12 * ROWS, 12)])
    assert "overlap" in leaks(windows, **SPLIT)
    apart = np.stack([series[at : at + 12] for at in range(0, 12 * ROWS, 12)])
    assert not leaks(np.hstack([apart, apart[::-1]]), **{"train": np.arange(60, 150), "test": np.arange(250, 300)})


@pytest.mark.parametrize("what", ["times", "coordinates"])
def test_rows_between_training_rows_are_told_by_the_nearest_one(what):
    place = np.sort(DRAW.uniform(0, 100, ROWS))
    level = np.sin(place / 5)
    where = pd.to_datetime(place, unit="D", origin="2020-01-01") if what == "times" else np.column_stack([place, place])
    kind = "times" if what == "times" else "places"
    assert kind in leaks(X, level, **{what: where}, **SPLIT)
    assert kind not in leaks(X, level, **{what: where}, train=np.arange(200), test=np.arange(240, 300))
    assert kind not in leaks(X, DRAW.normal(size=ROWS), **{what: where}, **SPLIT)


def test_training_rows_that_are_later_are_a_warning():
    report = mw.audit(X, Y, times=np.arange(ROWS), **SPLIT)
    assert not report.leaks and [found.kind for found in report.findings if found.severity == "warning"] == ["order"]


def test_what_does_not_fit_is_said():
    with pytest.raises(DataError, match=r"groups has one value for each row of X\. Got 3 for 300 rows"):
        mw.audit(X, Y, groups=[1, 2, 3], **SPLIT)
    with pytest.raises(DataError, match="test has indices from 0 to 400, and X has 300 rows"):
        mw.audit(X, Y, train=[1, 2], test=[0, 400])
    with pytest.raises(ConfigError, match="Give both"):
        mw.audit(X, Y, train=[1, 2])


def test_files_of_arrays_are_audited_and_an_absent_one_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arrays = {
        "x": X,
        "y": Y,
        "a": SPLIT["train"],
        "b": SPLIT["test"],
        "g": np.array([f"p{n // 2}" for n in range(ROWS)]),
    }
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)
    words = ["audit", "--data", "x.npy", "--labels", "y.npy", "--train", "a.npy", "--test", "b.npy"]
    code, out, _ = call(words, monkeypatch, capsys)
    assert code == 0 and out.startswith("300 rows; train 200, test 100\n")
    code, out, _ = call([*words, "--groups", "g.npy"], monkeypatch, capsys)
    assert code == 1 and "groups are in two splits" in out and "[MW008]" in out
    assert_one_line(
        call(["audit", "--train", "a.npy", "--test", "no.npy"], monkeypatch, capsys), "no.npy does not exist"
    )
    assert_one_line(call(["audit"], monkeypatch, capsys), "name a task or a run folder, or give a split")
    assert_one_line(call(["audit", "tabular", *words[3:]], monkeypatch, capsys), "Leave out tabular, or these")
