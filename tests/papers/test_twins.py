"""Cells that are compared differ in the named thing alone, by the settings that a run resolves to."""

import itertools

from loops import check_all
from multiway.config import leaves
from multiway_papers.cells import recipes_of
from networks import config_of, network_of

UNCOMPARED = {"baselines", "draws"}
"""What is scored with a network, and does not touch it."""
LAYER = {"layer", "hidden", "rank"}
FEED_FORWARD = {f"block.feed_forward.{field}" for field in ("layer", "hidden", "rank", "sizes")}
HEAD = {"layer", "rank", "pooled", "hidden", "sizes"}
DENSE = ("linear", "matched", "low-rank")
HEADS = ("linear", "ndlinear", "dense-matched", "low-rank", "tensor-train")
SERIES = ("linear", "linear-star", "ndlinear", "dense-matched", "low-rank")
TRANSFORMERS = ("ndtransformer", "transformer-matched", "transformer-low-rank")


def twins():
    """Name of the recipes, what is put in its place, and the fields of the network in which they may differ."""
    for data in ("cifar10-{}", "cifar100-{}", "cifar100-12k-{}", "cifar10-{}-logits", "cifar10-{}-ours"):
        yield f"image-{data}", DENSE, LAYER
    yield "image-cifar10-{}", ("ndlinear", "linear-logits"), LAYER
    yield "image-cifar10-{}", ("ndlinear", "linear"), LAYER | {"hidden_dropout", "logit_dropout"}
    for row in ("cola", "sst2", "cola-tuned", "sst2-tuned"):
        yield f"text-{row}-{{}}", HEADS, HEAD
    for row in ("cola", "sst2"):
        yield f"bert-{row}-{{}}", HEADS, HEAD
    for row, size in itertools.product(
        ("mr", "subj", "cr", "mpqa", "trec", "sst2", "cola"), (4, 8, 16, 32, 64, 128, 256)
    ):
        yield f"tga-{row}-{{}}-{size}", ("tga", "dpa", "ada"), {"attention.kind", "attention.preset"}
    for split, row in itertools.product(("leaky", "honest"), ("ett_h1", "ett_h2", "ett_m1", "ett_m2")):
        yield f"ndlinear-{row}-{split}-{{}}", TRANSFORMERS, {field.removeprefix("block.") for field in FEED_FORWARD}
    for row in ("ecg-five-days", "ecg5000", "epilepsy", "chlorine-partial", "heartbeat", "lsst", "sleep"):
        yield f"series-{row}-{{}}", SERIES, LAYER
    for data, width, blocks in itertools.product(("cifar10", "cifar100"), (200, 300, 400), (3, 6, 9)):
        yield f"vit-{data}-{{}}-{width}-{blocks}", ("nd", "dense", "low-rank"), FEED_FORWARD
    yield "vit-small-cifar10-{}-30-6", ("nd", "dense", "low-rank", "nd-axes"), FEED_FORWARD
    for blocks in (3, 6, 9):
        yield f"vit-equal-flops-cifar10-{{}}-30-{blocks}", ("nd", "dense"), FEED_FORWARD
        yield f"vit-tenth-cifar10-{{}}-30-{blocks}", ("nd", "dense"), FEED_FORWARD
    yield "opt-wikitext2-{}", ("linear", "ndlinear", "dense-matched", "low-rank", "ndlinear-axes"), LAYER | {"sizes"}


def resolved(name: str) -> tuple[dict, dict]:
    """Fields of the network with its defaults, and all other settings of a run.

    A network that reads words has no encoder; its baseline `vectors` may.
    """
    config = config_of(name)
    unread = {"text.encoder"} if getattr(config, "inputs", None) == "words" else set()
    others = {key: value for key, value in leaves(config.plain()).items() if not key.startswith("model.")}
    return network_of(config), {key: value for key, value in others.items() if key not in UNCOMPARED | unread}


def test_twins_differ_in_the_named_fields_alone():
    check_all(check_twins, twins())


def check_twins(name, variants, fields):
    (network, others), *rest = [resolved(name.format(variant)) for variant in variants]
    for other_network, other_settings in rest:
        assert other_settings == others
        apart = {key for key in network.keys() | other_network if network.get(key) != other_network.get(key)}
        assert apart and apart <= fields, apart


def test_leaky_and_honest_cells_of_table_4_differ_in_the_split_alone():
    recipes = recipes_of("ndlinear-table-4")
    honest = [name for name in recipes if "-honest-" in name]
    assert len(honest) == 36
    for name in honest:
        both = [leaves(recipes[each].settings) for each in (name, name.replace("-honest-", "-leaky-"))]
        apart = {key for key in both[0].keys() | both[1] if both[0].get(key) != both[1].get(key)}
        assert apart == {"split.protocol"}, name


def test_twins_of_table_5_differ_in_their_layers_and_in_the_rate_that_validation_chose():
    recipes = recipes_of("ndlinear-table-5")
    for row in ("cardio", "delivery"):
        cells = [leaves(each.settings) for each in recipes.values() if each.row == row]
        for each in cells[1:]:
            apart = {key for key in cells[0].keys() | each if cells[0].get(key) != each.get(key)}
            assert apart <= {"model.name", "model.hidden", "model.rows", "training.learning_rate"}


def test_our_volume_network_and_its_resnet_differ_in_the_network_alone():
    cells = [
        {key: value for key, value in each.settings.items() if key != "model"}
        for each in recipes_of("adrenal").values()
    ]
    assert len(cells) == 2 and cells[0] == cells[1]
