"""What can be done with a finished run: score, predict, backtest, find anomalies, explain, report, compare."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway import files, leftovers
from multiway.errors import ConfigError, concerning
from multiway.tasks import lifecycle
from multiway.tasks.answers import Answer, ScoreTable
from multiway.tasks.comparing import are_comparable, caution_of
from multiway.tasks.lifecycle import load_run, load_runs
from multiway.tasks.registry import task_name
from multiway.tasks.run import Run, readable
from multiway.tasks.scores import add_head, answer_line, details_of, in_words, score_table, words_of
from multiway.training.run_folder import run_folders
from multiway.workflows.looking import answering, check_out


def evaluate(run: Path | str, *, data: str | None = None, split: str = "test", model: str | None = None) -> ScoreTable:
    """A run's stored scores, or fresh ones on other data: the answer and every candidate, or one of these alone."""
    runs = [loaded.with_answer(model) for loaded in load_runs(run)]
    for loaded in runs if data is not None else ():
        with concerning(loaded.task.name):
            loaded.scores = loaded.task.evaluate(loaded, str(data), split)
    rows = score_table(runs, split if data is None else runs[0].scores[0]["split"])
    answer = runs[0].task.score_name(runs[0])
    chosen, line = [row for row in rows if model is None or row["model"] == answer], answer_line(runs)
    return ScoreTable(chosen, [line], [in_words(runs[0], line)], words_of(runs), details_of(runs))


@files.sparing_inputs()
def backtest(
    run: Path | str,
    *,
    data: str | None = None,
    out: Path | str | None = None,
    options: dict[str, Any] | None = None,
    overwrite: bool = True,
    model: str | None = None,
    raw: bool = False,
) -> Answer:
    """Score predictions from past moments of a file, or trade by them; the table, with notes to read it by.

    Options are those of the task for `backtest`: `cutoffs` and `step`; `top` and `cost_bps`; `model` and `raw` as for
    `predict`.
    """
    files.add_input(data)
    out, loaded = check_out("backtest", out, overwrite), load_run(run).with_answer(model)
    with answering(loaded.task.name, out, raw):
        answer = loaded.task.backtest(loaded, data, out, options or {})
    return add_head(answer, loaded, raw)


@files.sparing_inputs()
def anomalies(
    run: Path | str,
    *,
    data: str | None = None,
    out: Path | str | None = None,
    options: dict[str, Any] | None = None,
    overwrite: bool = True,
    raw: bool = False,
) -> Answer:
    """Past values outside the bands of the run's answer, the farthest first; with a path, the scores of all values.

    Options are those of the task for `anomalies`: the level of the `band` of a forecast.
    """
    files.add_input(data)
    out, loaded = check_out("anomalies", out, overwrite), load_run(run)
    with answering(loaded.task.name, out, raw):
        answer = loaded.task.anomalies(loaded, data, out, options or {})
    return add_head(answer, loaded, raw)


@files.sparing_inputs()
def update(run: Path | str, *, data: str, out: Path | str) -> Run:
    """Take rows that came after those of a forecasting run in, as a new run that forecasts what follows them."""
    place, path = check_out("update", out, overwrite=False), run_folders(run)[0]
    assert place is not None
    with concerning(task_name(path)):
        return lifecycle.update_run(path, data, place)


@files.sparing_inputs()
def explain(
    run: Path | str,
    *,
    out: Path | str | None = None,
    options: dict[str, Any] | None = None,
    model: str | None = None,
    raw: bool = False,
) -> Answer:
    """Write what the model looked at; what is strongest, and the files; `model` and `raw` as for `predict`."""
    out, loaded = check_out("explain", out), load_run(run).with_answer(model)
    folder = run_folders(run)[0]
    with answering(loaded.task.name, out or folder, raw), readable(folder, f"explanation of {loaded.task.name}"):
        answer = loaded.task.explain(loaded, out, options or {})
    return add_head(answer, loaded, raw)


@files.sparing_inputs()
def compare(runs: Sequence[Path | str], *, out: Path | str | None = None) -> ScoreTable:
    """Test scores of several runs of one task side by side; where their test rows differ, each row says so."""
    if len(runs) < 2:
        raise ConfigError(f"compare: give at least two runs, got {len(runs)}.")
    out = check_out("compare", out)
    names = {str(path): task_name(path) for path in runs}
    if len(set(names.values())) > 1:
        shown = ", ".join(f"{path} of {name}" for path, name in names.items())
        raise ConfigError(f"compare: the runs must be of one task. Got {shown}.")
    loaded = {str(path): load_runs(path) for path in runs}
    groups = list(loaded.values())
    if out is not None:
        leftovers.remove(out)
        files.write_text(out, groups[0][0].task.page.compare(groups))
    rows = [{"run": path, **row} for path, group in loaded.items() for row in score_table(group, "test")]
    caution = caution_of(groups)
    if not are_comparable(groups):
        rows = [{**row, "comparable": False} for row in rows]
    first = [caution] if caution else []
    lines = {path: answer_line(group) for path, group in loaded.items()}
    notes = {path: in_words(loaded[path][0], line) for path, line in lines.items()}
    listed, in_full = ([*first, *(f"{path}: {line}" for path, line in each.items())] for each in (lines, notes))
    every = [run for group in groups for run in group]
    return ScoreTable(rows, listed, in_full, words_of(every), details_of(every))
