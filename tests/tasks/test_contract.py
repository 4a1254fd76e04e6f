"""What every task promises of its runs, seen from the command line: one tiny run of each, and what becomes of it."""

import contextlib
import html
import json
import math
import re
import shlex
import shutil
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from command import outcome, printed
from fewer import fit_fewer, of_two, show_fewer
from interruption import Killed, kill_at, stop_after
from multiway import files
from multiway.tasks.lifecycle import load
from multiway.tasks.protocol import Task
from multiway.tasks.registry import task_of
from multiway.tasks.scores import words_of
from multiway.tasks.settings import settings_of
from report_pages import Page
from tasks.finished import SEED, finished, stopped
from tasks.tiny import OUT, TASKS, TINY, UNEXPLAINED
from tolerances import ROUNDING32

CLOCKS = ("manifest.json", "preprocessing.json", "metrics.jsonl", "page.json")
"""Files of a run that hold seconds, or hashes of files that do."""
ALWAYS = {"forecast": {"network", "ridge", "naive", "seasonal_naive"}}
"""Parts of the answer and baselines that no config leaves out."""
SECTIONS = {"data-check", "scores", "training", "environment"}


@pytest.fixture(scope="session", params=TASKS)
def made(request, tmp_path_factory):
    return finished(request.param, tmp_path_factory)


