"""Findings of many files as findings of one folder."""

import collections
import dataclasses

from multiway.data.findings import Finding, Findings


def absorb(inner: Findings, outer: Findings) -> None:
    """Take over what was found in one file of a folder; its name goes in front of each rule."""
    for finding in inner.found:
        outer.found.append(dataclasses.replace(finding, rule=f"{inner.source}: {finding.rule}"))


def joined_notes(findings: Findings, source: str) -> None:
    """Make one note of the same note on many files."""
    groups: dict[tuple[str, str], list[Finding]] = collections.defaultdict(list)
    others = []
    for finding in findings.found:
        name, mark, rule = finding.rule.partition(": ")
        if finding.severity == "note" and mark and name != source:
            groups[finding.kind, rule].append(finding)
        else:
            others.append(finding)
    findings.found = others
    for (kind, rule), found in groups.items():
        head = found[0].rule if len(found) == 1 else f"{rule} (in {len(found)} files)"
        findings.add(kind, "note", head)
