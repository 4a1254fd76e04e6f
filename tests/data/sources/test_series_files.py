"""Series from every form of file, from frames and from arrays; and each flaw in one line."""

import numpy as np
import pandas as pd
import pytest

from multiway.data.options import SequenceOptions
from multiway.data.sources.series import lengths_of, missing_of
from multiway.data.sources.series_reading import looks_like_sequences, read_sequences
from multiway.errors import DataError
from tasks.series.archives import HEADER, LINES, bumps, long_frame, write_rows, write_ts

NAN = np.nan


def test_a_ts_file_of_unlike_lengths(tmp_path):
    found = read_sequences(write_ts(tmp_path / "Bumps.ts"))
    assert found.values.shape == (4, 4, 2) and found.labels == ("no", "yes", "no", "yes")
    np.testing.assert_array_equal(found.values[1], [[1.5, 4], [NAN, 5], [2, NAN], [7, 8]])
    np.testing.assert_array_equal(found.values[3], [[3, 1], [4, 2], [NAN, 3], [NAN, NAN]])
    assert lengths_of(found.values).tolist() == [3, 4, 3, 3]
    assert missing_of(found.values).sum(0).tolist() == [2, 1] and found.variates == ("variate 1", "variate 2")


def test_an_official_split_is_kept(tmp_path):
    write_ts(tmp_path / "Bumps_TRAIN.ts")
    write_ts(tmp_path / "Bumps_TEST.ts", ("1,2,3,4,5:1,2,3,4,5:yes",))
    found = read_sequences(tmp_path)
    assert found.parts == ("train",) * 4 + ("test",) and found.values.shape == (5, 5, 2)
    assert found.names[0] == "train 0" and found.names[-1] == "test 0"
    write_ts(tmp_path / "Other_TRAIN.ts")
    write_ts(tmp_path / "Other_TEST.ts")
    with pytest.raises(DataError, match=r"has one pair NAME_TRAIN\.ts and NAME_TEST\.ts .*; it holds Bumps, Other\."):
        read_sequences(tmp_path)


@pytest.mark.parametrize("mark", ["\t", ",", "  "])
def test_rows_with_the_class_first(tmp_path, mark):
    x, y = bumps(5)
    x[2, 10:] = NAN
    x[3, 4] = NAN
    found = read_sequences(write_rows(tmp_path / "Bumps_TRAIN.txt", x, y, mark))
    assert found.labels == ("1", "2", "1", "2", "1")
    np.testing.assert_array_equal(found.values[:, :, 0], x)
    assert lengths_of(found.values)[2] == 10 and missing_of(found.values).sum() == 1


def test_arrays_of_an_archive(tmp_path):
    (x, y), (held, held_y) = bumps(6), bumps(4, seed=1)
    np.savez(tmp_path / "both.npz", X_train=x, y_train=y, X_test=held[..., None], y_test=held_y)
    found = read_sequences(tmp_path / "both.npz")
    assert found.values.shape == (10, 12, 1) and found.parts.count("test") == 4 and set(found.labels) == {"1", "2"}
    np.savez(tmp_path / "one.npz", x=x, y=y)
    assert read_sequences(tmp_path / "one.npz").parts is None
    np.savez(tmp_path / "new.npz", X=x)
    assert read_sequences(tmp_path / "new.npz").labels is None
    np.savez(tmp_path / "none.npz", images=x)
    with pytest.raises(DataError, match=r"none\.npz: series are arrays X and y, or X_train.* It holds images\."):
        read_sequences(tmp_path / "none.npz")


def test_classes_of_an_archive_may_be_words(tmp_path):
    x, y = bumps(4)
    words = np.array(["calm", "fast"], dtype=">U4")[y.astype(int) - 1]
    np.savez(tmp_path / "words.npz", X=x, y=words)
    assert read_sequences(tmp_path / "words.npz").labels == tuple(words.tolist())
    broken = words.astype("<U4")
    broken.view(np.uint32)[0] = 0x110000
    np.savez(tmp_path / "broken.npz", X=x, y=broken)
    with pytest.raises(DataError, match=r"broken\.npz, array 'y': it holds what is no character\."):
        read_sequences(tmp_path / "broken.npz")
    np.savez(tmp_path / "odd.npz", X=x, y=y.astype("S1"))
    with pytest.raises(DataError, match=r"odd\.npz, array 'y': .* plain numbers or words\. Got type \|S1\."):
        read_sequences(tmp_path / "odd.npz")


def test_a_series_without_steps_is_refused():
    series = [np.ones((3, 2)), np.ones((0, 2))]
    with pytest.raises(DataError, match=r"X\[1\]: .* one or more of each\. Got float64 \(0, 2\)\. Correct it"):
        read_sequences((series, ["a", "b"]))


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars"])
def test_a_long_table(tmp_path, kind):
    frame, path = long_frame(), tmp_path / f"long.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    if kind == "parquet":
        frame.to_parquet(path)
    source = pytest.importorskip("polars").from_pandas(frame) if kind == "polars" else frame
    found = read_sequences(path if path.exists() else source)
    assert found.variates == ("x", "y") and found.values.shape == (12, 6, 2)
    row = found.names.index("s2")
    np.testing.assert_array_equal(found.values[row, :, 0], [*bumps(12, 6)[0][2, :5], NAN])
    np.testing.assert_array_equal(found.values[..., 1], -found.values[..., 0])
    assert found.labels[row] == "c1"


def test_columns_of_a_long_table_may_be_named():
    frame = long_frame().rename(columns={"id": "beat", "class": "kind", "time": "when"}).assign(clinic="u")
    options = {"id": "beat", "target": "kind", "time": "when", "group": "clinic", "columns": ("y",)}
    found = read_sequences(frame, SequenceOptions.parse(options))
    assert found.variates == ("y",) and set(found.groups) == {"u"}


