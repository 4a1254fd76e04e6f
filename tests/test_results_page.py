"""The page of results is what results/ says, and its commands are understood."""

import re

from docs.build.results_page import SPEED, command_of, page, table_lines
from docs.build.rows import RESULTS, ROOT, read_rows, recipe_rows

from loops import check_all
from multiway.workflows.recipe import load_recipe
from reproduced import reproduced, settings_apart

ROWS = recipe_rows()


def test_the_page_has_a_section_for_every_table_and_a_line_for_every_cell():
    lines = page().splitlines()
    tables = {load_recipe(name).table for name in ROWS}
    sections = {line.removeprefix("## ") for line in lines if line.startswith("## ")}
    assert sections == tables | set(SPEED)
    assert sum("`multiway reproduce " in line and line.startswith("| ") for line in lines) >= len(ROWS)


def test_every_link_to_measured_rows_names_a_section_and_the_file_of_its_rows():
    link = re.compile(r"results/([\w-]+)\.jsonl#([\w-]+)\)")
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {found for path in documents for found in link.findall(path.read_text())}
    tables = {
        name: {row["recipe"] for row in read_rows(RESULTS / f"{name}.jsonl") if "recipe" in row} for name, _ in named
    }
    absent = {
        (name, section)
        for name, section in named
        if section not in {name if name in SPEED else "", *(load_recipe(each).table for each in tables[name])}
    }
    assert len(named) > 20 and not absent


def test_a_command_measures_its_cell_alone():
    check_all(check_command, sorted(ROWS))


def check_command(name):
    command = command_of(load_recipe(name), ROWS[name])
    assert list(reproduced(command)) == [name]
    assert settings_apart(command, name, ROWS[name]) == {}


def test_a_command_with_other_settings_than_the_rows_is_seen():
    row = ROWS["hot-exchange-96"]
    command = command_of(load_recipe("hot-exchange-96"), row).replace("training.epochs=3", "training.epochs=4")
    assert settings_apart(command, "hot-exchange-96", row) == {"training.epochs": 3}


def test_a_row_tells_figure_deviation_print_baselines_and_what_was_set():
    settings = {**ROWS["text-sst2-ndlinear"]["settings"], "draws": 7}
    row = {
        "recipe": "text-sst2-ndlinear", "acc": 0.5, "acc_sd": 0.25, "published_acc": 0.75, "majority_acc": 0.125,
        "parameters": {"multiway": 1250}, "seeds": 2, "seconds": 30, "settings": settings,
        "environment": {"device": "x86_64, AVX2", "threads": 2},
    }  # fmt: skip
    *_, line, _ = table_lines("ndlinear-table-3", [row])
    assert "| sst2, NdLinear | 0.5000 ± 0.2500 (printed 0.7500) | majority 0.1250 | 1.25K | 2 |" in line
    assert "| x86_64, AVX2, 2 threads |" in line
    assert "--rows sst2 --variants NdLinear --seeds 2" in line and "--set draws=7" in line


def test_every_file_of_results_is_on_the_page():
    files = {path.stem: read_rows(path) for path in RESULTS.glob("*.jsonl")}
    without_recipe = {name for name, rows in files.items() if any("recipe" not in row for row in rows)}
    assert without_recipe == set(SPEED)
