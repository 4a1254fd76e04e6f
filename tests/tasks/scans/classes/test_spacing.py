"""Scans whose voxels are of another size than those that training saw bring a warning, for classes and masks."""

import warnings

import numpy as np
import pandas as pd
import pytest

import multiway
from multiway import workflows
from multiway.data.sources.scans.intensity import spacings_of, warn_of_spacing
from multiway.data.sources.scans.nifti import write_nifti
from multiway.errors import MultiwayWarning
from tasks.scans.classes.blocks import NETWORK
from tasks.scans.masks.lesion_files import FAST, box_case

EIGHT, SIX = (np.diag([size, size, size, 1.0]) for size in (8.0, 6.0))
SEGMENTER = {**FAST, "training": {**FAST["training"], "epochs": 1}, "baselines": ["background"]}
CLASSIFIER = {"model": NETWORK, "training": {"epochs": 1, "batch_size": 8, "warmup_steps": 1}, "draws": 5}


def write(folder, affine, count=14):
    """A table of scans with masks and classes."""
    folder.mkdir()
    rows = []
    for index in range(count):
        image, mask = box_case(index)
        image[:4] += np.uint8(20 * (index % 2))
        for name, values in (("image", image), ("mask", mask)):
            write_nifti(folder / f"{name}{index}.nii.gz", values, affine)
        rows.append({"path": f"image{index}.nii.gz", "mask": f"mask{index}.nii.gz", "label": index % 2})
    pd.DataFrame(rows).to_csv(folder / "cases.csv", index=False)
    return folder / "cases.csv"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scans")
    return write(folder / "eight", EIGHT), write(folder / "six", SIX, count=2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: multiway.Segmenter(settings=SEGMENTER),
        lambda: multiway.VolumeClassifier(baselines=("majority",), settings=CLASSIFIER),
    ],
    ids=["segmenter", "classifier"],
)
def test_other_voxels_than_those_of_the_training_bring_a_warning(make, tables, tmp_path):
    same, other = tables
    make().fit(same).save(tmp_path / "run")
    loaded = type(make()).load(tmp_path / "run")
    assert loaded.run_.state.spacings == ((8, 8),) * 3
    loaded.predict(same)
    wanted = r"trained on voxels of 8 x 8 x 8 mm\. Got .*6 x 6 x 6 mm.*, on which .* set read.spacing in training"
    for ask in (loaded.predict, loaded.evaluate):
        with pytest.warns(MultiwayWarning, match=wanted):
            ask(other)


def test_a_segmenter_names_all_later_images_of_other_voxels_in_one_line(tables, tmp_path):
    mixed = write(tmp_path / "mixed", SIX, count=5)
    for name, values in zip(("image", "mask"), box_case(0), strict=True):
        write_nifti(mixed.parent / f"{name}0.nii.gz", values, EIGHT)
    model = multiway.Segmenter(settings=SEGMENTER).fit(tables[0])
    model.save(tmp_path / "run")
    named = [f"image{index} (6 x 6 x 6 mm)" for index in range(1, 4)]
    given = f"Got 4 of 5 scans with others, {', '.join(named)} and 1 more, on which it may be far worse."

    def command(path):
        workflows.predict(tmp_path / "run", data=str(path), out=tmp_path / "masks")

    for ask in (model.predict, model.evaluate, command):
        with pytest.warns(MultiwayWarning) as found:
            ask(mixed)
        assert [given in str(each.message) for each in found] == [True]


def test_scans_within_those_of_the_training_are_taken_without_a_word():
    trained = spacings_of([(1.0, 1.0, 2.0), None, (1.2, 1.0, 3.0)].__getitem__, range(3))
    assert trained == ((1.0, 1.2), (1.0, 1.0), (2.0, 3.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for spacing in ((1.1, 1.05, 2.5), (0.95, 1.0, 3.2), None):
            warn_of_spacing(spacing, trained)
        warn_of_spacing((9.0, 9.0, 9.0), None)
    with pytest.warns(MultiwayWarning, match=r"voxels of 1 to 1.2 x 1 x 2 to 3 mm. Got scans of 1.1 x 1 x 3.5 mm"):
        warn_of_spacing((1.1, 1.0, 3.5), trained)
    assert spacings_of([None].__getitem__, [0]) is None


def test_cases_to_look_at_lie_evenly_over_all():
    for rows, count in (([5, 7, 9], 3), (range(1000), 64)):
        seen = []
        spacings_of(seen.append, rows)
        assert (len(seen), seen[0], seen[-1]) == (count, rows[0], rows[-1])
        assert max(np.diff(seen)) - min(np.diff(seen)) <= 1
