"""Looking at data: what is in a file, which sets are known, making one."""

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway import files
from multiway.auditing import AuditReport
from multiway.auditing.report import finding
from multiway.config import merge
from multiway.data import CheckReport, datasets
from multiway.data.encoders import Encoded, encode_texts
from multiway.data.findings import Finding, Findings, quoted
from multiway.data.options import EncoderOptions
from multiway.data.sources.bytes import reading_once
from multiway.data.sources.scans.lesions import LesionOptions
from multiway.data.sources.scans.lesions import make_lesions as paint
from multiway.data.sources.scans.loading import read_cases
from multiway.errors import ConfigError, DataError, Fix, MultiwayError, closest, concerning
from multiway.tasks.protocol import AnyTask
from multiway.tasks.registry import TASKS, task_of, task_of_data
from multiway.tasks.stocks.config import StockOptions
from multiway.tasks.stocks.source import read_stocks
from multiway.workflows.recipe import under_recipe
from multiway.workflows.using import load_run


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
        chosen, is_path = task_of(task or task_of_data(data)), isinstance(data, str | Path)
        with concerning(chosen.name):
            config = chosen.configure({**(options or {}), "data": str(data) if is_path else None}, overrides)
            source = chosen.locate(str(data)) if is_path else data
            report = dataclasses.replace(chosen.check(config, source), task=chosen.name)
        return _with_proposal(report, chosen, config, source) if is_path and report.is_usable else report


def _with_proposal(report: CheckReport, task: AnyTask, config: Any, source: object) -> CheckReport:
    """What a training needs besides; why there can be none is a finding."""
    try:
        proposal = task.proposal(config, source)
        findings = _with_target(report.findings, proposal or ())
        return dataclasses.replace(report, proposal=proposal, findings=findings)
    except MultiwayError as error:
        found = Findings(report.source)
        found.take("training", error, "warning")
        return dataclasses.replace(report, findings=(*report.findings, *found.found))


def _with_target(findings: Sequence[Finding], proposal: Sequence[Fix]) -> tuple[Finding, ...]:
    """Findings, where one that says that no target is named tells which is proposed."""
    target = next((fix.value for fix in proposal if fix.field == "read.target"), None)
    if target is None:
        return tuple(findings)
    rule = f"no target is named; the command below predicts '{quoted(target)}'"
    fix = ("Name another (", Fix("read.target", like="NAME"), ").")
    other = (finding for finding in findings if finding.kind != "target")
    return (*other, Finding(kind="target", severity="note", rule=rule, fix=fix))


def fetch_dataset(name: str) -> Path:
    """Download a known data set, check its hash, and return its path."""
    return datasets.fetch_dataset(name)


def make_lesions(source: str, out: Path, options: dict[str, Any] | None = None) -> Path:
    """Paint lesions with exact masks into the volumes of a file or known data set; return the table of the new set."""
    files.check_place(out)
    return paint(read_cases(datasets.locate(source)), out, LesionOptions.parse(options or {}, "lesions"))


def audit(
    what: str | Path,
    settings: dict[str, Any] | None = None,
    overrides: dict[str, Any] | None = None,
    recipe: str | None = None,
) -> AuditReport:
    """Say whether data and split leak: overlap, statistics, calendar, copies, labels.

    Args:
        what: A task's name, or the folder of a finished run, whose own data, split and scaling are looked at.
        settings: Those of a run of the task, `data` among them, such as `{"data": "sales.csv", "horizon": 28}`.
        overrides: More of them, which win.
        recipe: Name of a recipe of the task, or a YAML file like one, whose settings stand under those given.

    Raises:
        ConfigError: There is no data, a run is given settings, or the recipe is one of another task.
        DataError: The data cannot be read.
    """
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


def _audit_run(path: Path, is_given_settings: bool) -> AuditReport:
    if not path.is_dir():
        near = closest(str(path), TASKS)
        raise ConfigError(f"audit: {path} is no task and no run folder{near} Tasks are {', '.join(TASKS)}.")
    if is_given_settings:
        raise ConfigError(f"audit: {path} is a run and has its own data and settings. Leave out the options.")
    run = load_run(path)
    if run.config.data is None:
        raise ConfigError(f"audit: {path} was fitted on what was in memory, which is gone. Train on a file.")
    with concerning(run.task.name):
        report = run.task.audit(run.config, run)
    uneven = (finding("uneven", "warning", words.removesuffix(".")) for words in run.task.uneven(run))
    return AuditReport.of(report.source, [*report.findings, *report.passed, *uneven])


SECTIONS = ("read", "text")


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncodedTexts:
    """What was encoded, from where, and in how many seconds."""

    source: str
    encoded: Encoded
    seconds: float

    def lines(self) -> list[str]:
        """Where the vectors lie, and what they are."""
        done, distinct = self.encoded, len(self.encoded.vectors)
        what = f"{self.source}: {len(done.rows):,} texts, {distinct:,} distinct, {done.vectors.shape[1]} features"
        if done.folder is None:
            return [f"{what} by {done.name} in {self.seconds:.0f} s; not kept, since they are made as fast as read"]
        new = f"{done.num_new:,} encoded in {self.seconds:.0f} s" if done.num_new else "nothing left to encode"
        return [f"{what} by {done.name}: {new}", str(done.folder)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        done = self.encoded
        return {
            "source": self.source,
            "encoder": done.name,
            "texts": len(done.rows),
            "distinct": len(done.vectors),
            "features": done.vectors.shape[1],
            "encoded": done.num_new,
            "seconds": self.seconds,
            "folder": done.folder and str(done.folder),
        }


def encode(
    data: str | Path,
    options: dict[str, Any] | None = None,
    *,
    overrides: dict[str, Any] | None = None,
    progress: bool = False,
) -> EncodedTexts:
    """Encode the texts of a data set into the cache; what is there already is not re-encoded.

    Args:
        data: Prices with texts next to them, or the name of a known data set.
        options: The sections `read` and `text` of a run of stocks.
        overrides: More such settings, which win.
        progress: Whether to say on stderr how far it is.
    """
    given = merge(options or {}, overrides or {})
    for name, fields in given.items():
        if name not in SECTIONS or not isinstance(fields, dict):
            write = Fix("text.max_tokens", 64)
            raise ConfigError(f"encode: fields of read and text only. Got {name}. Write ", write, ".")
    text = EncoderOptions.parse(given.get("text", {}), "text")
    path = datasets.locate(str(data))
    _, texts = read_stocks(path, StockOptions.parse(given.get("read", {}), "read"))
    if texts is None or not texts.count:
        raise DataError(
            f"{data}: there are no texts. Give a file or folder of them (", Fix("read.texts", like="FILE"), ")."
        )
    if texts.text is None:
        raise DataError(f"{texts.source} holds vectors already, so there is nothing to encode. Train on it as it is.")
    start = time.monotonic()
    encoded = encode_texts(texts.text, text, progress=progress)
    return EncodedTexts(source=texts.source, encoded=encoded, seconds=time.monotonic() - start)
