"""Recipes in a paper's form train as the paper says, field by field; the lists here are copied from its text."""

from pathlib import Path
from typing import Any

import pytest

from loops import check_all
from multiway.config import load_yaml
from multiway.models import create_model, model_config, model_defaults
from multiway.tasks.registry import task_of
from multiway.workflows.recipe import load_recipe
from multiway_papers.cells import recipe_names

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "src" / "multiway_papers" / "settings"

PLAIN_TRAINING = {
    "schedule": "constant", "warmup_steps": 0, "clip_norm": None, "weight_decay": 0.0, "average": None,
    "accumulation": 1, "label_smoothing": 0.0, "class_weights": "none", "validations_per_epoch": 1,
    "precision": "float32",
}  # fmt: skip
"""What no text mentions is off."""
TRAINING = {
    "forecast": {
        **PLAIN_TRAINING, "optimizer": "adam", "learning_rate": 2e-4, "batch_size": 32, "epochs": 100, "patience": 0,
        "loss": "mse", "validation_loss": "mae",
    },
    "volumes": {
        **PLAIN_TRAINING, "optimizer": "adam", "learning_rate": 2e-4, "batch_size": 32, "epochs": 100, "patience": 0,
        "loss": "cross_entropy", "validation_loss": None,
    },
    "stocks": {
        **PLAIN_TRAINING, "optimizer": "adam", "learning_rate": 1e-4, "epochs": 1000, "loss": "cross_entropy",
    },
}  # fmt: skip
"""HOT, appendix D; stock HOT, section 6.2."""
SEARCHED = {
    "forecast": {
        "num_blocks": {1, 2, 3, 4}, "dim": {64, 128, 256}, "dropout": {0.0, 0.1, 0.2, 0.3, 0.4}, "num_heads": {1, 4, 8},
        "patch_length": {4}, "pooling": {"mean", "flatten"},
    },
    "volumes": {
        "num_blocks": {1, 2, 3, 4}, "dim": {64, 128, 256}, "dropout": {0.0, 0.1, 0.2, 0.3, 0.4}, "num_heads": {1, 4, 8},
        "kernel_size": {3, 5, 7}, "pooling": {"mean", "flatten"},
    },
    "stocks": {
        "num_blocks": {2, 4, 6}, "dim": {32, 64, 128}, "dropout": {0.0, 0.2, 0.4}, "num_heads": {1, 4, 8, 16},
    },
}  # fmt: skip
"""HOT, table 9; stock HOT, section 6.2. Figure 3 goes beyond the heads of table 9."""
FORM = {"preset": "paper", "norm": "rms", "combine": "product", "mode_pooling": None}
VARIED = {
    "hot-table-3": {"attended_modes"},
    "hot-table-4": {"attended_modes"},
    "hot-table-5": {"attention", "feature_map", "rotary", "qk_norm"},
    "hot-table-6": {"attention", "feature_map", "rotary", "qk_norm"},
    "hot-figure-3": {"num_heads"},
    "hot-figure-3-right": {"num_heads"},
    "hot-point": {
        "patch_length",
        "attended_modes",
        "attention",
        "feature_map",
        "num_heads",
        "use_attention",
        "use_ffn",
    },
    "hot-components-forecast": {"use_attention", "use_ffn"},
    "hot-components-volumes": {"use_attention", "use_ffn"},
    "hot-stocks-table-2": {"modality", "feature_map"},
    "hot-stocks-table-3": {"attended_modes"},
}
"""What the cells of a table differ in, the model's fields alone. Table 9 has patches beyond the 4 of appendix D."""
IN_PRINT = [
    name
    for name in recipe_names("hot-*")
    if load_recipe(name).form == "paper" and not name.startswith("hot-stocks-code")  # those train as the public code
]


def network(task: str, config: Any) -> dict[str, Any]:
    """All fields of the model that a config builds, on data of the sizes of print."""
    if task == "forecast":
        [(name, fields)] = config.kinds(7)
        return model_config(name, **fields).plain()
    if task == "volumes":
        return model_config(
            config.model_name, **config.network_fields(sizes=(28, 28, 28), in_channels=1, num_classes=2)
        ).plain()
    sizes = {"num_stocks": 87, "num_slots": 5, "price_features": 3, "text_features": 768}
    return model_config(config.model_name, **config.network_fields(**sizes)).plain()


def test_every_table_of_both_papers_has_recipes_in_their_form():
    assert {load_recipe(name).table for name in IN_PRINT} >= {
        *(f"hot-table-{number}" for number in (1, 2, 3, 4, 5, 6)),
        *(f"hot-stocks-table-{number}" for number in (1, 2, 3)),
        "hot-figure-3",
    }


def test_a_recipe_in_the_papers_form_trains_as_the_paper_says_and_builds_its_model():
    check_all(check_training, IN_PRINT)
    check_all(check_model, IN_PRINT)


def check_training(name):
    recipe = load_recipe(name)
    for settings in recipe.settings_of_runs():
        config = task_of(recipe.task).configure(settings)
        training = config.training.plain()
        assert {key: training[key] for key in TRAINING[recipe.task]} == TRAINING[recipe.task]


def check_model(name):
    recipe = load_recipe(name)
    varied = VARIED.get(recipe.table, set())
    fields = network(recipe.task, task_of(recipe.task).configure(recipe.settings_of_runs()[0]))
    stated = FORM | {"feature_map": "smreg", "attention": "kronecker", "rotary": True, "qk_norm": None}
    assert {key: fields[key] for key in stated if key not in varied} == {
        key: value for key, value in stated.items() if key not in varied
    }
    for key, values in SEARCHED[recipe.task].items():
        assert fields[key] in values or key in varied, key


