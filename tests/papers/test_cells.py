"""Every recipe is valid, belongs to a table, and names settings that the task knows."""

import pytest

from loops import check_all
from multiway.config import load_yaml
from multiway.errors import ConfigError
from multiway.tasks.registry import task_of
from multiway.workflows.recipe import load_recipe
from multiway_papers.cells import ROOM, recipe_names, recipes_of, table_names
from multiway_papers.grid import RecipeGrid
from multiway_papers.printed import load_published

HORIZONS = (96, 192, 336, 720)
CELLS = {
    "adrenal": 2,
    "floor": 20,
    "hot-components-forecast": 18,
    "hot-components-volumes": 9,
    "hot-figure-3": 18,
    "hot-stocks-table-1": 24,
    "hot-stocks-table-2": 36,
    "hot-stocks-table-3": 24,
    "hot-table-1": 96,
    "hot-table-2": 30,
    "hot-table-3": 48,
    "hot-table-4": 48,
    "hot-table-5": 72,
    "hot-table-6": 72,
    "hot-table-9": 1,
    "hot-later-code": 5,
    "hot-figure-3-right": 54,
    "hot-point": 126,
    "ndlinear-figure-17": 15,
    "ndlinear-opt": 5,
    "ndlinear-opt-full": 8,
    "ndlinear-places": 7,
    "ndlinear-table-2": 20,
    "ndlinear-table-3": 20,
    "ndlinear-table-3-bert": 10,
    "ndlinear-table-3-searched": 2,
    "ndlinear-table-4": 72,
    "ndlinear-table-5": 6,
    "ndlinear-table-6": 40,
    "ndlinear-table-7": 60,
    "ndlinear-table-7-small": 15,
    "ndlinear-table-7-teacher": 1,
    "ndlinear-table-7-tenth": 9,
    "peers": 120,
    "segmentation": 2,
    "short-hot-tables-3-5": 84,
    "stocknet-rescored": 1,
    "tga-controls": 35,
    "tga-trained": 14,
    "tga-figure-2": 147,
}


def test_the_tables_hold_every_recipe_once():
    names = [name for table in CELLS for name in recipes_of(table)]
    assert {table: len(recipes_of(table)) for table in CELLS} == CELLS
    assert sorted(names) == recipe_names() and len(names) == len(set(names)) == sum(CELLS.values())


def test_a_cell_says_what_its_table_its_row_and_its_variant_say():
    recipe = load_recipe("hot-type-weather-full")
    assert (recipe.task, recipe.table, recipe.row, recipe.variant) == ("forecast", "hot-table-5", "weather", "full")
    assert recipe.data == "weather" and recipe.note.startswith("Computed on the file as it is, its 81 cells of -9999")
    assert recipe.figures == {"mse": 0.245, "mae": 0.275}
    assert recipe.published.source == "HOT, table 5: mean over the four horizons"
    assert recipe.form == "paper" and recipe.settings["model"]["attention"] == "full"
    assert recipe.settings["training"] == {
        "optimizer": "adam",
        "learning_rate": 0.0002,
        "schedule": "constant",
        "warmup_steps": 0,
        "average": None,
        "clip_norm": None,
        "weight_decay": 0.0,
        "batch_size": 32,
        "epochs": 100,
        "patience": 0,
        "loss": "mse",
        "validation_loss": "mae",
    }


def test_a_cell_may_state_what_its_row_and_its_variant_do_not():
    sizes = {}
    for horizon in HORIZONS:
        settings = load_recipe(f"peers-etth1-itransformer-{horizon}").settings
        sizes[horizon] = settings["model"].get("dim"), settings["training"]["epochs"]
    assert sizes == {96: (None, 10), 192: (None, 10), 336: (512, 10), 720: (512, 10)}
    assert load_recipe("peers-etth2-patchtst-336").settings["model"]["name"] == "patchtst_small"
    assert load_recipe("peers-exchange-itransformer-336").settings["training"]["epochs"] == 1


