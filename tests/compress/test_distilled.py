"""A Hugging Face model in a folder, made smaller and brought near its old outputs on texts and on tensors."""

import itertools
import json
import logging
import re

import pandas as pd
import pytest
import torch
from safetensors.torch import save_file
from typer.testing import CliRunner

from multiway import compress
from multiway.cli.app import app
from multiway.compress import LowRank
from multiway.compress.measuring import difference, layer_outputs
from multiway.compress.pretrained import inputs_of
from multiway.errors import ConfigError, RunError

transformers = pytest.importorskip("transformers")
WORDS = ("red", "green", "blue", "cat", "dog", "runs", "sleeps", "here")
TEXTS = [" ".join(words) for words in itertools.product(WORDS[:3], WORDS[3:5], WORDS[5:7], WORDS)]
RULES = {r".*encoder.*dense|.*\.(query|key|value)": LowRank(rank=2)}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@pytest.fixture(autouse=True)
def quiet():
    logging.getLogger("transformers").setLevel(logging.ERROR)
    transformers.utils.logging.disable_progress_bar()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small BERT of three classes with weights so large that its outputs differ."""
    path = tmp_path_factory.mktemp("models") / "bert"
    config = transformers.BertConfig(
        vocab_size=13, hidden_size=12, intermediate_size=24, num_attention_heads=2, num_hidden_layers=1,
        max_position_embeddings=6, initializer_range=0.5, id2label={0: "low", 1: "middle", 2: "high"},
        label2id={"low": 0, "middle": 1, "high": 2}, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.BertForSequenceClassification(config).save_pretrained(path)
    (path / "vocab.txt").write_text("\n".join((*SPECIAL, *WORDS)) + "\n")
    transformers.BertTokenizer(str(path / "vocab.txt")).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def classes(folder):
    """What the uncompressed model says of the texts."""
    model = compress.pretrained.load_pretrained(folder)
    (logits,) = layer_outputs(model, inputs_of(folder, TEXTS)(range(len(TEXTS))))
    return [model.config.id2label[place] for place in logits.argmax(1).tolist()]


def test_a_folder_nears_the_outputs_of_the_uncompressed_one_on_rows_that_it_never_saw(folder, classes, tmp_path):
    out = tmp_path / "small"
    plan = compress.compress_pretrained(folder, RULES, data=TEXTS, out=out, measure=False)
    assert plan.has_data and plan.parameters[1] < plan.parameters[0]
    weights = (out / "weights.safetensors").read_bytes()
    scores = compress.distil_pretrained(out, folder, TEXTS, labels=classes, epochs=20, rate=1e-2)
    assert list(scores) == [
        "error after", "error recovered", "accuracy before", "accuracy after", "accuracy recovered"
    ]  # fmt: skip
    assert scores["error recovered"] < 0.5 * scores["error after"]
    assert scores["accuracy before"] == 1 > scores["accuracy after"] < scores["accuracy recovered"]
    assert (out / "weights.safetensors").read_bytes() != weights
    held = [row for row in range(len(TEXTS)) if row % 5 == 4]
    batch = inputs_of(folder, TEXTS)(held)
    outputs = [
        layer_outputs(model, batch) for model in (compress.pretrained.load_pretrained(folder), compress.load(out))
    ]
    assert difference(*outputs) == pytest.approx(scores["error recovered"], rel=1e-5)
    assert f"| error recovered | {scores['error recovered']:.4g} |" in (out / "README.md").read_text()


def test_what_is_held_out_changes_no_weight(folder, tmp_path):
    others = [text if row % 5 < 4 else f"blue dog {row}" for row, text in enumerate(TEXTS)]
    weights = []
    for name, texts in {"one": TEXTS, "two": others}.items():
        compress.compress_pretrained(folder, RULES, data=texts, out=tmp_path / name, measure=False)
        compress.distil_pretrained(tmp_path / name, folder, texts, epochs=1)
        weights.append((tmp_path / name / "weights.safetensors").read_bytes())
    assert weights[0] == weights[1]


def test_copies_of_a_row_are_on_one_side(folder, tmp_path):
    compress.compress_pretrained(folder, RULES, out=tmp_path / "small", measure=False)
    with pytest.raises(ConfigError, match=r"one row in 5 is held out. Give 5 distinct ones or more, not 4"):
        compress.distil_pretrained(tmp_path / "small", folder, TEXTS[:4] * 10)
    with pytest.raises(ConfigError, match=r"the model has no class 'odd'. It has 0, 1, 2, high, low, middle"):
        compress.distil_pretrained(tmp_path / "small", folder, TEXTS, labels=["odd"] * len(TEXTS))


def test_a_folder_without_a_tokenizer_says_so(tmp_path):
    config = transformers.BertConfig(vocab_size=13, hidden_size=12, intermediate_size=24, num_attention_heads=2)
    transformers.BertModel(config).save_pretrained(tmp_path / "bare")
    with pytest.raises(RunError, match="bare holds no tokenizer that knows words"):
        compress.compress_pretrained(tmp_path / "bare", RULES, data=TEXTS, measure=False)


def call(*words):
    result = CliRunner().invoke(app, ["compress", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_the_command_distils_on_a_table_of_texts(folder, classes, tmp_path):
    pd.DataFrame({"text": TEXTS, "label": classes}).to_csv(tmp_path / "texts.csv", index=False)
    words = [folder, "--rule", ".*(dense|query|key|value)=lowrank:rank=2", "--data", tmp_path / "texts.csv"]
    printed = call(*words, "--distil", 3, "--out", tmp_path / "small")
    assert "accuracy before on rows held out: 1\n" in printed
    errors = [float(re.search(rf"error {name} on rows held out: (\S+)", printed)[1]) for name in ("after", "recovered")]
    assert errors[1] < errors[0]
    told = json.loads(call(*words, "--distil", 3, "--out", tmp_path / "again", "--json"))
    assert told["recovery"]["error recovered"] == pytest.approx(errors[1], rel=1e-3)


def test_the_command_distils_on_tensors(folder, classes, tmp_path):
    tensors = inputs_of(folder, TEXTS)(range(len(TEXTS)))
    places = torch.tensor([("low", "middle", "high").index(name) for name in classes])
    save_file({**tensors, "labels": places}, tmp_path / "rows.safetensors")
    words = [folder, "--rule", ".*(dense|query|key|value)=lowrank:rank=2", "--data", tmp_path / "rows.safetensors"]
    printed = call(*words, "--distil", 3, "--out", tmp_path / "small")
    assert "accuracy before on rows held out: 1\n" in printed and "error recovered on rows held out: " in printed
    still = json.loads(call(*words, "--distil", 1, "--rate", 1e-12, "--out", tmp_path / "still", "--json"))["recovery"]
    assert still["error recovered"] == pytest.approx(still["error after"], rel=1e-6)
    with pytest.raises(ConfigError, match=r"has no samples of its own\. Give texts or tensors"):
        call(*words[:-2], "--distil", 3, "--out", tmp_path / "again")


def test_classes_that_the_model_does_not_know_leave_nothing_behind(folder, tmp_path):
    pd.DataFrame({"text": TEXTS, "label": ["odd", "even"] * 48}).to_csv(tmp_path / "texts.csv", index=False)
    words = [folder, "--rule", ".*(dense|query|key|value)=lowrank:rank=2", "--data", tmp_path / "texts.csv"]
    with pytest.raises(ConfigError, match=r"the model has no class 'odd'\. .* or leave the column of classes out"):
        call(*words, "--distil", 3, "--out", tmp_path / "small")
    assert [path.name for path in tmp_path.iterdir()] == ["texts.csv"]
