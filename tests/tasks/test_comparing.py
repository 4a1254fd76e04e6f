"""Runs side by side are called by the settings that tell them apart."""

import re
from importlib.resources import files
from types import SimpleNamespace

import pandas as pd
import pytest

from multiway.report.scales import NUM_LINES
from multiway.tasks.answers import join_own_columns
from multiway.tasks.comparing import apart, are_comparable, caution_of, names_of
from multiway.tasks.registry import task_of
from multiway_papers.cells import recipes_of


def run(data, **settings):
    config = SimpleNamespace(data=data, plain=lambda: {"data": data, **settings})
    return SimpleNamespace(config=config, facts={})


@pytest.mark.parametrize("table", ["ndlinear-figure-17", "ndlinear-table-7-small"])
def test_every_variant_of_a_table_has_a_short_name_of_its_own(table):
    recipes = recipes_of(table).values()
    configs = [task_of(each.task).configure(each.settings_of_runs()[0]).plain() for each in recipes]
    names = dict(zip((each.variant for each in recipes), apart(configs), strict=True))
    assert names["nd-20-3"].startswith("dim=20, num_blocks=3, layer=nd_linear")
    assert names["naive-50-9"] == "dim=50, num_blocks=9"
    assert len(set(names.values())) == len(names) <= NUM_LINES and max(map(len, names.values())) <= 80


def test_a_few_settings_are_all_said_and_long_values_are_cut():
    configs = [{"model": {"dim": dim}, "training": {"epochs": epochs}, "a": "b"} for dim, epochs in ((20, 10), (30, 7))]
    assert apart(configs) == ["dim=20, epochs=10", "dim=30, epochs=7"]
    first, second = apart([{"words": "a" * 99}, {"words": None}])
    assert first == f"words={'a' * 39}…" and second == "words=null"


def test_a_place_has_as_many_words_as_tell_it_from_every_other():
    configs = [{"split": {"seed": 0}, "training": {"seed": seed, "x": {"seed": 1}}} for seed in (1, 2)]
    assert apart(configs) == ["training.seed=1", "training.seed=2"]


def test_data_are_said_where_they_differ_and_equal_runs_are_numbered():
    first, same, other = run("a/loads.csv", dim=1), run("a/loads.csv", dim=1), run("prices.csv", dim=2)
    assert names_of([[first], [same]]) == ["loads (1)", "loads (2)"]
    assert names_of([[first], [same], [other]]) == ["loads, dim=1 (1)", "loads, dim=1 (2)", "prices, dim=2"]
    assert names_of([[first], [run("a/loads.csv")]]) == ["dim=1", "loads"]


def test_a_seed_names_a_run_but_no_group_of_seeds():
    seeds = [run("loads.csv", training={"seed": seed}) for seed in range(3)]
    assert names_of([seeds[:1], seeds[1:2]]) == ["seed=0", "seed=1"]
    assert names_of([seeds[:1], seeds[1:]]) == ["loads (1)", "loads (2)"]


def test_every_line_has_a_colour_and_a_dash_of_its_own():
    style = files("multiway.report").joinpath("style.css").read_text()
    lines = dict(re.findall(r"^\.(s\d+)\{([^}]*)\}", style, re.MULTILINE))
    assert list(lines) == [f"s{place}" for place in range(NUM_LINES)]
    drawn = {
        line: (re.search(r"--c\d", line)[0], re.search(r"dasharray:([^;]*)|$", line)[1]) for line in lines.values()
    }
    assert len(set(drawn.values())) == NUM_LINES


@pytest.mark.parametrize(
    ("change", "caution"),
    [
        ({}, None),
        ({"splits": {"test": {"samples": 8}}}, "scored on different test rows: their scores cannot be compared"),
        ({"classes": ("a", "b", "c")}, "scored on different test rows: their scores cannot be compared"),
        ({"data_sha256": "other"}, "read different data: compare their scores only if"),
    ],
)
def test_runs_are_compared_only_on_the_same_test_rows(change, caution):
    first, second = ({"splits": {"test": {"samples": 9}}, "data_sha256": "one", "classes": ("a", "b")} | more
                     for more in ({}, change))  # fmt: skip
    groups = [
        [SimpleNamespace(facts=facts, state=SimpleNamespace(classes=facts["classes"]))] for facts in (first, second)
    ]
    assert are_comparable(groups) is (caution is None or "cannot" not in caution)
    found = caution_of(groups)
    assert found is None if caution is None else caution in found


def test_columns_of_the_user_are_kept_and_ours_get_another_name():
    own = pd.DataFrame({"age": [1, 2], "predicted": ["x", "y"], "multiway_predicted": [0, 0]})
    frame, notes = join_own_columns(own, pd.DataFrame({"predicted": ["a", "b"], "p_a": [0.9, 0.2]}))
    assert list(frame) == ["age", "predicted", "multiway_predicted", "multiway_predicted_", "p_a"]
    assert frame["predicted"].tolist() == ["x", "y"] and frame["multiway_predicted_"].tolist() == ["a", "b"]
    assert notes == ("the data have columns predicted, so the answers stand in multiway_predicted_",)
    assert join_own_columns(own[["age"]], frame[["p_a"]])[1] == ()