def test_figures_are_of_a_variant_at_a_horizon():
    assert load_recipe("peers-weather-rlinear-720").figures == {"mse": 0.364, "mae": 0.353}
    assert load_recipe("peers-weather-hot-720").figures == {"mse": 0.350, "mae": 0.343}
    assert load_recipe("peers-etth1-hot-96").figures == {}


def test_a_row_may_have_another_name_than_its_key():
    assert load_recipe("floor-etth1-96").plain() == {
        "task": "forecast",
        "table": "floor",
        "row": "ett_h1",
        "variant": None,
        "form": None,
        "data": "ett_h1",
        "horizons": [96],
        "published": {"source": "iTransformer, look-back 96", "mse": 0.386, "mae": 0.405},
        "note": None,
        "first": {},
        "settings": {"refit": "none", "training": {"epochs": 2}, "model": {"level_features": True}},
    }


def test_a_run_that_has_to_be_there_before_is_of_a_recipe_and_named_in_the_settings():
    needed = [recipe for table in table_names() for recipe in recipes_of(table).values() if recipe.first]
    assert {recipe.table for recipe in needed} == {
        "ndlinear-figure-17",
        "ndlinear-table-7-small",
        "ndlinear-table-7-tenth",
    }
    for recipe in needed:
        assert recipe.first == {recipe.settings["distill"]["teacher"]: "vit-teacher-cifar10"}
        assert load_recipe("vit-teacher-cifar10").task == recipe.task


def test_the_narrower_source_wins():
    sources = {name: load_recipe(name).published.source for name in ("hot-organ", "resnet18-organ", "resnet50-organ")}
    assert sources == {
        "hot-organ": "HOT, tables 2 and 10",
        "resnet18-organ": "HOT, table 2, after MedMNIST v2",
        "resnet50-organ": "HOT, table 2, after MedMNIST v2",
    }


def test_table_1_has_every_cell_of_the_paper():
    cells = {(recipe.row, recipe.horizons) for recipe in recipes_of("hot-table-1").values()}
    rows = ("ecl", "exchange", "solar", "traffic", "weather", "ett_h1", "ett_h2", "ett_m1")
    assert cells == {(row, (horizon,)) for row in rows for horizon in HORIZONS}
    printed = {recipe.row for recipe in recipes_of("hot-table-1").values() if recipe.figures}
    assert printed == set(rows[:5])


def test_table_2_has_the_paper_and_two_resnets_on_all_six_sets():
    rows = ("organ", "nodule", "fracture", "adrenal", "vessel", "synapse")
    cells = {(recipe.row, recipe.variant, recipe.data) for recipe in recipes_of("hot-table-2").values()}
    variants = ("HOT", "ResNet-18 3D", "ResNet-50 3D")
    assert cells == {(row, variant, f"{row}mnist3d") for row in rows for variant in variants}
    assert all(set(recipe.figures) == {"auc", "acc"} for recipe in recipes_of("hot-table-2").values())


ABLATIONS = {
    "hot-table-3": (4, 4, 4),
    "hot-table-4": (4, 4, 4),
    "hot-table-5": (4, 6, 4),
    "hot-table-6": (4, 6, 4),
    "hot-figure-3": (1, 6, 0),
    "hot-figure-3-right": (3, 6, 0),
    "hot-point": (3, 14, 0),
    "hot-components-forecast": (2, 3, 0),
    "hot-components-volumes": (1, 3, 0),
    "short-hot-tables-3-5": (4, 7, 0),
}
"""Data sets, variants, and variants with figures in print."""


def test_an_ablation_has_every_variant_of_every_row_in_three_forms():
    check_all(check_ablation, ABLATIONS)


