"""A run whose network attends by graphs: what is stored of it, and the spectra of its filters."""

import pandas as pd
import pytest

from multiway import workflows
from multiway.tasks.lifecycle import load
from tasks.text.reviews import reviews

TRAINING = {"epochs": 3, "batch_size": 16, "warmup_steps": 2, "learning_rate": 0.01}
MODELS = {
    "graph": {"name": "tga_text_classifier", "dim": 8, "num_blocks": 2, "attention": {"num_heads": 2}},
    "words": {"dim": 8, "block": {"num_heads": 2}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("graphs")
    reviews(120).to_csv(path / "reviews.csv", index=False)
    usual = {"inputs": "words", "text": {"encoder": "hashed"}, "draws": 0, "baselines": ["majority"]}
    for name, model in MODELS.items():
        settings = {"data": str(path / "reviews.csv"), **usual, "model": model, "training": TRAINING}
        workflows.train(settings, task="text", out=path / name, progress=False)
    return path


def test_training_accuracy_and_parameters_of_attention_are_stored(folder):
    run = load(folder / "graph")
    heads = 2 * 32 * (3 - 1)
    assert run.facts["attention_parameters"] == 2 * (heads + 16 * (3 - 1) + 8) == run.model.attention_parameters
    assert 0.5 < run.facts["train_acc"] <= 1
    cell = run.task.cell_facts([run, run])
    assert cell["train_acc"] == run.facts["train_acc"] and cell["train_acc_sd"] == 0
    assert cell["attention_parameters"] == run.facts["attention_parameters"]
    assert "attention_parameters" not in run.task.cell_facts([load(folder / "words")])


def test_explain_writes_the_spectra_of_every_head(folder, tmp_path):
    answer = workflows.explain(folder / "graph", out=tmp_path / "found", options={"count": 2})
    assert [each.name for each in answer.files] == ["words.csv", "spectra.csv"]
    words, found = (pd.read_csv(each) for each in answer.files)
    lengths = words.groupby("line", sort=False).size()
    rows = found.groupby(["line", "block", "head"], sort=False)
    assert rows.ngroups == 2 * 2 * 2 and (rows.size().to_numpy() <= lengths.repeat(4).to_numpy()).all()
    assert rows["share_before"].sum().to_numpy() == pytest.approx(1) and found["gain"].max() <= 1 + 1e-6
    assert rows["frequency"].apply(lambda each: each.is_monotonic_increasing).all()


def test_without_a_graph_there_are_no_spectra(folder, tmp_path):
    assert len(workflows.explain(folder / "words", out=tmp_path / "found", options={"count": 1}).files) == 1
    notes = workflows.explain(folder / "graph", options={"count": 1}).notes
    assert "with a folder to write to, the eigenvalues" in notes[1]
