"""The synthetic lesion set: exact masks, kept splits, the same cases from the same seed."""

import collections
import csv
import json

import numpy as np
import pytest

from multiway.data.sources.scans.lesions import LesionOptions, cache_lesions, make_lesions, paint_lesions
from multiway.data.sources.scans.loading import read_cases
from multiway.errors import DataError, RunError


@pytest.fixture
def shapes(tmp_path):
    """A MedMNIST file of rods."""
    arrays = {}
    for seed, (part, count) in enumerate((("train", 4), ("val", 2), ("test", 3))):
        draw = np.random.default_rng(seed)
        images = np.zeros((count, 16, 16, 16), np.uint8)
        for image in images:
            at = draw.integers(4, 9, 2)
            image[2:14, at[0] : at[0] + 4, at[1] : at[1] + 4] = 255
        arrays |= {f"{part}_images": images, f"{part}_labels": np.arange(count)[:, None] % 2}
    path = tmp_path / "rods.npz"
    np.savez(path, **arrays)
    return path


def test_cases_keep_their_split_and_masks_lie_on_their_images(shapes, tmp_path):
    table = make_lesions(read_cases(shapes), tmp_path / "out", LesionOptions(format="npy"))
    cases = read_cases(table)
    assert collections.Counter(cases.official) == {"train": 4, "validation": 2, "test": 3}
    scans = cases.inputs
    assert scans.has_masks and scans.sizes == (16, 16, 16)
    masks = [scans.mask(index).values for index in range(len(scans))]
    assert {int(value) for mask in masks for value in np.unique(mask)} == {0, 1}
    facts = json.loads((tmp_path / "out" / "lesions.json").read_text())
    assert facts["lesion_voxels"] == sum(int(mask.sum()) for mask in masks)
    assert facts["cases"] == 9


def test_nifti_is_the_same_with_an_affine(shapes, tmp_path):
    tables = [
        make_lesions(read_cases(shapes), tmp_path / kind, LesionOptions(format=kind, limits=(1, 1, 1)))
        for kind in ("npy", "nii.gz")
    ]
    bare, nifti = (read_cases(table).inputs for table in tables)
    assert len(bare) == len(nifti) == 3
    assert np.array_equal(bare.prepare(0).values, nifti.prepare(0).values)
    assert np.array_equal(nifti.read(0).affine, np.eye(4))


def test_a_case_depends_on_the_seed_and_its_place_alone(shapes, tmp_path):
    every = make_lesions(read_cases(shapes), tmp_path / "all", LesionOptions(format="npy"))
    few = make_lesions(read_cases(shapes), tmp_path / "few", LesionOptions(format="npy", limits=(1, 1, 2)))
    other = make_lesions(read_cases(shapes), tmp_path / "other", LesionOptions(format="npy", seed=1))
    with few.open() as file:
        paths = [row["path"] for row in csv.DictReader(file)]
    assert len(paths) == 4
    for path in paths:
        assert (every.parent / path).read_bytes() == (few.parent / path).read_bytes()
    assert (every.parent / paths[0]).read_bytes() != (other.parent / paths[0]).read_bytes()


def test_a_lesion_touches_the_body_and_a_distractor_does_not():
    body = np.zeros((24, 24, 24))
    body[4:20, 4:8, 4:8] = 1
    bright = {"tissue": 0.0, "body": 0.0, "noise": 0.0, "contrast_spread": 0.0, "lesion": 1.0}
    for index in range(20):
        options = LesionOptions(lesions=(0, 1), distractors=(0, 1), **bright)
        image, mask = paint_lesions(body, options, index)
        blobs = image == 255
        assert (mask == 1).sum() > 0 and (body[mask == 1] > 0).any()
        distractor = blobs & (mask == 0)
        assert distractor.any() and not (body[distractor] > 0).any()
        assert not (blobs & (image < 255)).any()


def test_brightness_alone_does_not_tell_lesions_from_distractors():
    body = np.zeros((24, 24, 24))
    body[4:20, 4:8, 4:8] = 1
    blobs = {"lesions": (0, 1), "distractors": (0, 1)}
    flat = LesionOptions(**blobs, tissue=0.0, body=0.0, noise=0.0, contrast_spread=0.0, lesion=1.0)
    inside, outside = [], []
    for index in range(60):
        places, _ = paint_lesions(body, flat, index)
        image, mask = paint_lesions(body, LesionOptions(**blobs), index)
        inside.append(image[mask == 1].mean())
        outside.append(image[(places == 255) & (mask == 0)].mean())
    error = np.hypot(np.std(inside), np.std(outside)) / np.sqrt(60)
    assert abs(np.mean(inside) - np.mean(outside)) < 3 * error
    assert abs(np.mean(inside) - 0.45 * 255) < 3 * error


def test_a_volume_without_a_body_has_no_lesion():
    image, mask = paint_lesions(np.zeros((12, 12, 12)), LesionOptions(lesions=(0, 1)))
    assert not mask.any() and image.std() > 0


def test_an_existing_folder_is_left_alone(shapes, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(RunError, match=r"exists already. Choose another folder"):
        make_lesions(read_cases(shapes), tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_cases_without_splits_are_refused_and_leave_nothing(tmp_path):
    np.save(tmp_path / "one.npy", np.zeros((4, 4, 4)))
    with pytest.raises(DataError, match="each split needs cases"):
        make_lesions(read_cases(tmp_path / "one.npy"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_failure_half_way_leaves_nothing(shapes, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("multiway.files.os.fsync", full)
    with pytest.raises(RunError, match="No space left"):
        make_lesions(read_cases(shapes), tmp_path / "out", LesionOptions(format="npy"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rods.npz"]


def test_the_cached_set_is_made_once(shapes, tmp_path):
    first = cache_lesions(shapes, tmp_path)
    stamp = first.stat().st_mtime_ns
    assert cache_lesions(shapes, tmp_path) == first and first.stat().st_mtime_ns == stamp
