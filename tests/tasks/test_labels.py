"""Several labels a sample: one mechanism for texts, images and scans, from the cell to the page."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn import functional as F

import multiway
from command import outcome, printed
from multiway.data.options import SplitShares
from multiway.data.samples import Samples
from multiway.data.splitting import split
from multiway.data.targets import join_labels, label_cells, read_labels
from multiway.errors import ConfigError, DataError
from multiway.models.baselines import Linear, Majority, fit_logistic
from multiway.models.tree_ensemble import TreeEnsemble
from multiway.tasks import lifecycle
from multiway.training.config import TrainingConfig
from multiway.training.losses import TargetLoss
from tasks.scans.classes.blocks import NETWORK, SIZES
from tolerances import ROUNDING64

WORDS = {"sport": ["goal", "match", "team"], "money": ["bank", "price", "loan"], "rain": ["storm", "cloud", "wet"]}


def make_topics(count=150, seed=0):
    """Texts whose words say their topics, none to three of them."""
    draw, rows = np.random.default_rng(seed), []
    for row in range(count):
        own = [name for name in WORDS if draw.random() < 0.4]
        words = [f"x{row}", *draw.choice(["the", "of", "in"], 5), *(draw.choice(WORDS[name]) for name in own)]
        rows.append((" ".join(words), "|".join(own)))
    return pd.DataFrame(rows, columns=["text", "topics"])


def make_planes(count=60, seed=0):
    """Volumes of noise with a bright plane for each of two labels."""
    draw = np.random.default_rng(seed)
    truth = (draw.random((count, 2)) < 0.5).astype(np.int64)
    volumes = draw.normal(0, 0.2, (count, *SIZES)).astype(np.float32)
    volumes[:, :2] += truth[:, 0, None, None, None]
    volumes[:, :, 6:] += truth[:, 1, None, None, None]
    return volumes, truth


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("topics")
    make_topics().to_csv(folder / "topics.csv", index=False)
    words = ["--target", "topics", "--kind", "labels", "--encoder", "hashed", "--set", "training.epochs=2"]
    printed("train", "text", "--data", folder / "topics.csv", *words, "--set", "draws=20", "--out", folder / "run")
    return lifecycle.load(folder / "run")


def test_a_check_says_that_cells_look_like_several_labels(tmp_path):
    frame = make_topics()
    frame[frame["topics"] != ""].to_csv(tmp_path / "topics.csv", index=False)
    words = ["check", tmp_path / "topics.csv", "--task", "text", "--target", "topics"]
    said = "look like several labels in one cell. Texts, images and scans take them so (--kind labels)."
    assert said in printed(*words) and said not in printed(*words, "--kind", "labels")
    frame.assign(topics=np.array(["a|b", "c|d"])[np.arange(150) % 2]).to_csv(tmp_path / "topics.csv", index=False)
    assert "classes: " in (shown := outcome(*words)[1]) and said not in shown, "no part of a class is a class"


@pytest.mark.parametrize(
    ("cells", "names", "truth"),
    [
        (["b|a", "", "a"], ("a", "b"), [[1, 1], [0, 0], [1, 0]]),
        (["b; c", "c", "b, d"], ("b", "b, d", "c"), [[1, 0, 1], [0, 0, 1], [0, 1, 0]]),
        (["2,10", "10", "2"], ("2", "10"), [[1, 1], [0, 1], [1, 0]]),
    ],
)
def test_the_first_mark_of_a_column_parts_labels(cells, names, truth):
    found, known = read_labels(cells, None, "file", "rows")
    assert known == names and found.tolist() == truth
    assert read_labels(join_labels(found, known), known, "file", "rows")[0].tolist() == truth


def test_labels_that_no_one_can_learn_are_refused():
    with pytest.raises(DataError, match=r"labels are those of the training, a, b\. Got c"):
        read_labels(["a|c"], ("a", "b"), "file", "rows")
    with pytest.raises(DataError, match=r"two to 1,000 labels are needed\. Got 1 \(a\) in 2 rows"):
        read_labels(["a", ""], None, "file", "rows")
    with pytest.raises(DataError, match="columns of labels hold 0 and 1"):
        label_cells(np.array([[0, 2]]))
    assert label_cells([{"b", "a"}, [], "c|a"]) == ["a|b", "", "c|a"]


def test_splits_keep_the_share_of_rare_labels():
    truth = np.zeros((200, 3), np.int64)
    truth[:100, 0], truth[50:150, 1], truth[:10, 2] = 1, 1, 1
    samples = Samples(inputs=np.arange(200), source="s", target=truth, classes=("a", "b", "c"))
    splits = split(samples, SplitShares(validation=0.2, test=0.3))
    assert [int(truth[rows, 2].sum()) for rows in splits.values()] == [5, 2, 3]
    assert samples.counts()["classes"] == {"a": 100, "b": 100, "c": 10} and samples.labels is None


def test_each_label_is_fitted_as_two_classes_are():
    draw = torch.Generator().manual_seed(0)
    x, held = (torch.randn(count, 7, generator=draw, dtype=torch.float64) for count in (60, 40))
    y, held_y = ((part[:, :3] + 0.5 * part[:, 3:6] > 0.3).long() for part in (x, held))
    model = Linear(7, 3)
    penalty = fit_logistic(model, x, y, held, held_y)["penalty"]
    for place in range(3):
        alone = Linear(7, 2)
        fit_logistic(alone, x, y[:, place], held, held_y[:, place], [penalty])
        logit = alone(held)[:, 1] - alone(held)[:, 0]
        # one search starts where the penalty before ended, the other from zero
        torch.testing.assert_close(model(held)[:, place], logit, rtol=1e-4, atol=1e-4)
    trees = TreeEnsemble(60, 31, 3)
    chosen = trees.tune(x, y, held, held_y, 5)
    for place, own in enumerate(chosen["labels"]):
        alone = TreeEnsemble(60, 31, 1)
        assert alone.tune(x, y[:, place], held, held_y[:, place], 5) == own
        torch.testing.assert_close(trees(held)[:, place], alone(held)[:, 0], rtol=ROUNDING64, atol=ROUNDING64)
    refitted = TreeEnsemble(60, 31, 3)
    refitted.fit(x, y, 5, **chosen)
    torch.testing.assert_close(refitted(held), trees(held))
    shares = Majority(3, several=True)
    shares.fit(y)
    torch.testing.assert_close(shares(x).sigmoid()[0], y.double().mean(0))


def test_the_loss_is_torchs_of_every_label():
    target = torch.tensor([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 0, 1]])
    model = torch.nn.Linear(5, 3)
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    training = TrainingConfig(loss="cross_entropy", label_smoothing=0.2, class_weights="balanced")
    loss = TargetLoss(training, ("a", "b", "c"), target.numpy())
    total, count = loss(model.eval(), {"inputs": x, "target": target})
    expected = F.binary_cross_entropy_with_logits(model(x), target.float())
    torch.testing.assert_close(total / count, expected)
    total, count = loss(model.train(), {"inputs": x, "target": target})
    smooth, weight = 0.8 * target + 0.1, torch.tensor([1.0, 3.0, 1 / 3])
    torch.testing.assert_close(total / count, F.binary_cross_entropy_with_logits(model(x), smooth, pos_weight=weight))


def test_a_label_that_no_training_case_has_leaves_the_balanced_loss_finite():
    target = torch.tensor([[1, 0], [0, 0], [1, 0], [0, 0]])
    model, x = torch.nn.Linear(5, 2), torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    loss = TargetLoss(TrainingConfig(loss="cross_entropy", class_weights="balanced"), ("a", "b"), target.numpy())
    total, count = loss(model.train(), {"inputs": x, "target": target})
    weight = torch.tensor([1.0, 3.0])  # as if one of the four had it
    expected = F.binary_cross_entropy_with_logits(model(x), target.float(), pos_weight=weight)
    torch.testing.assert_close(total / count, expected)


def test_texts_are_scored_and_predicted_by_label(run, tmp_path):
    table = run.tables["predictions"]
    assert {"majority", "tfidf", "vectors", "network"} <= set(table["model"])
    answer = table[(table["split"] == "test") & (table["model"] == run.answer.name)]
    (row,) = (r for r in run.scores if (r["model"], r["metric"], r["split"]) == (run.answer.name, "acc", "test"))
    assert row["value"] == pytest.approx((answer["label"].fillna("") == answer["predicted"].fillna("")).mean())
    assert row["value"] > 0.5
    later = tmp_path / "later.csv"
    pd.DataFrame({"text": ["goal storm of the y1", "price in the y2", "of the y3"]}).to_csv(later, index=False)
    printed("predict", run.folder.path, "--data", later, "--out", tmp_path / "out.csv")
    out = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    assert out["predicted"].tolist() == ["rain|sport", "money", ""]
    assert list(out.columns) == ["text", "predicted", "p_money", "p_rain", "p_sport"]


def test_pages_and_audit_speak_of_labels(run, tmp_path):
    printed("report", run.folder.path, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Each label" in page and "have all their labels right" in page and "Confusion" not in page
    assert "of 150 texts is in two splits" in outcome("audit", run.folder.path)[1]
    assert "money" in printed("explain", run.folder.path)
    make_topics(30, seed=1).assign(topics="snow").to_csv(tmp_path / "other.csv", index=False)
    code, _, err = outcome("evaluate", run.folder.path, "--data", tmp_path / "other.csv")
    assert code == 1 and "labels are those of the training, money, rain, sport. Got snow" in err


def test_a_report_in_markdown_is_the_model_card(run, tmp_path):
    printed("report", run.folder.path, "--out", tmp_path / "card.md")
    card = (tmp_path / "card.md").read_text()
    assert "# topics.csv: text" in card and "95 % interval" in card and "| answer |" in card
    use, limits = card.index("Use:"), card.index("Limits:")
    assert card.index("Split:") < card.index("Test scores:") < use < limits
    assert "test split of topics.csv alone" in card and "<html" not in card
    printed("report", run.folder.path, "--out", tmp_path / "page.html")
    assert "<html" in (tmp_path / "page.html").read_text()


def test_estimators_take_columns_or_collections():
    settings = {"read": {"kind": "labels"}, "model": NETWORK, "training": {"batch_size": 8}, "draws": 0}
    settings["baselines"] = ("majority", "features", "trees")
    volumes, truth = make_planes()
    model = multiway.VolumeClassifier(epochs=1, settings=settings).fit(volumes, truth)
    other, known = make_planes(20, seed=1)
    assert model.predict_proba(other).shape == (20, 2) and model.score(other, known) > 0.9
    with pytest.raises(ConfigError, match="a set is of cases with one class each"):
        model.predict_sets(other)
    pixels = (100 + 50 * volumes[:, :, :, 5]).clip(0, 255).astype(np.uint8)
    names = [[name for name, has in zip(("low", "far"), row, strict=True) if has] for row in truth]
    settings = {"read": {"kind": "labels"}, "draws": 0}
    images = multiway.ImageClassifier(epochs=1, settings=settings).fit(pixels, names)
    assert list(images.classes_) == ["far", "low"] and images.score(pixels, names) > 0.9
    assert images.predict(pixels[:3]).tolist() == truth[:3, ::-1].tolist()


def test_scans_and_images_have_labels_on_disk(tmp_path):
    volumes, truth = make_planes(45)
    for row, volume in enumerate(volumes):
        np.save(tmp_path / f"scan{row:02d}.npy", volume)
    paths, side = [f"scan{row:02d}.npy" for row in range(45)], ["A", "B", "C"] * 15
    frame = pd.DataFrame({"path": paths, "findings": join_labels(truth, ("cyst", "stone")), "side": side})
    frame.to_csv(tmp_path / "scans.csv", index=False)
    sets = [
        'baselines=["majority","logistic"]',
        "training.epochs=1",
        "training.batch_size=8",
        "model.dim=16",
        "model.num_heads=2",
        "draws=20",
    ]
    words = ["--label", "findings", "--kind", "labels", "--subgroups", "side"]
    words += [word for each in sets for word in ("--set", each)]
    printed("train", "volumes", "--data", tmp_path / "scans.csv", *words, "--out", tmp_path / "run")
    printed("report", tmp_path / "run", "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "side: B" in page and "Each label" in page and "Sets of classes" not in page
    assert "named cyst" in (told := printed("explain", tmp_path / "run")) or "named stone" in told
    assert "the rarest label" in printed("audit", tmp_path / "run")
    pixels = (100 + 50 * volumes[:, :, :, 5]).clip(0, 255).astype(np.uint8)
    np.savez(tmp_path / "set.npz", images=pixels, labels=truth)
    told = printed("check", tmp_path / "set.npz", "--task", "images", "--kind", "labels")
    assert f"classes: 0 {truth[:, 0].sum()}, 1 {truth[:, 1].sum()}" in told
