"""`multiway check`, `multiway audit` and `multiway data`: look at a file, at its split, and at known data sets."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import options, show
from multiway.cli.options import Recipe, Sets, command_line, train_command_of
from multiway.cli.show import Output
from multiway.errors import ConfigError, MultiwayError

Task = options.one_of("task", workflows.TASKS)


class Made(StrEnum):
    """What `data make` can make."""

    lesions = "lesions"


def check_command(
    file: Annotated[
        str,
        typer.Argument(
            help="A file, a folder of files, or a known data set's name.", autocompletion=options.complete_data_sets
        ),
    ],
    task: Annotated[
        Task | None, typer.Option(help="What the data are for; seen from the data if not given.")  # type: ignore[valid-type]  # made of the registry's names
    ] = None,
    sets: Sets = None,
    *,
    own: dict[str, Any],
) -> Output:
    """Say what is in a file, what is wrong with it, and how to fix each; then the command that trains on it."""
    from multiway.workflows.looking import with_question  # help needs none

    with workflows.reading_once():
        names = [str(task)] if task else list(workflows.tasks_of_data(file, own))
        reports = _check_all(file, names, own, sets or [])
    chosen = next((report for report in reports if report.is_likely), reports[0])
    chosen = chosen if task else with_question(chosen, file)
    words = [*options.words_of(own), *(word for each in sets or [] for word in ("--set", each))]
    others = [each for each in reports if each.task != chosen.task and each.is_usable]
    commands = [_training(file, report, words) for report in [chosen, *others]]
    spell = command_line(chosen.task, "check")
    return Output(
        lines=[*chosen.lines(spell), *_sentences(chosen, [each for each in commands if each])],
        document=lambda: {
            "usable": chosen.is_usable,
            "task": chosen.task,
            **chosen.to_dict(spell),
            "train": commands[0],
            "others": [each for each in commands[1:] if each],
        },
        is_bad=not chosen.is_usable,
    )


def _check_all(file: str, names: list[str], own: dict[str, Any], sets: list[str]) -> list["workflows.CheckReport"]:
    """The data as those of each task; the first says what is wrong with options that none of them has."""
    reports = []
    for name in names:
        try:
            given = options.settings("check", name, own)
            reports.append(workflows.check(file, given, task=name, overrides=options.nest_settings(sets)))
        except (MultiwayError, typer.BadParameter):
            if name == names[0]:
                raise
    return reports


def _training(file: str, report: "workflows.CheckReport", words: list[str]) -> str | None:
    """The command that trains on data, where it can be trained on."""
    if report.proposal is None or report.task is None:
        return None
    return train_command_of(report.task, file, words, report.proposal)


def _sentences(report: "workflows.CheckReport", commands: list[str]) -> list[str]:
    if report.proposal is None:
        return [] if report.is_usable else [f"also possible: {command}" for command in commands]
    first, *others = commands
    return [f"train: {first}", *(f"or: {command}" for command in others)]


def list_command() -> Output:
    """Name the known data sets and where each lies on this machine."""
    return show.table(workflows.list_datasets())


def fetch_command(
    name: Annotated[
        str, typer.Argument(help="A name from `multiway data list`.", autocompletion=options.complete_data_sets)
    ],
) -> Output:
    """Download a data set from its official address, check its hash, and print its path."""
    return show.location(workflows.fetch_dataset(name))


def make_command(
    name: Annotated[Made, typer.Argument(help="Lesions: a set to segment, of real volumes with lesions painted in.")],
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="An npz of volumes, a table, or a known data set's name.",
            autocompletion=options.complete_data_sets,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    sets: Sets = None,
) -> Output:
    """Make a data set from another, the same one every time, and print the path of its table."""
    return show.location(workflows.make_lesions(source, out, options.nest_settings(sets or [])))


AuditedData = Annotated[
    str | None,
    typer.Option(
        help="A file, a folder, or a known data set's name; the run's own if not given.",
        autocompletion=options.complete_data_sets,
    ),
]


def _array(what: str) -> Any:
    """An option for an array of a split that was made elsewhere."""
    return typer.Option(help=what, rich_help_panel="For a split made elsewhere, as arrays that numpy.save wrote")


def audit_command(
    what: Annotated[
        str | None,
        typer.Argument(
            help="A task, such as forecast, or a run folder; none for a split made elsewhere.",
            metavar="TASK|RUN",
            autocompletion=options.complete_tasks,
            show_default=False,
        ),
    ] = None,
    data: AuditedData = None,
    train: Annotated[
        Path | None, _array("Training rows, or their indices in --data; a task is audited if not given.")
    ] = None,
    test: Annotated[
        Path | None, _array("Test rows, or their indices in --data; a task is audited if not given.")
    ] = None,
    labels: Annotated[
        Path | None, _array("Target of each row: of --data, or of --train and then --test; not looked at if not given.")
    ] = None,
    groups: Annotated[
        Path | None, _array("What each row belongs to, such as a patient; not looked at if not given.")
    ] = None,
    times: Annotated[Path | None, _array("When each row was; not looked at if not given.")] = None,
    coordinates: Annotated[Path | None, _array("Where each row was: (rows, axes); not looked at if not given.")] = None,
    recipe: Recipe = None,
    sets: Sets = None,
    *,
    own: dict[str, Any],
) -> Output:
    """Say whether data and split leak, one line per check, under the settings of training; exit 1 if they do."""
    if what is None:
        if train is None or test is None:
            raise ConfigError("audit: name a task or a run folder, or give a split as --train FILE and --test FILE.")
        about = {"groups": groups, "times": times, "coordinates": coordinates}
        rows = None if data is None else Path(data)
        report = workflows.audit_files(rows, labels, train=train, test=test, **about)
        return Output(lines=report.lines(), document=report.to_dict, is_bad=report.leaks)
    if (train, test, labels, groups, times, coordinates) != (None,) * 6:
        raise ConfigError(f"audit: --train and --test are of a split made elsewhere. Leave out {what}, or these.")
    given = options.settings("audit", what, own) if what in workflows.TASKS else dict(own)
    given |= {} if data is None else {"data": data}
    report = workflows.audit(what, given, options.nest_settings(sets or []), recipe)
    return Output(
        lines=report.lines(command_line(what if what in workflows.TASKS else None)),
        document=report.to_dict,
        is_bad=report.leaks,
    )
