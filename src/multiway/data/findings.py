"""What a look at a file turned up: each flaw with its place, its value and its fix."""

import dataclasses
from collections.abc import Iterable
from typing import Any, Literal

from multiway.errors import DataError, ended

SHOWN_PER_KIND = 5
KEPT_PER_KIND = 20

Severity = Literal["error", "warning", "note"]


def quoted(value: object, limit: int = 40) -> str:
    """Make a value from a file safe to print: control characters escaped, length capped."""
    text = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in str(value)[: limit + 1]
    )
    return text if len(text) <= limit else text[: limit - 1] + "…"


def listed(values: Iterable[object], limit: int = 8) -> str:
    """Join some values from a file, escaped; the rest are counted."""
    every = list(values)
    shown = ", ".join(quoted(value) for value in every[:limit])
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
            None if self.column is None else f"column '{quoted(self.column)}'",
            None if self.value is None else f"value '{quoted(self.value)}'",
            None if self.detail is None else quoted(self.detail, 120),
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
    fix: str = ""

    def line(self, shown: int = SHOWN_PER_KIND) -> str:
        """Say the whole finding in one line."""
        where = "; ".join(map(str, self.places[:shown]))
        hidden = self.count - min(shown, len(self.places))
        more = f" (and {hidden} more)" if where and hidden > 0 else ""
        head = f"{self.rule}: {where}{more}." if where else ended(self.rule)
        return f"{head} {self.fix}".strip()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """All that `check_file` found.

    summary: What the file holds, in plain values: rows, variates, first and last time, step, layout,
        encoding, season, and counts of missing cells, sentinels, repeated and absent times, constant columns.
    missing: Missing cells per variate, those with any; sentinels count as missing.
    findings: Errors first, then warnings, then notes.
    """

    source: str
    summary: dict[str, Any]
    findings: tuple[Finding, ...]
    missing: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def is_usable(self) -> bool:
        """Whether the file can be read under the options it was checked with."""
        return all(finding.severity != "error" for finding in self.findings)

    def lines(self) -> list[str]:
        """Write the report for a terminal."""
        head = [f"{name}: {value}" for name, value in self.summary.items() if value is not None]
        if self.missing:
            worst = sorted(self.missing.items(), key=lambda item: -item[1])
            head.append(f"missing by variate: {listed(f'{name} {count}' for name, count in worst)}")
        body = [f"{finding.severity}: {finding.line()}" for finding in self.findings]
        return [self.source, *(f"  {line}" for line in [*head, *body]), self._verdict()]

    def _verdict(self) -> str:
        if self.is_usable:
            return "The file can be used as it is."
        errors = sum(finding.severity == "error" for finding in self.findings)
        return f"The file cannot be used until {'the error is' if errors == 1 else f'the {errors} errors are'} fixed."

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": self.source,
            "summary": self.summary,
            "missing": self.missing,
            "findings": [finding.to_dict() for finding in self.findings],
        }


class Unreadable(Exception):
    """Ends the reading of a file whose findings are already noted."""


class Findings:
    """Collects flaws while a file is read; a fatal one ends the reading."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[Finding] = []
        self.encoding: str | None = None

    def add(
        self, kind: str, severity: Severity, rule: str, fix: str = "", places: Iterable[Place] = (), count: int = 0
    ) -> None:
        """Note a flaw and go on; `count` where there are more than `places` says."""
        every = tuple(places)
        self.found.append(
            Finding(
                kind=kind, severity=severity, rule=rule, fix=fix, places=every[:KEPT_PER_KIND],
                count=max(count, len(every), 1),
            )
        )  # fmt: skip

    def fatal(self, kind: str, rule: str, fix: str = "", places: Iterable[Place] = (), count: int = 0) -> Unreadable:
        """Note a flaw after which nothing more can be said; raise what this returns."""
        self.add(kind, "error", rule, fix, places, count)
        return Unreadable()

    def error(self) -> DataError:
        """Make the first error an exception, with the number of the others."""
        errors = self.errors()
        rest = f" {len(errors) - 1} more: run `multiway check` on the file." if len(errors) > 1 else ""
        return DataError(f"{self.source}: {errors[0].line(1)}{rest}")

    def errors(self) -> list[Finding]:
        """Findings that stop the file from being used."""
        return [finding for finding in self.found if finding.severity == "error"]