@pytest.fixture(params=TASKS)
def tiny(request, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    return TINY[request.param](folder)


def log_of(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def refused(words, text):
    code, _, err = outcome(*words)
    assert code == 1 and is_one_line(err, text), err


def is_one_line(err, text):
    """The last of what stands there is an error that holds a text."""
    *_, last = ["", *err.splitlines()]
    return last.startswith("multiway: error: ") and text in last and "Traceback" not in err


def test_the_command_in_the_report_makes_the_same_config(made, tmp_path, monkeypatch):
    (command,) = re.findall(r'<pre class="command"[^>]*><code>(.*?)</code></pre>', made.page, re.DOTALL)
    stop_after(monkeypatch, 1)
    outcome(*shlex.split(html.unescape(command))[1:], "--out", tmp_path / "again")
    assert yaml.safe_load((tmp_path / "again" / "config.yaml").read_text()) == yaml.safe_load(
        (made.run / "config.yaml").read_text()
    )


def test_the_chart_of_the_training_marks_the_epoch_whose_weights_were_kept(made):
    section = made.page.split('<section id="training">')[1].split("</section>")[0]
    (place,) = re.findall(r'class="rule best[^"]*" style="left:([\d.]+)%', section)
    ticks = re.findall(r'<span[^>]* style="left:([\d.]+)%">([\d.]+)</span>', section)
    places, labels = np.array(ticks, float).T
    marked = np.interp(float(place), places, labels)
    rows = log_of(made.run)
    kept = max(rows, key=lambda row: (row.get("validation_score", -math.inf), -row["validation_loss"], -row["epoch"]))
    assert marked == pytest.approx(kept["epoch"], abs=0.02)
    assert len({row["epoch"] for row in rows}) > 1


@of_two("tiny", TASKS, "images")
def test_changed_data_is_refused_when_a_run_goes_on(tiny, tmp_path, monkeypatch):
    stop_after(monkeypatch, 1)
    assert outcome(*tiny.train(tmp_path / "run"))[0] == 1
    before = {path: path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()}
    for change in tiny.changes.values():
        change()
        refused(["train", "--resume", tmp_path / "run"], "changed since the run was started")
        for path, content in before.items():
            path.write_bytes(content)


@of_two("made", TASKS, "images", "stocks")
def test_an_explanation_of_changed_data_is_refused_or_rests_on_none(made, tmp_path):
    """What stands in the run is said as it was; what needs the data says that they are others."""
    shutil.copytree(made.tiny.data.parent, tmp_path / "kept", ignore=shutil.ignore_patterns("run", "*.html"))
    words = ("explain", made.run, "--out", tmp_path / "shown")
    usual, changes = outcome(*words), made.tiny.changes.values()
    for change in changes:
        change()
        try:
            got = outcome(*words)
            assert got == usual or (
                got[:2] == (1, "") and is_one_line(got[2], "is not the data of the training any more. Restore it.")
            )
        finally:
            if made.tiny.data.is_dir():
                shutil.rmtree(made.tiny.data)
            shutil.copytree(tmp_path / "kept", made.tiny.data.parent, dirs_exist_ok=True)
    assert outcome(*words) == usual
    assert usual[0] == 0 or made.tiny.task in UNEXPLAINED


@of_two("made", TASKS)
def test_a_run_that_was_stopped_and_killed_ends_with_the_same_bytes(made, tmp_path, tmp_path_factory, monkeypatch):
    fit_fewer(monkeypatch)
    before = stopped(made.tiny.task, tmp_path_factory)
    assert is_one_line(before.error, "training stopped by SIGTERM")
    refused(["evaluate", before.run], "is not finished")
    steps, run = log_of(made.run)[-1]["step"], shutil.copytree(before.run, tmp_path / "run")
    for step in (2, steps):
        with monkeypatch.context() as patch:
            kill_at(patch, step)
            with contextlib.suppress(Killed):
                outcome("train", "--resume", run)
    said = printed("train", "--resume", run)
    assert said.replace(str(run), "") == made.said.replace(str(made.run), "")
    assert files_of(run) == files_of(made.run)


def files_of(run):
    """Hash of every file of a run; of those with clocks in them, what is left without."""
    names = {str(path.relative_to(run)): path for path in run.rglob("*") if path.is_file()}
    return {name: timeless(path) if name in CLOCKS else files.sha256_of(path) for name, path in names.items()}


def timeless(path):
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    return [without_times(json.loads(line)) for line in lines]


def without_times(value: Any) -> Any:
    if isinstance(value, list):
        return [without_times(item) for item in value]
    if isinstance(value, str):
        return re.sub(r"[\d.]+\u202f(ms|s|min)\b", "", value)
    if not isinstance(value, dict):
        return value
    return {
        name: without_times(item) for name, item in value.items() if not re.search("second|finished|sha256$|seal", name)
    }


def test_a_run_keeps_what_its_network_costs(made):
    task = task_of(made.tiny.task)
    facts = json.loads((made.run / "preprocessing.json").read_text())["facts"]
    assert facts["parameters"][task.own] > 0
    assert (facts["flops"] is not None) == (getattr(task.sample, "__func__", task.sample) is not Task.sample)
    assert facts["flops"] is None or (facts["flops"] > 0 and facts["kept"] > 0)
    words = Page(made.page).texts
    assert any("FLOPs" in each for each in words) == ("Memory of a step" in words) == (facts["flops"] is not None)


def test_a_baseline_is_called_in_the_config_as_its_rows_are_and_printed_in_words(made):
    if made.tiny.task == "grids":
        pytest.skip("the floors of grids are named by no setting")
    names = (
        {row["model"] for row in rows_of_scores(made.run)}
        - {"network", "multiway", "blend"}
        - ALWAYS.get(made.tiny.task, set())
    )
    config = load(made.run).config
    assert config.baselines is None or names == set(config.baselines)  # None: all that fit the data
    words, lines = words_of([load(made.run)]), printed("evaluate", made.run).splitlines()
    assert all(any(line.startswith(words[name]) for line in lines) for name in names)
    assert set(config.replace(baselines=tuple(names)).baselines) == names


def test_an_interval_is_the_same_wherever_it_is_shown(made):
    stored = [row for row in rows_of_scores(made.run) if row.get("low") is not None]
    pairs = intervals(printed("evaluate", made.run)) + re.findall(r"95 % interval (\S+) to (\S+?)\)", made.said)
    cells = re.findall(r"<data>([^<]*)</data>(?:(?!</t[dh]>).)*<small>(\S+?)(?: to |–)(\S+?)</small></td>", made.page)
    assert bool(pairs) == bool(cells) == any(row["split"] == "test" for row in stored)
    for shown in [*pairs, *cells]:
        names = ("low", "high") if len(shown) == 2 else ("value", "low", "high")
        assert any(all(rounds(row[name], text) for name, text in zip(names, shown, strict=True)) for row in stored), (
            shown
        )


def rows_of_scores(run):
    found = json.loads((run / "scores.json").read_text())
    return found if isinstance(found, list) else found["scores"]


def intervals(table):
    """Pairs of the columns `low` and `high` of a printed table, after the line that names the answer."""
    _, head, *lines = (re.split(r"\s{2,}", line.strip()) for line in table.splitlines())
    low = [place for place, name in enumerate(head) if name.split(" ")[-1] == "low"]
    return [(line[place], line[place + 1]) for line in lines for place in low if line[place] != "-"]


def rounds(value, text):
    plain = text.replace("−", "-").replace(",", "")
    digits = len(plain.partition(".")[2])
    return abs(value - float(plain)) <= 0.5000001 * 10**-digits


def test_a_sample_alone_is_predicted_as_among_others(made, tmp_path):
    if made.tiny.task == "grids":
        pytest.skip("a field is one sample, and its forecast no table")
    alone = table_of("predict", made, made.tiny.alone(tmp_path / "one"), tmp_path / "alone")
    among = table_of(made.tiny.batch, made, made.tiny.data, tmp_path / "all")
    if "model" in among:
        among = among[among["model"] == load(made.run).answer.name]
    words = [name for name in alone if name in among and alone[name].dtype.kind not in "fi"]
    both = alone.astype(dict.fromkeys(words, str)).merge(
        among.astype(dict.fromkeys(words, str)), on=words, suffixes=("", " among")
    )
    numbers = [name for name in alone if f"{name} among" in both]
    assert len(both) == len(alone) > 0 and numbers
    for name in numbers:
        np.testing.assert_allclose(both[name], both[f"{name} among"], rtol=10 * ROUNDING32, atol=ROUNDING32)


def table_of(step, made, data, out):
    """A table of the run, or what a command writes: one file, or a folder of masks with a table of their sizes."""
    if step.endswith(".parquet"):
        return pd.read_parquet(made.run / step)
    target = out if made.tiny.task == "segment" else out.with_suffix(".csv")
    printed(step, made.run, "--data", data, "--out", target)
    return pd.read_csv(target / "volumes.csv" if target.is_dir() else target, keep_default_na=False)


def test_later_data_that_lacks_what_training_saw_is_refused(made, tmp_path):
    lacking = made.tiny.lacking(tmp_path / "later")
    out = tmp_path / ("out" if made.tiny.task == "segment" else "out.csv")
    refused(["predict", made.run, "--data", lacking, "--out", out], "")
    refused(["evaluate", made.run, "--data", lacking], "")
    assert not out.exists()


@pytest.mark.parametrize("name", TASKS)
def test_the_help_of_a_task_shows_its_options_with_their_defaults(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    text = printed("train", name, "--help")
    shown = set(re.findall(r"--([a-z][a-z-]*)", text))
    own = {option.name.replace("_", "-"): option for option in settings_of(name).options if "train" in option.commands}
    every = {option.name.replace("_", "-") for task in TASKS for option in settings_of(task).options}
    assert own.keys() <= shown and not shown & (every - own.keys())
    usual = task_of(name).config.parse({}).plain()
    for flag, option in own.items():
        value = default_of(usual, option.field)
        line = text.split(f"--{flag} ")[1].split("\n")[0]
        assert value in (None, False, [], ()) or re.search(rf"default: \(?{re.escape(str(value))}\)?\]", line), line


def default_of(plain, field):
    for part in field.split("."):
        plain = plain.get(part) if isinstance(plain, dict) else None
    return plain


def test_every_report_says_how_it_came_about(made):
    page = Page(made.page)
    assert set(page.sections()) >= SECTIONS
    assert "Cost" in page.texts and page.all("pre", class_="command")
    assert {"seeds", "torch", "data sha256"} <= set(page.texts)
    assert str(SEED) in page.texts[page.texts.index("seeds") :][:3]


def test_a_run_of_an_older_format_is_refused_in_one_line(made, tmp_path):
    run = shutil.copytree(made.run, tmp_path / "run")
    config = run / "config.yaml"
    stored = yaml.safe_load(config.read_text())
    stored.pop("format", None)
    config.write_text(yaml.safe_dump(stored, sort_keys=False))
    for words in (["evaluate", run], ["predict", run], ["report", run], ["train", "--resume", run]):
        refused(words, "format")


def test_bad_data_leaves_nothing_behind(tiny, tmp_path):
    tiny.spoil()
    before = sorted(tmp_path.rglob("*"))
    code, out, err = outcome(*tiny.train(tmp_path / "runs" / "run"))
    assert (code, out, err.count("\n")) == (1, "", 1) and err.startswith("multiway: error: ")
    assert sorted(tmp_path.rglob("*")) == before


@of_two("made", TASKS, "grids")
def test_a_run_is_compressed_by_every_layer_and_recovers_towards_itself(made, tmp_path, monkeypatch):
    """The smaller run is saved, loaded and used, as any other; its network has lower ranks and the same data."""
    show_fewer(monkeypatch)
    small = tmp_path / "small"
    said = printed("compress", made.run, "--rule", ".*=lowrank:max_share=.8", "--distil", 1, "--out", small)
    assert "after recovery" in said
    swaps = json.loads((small / "compression.json").read_text())["layers"]
    before, after = (load(run) for run in (made.run, small))
    sizes = [sum(each.numel() for each in run.model.parameters()) for run in (before, after)]
    assert swaps and sizes[1] < sizes[0]
    assert after.facts["recovery"]["distil"]
    printed("predict", small, "--data", made.tiny.data, "--out", tmp_path / OUT.get(made.tiny.task, "out.csv"))
    assert list(tmp_path.glob(OUT.get(made.tiny.task, "out.csv")))
