"""Students of a teacher: what it says, where that is kept, and what it may be."""

import json
import math
import sys
import types

import numpy as np
import pytest
import torch
from torch import nn

from command import outcome
from data.encoders.networks import save_network
from interruption import stop_after
from multiway import files, workflows
from multiway.errors import ConfigError, RunError
from multiway.tasks.images import teaching
from multiway.tasks.lifecycle import continue_run, load
from multiway.training.processes import Interrupted
from multiway.workflows.recipe import Recipe
from multiway_papers.cell_rows import cell_row
from tasks.images.shapes import write_folder

TRAINING = {"epochs": 2, "batch_size": 8, "warmup_steps": 2, "learning_rate": 0.01, "checkpoint_seconds": 0}
PAIR = {"layer": "nd_linear", "sizes": [8, 1], "hidden": [8, 1]}
CELL = Recipe(task="images", table="mine", row="shapes", data=None)
STUDENT = {
    "name": "vision_transformer", "patch_size": 4, "dim": 8, "num_blocks": 1,
    "block": {"num_heads": 2, "feed_forward": PAIR},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("students")
    write_folder(path / "shapes")
    train(path, "teacher", {"channels": [4, 6]})
    return path


def train(folder, name, model=STUDENT, split_seed=0, **distill):
    given = {"data": str(folder / "shapes"), "model": model, "draws": 0, "baselines": [], "training": TRAINING}
    given["split"] = {"seed": split_seed}
    if distill:
        given["distill"] = {"cache": str(folder / "cache"), **distill}
    (run,) = workflows.train(given, task="images", out=folder / name).runs
    return run


def test_a_student_learns_from_what_the_teacher_says_of_the_training_images(folder):
    run = train(folder, "student", teacher=str(folder / "teacher"))
    teacher, facts = load(folder / "teacher"), load(folder / "student").facts["distilled"]
    logits = {len(each): each for path in (folder / "cache").iterdir() for each in files.read_tensors(path).values()}
    training = run.prepared.part("train")
    with torch.no_grad():
        expected = teacher.model.eval()(training.gather(torch.arange(len(training)))["inputs"])
    torch.testing.assert_close(logits[len(training)], expected)
    assert facts["train_acc"] == pytest.approx((expected.argmax(1).numpy() == training.truth).mean())
    predicted = teacher.tables["predictions"].query("split == 'validation' and model == 'network'")
    assert str(folder / "teacher") in run.task.page.report([run])
    assert cell_row("mine", CELL, [run], 1)["distilled"] == facts
    assert facts["validation_acc"] == pytest.approx((predicted["label"] == predicted["predicted"]).mean())


def test_the_accuracy_of_students_by_epoch_is_kept_and_drawn(folder):
    runs = [train(folder, f"by-epoch-{alpha}", teacher=str(folder / "teacher"), alpha=alpha) for alpha in (0.2, 0.8)]
    for run in runs:
        log, held = run.folder.read_log(), run.prepared.part("validation")
        with torch.no_grad():
            found = run.model(held.gather(torch.arange(len(held)))["inputs"]).argmax(1).numpy() == held.truth
        (kept,) = [row for row in log if row["epoch"] == run.facts["best"]["network"]["epoch"]]
        assert kept["watched"] == {"validation_acc": [pytest.approx(found.mean())]} and len(log) == 2
    paths = [run.folder.path for run in runs]
    workflows.compare(paths, out=folder / "students.html")
    assert "Validation accuracy by epoch: " in (folder / "students.html").read_text()
    workflows.compare([paths[0], folder / "teacher"], out=folder / "mixed.html")
    assert "Validation loss by epoch: " in (folder / "mixed.html").read_text()


def test_a_teacher_that_may_have_seen_the_test_images_is_named(folder):
    notes = [
        train(folder, f"split-{seed}", teacher=str(folder / "teacher"), split_seed=seed).facts["notes"]
        for seed in range(2)
    ]
    assert not any("teacher" in note for note in notes[0])
    assert any("was trained on other images or another split" in note for note in notes[1])


def test_the_teacher_changes_what_is_learnt(folder):
    weights = [
        train(folder, f"alpha-{alpha}", teacher=str(folder / "teacher"), alpha=alpha).model.head.layer.weight
        for alpha in (0.0, 1.0)
    ]
    alone = train(folder, "alone").model.head.layer.weight
    torch.testing.assert_close(weights[0], alone)
    assert not torch.allclose(weights[1], alone, atol=1e-3)


def test_logits_are_computed_once_and_anew_where_the_file_is_damaged(folder, tmp_path, monkeypatch):
    calls = []
    original = teaching.RunTeacher.logits
    monkeypatch.setattr(teaching.RunTeacher, "logits", lambda self, *parts: calls.append(1) or original(self, *parts))
    given = {"teacher": str(folder / "teacher"), "cache": str(tmp_path)}
    digests = [train(folder, f"once-{turn}", **given).facts["distilled"]["logits_sha256"] for turn in range(2)]
    assert len(calls) == 1
    (path,) = tmp_path.iterdir()
    path.write_bytes(b"no tensors")
    digests.append(train(folder, "anew", **given).facts["distilled"]["logits_sha256"])
    assert len(calls) == 2 and len(set(digests)) == 1


def test_an_interrupted_student_ends_as_one_that_was_left_alone(folder, monkeypatch):
    whole = train(folder, "whole", teacher=str(folder / "teacher"))
    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        stop_after(patch, 3)
        train(folder, "parts", teacher=str(folder / "teacher"))
    after = continue_run(folder / "parts")
    assert after.facts["distilled"] == whole.facts["distilled"]
    for mine, other in zip(after.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_the_head_of_a_pretrained_network_is_trained_first(folder, tmp_path):
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(0)
    network = transformers.ViTModel(
        transformers.ViTConfig(**sizes, image_size=8, patch_size=4), add_pooling_layer=False
    )
    network.save_pretrained(tmp_path / "vit")
    (tmp_path / "vit" / "preprocessor_config.json").write_text(
        '{"size": {"height": 8, "width": 8}, "image_std": [1, 1, 1]}'
    )
    run = train(folder, "of-transformers", teacher=str(tmp_path / "vit"))
    assert run.facts["distilled"]["train_acc"] > 0.75
    training = run.prepared.part("train")
    pixels = training.inputs.permute(0, 3, 1, 2).float() / 255 - 0.5
    with torch.no_grad():
        features = network.eval()(pixel_values=pixels).last_hidden_state[:, 0]
    found = teaching.find_teacher(str(tmp_path / "vit"), run.state)
    torch.testing.assert_close(found.features(pixels + 0.5), features)
    (tmp_path / "vit" / "preprocessor_config.json").unlink()
    usual = teaching.find_teacher(str(tmp_path / "vit"), run.state)
    torch.testing.assert_close(usual.features(0.5 * pixels + 0.5), features)
    (tmp_path / "vit" / "notes.txt").write_text("of the user")
    assert teaching.find_teacher(str(tmp_path / "vit"), run.state).digest == usual.digest != found.digest
    with torch.no_grad():
        network.embeddings.cls_token += 1
    network.save_pretrained(tmp_path / "vit")
    assert teaching.find_teacher(str(tmp_path / "vit"), run.state).digest != usual.digest
    (tmp_path / "vit" / "preprocessor_config.json").write_text('{"size": {"height": "tall"}}')
    with pytest.raises(ConfigError, match=r"preprocessor_config\.json cannot be read: invalid literal"):
        teaching.find_teacher(str(tmp_path / "vit"), run.state)
    for side, words in (
        (8000, "a side has 1 to 1,024 pixels"),
        (224, "does not take images: Input image size"),
    ):
        (tmp_path / "vit" / "preprocessor_config.json").write_text(f'{{"size": {{"height": 8, "width": {side}}}}}')
        with pytest.raises(ConfigError, match=words):
            teaching.find_teacher(str(tmp_path / "vit"), run.state).logits(training, run.prepared.part("validation"))
    (tmp_path / "vit" / "preprocessor_config.json").unlink()
    config = tmp_path / "vit" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"layer_norm_eps": math.nan}))
    with pytest.raises(ConfigError, match="its features are not finite"):
        teaching.find_teacher(str(tmp_path / "vit"), run.state).logits(training, run.prepared.part("validation"))


