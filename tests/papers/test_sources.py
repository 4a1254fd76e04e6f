"""Every setting of a recipe says where it is from: the paper's text, its public code, or ours and why."""

import pytest

import multiway_papers as papers
from loops import check_all
from multiway.errors import ConfigError
from multiway.tasks.registry import task_of
from multiway.workflows.recipe import load_recipe
from multiway_papers.cells import recipe_names, recipes_of, table_names
from multiway_papers.grid import RecipeGrid, Stated, covering, repositories, trace, traced

OWN = {"adrenal", "floor", "peers", "segmentation", "stocknet-rescored"}
"""Tables of ours, whose networks are not a paper's."""
DECIDES = {
    "training.batch_size", "training.clip_norm", "training.epochs", "training.learning_rate", "training.optimizer",
    "training.patience", "training.schedule", "training.warmup_steps", "training.weight_decay",
}  # fmt: skip
"""What decides a training, and is therefore never left to a default of ours."""


def test_every_setting_of_every_recipe_has_a_source():
    check_all(check_sources, recipe_names())


def check_sources(name):
    settings = papers.recipe_settings(name)
    assert [each.setting for each in settings if each.source is None or not each.where] == []
    assert {each.source for each in settings} <= {"text", "code", "ours"}


def test_the_settings_with_sources_are_those_of_the_recipe():
    check_all(check_same_settings, recipe_names())


def check_same_settings(name):
    from multiway.config import leaves

    assert {each.setting: each.value for each in papers.recipe_settings(name)} == leaves(load_recipe(name).settings)


def test_recipes_of_a_paper_leave_nothing_that_decides_a_training_to_a_default():
    check_all(check_training, [name for name in table_names() if name not in OWN])


def check_training(table):
    for name in recipes_of(table):
        assert DECIDES - {each.setting for each in papers.recipe_settings(name)} == set(), name


def test_each_of_the_four_papers_has_settings_of_its_text_and_of_ours():
    for prefix in ("hot-", "hot-stocks", "ndlinear-", "tga-"):
        tables = [name for name in table_names() if name.startswith(prefix)]
        kinds = {each.source for table in tables for name in recipes_of(table) for each in papers.recipe_settings(name)}
        assert kinds >= {"text", "ours"}, prefix


def test_a_source_covers_what_lies_in_its_field_and_the_nearest_wins():
    sources = {"*": "ours: all", "training": "text: 1", "training.epochs": "text: 2"}
    assert [covering(name, sources) for name in ("training.epochs", "training.loss", "model.dim")] == [
        "text: 2", "text: 1", "ours: all",
    ]  # fmt: skip
    assert covering("trainings", {"training": "text: 1"}) is None


def test_a_value_that_a_narrower_part_changes_needs_a_source_of_its_own():
    shared = Stated({"epochs": 10, "rate": 1}, {"epochs": "text: 1", "rate": "ours: why", "loss": "text: 2"})
    own = Stated({"epochs": 20, "rate": 2, "loss": "mse"}, {}, (shared,))
    assert {each.setting: each.source for each in traced([shared, own])} == {
        "epochs": None, "rate": "ours", "loss": "text",
    }  # fmt: skip
    same = Stated({"epochs": 10}, {}, (shared,))
    assert [each.source for each in traced([shared, same]) if each.setting == "epochs"] == ["text"]


def test_a_source_of_one_file_covers_no_setting_of_another():
    paper, grid = Stated({}, {"*": "text: all"}), Stated({"epochs": 10}, {})
    [epochs] = traced([paper, grid])
    assert epochs.source is None


def test_a_recipe_without_a_source_is_traced_as_such():
    grid = RecipeGrid.parse(
        {"task": "forecast", "name": "mine-{row}", "shared": {"settings": {"refit": "none"}}, "rows": {"a": {}}}, "mine"
    )
    [cell] = grid.all_cells()
    assert [each.source for each in trace(grid, cell)] == [None]


@pytest.mark.parametrize("source", ["text", "print: 1", "ours:", "code: hot"])
def test_a_source_has_a_kind_and_a_place(source):
    fields = {"task": "forecast", "name": "mine-{row}", "shared": {"sources": {"*": source}}, "rows": {"a": {}}}
    with pytest.raises(ConfigError, match=r"shared.sources.\*: String should match pattern"):
        RecipeGrid.parse(fields, "mine.yaml")


def test_code_is_named_by_its_repository_and_commit():
    assert all(len(each["commit"]) == 40 and each["name"].count("/") == 1 for each in repositories().values())
    [code] = traced([Stated({"epochs": 1}, {"epochs": "code: hot timeseries_main.py"})])
    assert code.where == "s-omranpour/HOT@a94fbf0, timeseries_main.py"
    with pytest.raises(ConfigError, match="has no repository unknown"):
        traced([Stated({"epochs": 1}, {"epochs": "code: unknown main.py"})])


def test_the_name_of_an_unknown_recipe_gets_the_nearest():
    with pytest.raises(ConfigError, match="did you mean hot-ecl-96"):
        papers.recipe_settings("hot-ecl-97")


def test_settings_are_those_that_a_run_starts_with():
    settings = {each.setting: each.value for each in papers.recipe_settings("hot-ecl-96")}
    config = task_of("forecast").configure(load_recipe("hot-ecl-96").settings_of_runs()[0])
    assert settings["training.epochs"] == config.training.epochs == 100
