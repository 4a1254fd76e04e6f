"""What is particular to runs on images; the contract holds what every run has to do."""

import base64
import io
import json

import numpy as np
import pytest
import torch
from matplotlib.image import imread

import multiway
from command import outcome, printed
from multiway.data.augmentation import augment
from multiway.models import create_model
from multiway.models.vision_transformer import at_side
from multiway.tasks import lifecycle
from multiway.tasks.images.explain import Seen
from multiway.tasks.images.page import _picture
from multiway.tasks.images.task import TASK
from multiway.tasks.run import load
from multiway.training.validation import QUANTILES, quantiles_of
from tasks.images.shapes import make_shapes, write_folder
from tasks.tiny import images
from tolerances import ROUNDING32


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    tiny = images(folder)
    printed(*tiny.train(folder / "run"))
    return load(folder / "run")


def decoded(uri):
    return imread(io.BytesIO(base64.b64decode(str(uri).partition(",")[2])))


def test_the_log_keeps_how_the_weights_are_spread_and_the_report_draws_it(run):
    log = run.folder.read_log()
    assert [[*row["watched"]] for row in log] == [["hidden.weights.0", "hidden.weights.1", "hidden.weights.2"]] * 3
    best = next(row for row in log if row["epoch"] == run.facts["best"]["network"]["epoch"])
    kept = run.model.hidden.weights[0].detach().numpy()
    np.testing.assert_allclose(best["watched"]["hidden.weights.0"], np.quantile(kept, QUANTILES), rtol=ROUNDING32)
    page = run.task.page.report([run])
    assert "Spread of hidden.weights.0 by epoch" in page and "Density of hidden.weights.2" in page


def test_quantiles_are_of_the_named_matrices_alone():
    model = create_model("cnn_image_classifier", sizes=(8, 8), channels=(4,))
    assert [*quantiles_of(model, "head")] == ["head.weight"]
    assert quantiles_of(model, "none of them") == {}


def test_a_pattern_that_is_none_is_refused(tmp_path):
    tiny = images(tmp_path)
    code, _, error = outcome(*tiny.train(tmp_path / "run", weights="("))
    assert code == 1 and "weights is a pattern of names, such as hidden. Got '('" in error
    code, _, error = outcome(*tiny.train(tmp_path / "run", weights="hiden"))
    assert code == 1 and "weights: no weight has 'hiden' in its name. There are stages.0" in error
    assert not (tmp_path / "run").exists()


def test_the_report_shows_images_with_what_spoke_for_their_answer(run):
    page = run.task.page.report([run])
    assert page.count("data:image/png") >= 4 and "Named correctly, most confident of each class" in page
    assert "On the left a test image, on the right the same in grey" in page


def test_an_image_is_shown_plain_and_its_map_next_to_it_on_a_small_grey_copy(run):
    pixels = np.random.default_rng(8).integers(0, 256, (200, 150, 3), dtype=np.uint8)
    attribution = np.zeros((200, 150), np.float32)
    attribution[7, 9] = 1
    item = Seen(name="a", pixels=pixels, label="bar", predicted="dot", probability=0.9, method="occlusion",
                attribution=attribution)  # fmt: skip
    shown = _picture(item)
    (plain,), (grey, spoke) = map(decoded, shown.layers), map(decoded, shown.explained)
    np.testing.assert_array_equal(np.rint(255 * plain[..., :3]), pixels)
    assert np.abs(255 * grey - pixels.mean(2)[::3, ::3]).max() <= 0.51
    assert np.argwhere(spoke[..., 3] > 0).tolist() == [[7, 9]]
    assert shown.remark == "Named dot with 90\u202f%; it is bar"


def test_gradients_add_up_to_the_change_of_the_logit(run, tmp_path):
    words = ["--images", "bar/03.png", "--model", "network", "--out", tmp_path / "e", "--json"]
    answer = json.loads(printed("explain", run.folder.path, *words))
    (note,) = answer["notes"]
    assert note.startswith("bar/03.png: is bar, named ")
    total, change = (float(part.split()[-1]) for part in note.replace(", the logit changes by", "").rsplit(" ", 1)[-2:])
    assert total == pytest.approx(change, abs=0.05 * abs(change) + 1e-3)
    with np.load(tmp_path / "e" / "gradients.npz", allow_pickle=False) as found:
        assert found["000-03"].shape == (8, 8)


def test_an_unknown_image_is_one_line(run, tmp_path):
    code, _, error = outcome("explain", run.folder.path, "--images", "bar/o3.png", "--out", tmp_path)
    assert code == 1 and "has no image 'bar/o3.png'; did you mean" in error and "(--images " in error


def test_augmentation_is_for_training_alone(tmp_path):
    pixels, names = make_shapes(40)
    settings = {"model": {"channels": [4], "pooling": "none", "dropout": 0}, "draws": 0, "augment": {"flips": [1]}}
    make = lambda **more: multiway.ImageClassifier(  # noqa: E731
        epochs=1, baselines=(), settings={**settings, **more}
    ).fit(pixels, names)
    varied, repeated, plain = make(), make(), make(augment={})
    found = [each.run_.model.head.weight for each in (varied, repeated, plain)]
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])
    np.testing.assert_array_equal(varied.predict_proba(pixels), varied.predict_proba(pixels))


def test_a_crop_is_of_the_pixels_that_the_network_sees(monkeypatch):
    batches, pixels = [], make_shapes(40)[0]
    cut = lambda x, options: batches.append((x, augment(x, options))) or batches[-1][1]  # noqa: E731
    monkeypatch.setattr("multiway.tasks.images.encode.augment", cut)
    model = {"name": "vision_transformer", "resize": 24, "patch_size": 8, "dim": 8, "num_blocks": 1}
    more = {"draws": 0, "baselines": [], "augment": {"crop": 3}, "training": {"epochs": 1}}
    run = lifecycle.fit_in_memory(TASK, TASK.configure({"model": model, **more}), make_shapes(40))
    given = run.state.decode(torch.from_numpy(pixels)).contiguous()
    for before, after in batches:
        assert before.shape[2:] == after.shape[2:] == (24, 24) and not torch.equal(before, after)
    torch.testing.assert_close(run.model(at_side(given, 24)), run.model(given))


def test_five_classes_have_no_accuracy_among_five():
    pixels = make_shapes(60)[0]
    make = lambda names: multiway.ImageClassifier(  # noqa: E731
        epochs=1, baselines=(), settings={"model": {"channels": [4]}, "draws": 0}
    ).fit(pixels, names)
    few, many = (make(np.arange(60) % count).scores_.set_index(["split", "metric"])["value"] for count in (5, 6))
    assert np.isnan(few["test", "top5"]) and many["test", "top5"] > many["test", "acc"]


def test_grey_images_and_later_ones_of_other_colours(tmp_path):
    path = write_folder(tmp_path / "shapes")
    printed("train", "images", "--data", path, "--channels", "grey", "--size", "4", "--out", tmp_path / "run",
            "--set", "training.epochs=1", "--set", "model.channels=[2]", "--set", "draws=0")  # fmt: skip
    run = load(tmp_path / "run")
    assert (run.state.channels, run.state.sizes) == (1, (4, 4))
    printed("predict", tmp_path / "run", "--data", path / "bar" / "00.png", "--out", tmp_path / "one.csv")
    assert (tmp_path / "one.csv").read_text().startswith("image,predicted,p_bar,p_dot\n00.png,")
