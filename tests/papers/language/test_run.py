"""A run on text, from files to answers: what is scored, written, explained and audited."""

import json
import math
import random

import pandas as pd
import pytest
import torch

from command import outcome, printed
from multiway.errors import ConfigError
from multiway.tasks.run import load
from multiway.training.losses import ClassLoss
from multiway_papers.language import LanguageConfig
from multiway_papers.language.scores import nats_of, surprise_of
from multiway_papers.language.task import TASK
from papers.language.prepared import prepare_texts
from tasks.tiny import language, stories, written


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stories")
    tiny = language(folder)
    printed(*tiny.train(folder / "run"))
    return folder / "run"


def prepared(**options):
    return prepare_texts(stories(), vocabulary=300, context=16, **options)


def untrained(data):
    config = LanguageConfig.parse({"tokens": data.encoded.inputs.options.plain(), "model": {"dim": 6, "num_heads": 3}})
    torch.manual_seed(0)
    return TASK.build(config, data.state, "network").eval()


@torch.no_grad()
def test_the_loss_is_over_real_tokens_whatever_fills_the_windows():
    data = prepared()
    windows, model = data.part("test").inputs.windows, untrained(data)
    every, count = ClassLoss()(model, windows.gather(torch.arange(len(windows))))
    single = [ClassLoss()(model, windows.gather(torch.tensor([place]))) for place in range(len(windows))]
    assert count == windows.targets == sum(int(each[1]) for each in single)
    assert float(every) == pytest.approx(sum(float(each[0]) for each in single), rel=1e-6)
    assert nats_of(model, windows).sum() == pytest.approx(float(every), rel=1e-6)


def test_bits_per_byte_of_a_uniform_model_of_bytes_are_those_of_its_257_tokens():
    data = prepare_texts(stories(), tokenizer="bytes", context=16)

    class Uniform(torch.nn.Module):
        def forward(self, tokens):
            return torch.zeros(*tokens.shape, 257)

    scores = surprise_of({"u": Uniform()}, data.part("test").inputs, "test").scores("test", 0)
    (row,) = (each for each in scores if each["metric"] == "bpb")
    counts = data.counts("test")
    assert row["value"] == pytest.approx(math.log2(257) * counts["tokens"] / counts["bytes"], rel=1e-6)


