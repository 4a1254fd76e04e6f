"""Every recipe is valid, belongs to a table, and names settings that the task knows."""

import pytest

from multiway.errors import ConfigError
from multiway.recipes import load_recipe, recipe_names, recipes_of
from multiway.tasks.registry import task_of

HORIZONS = (96, 192, 336, 720)


def test_table_1_has_every_cell_of_the_paper():
    cells = {(recipe.row, recipe.horizons) for recipe in recipes_of("hot-table-1").values()}
    rows = ("ecl", "exchange", "solar", "traffic", "weather")
    assert cells == {(row, (horizon,)) for row in rows for horizon in HORIZONS}


def test_table_2_has_the_paper_and_two_resnets_on_all_six_sets():
    rows = ("organ", "nodule", "fracture", "adrenal", "vessel", "synapse")
    cells = {(recipe.row, recipe.variant, recipe.data) for recipe in recipes_of("hot-table-2").values()}
    variants = ("HOT", "ResNet-18 3D", "ResNet-50 3D")
    assert cells == {(row, variant, f"{row}mnist3d") for row in rows for variant in variants}
    assert all(set(recipe.figures) == {"auc", "acc"} for recipe in recipes_of("hot-table-2").values())


@pytest.mark.parametrize("table", ["hot-table-4", "hot-table-6"])
def test_ablation_tables_of_volumes_have_four_variants_of_three_rows_and_of_adrenal(table):
    recipes = recipes_of(table).values()
    cells = {(recipe.row, recipe.variant) for recipe in recipes}
    assert len(cells) == 16
    for recipe in recipes:
        assert bool(recipe.figures) == (recipe.row != "adrenal")


def test_figure_3_varies_heads_alone():
    settings = [dict(recipe.settings["model"]) for recipe in recipes_of("hot-figure-3").values()]
    assert sorted(each.pop("num_heads") for each in settings) == [1, 2, 4, 8, 16, 32]
    assert all(each == settings[0] for each in settings)


@pytest.mark.parametrize("table", ["hot-table-3", "hot-table-5"])
def test_ablation_tables_have_four_variants_of_three_rows(table):
    cells = [(recipe.row, recipe.variant) for recipe in recipes_of(table).values()]
    assert len(cells) == len(set(cells)) == 12
    assert all(recipe.horizons == HORIZONS for recipe in recipes_of(table).values())


STOCK_TABLES = {
    "hot-stocks-table-1": [("published-code", None), ("stocknet", None), ("stocknet complete", None)],
    "hot-stocks-table-2": [
        ("stocknet", f"{modality} {kernel}")
        for modality in ("multimodal", "price", "text")
        for kernel in ("kernelised", "softmax")
    ],
    "hot-stocks-table-3": [("stocknet", f"attends {modes}") for modes in ("both", "none", "stock", "time")],
}


@pytest.mark.parametrize("table", STOCK_TABLES)
def test_tables_of_stocks_have_every_cell_and_say_what_is_wrong_with_its_figure(table):
    recipes = recipes_of(table).values()
    assert sorted((recipe.row, recipe.variant) for recipe in recipes) == STOCK_TABLES[table]
    for recipe in recipes:
        assert set(recipe.figures) == {"acc", "f1", "mcc"} and recipe.data == "stocknet"
        assert "ACC 0.987, MCC 0.969" in recipe.note


@pytest.mark.parametrize("table", ["hot-stocks-table-2", "hot-stocks-table-3"])
def test_cells_of_an_ablation_of_stocks_differ_in_the_model_alone(table):
    settings = [{**recipe.settings} for recipe in recipes_of(table).values()]
    models = [each.pop("model") for each in settings]
    assert all(each == settings[0] for each in settings) and settings[0]["protocol"] == {"name": "stocknet"}
    assert len({repr(sorted(model.items())) for model in models}) == len(models)


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_states_a_source(name):
    recipe = load_recipe(name)
    assert recipe.published is not None
    assert recipe.published.source


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_has_settings_that_its_task_knows(name):
    recipe = load_recipe(name)
    task = task_of(recipe.task)
    for settings in recipe.settings_of_runs():
        assert task.make_config(settings, {}).data == recipe.data


def test_a_cell_of_several_horizons_is_a_run_for_each():
    recipe = load_recipe("hot-order-ecl-both")
    assert [settings["horizon"] for settings in recipe.settings_of_runs()] == list(HORIZONS)
    assert [settings["data"] for settings in load_recipe("hot-organ").settings_of_runs()] == ["organmnist3d"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "task: volumes\nhorizons: [96]\n",
            r"horizons belong to the task forecast.* Got volumes, \(96,\)",
        ),
        ("task: forecast\n", "horizons belong to the task forecast"),
        ("task: volumes\npublished: {mse: 0.1, source: here}\n", "published: mse is no figure of the task volumes"),
        (
            "task: volumes\npublished: {auc: 88.6, source: here}\n",
            "published.auc: Input should be less",
        ),
        ("task: volumes\npublished: {mcc: 0.5, source: here}\n", "published: mcc is no figure of the task volumes"),
        ("task: stocks\npublished: {mcc: 51.6, source: here}\n", "published.mcc: Input should be less"),
        ("task: volume\n", "'forecast', 'volumes', 'segment' or 'stocks'"),
    ],
)
def test_what_does_not_belong_to_the_task_is_refused(text, message, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(f"table: mine\nrow: a\ndata: a\n{text}")
    with pytest.raises(ConfigError, match=message):
        load_recipe(str(path))


def test_a_misspelt_name_gets_the_nearest():
    with pytest.raises(ConfigError, match="did you mean hot-ecl-96"):
        load_recipe("hot-ecl-97")


def test_an_unknown_field_in_a_users_recipe_is_named(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("task: forecast\ntable: mine\nrow: a\ndata: a\nhorizon: 4\nhorizons: [4]\n")
    with pytest.raises(ConfigError, match="horizon is not a known field, did you mean horizons"):
        load_recipe(str(path))
