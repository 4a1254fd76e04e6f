"""What a look at a file turned up: each flaw with its place, its value and its fix."""

import contextlib
import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from multiway.errors import DataError, Fix, Message, MultiwayError, OverBudgetError, Spell, end_sentence, spell_message

SHOWN_PER_KIND = 5
KEPT_PER_KIND = 20
MOST_LISTED = 100
"""Files whose flaws are listed one by one."""

STRANGE = ("words",)
"""Errors which say that data are of another kind than they were read as."""

Severity = Literal["error", "warning", "note"]
SEVERITIES = ("error", "warning", "note")
T = TypeVar("T")


def quote(value: object, limit: int = 120) -> str:
    """Make a value from a file safe to print: control characters escaped, length capped."""
    text = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in str(value)[: limit + 1]
    )
    return text if len(text) <= limit else text[: limit - 1] + "…"


def list_some(values: Iterable[object], limit: int = 8) -> str:
    """Join some values from a file, escaped; the rest are counted."""
    every = list(values)
    shown = ", ".join(quote(value) for value in every[:limit])
    return shown + (f" and {len(every) - limit} more" if len(every) > limit else "")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a flaw is. Strings from the file are kept as they are and escaped when printed.

    row: 1-based line for text files, 0-based row for frames and Parquet; None for whole columns.
    column: Name of the column.
    value: What stands there.
    detail: Anything else that helps to find it, such as its time.
    """

    row: int | None = None
    unit: Literal["line", "row"] = "line"
    column: str | None = None
    value: str | None = None
    detail: str | None = None

    def __str__(self) -> str:
        parts = [
            None if self.row is None else f"{self.unit} {self.row}",
            None if self.column is None else f"column '{quote(self.column)}'",
            None if self.value is None else f"value '{quote(self.value)}'",
            None if self.detail is None else quote(self.detail, 120),
        ]
        return ", ".join(part for part in parts if part)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One kind of flaw, with its first places and how many there are in all."""

    kind: str
    severity: Severity
    rule: str
    places: tuple[Place, ...] = ()
    count: int = 1
    fix: str | Message = ""
    """What helps: a text, or texts and fixes in their order."""

    def line(self, shown: int = SHOWN_PER_KIND, spell: Spell = str) -> str:
        """Say the whole finding in one line."""
        return spell_message(self.parts(shown), spell).strip()

    def parts(self, shown: int = SHOWN_PER_KIND) -> Message:
        """The line before anyone has spelled its fixes."""
        where = "; ".join(map(str, self.places[:shown]))
        hidden = self.count - min(shown, len(self.places))
        more = f" (and {hidden} more)" if where and hidden > 0 else ""
        head = f"{self.rule}: {where}{more}." if where else end_sentence(self.rule)
        return (f"{head} ", *((self.fix,) if isinstance(self.fix, str) else self.fix))

    def to_dict(self, spell: Spell = str) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**dataclasses.asdict(self), "fix": spell_message(self.fix, spell)}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """All that `check_file` found.

    summary: What the file holds, in plain values: rows, variates, first and last time, step, layout,
        encoding, season, and counts of missing cells, sentinels, repeated and absent times, constant columns.
    missing: Missing cells per variate, those with any; sentinels count as missing.
    findings: Errors first, then warnings, then notes.
    task: Whose options the fixes are of, where it is known.
    proposal: Settings without which no run can be trained on it; None where that is not known, or none can.
    """

    source: str
    summary: dict[str, Any]
    findings: tuple[Finding, ...]
    missing: dict[str, int] = dataclasses.field(default_factory=dict)
    task: str | None = None
    proposal: tuple[Fix, ...] | None = None

    @property
    def is_usable(self) -> bool:
        """Whether the file can be read under the options it was checked with."""
        return all(finding.severity != "error" for finding in self.findings)

    @property
    def is_likely(self) -> bool:
        """Whether it holds what it was read as, be it sound or not: its cells are of the kinds that these have."""
        return all(finding.severity != "error" or finding.kind not in STRANGE for finding in self.findings)

    def lines(self, spell: Spell = str) -> list[str]:
        """Write the report for a terminal."""
        head = [f"{name}: {value}" for name, value in self.summary.items() if value is not None]
        if self.missing:
            worst = sorted(self.missing.items(), key=lambda item: -item[1])
            head.append(f"missing by variate: {list_some(f'{name} {count}' for name, count in worst)}")
        body = [f"{finding.severity}: {finding.line(spell=spell)}" for finding in self.findings]
        errors, said = sum(finding.severity == "error" for finding in self.findings), "The file can be used as it is."
        if errors:
            those = "the error is" if errors == 1 else f"the {errors} errors are"
            said = f"The file cannot be used until {those} fixed."
        return [self.source, *(f"  {line}" for line in [*head, *body]), said]

    def to_dict(self, spell: Spell = str) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": self.source,
            "summary": self.summary,
            "missing": self.missing,
            "findings": [finding.to_dict(spell) for finding in self.findings],
        }


class Unreadable(Exception):
    """Ends the reading of a file whose findings are already noted."""


