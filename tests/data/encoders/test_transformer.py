"""A network as encoder, against the same network called by hand on one text at a time."""

import json
import shutil

import numpy as np
import pytest
import torch

from data.encoders.networks import TEXTS, save_network
from multiway.data.encoders import make_encoder
from multiway.data.encoders.transformer import TransformerEncoder, batches
from multiway.data.options import EncoderOptions
from multiway.errors import ConfigError
from tolerances import COARSE32, ROUNDING32, TOLERANCES, assert_near

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_network(tmp_path_factory.mktemp("networks") / "small")


def options(folder, **given) -> EncoderOptions:
    return EncoderOptions.parse({"encoder": str(folder), "max_tokens": 12, "dtype": "float32", "device": "cpu"} | given)


def by_hand(folder, text: str) -> np.ndarray:
    """One text, its own tokens and no padding."""
    tokens = transformers.AutoTokenizer.from_pretrained(folder)(text, truncation=True, max_length=12)
    with torch.inference_mode():
        hidden = transformers.AutoModel.from_pretrained(folder).eval()(torch.tensor([tokens["input_ids"]]))
    return hidden.last_hidden_state[0].mean(0).numpy()


@pytest.mark.parametrize("shown", [True, False])
def test_bars_and_words_of_the_library_are_as_they_were(shown, folder):
    log = transformers.utils.logging
    (log.enable_progress_bar if shown else log.disable_progress_bar)()
    before = log.get_verbosity()
    make_encoder(options(folder)).encode(TEXTS[:1])
    assert (log.is_progress_bar_enabled(), log.get_verbosity()) == (shown, before)
    log.enable_progress_bar()


def test_it_is_the_mean_over_the_real_tokens(folder, capfd):
    vectors = make_encoder(options(folder)).encode(TEXTS)
    assert capfd.readouterr() == ("", "")
    expected = np.stack([by_hand(folder, text) for text in TEXTS])
    assert vectors.dtype == np.float32 and np.ptp(expected, axis=0).min() > 0.1
    assert_near(vectors, expected, ROUNDING32)


def test_a_text_alone_is_what_it_is_among_others(folder):
    encoder = make_encoder(options(folder, batch_tokens=24))
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert_near(encoder.encode(TEXTS), alone, ROUNDING32)
    assert encoder.encode([]).shape == (0, 12)


def test_what_is_past_the_last_token_is_not_seen(folder):
    encoder = make_encoder(options(folder))
    start = "apple rises " * 5
    first, second, third = encoder.encode([start + "ford", start + "down", "ford " + start])
    np.testing.assert_array_equal(first, second)
    assert abs(first - third).max() > 0.1


def test_parts_of_a_long_text_are_seen_and_weigh_by_their_tokens(folder):
    """The mean over all tokens of all parts; short texts are as without parts."""
    text = "apple rises " * 9 + "ford"
    whole, halves, alone = (make_encoder(options(folder, max_parts=most)) for most in (9, 2, 1))
    room = 12 - 2  # but for the marks of a beginning and an end
    words = text.split()
    parts = [" ".join(words[start : start + room]) for start in range(0, len(words), room)]
    lengths = [len(part.split()) + 2 for part in parts]
    expected = np.average([by_hand(folder, part) for part in parts], axis=0, weights=lengths)
    assert len(parts) == 2
    assert_near(whole.encode([text, *TEXTS]), np.stack([expected, *alone.encode(TEXTS)]), ROUNDING32)
    long = " ".join([text, text])
    assert abs(halves.encode([long]) - whole.encode([long])).max() > 1e-3
    assert len({each.digest for each in (whole, halves, alone)}) == 3


def test_bf16_is_near_and_another_encoder(folder):
    fine, coarse = (make_encoder(options(folder, dtype=dtype)) for dtype in ("float32", "bf16"))
    wanted, got = torch.from_numpy(fine.encode(TEXTS)), torch.from_numpy(coarse.encode(TEXTS))
    assert 0 < (got - wanted).norm() / wanted.norm() < TOLERANCES[torch.bfloat16]["rtol"]
    assert fine.digest != coarse.digest


def test_random_numbers_are_left_alone(folder, tmp_path):
    bare = shutil.copytree(folder, tmp_path / "bare")
    rewrite(bare, lambda tensors: {name: each for name, each in tensors.items() if "pooler" not in name})
    torch.manual_seed(3)
    before = torch.get_rng_state()
    vectors = make_encoder(options(bare)).encode(TEXTS)
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(vectors, make_encoder(options(folder)).encode(TEXTS))


