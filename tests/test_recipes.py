"""Every recipe is valid, belongs to a table, and names settings that the task knows."""

import pytest

from multiway.errors import ConfigError
from multiway.recipes import load_recipe, recipe_names, recipes_of

HORIZONS = (96, 192, 336, 720)


def test_table_1_has_every_cell_of_the_paper():
    cells = {(recipe.row, recipe.horizons) for recipe in recipes_of("hot-table-1").values()}
    rows = ("ecl", "exchange", "solar", "traffic", "weather")
    assert cells == {(row, (horizon,)) for row in rows for horizon in HORIZONS}


@pytest.mark.parametrize("table", ["hot-table-3", "hot-table-5"])
def test_ablation_tables_have_four_variants_of_three_rows(table):
    cells = [(recipe.row, recipe.variant) for recipe in recipes_of(table).values()]
    assert len(cells) == len(set(cells)) == 12
    assert all(recipe.horizons == HORIZONS for recipe in recipes_of(table).values())


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_states_a_source(name):
    recipe = load_recipe(name)
    assert recipe.published is not None
    assert recipe.published.source


def test_a_misspelt_name_gets_the_nearest():
    with pytest.raises(ConfigError, match="did you mean hot-ecl-96"):
        load_recipe("hot-ecl-97")


def test_an_unknown_field_in_a_users_recipe_is_named(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("task: forecast\ntable: mine\nrow: a\ndata: a\nhorizon: 4\nhorizons: [4]\n")
    with pytest.raises(ConfigError, match="horizon is not a known field, did you mean horizons"):
        load_recipe(str(path))
