"""What a run on texts leaves, says and refuses, for every kind of inputs."""

import numpy as np
import pandas as pd
import pytest

from command import outcome, printed
from data.encoders.networks import save_network
from multiway import workflows
from multiway.errors import ConfigError
from multiway.models import TextClassifier, TextHead, TunedText
from multiway.tasks.lifecycle import load
from multiway.tasks.misses import Misses
from multiway.tasks.text import TextConfig, explain
from multiway.tasks.text.explain import wrong_texts
from tasks.rightly import all_right
from tasks.text.reviews import reviews

FAST = {"draws": 20, "training": {"epochs": 3, "batch_size": 16, "warmup_steps": 2, "learning_rate": 0.01}}
NETWORKS = {"words": TextClassifier, "vectors": TextHead, "tokens": TunedText}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("transformers")
    path = tmp_path_factory.mktemp("texts")
    save_network(path / "network")
    frame = reviews(120)
    frame.to_csv(path / "reviews.csv", index=False)
    for inputs in NETWORKS:
        text = {"encoder": str(path / "network") if inputs == "tokens" else "hashed", "hashed_dim": 8, "max_tokens": 16}
        columns = 4 if inputs == "tokens" else 8
        model = {"dim": 8, "block": {"num_heads": 2}} if inputs == "words" else {"columns": columns}
        settings = {"data": str(path / "reviews.csv"), "inputs": inputs, "text": text, "model": model, **FAST}
        workflows.train(settings, task="text", out=path / inputs, progress=False)
    return path


@pytest.mark.parametrize("inputs", NETWORKS)
def test_every_kind_of_inputs_has_its_network_and_the_same_baselines(folder, inputs):
    run = load(folder / inputs)
    assert list(run.models) == ["network", "majority", "tfidf", "vectors"]
    assert isinstance(run.model, NETWORKS[inputs])
    metrics = {"acc", "auc", "balanced_accuracy", "ece", "f1", "hard_auc"}
    assert {row["metric"] for row in run.scores} == metrics
    stored = {row["metric"]: row["value"] for row in run.scores if (row["model"], row["split"]) == ("tfidf", "test")}
    assert stored["acc"] > 0.8 and stored["auc"] > 0.9


@pytest.mark.parametrize("inputs", NETWORKS)
def test_a_stored_run_scores_and_explains_as_the_run_did(folder, inputs):
    run = load(folder / inputs)
    repeated = {row["model"]: row["acc"] for row in workflows.evaluate(folder / inputs)}
    assert repeated == pytest.approx({
        row["model"]: row["value"] for row in run.scores if (row["metric"], row["split"]) == ("acc", "test")
    })  # fmt: skip
    words = workflows.explain(folder / inputs, options={"count": 3}).frame
    shown = run.tables["predictions"].query(f"split == 'test' and model == '{run.answer.name}'")[:3]
    assert words.groupby("line", sort=False)["word"].agg(" ".join).tolist() == shown["text"].tolist()
    assert words.groupby("line", sort=False)["predicted"].first().tolist() == shown["predicted"].tolist()
    shares = shown[["p_bad", "p_good"]].max(axis=1)
    np.testing.assert_allclose(words.groupby("line", sort=False)["probability"].first(), shares, atol=1e-5)


def test_tuning_moves_the_encoder(folder):
    from multiway.data.encoders import token_encoder
    from multiway.data.options import EncoderOptions

    run = load(folder / "tokens")
    before = token_encoder(EncoderOptions(encoder=str(folder / "network"), max_tokens=16)).network().state_dict()
    moved = [name for name, value in run.model.encoder.state_dict().items() if not value.equal(before[name])]
    assert any("layer.0" in name for name in moved) and any("word_embeddings" in name for name in moved)


