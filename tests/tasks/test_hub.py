"""A run goes to the hub with its card, and comes back the same; the hub is a local folder."""

from pathlib import Path

import pytest
import torch
from torch import nn

import multiway as mw
from command import printed
from multiway import compress
from multiway.compress import LowRank
from multiway.errors import ConfigError
from multiway.tasks.compressed import Recovery, compress_run


@pytest.fixture(scope="module")
def patients():
    return mw.load_example("patients")


@pytest.fixture(scope="module")
def classifier(patients):
    settings = {"training": {"epochs": 1}, "answer": "network"}
    return mw.TabularClassifier(baselines=("majority",), settings=settings).fit(
        patients.drop(columns="ill"), patients["ill"]
    )


def test_what_is_pushed_answers_as_before(classifier, patients, hub):
    classifier.push_to_hub("me/patients")
    later = mw.TabularClassifier.from_pretrained("me/patients")
    rows = patients.drop(columns="ill").head(20)
    assert (later.predict_proba(rows) == classifier.predict_proba(rows)).all()
    card = (hub / "me" / "patients" / "README.md").read_text()
    assert (
        card.startswith("---\nlibrary_name: multiway\n")
        and "| network | answer | 0." in card
        and "| majority | baseline | 0." in card
    )
    assert "Answer: network" in card and "- test: samples" in card
    assert not list(hub.rglob("*.pkl")) and list(hub.rglob("weights.safetensors"))


def test_a_run_is_copied_with_its_card_and_taken_from_a_folder(classifier, tmp_path):
    classifier.save_pretrained(tmp_path / "first")
    later = mw.TabularClassifier.from_pretrained(tmp_path / "first")
    later.save_pretrained(tmp_path / "second")
    first, second = (Path(tmp_path / name / "README.md").read_text().splitlines() for name in ("first", "second"))
    assert first == second
    with pytest.raises(mw.MultiwayError, match="exists already"):
        later.save_pretrained(tmp_path / "second")


def test_a_name_that_nobody_has_is_refused_in_a_line(hub):
    with pytest.raises(ConfigError, match=r"you/none is no folder, and the hub has no such run: 404\. Name another"):
        mw.TabularClassifier.from_pretrained("you/none")


def test_the_card_of_a_smaller_run_says_what_was_swapped_and_its_scores(patients, tmp_path):
    patients.to_csv(tmp_path / "patients.csv", index=False)
    words = "--set", 'baselines=["majority"]', "--epochs", "1", "--answer", "network", "--set", "read.target=ill"
    printed("train", "tabular", "--data", tmp_path / "patients.csv", "--out", tmp_path / "run", *words)
    rules = {".*": LowRank(max_share=0.8)}
    plan, _ = compress_run(tmp_path / "run", rules, out=tmp_path / "small", recovery=Recovery(1, distil=True))
    mw.TabularClassifier.from_pretrained(tmp_path / "small").save_pretrained(tmp_path / "sent")
    card = (tmp_path / "sent" / "README.md").read_text()
    before, after = plan.parameters
    assert f"{before:,} parameters before, {after:,} after ({after / before:.1%})" in card
    swapped = [layer for layer in plan.layers if layer.replacement is not None]
    rows = [
        f"| {x.name} | {x.becomes} | {x.parameters[0]:,} | {x.parameters[1]:,} | {x.weight_error:.3f} |"
        for x in swapped
    ]
    assert swapped and all(row in card for row in rows)
    assert " after recovery" in card and "Before, of the answer: " in card


def test_a_compressed_model_goes_to_the_hub_with_its_card_and_comes_back(hub):
    model = nn.Sequential(nn.Embedding(40, 12), nn.Conv1d(12, 12, 3), nn.Flatten(), nn.Linear(36, 30))
    rules = {".*": LowRank(max_share=0.7)}
    small = compress.plan(model, rules, measure=False).apply()
    compress.push_to_hub(small, "me/small", scores={"accuracy before": 0.9125, "recovered": 0.9})
    dense = nn.Sequential(nn.Embedding(40, 12), nn.Conv1d(12, 12, 3), nn.Flatten(), nn.Linear(36, 30))
    repeated = compress.from_pretrained("me/small", model=dense)
    ids = torch.randint(40, (7, 12))
    pick = lambda net: net[3](net[2](net[1](net[0](ids).mT[..., :5])))  # noqa: E731
    assert torch.equal(pick(repeated), pick(small))
    card = (hub / "me" / "small" / "README.md").read_text()
    before, after = (sum(each.numel() for each in net.parameters()) for net in (model, small))
    assert card.startswith("---\nlibrary_name: multiway\ntags: [multiway, compressed]\n---\n")
    assert f"3 layers swapped: {before:,} parameters before, {after:,} after" in card
    assert "| accuracy before | 0.9125 |" in card and "| 1 | Tucker, ranks" in card
    with pytest.raises(ConfigError, match="the hub has no such model"):
        compress.from_pretrained("me/none")
