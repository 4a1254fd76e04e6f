"""Scenes: read in one form, cut into blocks that share nothing, classes spread over the splits."""

import numpy as np
import pytest

from multiway.data.catalogue import entries
from multiway.data.options import SplitShares
from multiway.data.sources.scenes import INDIAN_PINES, blocks_of, is_scene, read_scene, split_blocks
from multiway.errors import DataError


def test_blocks_cover_every_pixel_once():
    seen = np.zeros((29, 31), int)
    for block in blocks_of((29, 31), 8):
        assert block.rows.stop - block.rows.start in (7, 8)
        seen[block.rows, block.columns] += 1
    assert (seen == 1).all()
    assert len(blocks_of((5, 5), 9)) == 1


def test_splits_share_no_block_and_hold_every_class_that_has_blocks_enough():
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 4, (48, 48))
    blocks = blocks_of((48, 48), 6)
    splits = split_blocks(labels, blocks, SplitShares(validation=0.2, test=0.3), ignored=0)
    every = np.concatenate(list(splits.values()))
    assert len(set(every.tolist())) == len(every) == len(blocks)
    for rows in splits.values():
        seen = {int(label) for i in rows for label in np.unique(labels[blocks[i].rows, blocks[i].columns])}
        assert seen == {0, 1, 2, 3}
    pixels = {
        split: sum(labels[blocks[i].rows, blocks[i].columns].size for i in rows) for split, rows in splits.items()
    }
    assert 0.25 < pixels["test"] / 48**2 < 0.35
    assert (
        split_blocks(labels, blocks, SplitShares(validation=0.2, test=0.3), 0)["test"].tolist()
        == splits["test"].tolist()
    )


def test_blocks_without_a_labelled_pixel_are_left_out():
    labels = np.zeros((20, 20), int)
    labels[:10] = 1 + np.arange(20) % 2
    blocks = blocks_of((20, 20), 5)
    splits = split_blocks(labels, blocks, SplitShares(validation=0.25, test=0.25, seed=1), ignored=0)
    assert sum(map(len, splits.values())) == 8


def test_too_few_blocks_are_refused():
    labels = np.ones((8, 8), int)
    with pytest.raises(DataError, match=r"test would have no block. Set a smaller block"):
        split_blocks(labels, blocks_of((8, 4), 4), SplitShares(validation=0.2, test=0.3), None)


def test_indian_pines_is_the_scene_that_is_published():
    scene = read_scene(INDIAN_PINES)
    assert is_scene(INDIAN_PINES)
    assert scene.values.shape == (200, 145, 145) and scene.labels.shape == (145, 145)
    counts = np.bincount(scene.labels.ravel())
    assert counts[[1, 2, 9, 11]].tolist() == [46, 1428, 20, 2455]  # alfalfa, corn no till, oats, soybean min till
    assert len(scene.names) == 17


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"image": np.zeros((4, 4))}, r"'image' must be \(bands, rows, columns\). Got \(4, 4\)"),
        ({"image": np.full((1, 2, 2), np.nan)}, "every pixel of 'image' must be a finite number"),
        ({"image": np.zeros((1, 2, 2)), "labels": np.zeros((2, 3), int)}, r"int64 \(2, 3\) for an image of \(2, 2\)"),
        ({"image": np.zeros((1, 2, 2)), "labels": np.zeros((2, 2))}, "one whole number per pixel"),
        ({"image": np.array([None])}, "holds Python objects"),
    ],
    ids=["axes", "nan", "sizes", "fractions", "objects"],
)
def test_a_bad_scene_is_refused_in_one_line(arrays, message, tmp_path):
    np.savez(tmp_path / "scene.npz", **arrays)
    assert is_scene(tmp_path / "scene.npz")
    with pytest.raises(DataError, match=message):
        read_scene(tmp_path / "scene.npz")


def test_what_is_no_scene_is_none(tmp_path):
    np.savez(tmp_path / "other.npz", train_images=np.zeros((1, 2, 2, 2)))
    (tmp_path / "broken.npz").write_bytes(b"PK")
    assert not is_scene(tmp_path / "other.npz") and not is_scene(tmp_path / "broken.npz") and not is_scene("nowhere")


def test_another_scene_under_the_name_is_refused(monkeypatch):
    other = entries()[INDIAN_PINES].replace(known_hash="sha256:" + "0" * 64)
    monkeypatch.setitem(entries(), INDIAN_PINES, other)
    with pytest.raises(DataError, match=r"indian-pines: the copy in tensorly is another scene \(sha256:"):
        read_scene("indian-pines")
