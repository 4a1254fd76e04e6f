"""Decoder-only transformers: OPT's own logits and counts, and which placements of NdLinear give the published ones."""

import pytest
import torch

from multiway.errors import ConfigError, ShapeError
from multiway.models import create_model
from multiway.tasks.registry import task_of
from multiway.workflows.recipe import load_recipe
from multiway_papers.networks import CausalTransformer, CausalTransformerConfig
from multiway_papers.networks.language_model import balanced
from tolerances import assert_same

SMALL = {"vocabulary": 23, "context": 8, "dim": 12, "num_blocks": 2, "num_heads": 3, "dropout": 0.0}


def count(name, **fields):
    with torch.device("meta"):
        return sum(each.numel() for each in create_model(name, **fields).parameters())


@pytest.mark.parametrize("name", ["opt_125m", "opt_350m"])
def test_an_opt_has_the_official_count_which_transformers_gives(name):
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 1024, "num_hidden_layers": 24, "ffn_dim": 4096, "num_attention_heads": 16,
             "word_embed_proj_dim": 512, "do_layer_norm_before": False}  # fmt: skip
    config = transformers.OPTConfig(**(sizes if name == "opt_350m" else {}))
    with torch.device("meta"):
        official = sum(each.numel() for each in transformers.OPTForCausalLM(config).parameters())
    assert count(name) == official == {"opt_125m": 125_239_296, "opt_350m": 331_196_416}[name]


@pytest.mark.parametrize(("embedding", "norm_first"), [(None, True), (6, False)])
def test_the_logits_are_those_of_opt_in_transformers(embedding, norm_first):
    transformers = pytest.importorskip("transformers")
    config = transformers.OPTConfig(
        vocab_size=23, hidden_size=12, num_hidden_layers=2, ffn_dim=48, num_attention_heads=3, dropout=0.0,
        max_position_embeddings=8, word_embed_proj_dim=embedding or 12, do_layer_norm_before=norm_first,
    )  # fmt: skip
    torch.manual_seed(0)
    theirs = transformers.OPTForCausalLM(config).double().eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, 0.1, 0.3)
    fields = {**SMALL, "embedding": embedding, "norm_first": norm_first, "spare_positions": 2}
    ours = CausalTransformer(CausalTransformerConfig(**fields)).double().eval()
    ours.load_state_dict(translated(theirs.model.decoder.state_dict(), 2))
    tokens = torch.randint(0, 23, (2, 7))
    assert_same(ours(tokens), theirs(tokens, use_cache=False).logits)


def translated(state, num_blocks):
    """Weights of OPT under our names; queries, keys and values become one map."""
    found = {"tokens.weight": state["embed_tokens.weight"], "positions.weight": state["embed_positions.weight"]}
    names = {"project_in": "widen", "project_out": "narrow", "final_layer_norm": "norm"}
    for theirs, ours in names.items():
        found |= {
            f"{ours}.{kind}": state[f"{theirs}.{kind}"] for kind in ("weight", "bias") if f"{theirs}.{kind}" in state
        }
    parts = {"self_attn.out_proj": "attention.output.layer", "self_attn_layer_norm": "norms.0", "fc1":
             "feed_forward.up.layer", "fc2": "feed_forward.down.layer", "final_layer_norm": "norms.1"}  # fmt: skip
    for block in range(num_blocks):
        for kind in ("weight", "bias"):
            qkv = [state[f"layers.{block}.self_attn.{each}_proj.{kind}"] for each in "qkv"]
            found[f"blocks.{block}.attention.project.{kind}"] = torch.cat(qkv)
            found |= {
                f"blocks.{block}.{ours}.{kind}": state[f"layers.{block}.{theirs}.{kind}"]
                for theirs, ours in parts.items()
            }
    return found


def test_a_token_is_said_from_those_before_it_alone():
    model = CausalTransformer(CausalTransformerConfig(**SMALL)).eval()
    first = torch.randint(0, 23, (1, 8))
    second = first.clone()
    second[0, 5:] = (second[0, 5:] + 1) % 23
    assert_same(model(first)[:, :5], model(second)[:, :5])
    assert not torch.allclose(model(first)[:, 5], model(second)[:, 5])


def test_nd_linear_of_two_like_axes_in_every_block_leaves_far_fewer_than_published():
    axes = {"layer": "nd_linear", "sizes": None, "hidden": None}
    assert count("opt_125m", **axes) == 68_648_928 and count("opt_350m", **axes) == 129_948_160
    assert count("opt_125m", layer="nd_linear", sizes=(768, 1), hidden=(768, 4)) == 82_744_476


def test_119_million_are_those_of_the_public_codes_axes_in_every_block():
    """opt/src/model_configs/opt-small-ndlinear.yaml: 512 positions, (768, 1) to (2800, 8)."""
    assert count("opt_125m", context=512) == 124_059_648
    assert count("opt_125m_ndlinear") == 119_043_180
    assert count("opt_125m", context=512, layer="nd_linear", sizes=(768, 1), hidden=(2800, 8)) == 119_043_180


def test_337_million_are_not_those_of_the_public_codes_configuration():
    """opt-mid-ndlinear.yaml, 1,024 positions, (1024, 1) to (4000, 4); two replaced blocks of 24 would be."""
    axes = {"layer": "nd_linear", "sizes": (1024, 1), "hidden": (4000, 4)}
    assert count("opt_350m", context=1024, **axes) == 325_427_256
    assert count("opt_350m", context=1024, embedding=None, **axes) == 350_117_944
    assert count("opt_350m_ndlinear") == 337_543_552


def test_no_ndlinear_form_of_the_published_opt_350m_has_337_million():
    assert count("opt_350m") < 337_000_000


def test_twins_of_the_recipe_have_the_count_of_nd_linear_within_2_percent():
    counts = {}
    for variant in ("linear", "ndlinear", "dense-matched", "low-rank"):
        recipe = load_recipe(f"opt-wikitext2-{variant}")
        config = task_of("language").configure(recipe.settings_of_runs()[0])
        counts[variant] = count(config.model_name, **config.network_fields(vocabulary=config.tokens.vocabulary))
    assert counts["linear"] == 675_328 and counts["ndlinear"] == 477_978
    for twin in ("dense-matched", "low-rank"):
        assert counts[twin] == pytest.approx(counts["ndlinear"], rel=0.02)


def test_features_are_taken_as_two_axes_of_like_size():
    assert balanced(768) == (24, 32) and balanced(1024) == (32, 32) and balanced(7) == (1, 7)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"num_heads": 5}, "dim must be a multiple of num_heads"),
        ({"replaced": 3}, "replaced counts blocks, of which there are 2"),
        ({"layer": "low_rank"}, "rank is for"),
        ({"layer": "nd_linear", "sizes": (5, 2)}, "must multiply to dim=12"),
    ],
)
def test_fields_that_do_not_fit_are_named(fields, words):
    with pytest.raises(ConfigError, match=words):
        CausalTransformerConfig.parse({**SMALL, **fields})


def test_more_tokens_than_the_context_are_refused():
    with pytest.raises(ShapeError, match=r"at most 8 tokens. Got \(1, 9\)"):
        CausalTransformer(CausalTransformerConfig(**SMALL))(torch.zeros(1, 9, dtype=torch.int64))
