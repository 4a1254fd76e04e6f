"""A run from its data to its files and back, interrupted and continued, and used on other images."""

import dataclasses
import json
import shutil

import highdicom
import nibabel
import numpy as np
import pytest
import torch

from command import outcome, printed
from data.sources.scans.scans import series
from data.sources.scans.test_dicom_seg import STUDY
from multiway.config import merge
from multiway.data.sources.scans.grids import to_grid
from multiway.data.sources.scans.volume import Volume
from multiway.errors import ConfigError, DataError, RunError
from multiway.tasks import lifecycle, scores
from multiway.tasks.scans.networks import PatchLoss, predictor_of
from multiway.tasks.scans.predict import predict_mask
from multiway.tasks.scans.task import MASKS as TASK
from multiway.training import Interrupted
from multiway_papers.cell_rows import cell_row
from tasks.scans.masks.lesion_files import FAST, box_case, config_of, write_boxes, write_scene


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("segment")


@pytest.fixture(scope="module")
def boxes(folder):
    (folder / "data").mkdir()
    return write_boxes(folder / "data")


@pytest.fixture(scope="module")
def run(boxes, folder):
    return lifecycle.start(TASK, config_of(boxes), folder / "run")


@pytest.fixture(scope="module")
def scene_run(folder):
    changes = {"ignore": 0, "block": 6, "model": {"dim": 8, "num_blocks": 1, "num_heads": 2, "bands_per_token": 2}}
    return lifecycle.start(TASK, config_of(write_scene(folder / "scene.npz"), **changes), folder / "scene-run")


def test_a_run_holds_scores_of_every_model_on_both_splits(run):
    assert list(run.models) == ["network", "background", "threshold", "unet"]
    assert {(row["model"], row["split"]) for row in run.scores} == {
        (model, split) for model in run.models for split in ("validation", "test")
    }
    ours, plain = run.facts["parameters"].values()
    assert abs(ours - plain) < 0.1 * ours
    table = scores.score_table([run], "test")
    assert table[0]["model"] == run.answer.name
    assert set(table[0]) >= {"dice", "dice low", "dice high", "hd95", "cl_dice", "acc"}
    assert next(row["dice"] for row in table if row["model"] == "background") == 0
    assert sorted(path.name for path in run.folder.path.iterdir()) == [
        "baselines", "cases.parquet", "config.yaml", "manifest.json", "metrics.jsonl", "preprocessing.json",
        "scores.json", "slices.json", "slices.safetensors", "weights.safetensors",
    ]  # fmt: skip
    assert not list(run.folder.path.rglob("state"))


def test_a_loaded_run_predicts_the_same(run, boxes):
    repeated = lifecycle.load(run.folder.path)
    image = box_case(3)[0][None]
    for name in run.models:
        assert np.array_equal(predictor_of(run, name)(image), predictor_of(repeated, name)(image)), name
    assert repeated.scores == run.scores and repeated.state.plain() == run.state.plain()
    fresh = TASK.evaluate(repeated, str(boxes), "test")
    assert list(dict.fromkeys(row["model"] for row in fresh)) == list(run.models)


def test_training_finds_bright_boxes(boxes, folder):
    config = config_of(boxes, baselines=["background"])
    longer = config.replace(training=config.training.replace(epochs=12).plain())
    found = lifecycle.start(TASK, longer, folder / "longer")
    assert scores.score_table([found], "validation")[0]["dice"] > 0.7
    rows = found.folder.read_log()
    assert max(row["validation_score"] for row in rows) == pytest.approx(
        scores.score_table([found], "validation")[0]["dice"], rel=1e-9
    )


