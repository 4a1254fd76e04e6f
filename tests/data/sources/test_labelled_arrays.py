"""Arrays of samples and labels of a .npz, under every spelling."""

import numpy as np
import pytest

from multiway.data.sources.arrays import Archive, labels_in, name_rows, pairs_of


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("images", "labels", "x_train"), {"all": ("images", "labels")}),
        (("X",), {"all": ("X", None)}),
        (
            ("x_test", "train_images", "dev_images", "dev_labels", "train_labels"),
            {"train": ("train_images", "train_labels"), "validation": ("dev_images", "dev_labels"),
             "test": ("x_test", None)},
        ),
        (("x_train", "train_images", "y_train"), {"train": ("train_images", None)}),
        (("a", "labels"), {}),
    ],
)  # fmt: skip
def test_pairs_by_their_names(tmp_path, names, expected):
    np.savez(tmp_path / "a.npz", **{name: np.zeros(1) for name in names})
    pairs = pairs_of(Archive(tmp_path / "a.npz", 1000, "a.npz"))
    assert pairs == expected and list(pairs) == list(expected)


def test_words_are_labels_only_where_they_may_be(tmp_path):
    np.savez(tmp_path / "a.npz", y=np.array(["b", "a"]), z=np.array([[3], [-1]], np.int16))
    archive = Archive(tmp_path / "a.npz", 1000, "a.npz")
    assert labels_in(archive, "y", 2, words=True) == ["b", "a"] and labels_in(archive, "z", 2) == [3, -1]
    with pytest.raises(ValueError, match=r"'y': its values must be plain numbers\. Got type <U1"):
        labels_in(archive, "y", 2)


def test_rows_are_called_by_their_part():
    assert name_rows({"train": 2, "test": 1}) == (
        ("train-00000", "train-00001", "test-00000"),
        ("train", "train", "test"),
    )
    assert name_rows({"all": 1}) == (("all-00000",), None)