def test_a_network_that_reads_no_images_is_no_teacher(folder, tmp_path):
    pytest.importorskip("transformers")
    bert = save_network(tmp_path / "bert")
    with pytest.raises(ConfigError, match=r"bert is a BertModel, which reads input_ids, no images\. Give the folder"):
        train(folder, "of-bert", teacher=str(bert))


def test_a_network_of_timm_is_called_at_its_size_and_scale(folder, monkeypatch):
    class Blocks(nn.Module):
        def forward(self, x):
            assert x.shape[2:] == (4, 4) and x.min() >= -1 and x.max() <= 1
            return x.flatten(1)

    def create_model(name, pretrained, num_classes):
        assert (name, pretrained, num_classes) == ("some_vit", True, 0)
        return Blocks()

    known = {"input_size": (3, 4, 4), "mean": (0.5,) * 3, "std": (0.5,) * 3}
    data = types.SimpleNamespace(resolve_model_data_config=lambda network: known)
    monkeypatch.setitem(sys.modules, "timm", types.SimpleNamespace(create_model=create_model, data=data))
    assert train(folder, "of-timm", teacher="timm:some_vit").facts["distilled"]["train_acc"] > 0.75


def test_what_is_no_teacher_of_these_images_is_refused_before_anything_is_written(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setitem(sys.modules, "timm", None)
    write_folder(tmp_path / "shapes")
    (tmp_path / "shapes" / "dot").rename(tmp_path / "shapes" / "ring")
    train(tmp_path, "other", {"channels": [2]})
    cases = {
        "timm:some_vit": (
            ConfigError,
            "needs timm, which is not installed. Run `pip install 'multiway\\[teachers\\]'`",
        ),
        str(tmp_path / "other"): (ConfigError, r"trained on other classes\. Got .*'ring'.*, not .*'dot'"),
        "own/none": (ConfigError, r"the teacher own/none is no folder.* Give the folder of a run"),
        "runs/none": (ConfigError, r"runs/none is no folder\. Train the teacher first .*--out runs/none\)"),
        str(tmp_path / "none"): (ConfigError, r"/none is no folder\. Train the teacher first"),
    }
    for name, (kind, words) in cases.items():
        with pytest.raises(kind, match=words):
            train(folder, "refused", teacher=name)
    assert not (folder / "refused").exists()


def test_an_unfinished_run_is_no_teacher(folder, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        stop_after(patch, 2)
        train(folder, "unfinished", {"channels": [4]})
    with pytest.raises(RunError):
        train(folder, "refused", teacher=str(folder / "unfinished"))


def test_a_teacher_by_option(folder, tmp_path):
    words = ["train", "images", "--data", folder / "shapes", "--out", tmp_path / "run", "--teacher", folder / "none"]
    code, _, err = outcome(*words)
    assert code == 1 and "the teacher" in err and err.startswith("multiway: error: ")


def test_images_of_several_shapes_of_answers_give_features():
    def features(answer):
        network = teaching.FrozenFeatures(lambda images: answer, (1, 1), [0.0] * 3, [1.0] * 3)
        return network(torch.zeros(2, 3, 1, 1))

    x = torch.arange(24.0)
    assert features(x.view(2, 12)).shape == (2, 12)
    assert np.array_equal(features(x.view(2, 3, 4)), x.view(2, 3, 4)[:, 0])
    assert np.array_equal(features(x.view(2, 3, 2, 2)), x.view(2, 3, 4).mean(2))