CUT_SHORT = {"model": {"patch_length": 16}, "training": {"epochs": 1, "precision": "bf16"}}
CELLS = {
    **{cell: f"order-{{}}-{cell}" for cell in ("none", "variate", "time")},
    **{cell: f"type-{{}}-{cell}" for cell in ("full", "full-kernel", "factorised")},
    "both": "type-{}-factorised-kernel",
}


def test_a_cell_that_is_cut_short_is_that_of_its_table_otherwise():
    check_all(check_cut_short, [(row, cell) for row in ("ettm1", "weather") for cell in CELLS])


def check_cut_short(row, cell):
    short, whole = (load_recipe(name) for name in (f"short-hot-{row}-{cell}", f"hot-{CELLS[cell].format(row)}"))
    configure = task_of("forecast").configure
    assert configure(short.settings_of_runs()[0]) == configure(whole.settings_of_runs()[0], CUT_SHORT)


def test_the_published_counts_of_parameters():
    forecaster = task_of("forecast").configure(load_recipe("hot-weather-720").settings_of_runs()[0])
    [(name, fields)] = forecaster.kinds(21)
    model = create_model(name, **fields)
    assert sum(each.numel() for each in model.parameters()) == 619_472
    volumes = task_of("volumes").configure(load_recipe("hot-adrenal").settings_of_runs()[0])
    model = create_model(
        "hot_volume_classifier_paper", **volumes.network_fields(sizes=(28, 28, 28), in_channels=1, num_classes=2)
    )
    assert sum(each.numel() for each in model.parameters()) == 7_028_906


def test_the_cells_of_an_ablation_differ_in_what_it_varies_alone():
    check_all(check_varied, VARIED)


def check_varied(table):
    cells = [load_recipe(name) for name in IN_PRINT if load_recipe(name).table == table]
    for row in {cell.row for cell in cells}:
        configs = [task_of(cell.task).configure(cell.settings_of_runs()[0]) for cell in cells if cell.row == row]
        models = [network(cells[0].task, config) for config in configs]
        assert len({repr(model) for model in models}) == len(models) > 1
        rest = [{key: value for key, value in model.items() if key not in VARIED[table]} for model in models]
        assert all(each == rest[0] for each in rest)
        others = [config.model_dump(exclude={"model"}) for config in configs]
        assert all(each == others[0] for each in others)


@pytest.mark.parametrize("table", ["hot-table-5", "hot-table-6"])
def test_each_row_of_the_types_of_attention_changes_one_thing_of_the_factorised_kernel(table):
    cells = [load_recipe(name) for name in IN_PRINT if load_recipe(name).table == table]
    row = cells[0].row
    fields = {cell.variant: cell.settings["model"] for cell in cells if cell.row == row}
    base = fields["factorised-kernel"]
    changed = {name: {key for key in each if each[key] != base.get(key)} for name, each in fields.items()}
    assert changed == {
        "factorised-kernel": set(), "factorised": {"feature_map"}, "full-kernel": {"attention"},
        "no-rotary": {"rotary"}, "normalised": {"qk_norm"}, "full": {"attention", "feature_map"},
    }  # fmt: skip


def test_other_forms_change_nothing_but_the_form():
    cells = {form: load_recipe(f"hot-adrenal{form}").settings for form in ("", "-per_mode", "-trainable")}
    presets = {form: settings["model"].pop("preset") for form, settings in cells.items()}
    assert presets == {"": "paper", "-per_mode": "per_mode", "-trainable": "trainable"}
    assert cells[""] == cells["-per_mode"] == cells["-trainable"]


LEDGERS = {"hot-forecasting": "hot.md", "hot-volumes": "hot.md", "hot-stocks": "hot-stocks.md"}


def leaves(settings: dict[str, Any]) -> list[str]:
    """Names of all fields, without what they lie in."""
    return [leaf for key, value in settings.items() for leaf in (leaves(value) if isinstance(value, dict) else [key])]


def test_the_ledger_gives_the_reason_of_every_choice_that_a_paper_leaves_open():
    check_all(check_ledger, LEDGERS)


def check_ledger(paper):
    ledger = (ROOT / "docs" / "papers" / LEDGERS[paper]).read_text()
    _, _, choices = ledger.partition(f"Left open in print: `{paper}`")
    section = choices.partition("\n#")[0]
    assert [name for name in leaves(load_yaml(PAPERS / f"{paper}.yaml")["open"]) if f"`{name}`" not in section] == []


def test_a_paper_and_the_model_of_that_name_say_the_same():
    check_all(check_named_model, LEDGERS)


def check_named_model(paper):
    fields = load_yaml(PAPERS / f"{paper}.yaml")
    model = fields["open"]["model"] | fields["stated"]["model"]
    defaults = {key: value for key, value in model_defaults(model.pop("name")).items() if key != "horizon"}
    assert {key: model.get(key) for key in defaults} == defaults


def test_the_network_of_a_recipe_answers_whatever_validation_prefers():
    recipes = {name: load_recipe(name) for name in recipe_names()}
    forecasts = {name for name, recipe in recipes.items() if recipe.task == "forecast"}
    assert all(
        recipe.form != "paper" or "answer" in recipe.settings for name, recipe in recipes.items() if name in forecasts
    )
    for name, recipe in recipes.items():
        (settings, *_) = recipe.settings_of_runs()
        stated = recipe.settings.get("answer", "auto") if name in forecasts else "network"
        assert task_of(recipe.task).config.parse(settings).answer == stated, name
