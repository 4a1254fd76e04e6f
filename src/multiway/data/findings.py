"""What a look at a file turned up: each flaw with its place, its value and its mend."""

import dataclasses
from typing import Any, Literal

from multiway.errors import DataError

SHOWN_PER_KIND = 5


def quoted(value: object, limit: int = 40) -> str:
    """A value from a file, safe to print: control characters escaped, length capped."""
    text = repr(str(value))[1:-1]
    return text if len(text) <= limit else text[: limit - 1] + "…"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One kind of flaw, with its first places and how many there are in all."""

    kind: str
    severity: Literal["error", "warning", "note"]
    rule: str
    places: tuple[str, ...] = ()
    count: int = 1
    mend: str = ""

    def line(self, shown: int = SHOWN_PER_KIND) -> str:
        """The whole finding in one line."""
        where = "; ".join(self.places[:shown])
        more = (
            f" (and {self.count - min(shown, len(self.places))} more)"
            if self.count > min(shown, len(self.places))
            else ""
        )
        parts = [self.rule + (f": {where}{more if where else ''}" if where else "") + ".", self.mend]
        return " ".join(part for part in parts if part)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """All that `check_file` found."""

    source: str
    summary: dict[str, Any]
    findings: tuple[Finding, ...]

    @property
    def is_usable(self) -> bool:
        """Whether the file can be read under the options it was checked with."""
        return all(finding.severity != "error" for finding in self.findings)

    def lines(self) -> list[str]:
        """The report for a terminal."""
        head = [f"{name}: {value}" for name, value in self.summary.items()]
        body = [f"{finding.severity}: {finding.line()}" for finding in self.findings]
        verdict = (
            "The file can be used as it is." if self.is_usable else "The file cannot be used until the errors are met."
        )
        return [self.source, *(f"  {line}" for line in [*head, *body]), verdict]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": self.source,
            "summary": self.summary,
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
        }


class Findings:
    """Collects flaws while a file is read; a fatal one ends the reading."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[Finding] = []

    def add(self, finding: Finding) -> None:
        """Note a flaw and go on."""
        self.found.append(finding)

    def fatal(self, kind: str, rule: str, mend: str = "", places: tuple[str, ...] = ()) -> "Unreadable":
        """Note a flaw after which nothing more can be said; raise what this returns."""
        self.add(Finding(kind=kind, severity="error", rule=rule, mend=mend, places=places, count=max(1, len(places))))
        return Unreadable()

    def error(self) -> DataError | None:
        """The first error as an exception, with the number of the others."""
        errors = [finding for finding in self.found if finding.severity == "error"]
        if not errors:
            return None
        rest = f" {len(errors) - 1} more in `multiway check`." if len(errors) > 1 else ""
        return DataError(f"{self.source}: {errors[0].line(1)}{rest}")


class Unreadable(Exception):
    """Ends the reading of a file whose findings are already noted."""
