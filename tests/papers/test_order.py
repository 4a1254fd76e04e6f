"""Cells of tables 3 and 5 see the order of patches; a mean over patches without attention over time does not."""

import torch

from loops import check_all
from multiway.models import create_model
from multiway.tasks.registry import task_of
from multiway_papers.cells import recipes_of

BLIND = {"attends none", "attends variate", "without attention"}
"""Cells in which no patch looks at another."""
TABLES = ("hot-table-3", "hot-table-5", "hot-components-forecast", "hot-point", "short-hot-tables-3-5")
IN_PRINT = {
    name: recipe
    for table in TABLES
    for name, recipe in recipes_of(table).items()
    if recipe.form == "paper" and recipe.row.startswith("ett_m1")
}


def change_by_shuffling(name: str) -> float:
    """How far the forecast moves when the patches of a window change places, over its own spread."""
    config = task_of("forecast").configure(IN_PRINT[name].settings_of_runs()[0])
    [(kind, fields)] = config.kinds(7)
    torch.manual_seed(0)
    model = create_model(kind, **{**fields, "dim": 16, "num_heads": 2}).eval()
    past = torch.randn(4, config.lookback, 7)
    patches = past.unflatten(1, (-1, fields["patch_length"]))
    shuffled = patches[:, torch.randperm(patches.shape[1])].flatten(1, 2)
    with torch.no_grad():
        before, after = model(past), model(shuffled)
    return float((after - before).abs().max() / before.std())


def test_shuffled_patches_change_every_forecast_but_of_cells_that_take_their_mean():
    check_all(check_order, IN_PRINT)


def check_order(name):
    recipe = IN_PRINT[name]
    is_blind = recipe.settings["model"]["pooling"] == "mean" and recipe.variant in BLIND
    change = change_by_shuffling(name)
    assert change < 1e-5 if is_blind else change > 1e-2


def test_the_tables_take_every_patch_and_the_rows_of_means_are_called_so():
    assert {recipe.row for recipe in IN_PRINT.values() if recipe.settings["model"]["pooling"] == "mean"} == {
        "ett_m1 mean"
    }
    blind = [name for name, recipe in IN_PRINT.items() if recipe.row == "ett_m1 mean" and recipe.variant in BLIND]
    assert len(blind) == 2