def rewrite(folder, change) -> None:
    """Change the tensors of a model on disk."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def test_the_digest_is_of_the_content(folder, tmp_path):
    digest = make_encoder(options(folder)).digest
    twin = shutil.copytree(folder, tmp_path / "twin")
    (twin / "README.md").write_text("words")
    assert make_encoder(options(twin, batch_tokens=24)).digest == digest
    assert make_encoder(options(twin, max_tokens=8)).digest != digest
    rewrite(twin, lambda tensors: tensors | {"embeddings.LayerNorm.bias": tensors["embeddings.LayerNorm.bias"] + 1})
    assert make_encoder(options(twin)).digest != digest


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda at: (at / "config.json").unlink(), "is no folder of a model: it has no config.json"),
        (lambda at: (at / "model.safetensors").unlink(), "pickled ones are not read. Save the model"),
        (lambda at: (at / "model.safetensors").write_bytes(b"\x00" * 40), "its weights cannot be read"),
        (lambda at: (at / "config.json").write_text('{"model_type": "nothing"}'), "cannot be loaded by transformers"),
        (lambda at: (at / "tokenizer.json").write_text("{"), "cannot be loaded by transformers"),
        (lambda at: rewrite(at, lambda tensors: dict(list(tensors.items())[3:])), "lack 3 tensors, such as"),
        (
            lambda at: rewrite(at, lambda tensors: {name: each * torch.nan for name, each in tensors.items()}),
            "numbers that are not finite",
        ),
    ],
)
def test_a_spoilt_model_is_one_line(folder, tmp_path, spoil, text):
    from multiway.data.encoders import encode_texts

    copy = shutil.copytree(folder, tmp_path / "copy")
    spoil(copy)
    with pytest.raises(ConfigError, match=text) as caught:
        encode_texts(TEXTS, options(copy, cache=str(tmp_path / "cache")))
    assert "\n" not in str(caught.value) and not (tmp_path / "cache").exists()


def test_more_tokens_than_the_network_has_places_for(folder):
    with pytest.raises(ConfigError, match=r"text.max_tokens: .* takes at most 20 tokens. Got 21"):
        make_encoder(options(folder, max_tokens=21)).encode(["up"])


def test_no_code_of_the_model_is_run(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    config = json.loads((copy / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}}
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="cannot be loaded by transformers"):
        make_encoder(options(copy)).encode(["up"])
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("device", ["cuda:99", "moon"])
def test_an_absent_device(folder, device):
    with pytest.raises(ConfigError, match=f"text.device: there is no device {device}"):
        make_encoder(options(folder, device=device))


def test_batches_are_of_like_length_within_the_budget():
    lengths = [3, 9, 1, 4, 9, 2, 30, 3]
    found = list(batches(lengths, 18))
    assert found == [[6], [1, 4], [3, 0, 7, 5], [2]]
    assert list(batches([], 18)) == []


SIZES = {"vocab_size": 70, "max_position_embeddings": 22}
FAMILIES = {
    "decoder": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=70, n_embd=12, n_layer=2, n_head=2, n_positions=20)
    ),
    "both": lambda: transformers.T5ForConditionalGeneration(
        transformers.T5Config(vocab_size=70, d_model=12, d_kv=6, d_ff=20, num_layers=2, num_heads=2)
    ),
    "classifier": lambda: transformers.RobertaForSequenceClassification(
        transformers.RobertaConfig(
            **SIZES, hidden_size=12, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2
        )
    ),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_other_families_of_networks(folder, tmp_path, family):
    copy = shutil.copytree(folder, tmp_path / family)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        whole = FAMILIES[family]().eval()
    whole.save_pretrained(copy)
    part = whole.get_encoder() if family == "both" else whole.base_model
    tokenizer = transformers.AutoTokenizer.from_pretrained(copy)
    with torch.inference_mode():
        found = [part(torch.tensor([tokenizer(text, truncation=True, max_length=12)["input_ids"]])) for text in TEXTS]
    expected = np.stack([each.last_hidden_state[0].mean(0).numpy() for each in found])
    vectors = make_encoder(options(copy)).encode(TEXTS)
    assert_near(vectors, expected, ROUNDING32)
    assert np.ptp(expected, axis=0).max() > COARSE32


@pytest.mark.parametrize(
    ("name", "value"), [("model_max_length", ["x"]), ("pad_token", []), ("cls_token", True), ("tokenizer_class", 3)]
)
def test_a_tokenizer_of_other_types_is_refused_in_one_line(name, value, tmp_path):
    folder = save_network(tmp_path / "network")
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    with pytest.raises(ConfigError) as caught:
        TransformerEncoder(folder, "network", EncoderOptions(max_tokens=20)).encode(["apple rises"])
    assert "\n" not in str(caught.value) and str(folder) in str(caught.value)
