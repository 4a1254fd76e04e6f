"""Recipes of NdLinear's table 7 and figure 17: what is published, twins of equal size, students of equal FLOPs."""

import functools
import re

import pytest
import torch

from multiway.compress.measuring import count_flops
from multiway.config import leaves
from multiway.models import create_model
from multiway.tasks.registry import task_of
from multiway.workflows.recipe import load_recipe
from multiway_papers.cells import recipes_of
from multiway_papers.printed import load_published


def config_of(recipe):
    return task_of("images").configure(recipe.settings_of_runs()[0])


def network_of(recipe):
    config = config_of(recipe)
    with torch.device("meta"):
        return create_model(config.model_name, **config.network_fields(sizes=(32, 32), in_channels=3, num_classes=10))


def parameters_of(recipe):
    """Of the student, as figure 18 counts them: the token that learns from the teacher and its head are not in it."""
    named = network_of(recipe).named_parameters()
    return sum(parameter.numel() for name, parameter in named if not name.startswith("distill"))


@functools.cache
def counts_of(table):
    """Parameters of every variant of a table."""
    return {recipe.variant: parameters_of(recipe) for recipe in recipes_of(table).values()}


def test_figures_are_those_of_the_published_table():
    table = load_published("ndlinear-table-7")
    for recipe in recipes_of("ndlinear-table-7").values():
        ((metric, printed),) = recipe.figures.items() or [(None, None)]
        if recipe.variant.startswith(("nd", "naive")):
            assert printed == table.figure(recipe.variant, recipe.row, metric).value
        else:
            assert printed is None


@pytest.mark.parametrize("table", ["ndlinear-table-7", "ndlinear-table-7-small"])
def test_twins_have_as_many_parameters(table):
    counts = counts_of(table)
    for variant, count in counts.items():
        kind, _, place = variant.partition("-")
        if kind in ("dense", "low"):
            assert count == pytest.approx(counts[f"nd-{place.removeprefix('rank-')}"], rel=0.002)
    assert len(counts) > 12


def test_the_naive_student_is_larger_than_every_other_of_its_depth():
    counts = counts_of("ndlinear-table-7")
    assert (counts["nd-200-3"], counts["naive-500-9"]) == (1_675_366, 14_361_478)
    for variant, count in counts.items():
        assert count <= counts[f"naive-500-{variant[-1]}"]


def test_students_of_figure_17_train_for_equal_flops():
    image = torch.zeros(1, 3, 32, 32, device="meta")
    spent = {
        recipe.variant: count_flops(network_of(recipe).eval(), image) * config_of(recipe).training.epochs
        for recipe in recipes_of("ndlinear-figure-17").values()
    }
    for variant, flops in spent.items():
        assert flops == pytest.approx(spent[f"naive-50-{variant[-1]}"], rel=0.04)


def test_the_protocol_is_the_published_one():
    config = config_of(load_recipe("vit-cifar10-nd-200-3"))
    training, distill = config.training, config.distill
    assert (distill.temperature, distill.alpha) == (3.0, 0.5)
    assert (training.optimizer, training.learning_rate, training.weight_decay) == ("adamw", 2.75e-4, 1e-4)
    assert (training.epochs, training.batch_size, training.schedule) == (30, 256, "cosine")


SIZES = re.compile(
    r"model\.(name|dim|patch_size|block\.(num_heads|head_dim)|block\.feed_forward\.(sizes|hidden))"
    r"|augment\.crop|distill\.teacher|training\.learning_rate"
)
"""What a student of a tenth of the widths has of its own."""


@pytest.mark.parametrize("blocks", [3, 6, 9])
def test_students_of_a_tenth_of_the_widths_have_the_published_protocol(blocks):
    ours = leaves(load_recipe(f"vit-tenth-cifar10-nd-30-{blocks}").settings)
    printed = leaves(load_recipe(f"vit-cifar10-nd-300-{blocks}").settings)
    differing = {field for field in ours.keys() | printed.keys() if ours.get(field) != printed.get(field)}
    assert {field for field in differing if not SIZES.fullmatch(field)} == set()
    assert ours["model.distill_token"] is True and ours["training.epochs"] == 30