def check_ablation(table):
    recipes = recipes_of(table).values()
    rows, variants, printed = ABLATIONS[table]
    cells = {(recipe.row, recipe.variant, recipe.form) for recipe in recipes}
    assert len(cells) == len(recipes) == rows * variants * 3
    assert len({variant for _, variant, _ in cells}) == variants
    figures = {recipe.variant for recipe in recipes if recipe.figures and recipe.row != "adrenal"}
    assert len(figures) == printed
    assert not any(recipe.figures for recipe in recipes if recipe.row == "adrenal")


CODE = ("stocknet complete as trained in the code", "published-code as trained in the code")
LATER = ("astock", "dhaka")
"""Named by the paper for later work."""
STOCK_TABLES = {
    "hot-stocks-table-1": {
        *((row, None) for row in ("published-code", "stocknet", "stocknet complete", *LATER, *CODE)),
        ("best of the grid of section 6.2", "our training"),
    },
    "hot-stocks-table-2": {
        (row, f"{modality} {kernel}")
        for row in ("stocknet", "stocknet complete")
        for modality in ("multimodal", "price", "text")
        for kernel in ("kernelised", "softmax")
    },
    "hot-stocks-table-3": {
        (row, f"attends {modes}")
        for row in ("stocknet", "stocknet complete")
        for modes in ("both", "none", "stock", "time")
    },
}


def test_tables_of_stocks_have_every_cell_and_say_what_is_wrong_with_its_figure():
    check_all(check_table_of_stocks, STOCK_TABLES)


def check_table_of_stocks(table):
    recipes = recipes_of(table).values()
    assert {(recipe.row, recipe.variant) for recipe in recipes} == STOCK_TABLES[table]
    for recipe in recipes:
        if recipe.row in LATER:
            assert recipe.data == recipe.row and not recipe.figures and "states no more" in recipe.note
            continue
        assert recipe.data == "stocknet" and "ACC 0.987, MCC 0.969" in recipe.note
        if recipe.row == "stocknet complete":
            assert set(recipe.figures) == {"acc", "f1", "mcc"}


def test_cells_of_tgas_figure_differ_in_size_and_attention_alone():
    cells = recipes_of("tga-figure-2").values()
    rows = ("mr", "subj", "cr", "mpqa", "trec", "sst2", "cola")
    kinds = {"tga": None, "dpa": "dot_product", "ada": "additive"}
    sizes = [2**power for power in range(2, 9)]
    assert [(cell.row, cell.variant) for cell in cells] == [
        (row, f"{kind}-{size}") for row in rows for kind in kinds for size in sizes
    ]
    for cell in cells:
        kind, _, size = cell.variant.partition("-")
        model = cell.settings["model"]
        assert (model["dim"], model["attention"].get("kind")) == (int(size), kinds[kind])
        assert set(model) == {"name", "dim", "attention"} and cell.settings["training"]["batch_size"] == 64
    rest = {row: [_but_model(cell.settings) for cell in cells if cell.row == row] for row in rows}
    assert all(each == group[0] for group in rest.values() for each in group)


def _but_model(settings):
    """What the cells of a row share; baselines and their encoder, which no network needs, belong to one of them."""
    return {name: value for name, value in settings.items() if name not in ("model", "baselines", "text")}


def test_every_recipe_states_a_source_and_settings_that_its_task_knows():
    for name in recipe_names():
        recipe = load_recipe(name)
        assert recipe.published is not None and recipe.published.source, name
        for settings in recipe.settings_of_runs():
            assert task_of(recipe.task).configure(settings).data == recipe.data, name


def test_figures_stand_in_the_published_tables_alone():
    """A grid names a table; a number of its own would have to be a setting."""
    for path in (ROOM / "recipes").glob("*.yaml"):
        grid = load_yaml(path)
        parts = [grid["shared"], *grid["rows"].values(), *grid.get("variants", {}).values()]
        parts += [part for row in grid.get("cells", {}).values() for part in row.values()]
        assert {name for part in parts for name in part.get("published", {})} <= {"source"}, path.name
        assert not {"figures", "metrics"} & set(grid), path.name