@pytest.mark.slow  # the contract stops every task once
@pytest.mark.parametrize("stop_at", [1, 5], ids=["in the network", "in the plain network"])
def test_an_interrupted_run_continues_to_the_same_weights(run, boxes, folder, monkeypatch, stop_at):
    path = folder / f"stopped-{stop_at}"
    calls = []

    class Stopping(PatchLoss):
        def __call__(self, model, batch):
            calls.append(torch.is_grad_enabled())
            if sum(calls) == stop_at + 1:
                raise Interrupted("stopped by the test")
            return super().__call__(model, batch)

    always = merge(FAST, {"data": str(boxes), "training": {"checkpoint_seconds": 0}})
    with monkeypatch.context() as patch:
        patch.setattr("multiway.tasks.scans.candidates.segment.network.PatchLoss", Stopping)
        with pytest.raises(Interrupted):
            lifecycle.start(TASK, TASK.configure(always), path)
    with pytest.raises(RunError, match="not finished"):
        lifecycle.load(path)
    resumed = lifecycle.continue_run(path)
    assert resumed.scores == run.scores
    for name in ("network", "unet"):
        theirs = run.models[name].state_dict()
        for key, tensor in resumed.models[name].state_dict().items():
            assert torch.equal(tensor, theirs[key]), (name, key)
    for name in ("slices.safetensors", "slices.json"):
        assert (path / name).read_bytes() == (run.folder.path / name).read_bytes(), name
    assert lifecycle.continue_run(path).scores == run.scores


def test_a_stop_in_the_plain_network_names_the_run_to_resume(boxes, folder, monkeypatch):
    def stopped(model, *_, run, **__):
        if run.path.name == "unet":
            assert run.path != run.root  # the loop names the root, see the tests of training
            raise Interrupted(f"Continue with `multiway train --resume {run.root}`.")

    monkeypatch.setattr("multiway.tasks.sample_candidate.train", stopped)
    with pytest.raises(Interrupted, match=rf"--resume {folder / 'named'}`"):
        lifecycle.start(TASK, config_of(boxes), folder / "named")


def test_a_damaged_run_says_so(run, folder):
    copy = folder / "damaged"
    shutil.copytree(run.folder.path, copy)
    (copy / "scores.json").write_text("[]")
    with pytest.raises(RunError, match=r"changed or missing since training: scores.json"):
        lifecycle.load(copy)


def test_an_error_in_the_data_leaves_no_folder(boxes, folder):
    with pytest.raises(ConfigError, match="each a multiple of 2"):
        lifecycle.start(TASK, config_of(boxes, patch=(3, 4, 4)), folder / "none")
    with pytest.raises(ConfigError, match=r"a positive number for each of the 2 classes. Got \(1.0, 2.0, 3.0\)"):
        lifecycle.start(TASK, config_of(boxes, class_weights=(1, 2, 3)), folder / "none")
    with pytest.raises(ConfigError, match=r"hot_segmenter_2d takes images of 2 axes. Got 3"):
        lifecycle.start(TASK, config_of(boxes, model={"name": "hot_segmenter_2d"}), folder / "none")
    with pytest.raises(DataError, match="does not exist"):
        lifecycle.start(TASK, config_of(folder / "nowhere.csv"), folder / "none")
    assert not (folder / "none").exists()


def test_masks_are_written_with_the_images_affine(run, folder):
    source = folder / "scans"
    source.mkdir()
    affine = np.array([[0, 2.0, 0, 5], [1.5, 0, 0, -3], [0, 0, -3.0, 9], [0, 0, 0, 1]])
    for index in (20, 21):
        nibabel.save(nibabel.Nifti1Image(box_case(index, (8, 9, 10))[0], affine), source / f"scan{index}.nii.gz")
    lines = TASK.answer(run, str(source), folder / "masks", {}).lines()
    assert lines == [f"2 masks and volumes.csv written to {folder / 'masks'}"]
    mask = nibabel.load(folder / "masks" / "scan20.nii.gz")
    assert np.allclose(mask.affine, affine) and mask.shape == (8, 9, 10)
    values = np.asarray(mask.dataobj)
    assert set(np.unique(values)) <= {0, 1}
    assert np.array_equal(values, predictor_of(run, run.answer.name)(box_case(20, (8, 9, 10))[0][None]))
    table = (folder / "masks" / "volumes.csv").read_text().splitlines()
    assert table[0] == "case,file,voxels 1,ml 1"
    assert table[1].startswith(f"scan20,scan20.nii.gz,{int(values.sum())},{values.sum() * 9 / 1000:g}")


