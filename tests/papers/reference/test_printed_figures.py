"""Tables of the papers' pages that were computed: from what is printed, from the recipes, and from the code."""

import re
import statistics
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from multiway.data.catalogue import entries
from multiway.models import model_config
from multiway.tasks.forecasting.config import SplitOptions
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.splitting import borders_of
from multiway.tasks.forecasting.windows import split_windows
from multiway.tasks.known import settings_for
from multiway.training import TrainingConfig
from multiway.workflows.recipe import load_recipe

PAGES = Path(__file__).parents[3] / "docs" / "papers"
NUMBER = re.compile(r"(?<![\w-])(?:\d[\d,]*\.?\d*|\.\d+)(?![\w+])")


def rows(page, header):
    """Rows of the table whose first column has that header, as lists of cells without code marks."""
    table = (PAGES / page).read_text().split(f"\n| {header} |")[1].split("\n\n")[0]
    cells = ([cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in table.splitlines()[2:])
    return [pytest.param(row, id=row[0]) for row in cells]


def numbers(text):
    return [float(number.rstrip(",").replace(",", "")) for number in NUMBER.findall(text)]


@pytest.mark.parametrize("row", rows("hot.md", "field"))
def test_fields_of_the_forecaster_are_those_of_the_code(row):
    configs = [model_config(name, num_variates=21) for name in ("hot_forecaster", "hot_forecaster_paper")]
    assert [str(getattr(config, row[0])) for config in configs] == row[2:]


@pytest.mark.parametrize("row", rows("hot.md", "training"))
def test_settings_of_training_are_those_of_the_code(row):
    assert [str(getattr(TrainingConfig.parse({}), row[0]))] == row[2:]


@pytest.mark.parametrize("row", rows("hot.md", "recipe, score"))
def test_where_hot_is_not_first(row):
    (name, score), ours = row[0].split(", "), numbers(row[1])
    others = numbers(row[2])
    assert ours == [load_recipe(name).figures[score]]
    assert all(other < ours[0] if score in {"mse", "mae"} else other > ours[0] for other in others) and others


@pytest.mark.parametrize("row", rows("hot.md", "method, data, score"))
def test_means_that_table_1_misses(row):
    printed, cells, mean = (numbers(cell) for cell in row[1:])
    assert len(cells) == 4 and mean == [round(statistics.fmean(cells), 5)]
    assert abs(printed[0] - mean[0]) > 6e-4


def test_our_row_of_table_12_is_that_of_the_recipes():
    cells = next(row.values[0][2] for row in rows("hot.md", "method, data, score") if row.id.startswith("HOT"))
    assert numbers(cells) == [load_recipe(f"hot-traffic-{horizon}").figures["mae"] for horizon in (96, 192, 336, 720)]


@pytest.mark.parametrize("row", rows("ndlinear.md", "CIFAR-100, blocks"))
def test_accuracies_of_table_7_below_the_naive_transformer(row):
    *ours, naive = (numbers(cell)[0] for cell in row[1:5])
    below = [width for width, accuracy in zip((200, 300, 400), ours, strict=True) if accuracy < naive]
    assert numbers(row[5]) == below


@pytest.mark.parametrize("row", rows("hot.md", "data"))
def test_windows_of_table_7(row):
    known = entries()[row[0]]
    values, times = np.zeros((known.size[0], 1)), pd.date_range("2020-01-01", periods=known.size[0], freq="h")
    panel = Panel(values=values, times=times, names=("a",), frequency="h", layout="wide", source="x.csv")
    windows = split_windows(values, borders_of(panel, SplitOptions.parse(settings_for(row[0])["split"])), 96, 96)
    count, printed, counted, difference = (numbers(cell) for cell in row[1:])
    assert count == [known.size[0]] and counted == [len(each) for each in windows.values()]
    assert [a - b for a, b in zip(printed, counted, strict=True)] == 3 * difference