@pytest.mark.parametrize("is_copied", [True, False])
def test_validation_that_stands_in_the_training_text_makes_counts_of_words_far_better_there(is_copied, tmp_path):
    """Such a model says it in the training, in the report and in an audit of the run."""
    draw = random.Random(0)
    parts = ["ba", "do", "fi", "gu", "ke", "lo", "mi", "na", "pe", "ru"]
    lines = [" ".join("".join(draw.choices(parts, k=3)) for _ in range(30)) for _ in range(60)]
    splits = {"train": lines[:40], "valid": lines[:10] if is_copied else lines[40:50], "test": lines[50:]}
    for name, part in splits.items():
        written(tmp_path / "texts" / f"{name}.txt", part)
    words = ["train", "language", "--data", tmp_path / "texts", "--documents", "line", "--out", tmp_path / "run"]
    still = ["--epochs", "1", "--vocabulary", "300", "--context", "16", "--set", "model.dim=6", "--set"]
    code, _, err = outcome(*words, *still, "model.num_heads=3")
    _, audited, _ = outcome("audit", tmp_path / "run")
    printed("report", tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    said = "trigram is more than 10 times better on validation than on test: Word perplexity"
    assert code == 0, err
    assert [said in text for text in (err, audited, page)] == [is_copied] * 3


def test_of_a_tokenizer_that_loses_text_bits_per_byte_are_undefined_and_said(tmp_path):
    """One that writes small letters for capitals; per token there is a perplexity all the same."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, normalizers

    lossy = Tokenizer.from_str(prepared().state.vocabulary.definition)
    lossy.normalizer = normalizers.Lowercase()
    transformers.PreTrainedTokenizerFast(tokenizer_object=lossy, eos_token="<|end|>").save_pretrained(tmp_path / "t")
    path = written(tmp_path / "stories.jsonl", [json.dumps({"text": each.title()}) for each in stories()])
    sets = ["tokens.context=16", 'model={"dim":6,"num_heads":3}', "training.epochs=1", "draws=20"]
    words = [word for each in sets for word in ("--set", each)]
    printed("train", "language", "--data", path, "--tokenizer", tmp_path / "t", "--out", tmp_path / "run", *words)
    run = load(tmp_path / "run")
    values = {row["metric"]: row["value"] for row in run.scores if (row["model"], row["split"]) == ("unigram", "test")}
    assert values["bpb"] is None is values["word_ppl"] and values["ppl"] > 1 and values["loss"] > 0
    assert any("bits per byte and perplexity of words are undefined" in note for note in run.facts["notes"])
    assert run.answer.loss == "bits per token"
    printed("predict", tmp_path / "run", "--data", path, "--out", tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert found["bits_per_byte"].isna().all() and found["nats_per_token"].notna().all()


def test_the_table_of_documents_adds_up_to_the_scores(run):
    found = load(run)
    test = found.tables["predictions"].query("split == 'test' and model == 'trigram'")
    (row,) = (r for r in found.scores if (r["model"], r["split"], r["metric"]) == ("trigram", "test", "word_ppl"))
    assert row["value"] == pytest.approx(math.exp(test["nats"].sum() / test["words"].sum()))
    assert row["low"] < row["value"] < row["high"]


def test_a_limit_on_training_tokens_is_one_for_the_baselines_too():
    few, all_of_it = (prepared(most_tokens=most).state for most in (32, None))
    assert few.vocabulary == all_of_it.vocabulary
    assert sum(few.counts["trigram"]) < sum(all_of_it.counts["trigram"])


def test_predict_continues_and_scores_or_scores_alone(run, tmp_path):
    path = tmp_path / "later.txt"
    path.write_text("the cat sees the dog\n")
    out = tmp_path / "out.csv"
    printed("predict", run, "--data", path, "--tokens", 3, "--out", out)
    assert list(pd.read_csv(out)) == ["text", "continuation", "tokens", "nats_per_token", "bits_per_byte"]
    printed("predict", run, "--data", path, "--tokens", 0, "--out", out, "--overwrite")
    assert "continuation" not in pd.read_csv(out)
    code, _, err = outcome("predict", run, "--data", path, "--temperature", "-1")
    assert code == 1 and "temperature counts from 0. Got -1.0" in err


def test_explain_writes_every_token_of_some_documents_under_every_model(run, tmp_path):
    said = printed("explain", run, "--out", tmp_path / "why", "--first", 2, "--raw")
    table = pd.read_csv(tmp_path / "why" / "surprise.csv", keep_default_na=False)
    assert table["document"].nunique() == 2 and "mean bits of these tokens: network" in said
    first = table[table["document"] == table["document"].iloc[0]]
    assert "".join(first["token"]).strip() == stories()[27].strip()
    assert {"bits_network", "bits_unigram", "bits_trigram"} <= set(table)


def test_audit_of_a_run_compares_its_vocabulary(run):
    code, out, _ = outcome("audit", run)
    assert code in (0, 1) and "vocabulary of" in out


def test_another_loss_is_refused():
    with pytest.raises(ConfigError, match=r"training\.loss must be cross_entropy"):
        LanguageConfig.parse({"training": {"loss": "mse"}})
    with pytest.raises(ConfigError, match=r"model\.context is set by the data"):
        LanguageConfig.parse({"model": {"context": 9}})


def test_a_named_size_keeps_its_rows_of_the_vocabulary():
    config = LanguageConfig.parse({"model": {"name": "opt_125m"}, "tokens": {"context": 2048}})
    assert config.network_fields(vocabulary=50_265)["vocabulary"] == 50_272
    assert LanguageConfig().network_fields(vocabulary=300)["vocabulary"] == 300