def test_answers_are_appended_to_the_rows_of_a_file(folder, tmp_path):
    reviews(5)[["author", "review"]].to_csv(tmp_path / "new.csv", index=False)
    workflows.predict(folder / "words", data=str(tmp_path / "new.csv"), out=tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert list(found) == ["author", "review", "predicted", "p_bad", "p_good"]
    assert found["review"].tolist() == reviews(5)["review"].tolist()
    assert found[["p_bad", "p_good"]].sum(axis=1).to_numpy() == pytest.approx(1)


def test_the_report_names_the_inputs_and_the_encoder(folder, tmp_path):
    printed("report", folder / "vectors", "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "vectors of hashed" in page and "logistic regression on TF-IDF" in page


def test_where_no_text_is_misclassified_the_least_sure_are_shaded(folder):
    run = all_right(load(folder / "words"))
    (part,) = wrong_texts([run])
    assert part.title == "Least sure texts" and part.support == [
        "No test text was misclassified. Below are those named least surely."
    ]
    assert len(part.content) == 8 and not any(case.is_wrong for case in part.content)
    assert any(share for case in part.content for _, share in case.content[0].words)


def test_words_of_a_long_text_are_shaded_and_its_end_is_folded(folder, monkeypatch):
    """Of 230 words one span counts; what is over the limit of the page is counted."""
    run, long = load(folder / "words"), [f"w{place}" for place in range(230)]
    long[100] = "fine"
    found = pd.DataFrame({"text": [" ".join(long)], "true": "bad", "predicted": "good", "probability": 0.9})
    monkeypatch.setattr(explain, "misses_of", lambda *_: Misses("most confident errors", found))
    monkeypatch.setattr(explain, "MOST", 200)

    def shares(run, texts):
        good = np.array([0.9 if "fine" in text.split() else 0.5 for text in texts])
        return np.stack([1 - good, good], axis=1)

    monkeypatch.setattr(explain, "shares_of", shares)
    ((case,),) = (part.content for part in wrong_texts([run]))
    (marked,) = case.content
    assert sum(len(words.split()) for words, _ in marked.words) == 120
    assert [share for words, share in marked.words if "fine" in words.split()] == [1.0]
    assert " ".join(words for words, _ in [*marked.words, *marked.rest]) == " ".join(long[:200])
    assert marked.note == "The other 30 words are not on the page."


def test_the_audit_of_a_run_is_of_its_split(folder):
    code, out, _ = outcome("audit", folder / "words")
    assert code == 1 and "none of 120 texts is in two splits" in out and "but for a word or two" in out


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"inputs": "words", "model": {"name": "text_head"}}, "model.name must be one of text_classifier"),
        (
            {"inputs": "vectors", "model": {"name": "text_classifier"}},
            "model.name must be one of text_head, text_head_d",
        ),
        ({"inputs": "vectors", "model": {"in_features": 3}}, "model.in_features is set by the data"),
        ({"training": {"loss": "mse"}}, "classes are trained with training.loss=cross_entropy"),
        ({"inputs": "letters"}, "inputs"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, text):
    with pytest.raises(ConfigError, match=text):
        TextConfig.parse(settings)


def test_the_usual_training_goes_by_the_inputs():
    rates = {inputs: TextConfig.parse({"inputs": inputs}).training.learning_rate for inputs in NETWORKS}
    assert rates["tokens"] < rates["words"] < rates["vectors"]
    given = TextConfig.parse({"inputs": "tokens", "training": {"epochs": 7}}).training
    assert given.epochs == 7 and given.learning_rate == rates["tokens"]


@pytest.mark.parametrize(
    ("settings", "inputs"),
    [
        ({"text": {"encoder": "hashed"}}, "words"),
        ({"text": {"encoder": "bert-base-uncased"}}, "vectors"),
        ({"text": {"encoder": "hashed"}, "model": {"name": "text_head"}}, "vectors"),
        ({"text": {"encoder": "bert-base-uncased"}, "model": {"name": "tga_text_classifier"}}, "words"),
        ({"text": {"encoder": "hashed"}, "inputs": "vectors"}, "vectors"),
    ],
)
def test_the_usual_inputs_suit_the_encoder_and_the_model(settings, inputs):
    config = TextConfig.parse(settings)
    assert config.inputs == inputs and config.training == TextConfig.parse({"inputs": inputs}).training


def test_without_an_encoder_installed_the_usual_inputs_are_words(monkeypatch):
    monkeypatch.setattr("multiway.data.encoders.choice.has_minilm", lambda: False)
    assert TextConfig.parse({}).inputs == "words"
    monkeypatch.setattr("multiway.data.encoders.choice.has_minilm", lambda: True)
    assert TextConfig.parse({}).inputs == "vectors"