class Findings:
    """Collects flaws while a file is read; a fatal one ends the reading."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[Finding] = []
        self.encoding: str | None = None
        self.others: list[str] = []

    def add(
        self,
        kind: str,
        severity: Severity,
        rule: str,
        fix: str | Message = "",
        places: Iterable[Place] = (),
        count: int = 0,
    ) -> None:
        """Note a flaw and go on; `count` where there are more than `places` says."""
        every = tuple(places)
        self.found.append(
            Finding(
                kind=kind,
                severity=severity,
                rule=rule,
                fix=fix,
                places=every[:KEPT_PER_KIND],
                count=max(count, len(every), 1),
            )
        )

    def fatal(
        self, kind: str, rule: str, fix: str | Message = "", places: Iterable[Place] = (), count: int = 0
    ) -> Unreadable:
        """Note a flaw after which nothing more can be said; raise what this returns."""
        self.add(kind, "error", rule, fix, places, count)
        return Unreadable()

    def mark(
        self, kind: str, rule: str, fix: str | Message, marks: NDArray[np.bool_], place: Callable[[int], Place]
    ) -> None:
        """Note the rows that are marked as an error, if there are any: their number, `rule`, and the first places."""
        rows = np.flatnonzero(marks)
        if len(rows):
            places = [place(int(row)) for row in rows[:KEPT_PER_KIND]]
            self.add(kind, "error", f"{len(rows)} {rule}", fix, places, len(rows))

    def take(self, kind: str, error: MultiwayError, severity: Severity = "error") -> None:
        """Note an error that ended a step, with its fixes; once, where several steps end so."""
        rule, *fixes = error.args
        rule = str(rule).removeprefix(f"{self.source}: ")
        rule, _, start = rule.rpartition(". ") if fixes else (rule.rstrip("."), "", "")
        if not any(finding.kind == kind and finding.rule == rule for finding in self.found):
            self.add(kind, severity, rule, (start, *fixes) if fixes else "")

    def take_all(self, kind: str, errors: Iterable[MultiwayError]) -> None:
        """Note errors of single files, each once, up to a hundred of them."""
        different = list({str(error): error for error in errors}.values())
        for error in different[:MOST_LISTED]:
            self.take(kind, error)
        if len(different) > MOST_LISTED:
            self.add(kind, "error", f"{len(different) - MOST_LISTED} more problems are not listed")

    @contextlib.contextmanager
    def member(self, name: str) -> Iterator["Findings"]:
        """Findings of one file of several, which are taken over with its name in front of each rule.

        A file that cannot be read does not keep the others from being looked at.
        """
        inner = Findings(name)
        try:
            yield inner
        except Unreadable:
            pass
        self.found += inner.with_source()

    def with_source(self) -> list[Finding]:
        """Findings with the name of their source in front of each rule."""
        return [dataclasses.replace(finding, rule=f"{self.source}: {finding.rule}") for finding in self.found]

    def remarks(self, *severities: Severity) -> tuple[str, ...]:
        """What was found and is no error, one line each; of some severities where they are given."""
        chosen = severities or ("warning", "note")
        return tuple(finding.line() for finding in self.found if finding.severity in chosen)

    def warnings(self) -> tuple[Message, ...]:
        """What is a warning, for who prints it to spell the fixes."""
        return tuple(finding.parts(SHOWN_PER_KIND) for finding in self.found if finding.severity == "warning")

    def by_severity(self) -> tuple[Finding, ...]:
        """Errors first, then warnings, then notes."""
        return tuple(sorted(self.found, key=lambda finding: SEVERITIES.index(finding.severity)))

    def error(self) -> DataError:
        """Make the first error an exception, with the number of the others."""
        errors = self.errors()
        rest = f" {len(errors) - 1} more: run `multiway check` on the file." if len(errors) > 1 else ""
        *parts, last = errors[0].parts(1)
        end = f"{last.rstrip()}{rest}" if isinstance(last, str) else last
        is_placed = str((*parts, end)[0]).startswith((self.source, *self.others))
        return DataError(*([] if is_placed else [f"{self.source}: "]), *parts, end)

    def errors(self) -> list[Finding]:
        """Findings that stop the file from being used."""
        return [finding for finding in self.found if finding.severity == "error"]


Failures = list[MultiwayError]


@contextlib.contextmanager
def keep_errors(failures: Failures | None) -> Iterator[None]:
    """Keep an error for a check that wants all of them; without a list it is raised at once."""
    try:
        yield
    except MultiwayError as error:
        if failures is None or isinstance(error, OverBudgetError):
            raise
        failures.append(error)


_KEPT: ContextVar[dict[Hashable, tuple[Any, Findings]] | None] = ContextVar("kept", default=None)


@contextlib.contextmanager
def reading_once() -> Iterator[None]:
    """Keep what is read until the outermost such block ends: looked at from several sides, a file is read once."""
    token = _KEPT.set({} if (outer := _KEPT.get()) is None else outer)
    try:
        yield
    finally:
        _KEPT.reset(token)


def once(key: Hashable, findings: Findings, read: Callable[[Findings], T]) -> T:
    """What a reader makes of a file; within `reading_once` it reads the first time alone, and notes what it found.

    key: None for what is read each time.
    """
    kept = _KEPT.get()
    if kept is None or key is None:
        return read(findings)
    if key not in kept:
        own = Findings(findings.source)
        try:
            kept[key] = read(own), own
        except Unreadable as end:
            kept[key] = end, own
    result, own = kept[key]
    findings.found += own.found
    findings.encoding = own.encoding or findings.encoding
    if isinstance(result, Unreadable):
        raise result
    return cast(T, result)


def soundly(source: str, read: Callable[[Findings], T], key: Hashable = None) -> T:
    """What a reader makes of a source, if nothing that it notes stops the data from being used.

    key: Under which it is kept within `reading_once`.
    """
    findings = Findings(source)
    try:
        result = once(key, findings, read)
    except Unreadable:
        raise findings.error() from None
    if findings.errors():
        raise findings.error()
    return result


def refuse_huge(count: int, places: list[Place], findings: Findings, fix: str | Message, largest: float) -> None:
    """Say that numbers are too large to be learnt from, before anything is."""
    if count:
        rule = f"{count} {'number is' if count == 1 else 'numbers are'} larger than {largest:g}"
        findings.add("huge", "error", rule, fix, places, count)