def test_a_mask_comes_back_to_the_grid_of_its_file(run):
    """Turned, resampled and cropped for the network; the mask lies where the image does."""
    image, _ = box_case(22, (8, 9, 10))
    affine = np.diag([-2.0, 1.0, 1.0, 1.0])
    config = run.config.replace(read={"orientation": "RAS", "spacing": (1.0, 1.0, 1.0), "size": (14, 9, 10)})
    turned = dataclasses.replace(run, config=config)
    volume = Volume(values=image[None], affine=affine, source="here", axes=("x", "y", "z"))
    mask, _ = predict_mask(turned, volume)
    assert mask.shape == (8, 9, 10) and set(np.unique(mask)) <= {0, 1}
    classes = np.zeros((14, 9, 10), np.int64)
    classes[3, 4, 5] = 1
    prepared = np.diag([1.0, 1.0, 1.0, 1.0])
    prepared[0, 3] = -14.0
    back = to_grid(classes, prepared, (8, 9, 10), affine, nearest=True)
    places = np.argwhere(back)
    for place in places:
        millimetres = affine @ [*place, 1]
        assert np.allclose(np.round(np.linalg.inv(prepared) @ millimetres)[:3], (3, 4, 5), atol=1)


def test_images_that_do_not_fit_are_refused_by_name_and_may_be_skipped(run, scene_run, folder):
    source = folder / "mixed"
    source.mkdir()
    np.save(source / "good.npy", box_case(30)[0])
    np.save(source / "bad.npy", np.full((8, 9, 10), np.nan))
    with pytest.raises(DataError, match=r"bad.npy.* finite number"):
        TASK.answer(run, str(source), folder / "mixed-out", {})
    lines = TASK.answer(run, str(source), folder / "mixed-out", {"keep_going": True}).notes
    assert lines[0].startswith("1 masks") and "left out: bad.npy" in lines[1]
    assert (folder / "mixed-out" / "good.npy").is_file()
    with pytest.raises(ConfigError, match=r"needs images \(data=IMAGES\) and a folder \(out=FOLDER\)"):
        TASK.answer(run, None, None, {})
    with pytest.raises(DataError, match="segments images of 3 axes and 1 channels"):
        TASK.answer(run, str(folder / "scene.npz"), folder / "mixed-out", {})


def test_a_scene_is_learned_scored_and_predicted(scene_run, folder):
    table = {row["model"]: row for row in scores.score_table([scene_run], "test")}
    assert next(iter(table)) == scene_run.answer.name and set(table) == {"network", "background", "logistic", "unet"}
    assert "hd95" not in table["network"]
    assert table["network"]["acc"] > table["background"]["acc"]
    repeated = lifecycle.load(scene_run.folder.path)
    values = np.load(folder / "scene.npz")["image"]
    for name in scene_run.models:
        assert np.array_equal(predictor_of(scene_run, name)(values), predictor_of(repeated, name)(values)), name
    assert "over all test pixels" in TASK.sentence(repeated)
    TASK.answer(repeated, str(folder / "scene.npz"), folder / "scene-out", {})
    mask = np.load(folder / "scene-out" / "scene.npy")
    assert mask.shape == (30, 31) and set(np.unique(mask)) <= {1, 2, 3}


def test_attention_maps_are_written_per_mode(run, scene_run, folder):
    lines = TASK.explain(run, folder / "maps", {"cases": ["image10"]}).notes
    assert any(line.startswith("depth, block 0: ") for line in lines)
    assert {path.name for path in (folder / "maps").glob("[!.]*")} == {
        "attention.npz", "depth-block0.png", "height-block0.png", "width-block0.png"
    }  # fmt: skip
    assert any("bands, block 0: " in line for line in TASK.explain(scene_run, folder / "scene-maps", {}).notes)
    with pytest.raises(ConfigError, match="has no case 'image99'; did you mean image"):
        TASK.explain(run, folder / "maps", {"cases": ["image99"]})