def test_arrays_in_memory():
    x, y = bumps(5)
    ragged = [row[: 12 - place] for place, row in enumerate(x)]
    found = read_sequences((ragged, pd.Series(y)))
    assert (
        found.values.shape == (5, 12, 1)
        and lengths_of(found.values).tolist() == [12, 11, 10, 9, 8]
        and found.labels[1] == "2"
    )
    assert read_sequences(x[..., None].repeat(3, 2)).variates == ("variate 1", "variate 2", "variate 3")
    assert read_sequences((x, np.array([False, True] * 2 + [True]))).labels[:2] == ("False", "True")


def test_a_length_pads_and_refuses():
    x, y = bumps(5)
    assert read_sequences((x, y), SequenceOptions(length=20)).values.shape == (5, 20, 1)
    with pytest.raises(
        DataError, match=r"series may have 7 steps\. 0 has 12, and 5 of 5 are longer\. .*read\.length=12"
    ):
        read_sequences((x, y), SequenceOptions(length=7))


STAMPED = HEADER.replace("@timeStamps false", "@timeStamps true")


@pytest.mark.parametrize(
    ("lines", "header", "message"),
    [
        (LINES, STAMPED, r"time stamps of their own \(@timeStamps true\)"),
        (
            ("(0,1),(1,2):(0,2),(1,3):no",),
            HEADER,
            r"\(time,value\), are not read: line 10\. Write values at even steps",
        ),
        (LINES, HEADER.replace("@classLabel true no yes", "@targetLabel true"), "its targets are numbers"),
        (("1,2:3,4:maybe",), HEADER, r"one of no, yes: line 10, value 'maybe'"),
        (("1,2:no",), HEADER, r"declares 2 dimensions, and a series has 1: line 10"),
        (("1,x:3,4:no",), HEADER, r"a value is no finite number: line 10, value 'x', value 2"),
        (("1,inf:3,4:no",), HEADER, r"a value is no finite number: line 10, value 'inf'"),
        (("?,?:?,NaN:no",), HEADER, r"1 series holds no value: line 10"),
        ((), HEADER, "it holds no series"),
        (LINES, HEADER.replace("@data\n", ""), "has a line @data before its series"),
    ],
)
def test_a_flaw_of_a_ts_file(tmp_path, lines, header, message):
    with pytest.raises(DataError, match=rf"^Bumps\.ts: .*{message}"):
        read_sequences(write_ts(tmp_path / "Bumps.ts", lines, header))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="id"), r"no column of series is among time, x, y, class\. Name it \(read\.id=NAME\)"),
        (
            lambda f: f.assign(time="2024-01-01"),
            r"rows have the series and the time of another one: row \d+.* series s",
        ),
        (lambda f: f.assign(**{"class": ["c1", "c2"] * 34}), "a series has one class, in each of its rows"),
        (lambda f: f.assign(x="word"), "columns hold words, not numbers: column 'x'"),
        (lambda f: f.assign(x=np.nan, y=np.nan), r"12 series hold no value: column 'id', value 's"),
        (lambda f: f[["id", "class"]], "no column of values is left"),
    ],
)
def test_a_flaw_of_a_long_table(change, message):
    with pytest.raises(DataError, match=rf"^the table: .*{message}"):
        read_sequences(change(long_frame()))


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.zeros(4), None, r"X: series are \(series, steps\) or \(series, steps, variates\)\. Got \(4,\)"),
        (np.zeros((0, 4)), None, "X: it holds no series"),
        ([["a", "b"]], None, r"X\[0\]: a series holds numbers"),
        (np.full((2, 3), np.inf), None, r"X\[0\]: values must be finite, or NaN where missing"),
        (np.ones((2, 3)), [1], r"y: one class is needed per series, \(2,\)\. Got \(1,\)"),
        (np.ones((2, 3)), [0.5, 1.0], r"y: classes are words or whole numbers\. Got 0\.5"),
        ([np.ones((3, 1)), np.ones((3, 2))], None, "every series has as many variates as the first one, 1: row 1"),
    ],
)
def test_a_flaw_of_arrays(x, y, message):
    with pytest.raises(DataError, match=message):
        read_sequences((x, y))


def test_missing_values_may_be_refused():
    x, y = bumps(5)
    x[3, 4] = NAN
    with pytest.raises(DataError, match=r"1 values are missing: column 'value', 1 values\. Fill them in"):
        read_sequences((x, y), SequenceOptions(missing="error"))


def test_what_looks_like_series(tmp_path):
    x, y = bumps(5)
    write_ts(tmp_path / "a" / "Bumps_TRAIN.ts")
    write_ts(tmp_path / "a" / "Bumps_TEST.ts")
    write_rows(tmp_path / "Bumps_TRAIN.tsv", x, y)
    np.savez(tmp_path / "both.npz", X=x, y=y)
    np.savez(tmp_path / "images.npz", train_images=x)
    long_frame().to_csv(tmp_path / "long.csv", index=False)
    long_frame().drop(columns="class").to_csv(tmp_path / "panel.csv", index=False)
    (tmp_path / "empty").mkdir()
    yes = ("a", "a/Bumps_TEST.ts", "Bumps_TRAIN.tsv", "both.npz", "long.csv")
    no = ("images.npz", "panel.csv", "empty")
    assert [name for name in (*yes, *no) if looks_like_sequences(tmp_path / name)] == list(yes)
    assert looks_like_sequences(long_frame()) and not looks_like_sequences((x, y))
