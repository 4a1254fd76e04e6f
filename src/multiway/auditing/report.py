"""What an audit found: each leak in one line with its evidence, and what was looked at and is sound."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Self

from multiway.auditing.rules import NUMBERS
from multiway.data.findings import Finding, Place, Severity
from multiway.errors import Message, Spell

Verdict = Finding | str
"""What a check says: a finding, or one line on what it looked at and found sound."""

WORDS = {"error": "leak", "warning": "warning", "note": "note"}
ORDER = tuple(WORDS)


def finding(
    kind: str, severity: Severity, rule: str, fix: str | Message = "", places: Iterable[str] = (), count: int = 1
) -> Finding:
    """Make a finding whose places are words."""
    every = tuple(Place(detail=name) for name in places)
    return Finding(kind=kind, severity=severity, rule=rule, fix=fix, places=every, count=max(count, len(every)))


def verdict_on(
    examples: Sequence[str], sound: str, kind: str, rule: str, fix: str | Message, *, severity: Severity = "error"
) -> Verdict:
    """A finding that shows the first three of what is told and counts all, or the sound line where nothing is."""
    return finding(kind, severity, rule, fix, examples[:3], len(examples)) if examples else sound


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class AuditReport:
    """All that an audit of a data set and its split says.

    source: The data and the split, in words.
    findings: Leaks first (severity `error`), then warnings, then notes.
    passed: What was looked at and is sound, one line each.
    """

    source: str
    findings: tuple[Finding, ...]
    passed: tuple[str, ...]

    @classmethod
    def of(cls, source: str, verdicts: Iterable[Verdict | None]) -> Self:
        """Gather what checks say; None is a check that had nothing to look at."""
        every = list(verdicts)
        findings = [verdict for verdict in every if isinstance(verdict, Finding)]
        return cls(
            source=source,
            findings=tuple(sorted(findings, key=lambda finding: ORDER.index(finding.severity))),
            passed=tuple(verdict for verdict in every if isinstance(verdict, str)),
        )

    @property
    def leaks(self) -> bool:
        """Whether any finding says that a score under this split is not what it seems."""
        return any(finding.severity == "error" for finding in self.findings)

    def lines(self, spell: Spell = str) -> list[str]:
        """Write the report for a terminal, one line per check."""
        body = [
            f"{WORDS[finding.severity]}: {finding.line(spell=spell)}{_number(finding.kind)}"
            for finding in self.findings
        ]
        sound = [f"passed: {text}." for text in self.passed]
        count = sum(finding.severity == "error" for finding in self.findings)
        leaks = f"This split leaks in {'one way' if count == 1 else f'{count} ways'}: scores on it say little."
        return [self.source, *(f"  {line}" for line in [*body, *sound]), leaks if count else "No leak was found."]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": self.source,
            "leaks": self.leaks,
            "findings": [{**finding.to_dict(), "number": NUMBERS.get(finding.kind)} for finding in self.findings],
            "passed": list(self.passed),
        }


def _number(kind: str) -> str:
    """The number of a rule, after its line."""
    return f" [{NUMBERS[kind]}]" if kind in NUMBERS else ""