def test_the_report_and_the_comparison_are_whole_pages(run, scene_run):
    page = TASK.page.report([run])
    assert page.startswith("<!doctype html>") and page.count("data:image/png;base64,") in (1, 2)
    assert page.count('<path class="mask-true"') == page.count('<path class="mask-predicted"') in (1, 2)
    assert "Report on masks" in page and "http" not in page.split("</head>")[1]
    assert "The weights with the highest validation Dice are kept." in page and "multiway train segment --data" in page
    assert "undefined" in page  # the distance of a model that marks nothing
    assert "by class" in TASK.page.report([scene_run, scene_run])
    assert "cannot be compared" in TASK.page.compare([[run], [scene_run]])
    assert "cannot be compared" not in TASK.page.compare([[run], [run]])


def test_a_row_of_results_holds_every_model(run):
    class Cell:
        row, variant, form, horizons, figures = "boxes", None, None, (), {}

    row = cell_row("boxes", Cell(), [run, run], 2)
    assert row["dice"] == row["each"][0]["dice"] and row["dice_sd"] == 0
    assert {"unet_dice", "threshold_dice", "background_dice", "dice_low", "test_cases"} <= set(row)
    assert set(row["parameters"]) >= {"network", "unet"}
    json.dumps(row, allow_nan=False)


def test_check_says_what_is_there_and_what_is_wrong(boxes, folder):
    report = TASK.kind.check(config_of(boxes), str(boxes))
    assert report.is_usable and report.summary["splits"] == "train 8, validation 2, test 2"
    assert "background 91.11%, class 1 8.89%" in report.summary["train voxels"]
    assert any("image11" in finding.line() for finding in report.findings)
    assert not TASK.kind.check(config_of(folder / "nowhere.csv"), folder / "nowhere.csv").is_usable


def test_settings_take_the_tasks_training_and_refuse_what_does_not_segment():
    config = TASK.configure({"data": "indian-pines"}, {"training": {"epochs": 3}})
    assert (config.ignore, config.split.test, config.training.epochs, config.training.batch_size) == (0, 0.35, 3, 4)
    with pytest.raises(ConfigError, match=r"model.name must be one that segments.* Got 'resnet18_3d'"):
        TASK.configure({"model": {"name": "resnet18_3d"}}, {})
    with pytest.raises(ConfigError, match="ovrlap is not a known field, did you mean overlap"):
        TASK.configure({}, {"ovrlap": 0.1})


def test_masks_of_dicom_series_are_objects_of_their_study_too(run, tmp_path):
    for index in range(2):
        image, _ = box_case(index, sizes=(8, 9, 10))
        series(tmp_path / "scans" / f"case{index}", image.astype(np.int16), **STUDY)
    words = ("predict", run.folder.path, "--data", tmp_path / "scans", "--out", tmp_path / "masks")
    printed(*words, "--dicom-seg")
    for index in range(2):
        mask = nibabel.load(tmp_path / "masks" / f"case{index}.nii.gz")
        made = highdicom.seg.segread(tmp_path / "masks" / f"case{index}.dcm")
        assert made.get_segment_description(1).segment_label == "1"
        assert made.get_volume(combine_segments=True).array.sum() == np.asanyarray(mask.dataobj).sum() > 0
    np.save(tmp_path / "array.npy", box_case(0)[0])
    code, _, err = outcome(
        "predict", run.folder.path, "--data", tmp_path / "array.npy", "--out", tmp_path / "one", "--dicom-seg"
    )
    assert code == 1 and "array.npy: a DICOM-SEG object belongs to a DICOM series" in err
    assert not (tmp_path / "one").exists()