@pytest.mark.parametrize(
    ("field", "message"), [("method", "has no x. Known: autoformer, "), ("column", "has no x. Known: ecl, ")]
)
def test_a_figure_that_is_not_printed_is_named(field, message):
    with pytest.raises(ConfigError, match=f"HOT, table 12: {message}"):
        load_published("hot-table-12").scores(**({"method": "hot", "column": "ecl", "horizon": 96} | {field: "x"}))


def test_a_cell_of_several_horizons_is_a_run_for_each():
    recipe = load_recipe("hot-order-ecl-both")
    assert [settings["horizon"] for settings in recipe.settings_of_runs()] == list(HORIZONS)
    assert [settings["data"] for settings in load_recipe("hot-organ").settings_of_runs()] == ["organmnist3d"]


USERS_OWN = "task: anything\ntable: mine\nrow: a\ndata: a\n"


def load_text(path, text: str):
    path.write_text(text)
    return load_recipe(str(path))


def test_a_file_of_ones_own_is_one_cell_of_any_task_and_metric(tmp_path):
    recipe = load_text(tmp_path / "mine.yaml", USERS_OWN + "published: {perplexity: 12.5, source: here}\n")
    assert recipe.figures == {"perplexity": 12.5} and recipe.settings_of_runs() == [{"data": "a", "answer": "network"}]
    assert load_text(tmp_path / "bare.yaml", USERS_OWN).figures == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("published: {auc: .nan, source: here}\n", r"mine.yaml: published.auc: Input should be a finite number"),
        ("published: {auc: high, source: here}\n", r"published.auc: Input should be a valid number"),
        ("published: {auc: 0.9}\n", r"published.source: Field required"),
        ("horizons: [4.5]\n", r"horizons.0: Input should be a valid integer"),
        ("horizon: 4\n", r"horizon is not a known field, did you mean horizons"),
    ],
)
def test_a_wrong_field_of_ones_own_file_is_named(text, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        load_text(tmp_path / "mine.yaml", USERS_OWN + text)


SMALL_GRID = {
    "task": "forecast",
    "name": "mine-{row}-{horizon}",
    "shared": {},
    "rows": {"a": {}, "b": {}},
    "horizons": [1, 2],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "mine-{rows}"}, r"mine.yaml: name: String should match pattern"),
        ({"name": "mine-{horizon}"}, r"name: several cells are called mine-1, mine-2. Got mine-{horizon}"),
        ({"rows": {"a": {"setings": {}}}}, r"rows.a.setings is not a known field"),
        ({"shared": {"published": {"mse": 0.5}}}, r"shared.published.mse: Input should be a valid string"),
        ({"shared": {"printed": {"tabel": "x"}}}, r"shared.printed.tabel is not a known field"),
        ({"cells": {"a": {"wide": {}}}}, r"cells.a.wide: the table has no such cell"),
    ],
)
def test_a_wrong_field_of_a_grid_is_named(change, message):
    with pytest.raises(ConfigError, match=message):
        RecipeGrid.parse(SMALL_GRID | change, "mine.yaml")


def test_a_misspelt_name_gets_the_nearest():
    with pytest.raises(ConfigError, match="did you mean hot-ecl-96"):
        load_recipe("hot-ecl-97")


def test_an_unknown_table_gets_the_nearest():
    with pytest.raises(ConfigError, match=r"did you mean hot-table-1.* Known: adrenal, floor,"):
        recipes_of("hot-tabel-1")


def test_cells_of_tga_need_no_encoder_but_for_its_baseline():
    for cell in recipes_of("tga-figure-2").values():
        assert ("text" in cell.settings) == ("vectors" in cell.settings["baselines"]), cell.variant


def test_a_recipe_is_the_callers_own_to_change():
    load_recipe("hot-adrenal").settings["model"].clear()
    assert load_recipe("hot-adrenal").settings["model"]["preset"] == "paper"
