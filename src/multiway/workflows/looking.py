"""Looking at data and at what a training kept: what is in a file, which sets are known, report and prediction."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multiway import files, leftovers
from multiway.auditing import AuditReport
from multiway.auditing.elsewhere import audit_split, read_split
from multiway.auditing.report import finding
from multiway.config import Config
from multiway.data import CheckReport, datasets
from multiway.data.findings import Finding, Findings, quote, reading_once
from multiway.data.looking import look_at
from multiway.data.sources.scans.lesions import LesionOptions
from multiway.data.sources.scans.lesions import make_lesions as paint
from multiway.data.sources.scans.loading import read_cases
from multiway.data.writing import leaving_raw
from multiway.errors import ConfigError, Fix, MultiwayError, RunError, closest, concerning
from multiway.tasks.answers import PREDICTIONS, Answer, KeptAnswer, write_answer
from multiway.tasks.kind import Kind
from multiway.tasks.registry import read_task, task_name, task_of, task_of_data
from multiway.tasks.settings import GENERAL, TASKS, configure, settings_of
from multiway.training.run_folder import ANSWER, PAGE, RunFolder, run_folders
from multiway.training.stored import read_table
from multiway.workflows.recipe import under_recipe


def check(
    data: Any,
    options: dict[str, Any] | None = None,
    *,
    task: str | None = None,
    overrides: dict[str, Any] | None = None,
) -> CheckReport:
    """Say what is in data and what is wrong with them, all at once.

    Args:
        data: A file, a folder of scans, or the name of a known data set; or data in memory as the estimators take them:
            a frame, arrays `X` or a pair `(X, y)`, or frames of prices and texts as `(prices, texts)`.
        options: Settings of a run that concern reading, such as `{"read": {"missing": "mask"}}`.
        task: What the data are for; seen from the data if not given.
        overrides: More such settings, which win.
    """
    with reading_once():
        name, is_path = task or task_of_data(data), isinstance(data, str | Path)
        known = settings_of(name)
        with concerning(name):
            config = configure(known, {**(options or {}), "data": str(data) if is_path else None}, overrides)
            source = datasets.locate(str(data)) if is_path else data
            report = dataclasses.replace(known.kind.check(config, source), task=name)
        report = with_question(report, source) if task is None else report
        return _add_proposal(report, known.kind, config, source) if is_path and report.is_usable else report


def with_question(report: CheckReport, data: Any) -> CheckReport:
    """The report of data whose task nobody named, with an error where they could be series as well as a table."""
    look = look_at(data) if report.task in GENERAL else None
    if look is None or look.doubt is None:
        return report
    found = Findings(report.source)
    series = (Fix("task", "forecast"), " ", Fix(look.doubt.field, like="NAME"))
    found.add("task", "error", look.doubt.rule, ("Say which (", *series, "), or (", Fix("task", report.task), ")."))
    return dataclasses.replace(report, findings=(*found.found, *report.findings), proposal=None)


def _add_proposal(report: CheckReport, kind: Kind, config: Config, source: object) -> CheckReport:
    """What a training needs besides, its target among the findings; why there can be none is one."""
    try:
        proposal, findings = kind.proposal(config, source), report.findings
    except MultiwayError as error:
        found = Findings(report.source)
        found.take("training", error, "warning")
        return dataclasses.replace(report, findings=(*report.findings, *found.found))
    target = next((fix.value for fix in proposal or () if fix.field == "read.target"), None)
    if target is not None:
        rule = f"no target is named; the command below predicts '{quote(target)}'"
        named = Finding(
            kind="target", severity="note", rule=rule, fix=("Name another (", Fix("read.target", like="NAME"), ").")
        )
        findings = (*(finding for finding in findings if finding.kind != "target"), named)
    return dataclasses.replace(report, proposal=proposal, findings=findings)


@files.sparing_inputs()
def make_lesions(source: str, out: Path, options: dict[str, Any] | None = None) -> Path:
    """Paint lesions with exact masks into the volumes of a file or known data set; return the table of the new set."""
    files.add_input(source)
    files.check_place(out)
    return paint(read_cases(datasets.locate(source)), out, LesionOptions.parse(options or {}, "lesions"))


def audit(
    what: Any,
    settings: Any = None,
    overrides: dict[str, Any] | None = None,
    recipe: str | None = None,
    *,
    train: Any = None,
    test: Any = None,
    groups: Any = None,
    times: Any = None,
    coordinates: Any = None,
) -> AuditReport:
    """Say whether data and split leak: overlap, statistics, calendar, copies, labels.

    `audit(X, y, train=rows, test=rows)` looks at a split that was made elsewhere.

    Args:
        what: A task's name, or the folder of a finished run, whose own data, split and scaling are looked at. With
            `train` and `test`: rows `X`, a frame or an array; None where those two are the rows themselves.
        settings: Those of a run of the task, `data` among them, such as `{"data": "sales.csv", "horizon": 28}`. With
            `train` and `test`: the target `y` of each row, or None.
        overrides: More of them, which win.
        recipe: Name of a recipe of the task, or a YAML file like one, whose settings stand under those given.
        train: Indices or flags of the training rows; or, without `X`, these rows.
        test: The same of the rows that are scored.
        groups: What each row belongs to, such as a patient or a run.
        times: When each row was.
        coordinates: `(rows, axes)`: where it was.

    Raises:
        ConfigError: There is no data, a run is given settings, the recipe is one of another task, or one of `train`
            and `test` lacks.
        DataError: The data cannot be read, or rows and what is said of them differ in number.
    """
    if (train is None) != (test is None):
        raise ConfigError("audit: a split made elsewhere has train and test. Give both.")
    if train is not None:
        return audit_split(what, settings, train=train, test=test, groups=groups, times=times, coordinates=coordinates)
    if str(what) not in TASKS:
        return _audit_run(Path(what), bool(settings or overrides or recipe))
    task, given = task_of(str(what)), settings or {}
    with concerning(task.name):
        given = given if recipe is None else under_recipe(recipe, task.name, given)[1]
        config = task.configure(given, overrides)
        if config.data is None:
            raise ConfigError(
                "audit: there is no data. Give ", Fix("data", like="FILE"), " or a known data set's name."
            )
        return task.audit(config)


def audit_files(
    data: Path | None, labels: Path | None, *, train: Path, test: Path, **others: Path | None
) -> AuditReport:
    """The same of arrays in `.npy` files: rows, their targets, both splits, and what else is known of rows."""
    given = {"X": data, "y": labels, "train": train, "test": test, **others}
    arrays = read_split({name: path for name, path in given.items() if path is not None})
    return audit_split(arrays.pop("X", None), **arrays)


def _audit_run(path: Path, is_given_settings: bool) -> AuditReport:
    if not path.is_dir():
        near = closest(str(path), TASKS)
        raise ConfigError(f"audit: {path} is no task and no run folder{near} Tasks are {', '.join(TASKS)}.")
    if is_given_settings:
        raise ConfigError(f"audit: {path} is a run and has its own data and settings. Leave out the options.")
    from multiway.tasks.lifecycle import load_run  # needs torch, which looking at data does not
    from multiway.tasks.scores import warn_of_lopsided

    run = load_run(path)
    if run.config.data is None:
        raise ConfigError(f"audit: {path} was fitted on what was in memory, which is gone. Train on a file.")
    with concerning(run.task.name):
        report = run.task.audit(run.config, run)
    uneven = (finding("uneven", "warning", words.removesuffix(".")) for words in warn_of_lopsided(run))
    return AuditReport.of(report.source, [*report.findings, *report.passed, *uneven])


@files.sparing_inputs()
def report(run: Path | str, *, out: Path | str | None = None) -> Path:
    """Write the one-file HTML report of a run, or of its seeds together; to a `.md` the model card of the first."""
    path = Path(run)
    target = Path(out or path / "report.html")
    files.check_place(target)
    stored, page = RunFolder(path), None
    if stored.is_finished and (out is None or not target.exists()):
        page = stored.read_kept(PAGE)
    is_card = target.suffix.lower() == ".md"
    if not isinstance(page, str) or is_card:
        from multiway.tasks.hub import card_of
        from multiway.tasks.lifecycle import load_runs  # a page that is stored needs no torch
        from multiway.tasks.run import readable

        runs = load_runs(path)
        with readable(path, f"report of {runs[0].task.name}"):
            page = card_of(runs[0]) if is_card else runs[0].task.page.report(runs)
    files.check_place(target)
    leftovers.remove(target)
    files.write_text(target, page)
    return target


@files.sparing_inputs()
def predict(
    run: Path | str,
    *,
    data: str | None = None,
    out: Path | str | None = None,
    options: dict[str, Any] | None = None,
    overwrite: bool = True,
    model: str | None = None,
    raw: bool = False,
    far: bool = False,
    progress: bool = False,
) -> Answer:
    """Predict with a run: a table, or files; with a path, the table is also written.

    It is the run's answer that predicts, or the `model` of that name.

    Options are those of the task for `predict`, such as `layout` and `levels` of a forecast. Without `overwrite`,
    a file at `out` is refused, and so is a folder with something in it. In CSV and Excel, text that a
    spreadsheet would run as a formula is escaped, unless it is to be left `raw`. Data that lie far outside the
    training are refused, unless they are to be answered `far` as they are. With `progress`, a bar on a terminal says
    how many scans are done.
    """
    files.add_input(data)
    out, folder = check_out("predict", out, overwrite), RunFolder.open(run_folders(run)[0])
    kept = None if data is not None or model is not None or options or far else _find_answer(folder)
    if kept is None:
        from multiway.tasks.lifecycle import load_run  # what is kept needs no torch
        from multiway.tasks.scores import add_head

        loaded = load_run(run).with_answer(model)
        switches = {name: True for name, is_on in (("far", far), ("progress", progress)) if is_on}
        with answering(loaded.task.name, out, raw):
            answer = loaded.task.answer(loaded, data, out, (options or {}) | switches)
        return add_head(answer, loaded, raw)
    assert kept.frame is not None
    with answering(task_name(run), out, raw):
        return dataclasses.replace(kept, files=write_answer(kept.frame, out).files, raw=raw)


def _find_answer(folder: RunFolder) -> Answer | None:
    """What the training answered after its data, where their file is as it was."""
    read_task(folder)
    if not folder.is_finished or not (folder.path / ANSWER).is_file():
        return None
    stored = folder.read_kept(ANSWER)
    if stored is None:
        return None
    kept, source = KeptAnswer.parse(stored, str(folder.path / ANSWER)), folder.config()["settings"]["data"]
    with contextlib.suppress(MultiwayError, OSError):  # reading the data anew will say what is wrong
        if files.sha256_of(Path(datasets.locate(source))) == kept.read:
            table = read_table(folder.path / PREDICTIONS, kept.columns)
            return Answer(frame=table, head=kept.head, told=kept.told, words=kept.words)
    return None


@contextlib.contextmanager
def answering(task: str, out: Path | None, raw: bool) -> Iterator[None]:
    """While an answer is made and written: all of it or nothing, and none of it onto the data of the run."""
    files.check_place(out)
    leftovers.remove(out)
    with files.all_or_nothing(), leaving_raw(raw), concerning(task):
        yield


def check_out(command: str, out: Path | str | None, overwrite: bool = True) -> Path | None:
    """The path of an answer that may be written there, before any work."""
    out = None if out is None else Path(out)
    files.check_place(out)
    if out is not None and not overwrite and (out.is_file() or (out.is_dir() and any(out.iterdir()))):
        fix = Fix("overwrite", value=True)
        raise RunError(f"{command}: {out} exists already. Choose another path, or replace it (", fix, ").")
    return out
