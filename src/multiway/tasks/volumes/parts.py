"""What the reports of scans say alike, of classes and of masks."""

from collections.abc import Mapping
from typing import Any

from multiway.report.sections import Part
from multiway.tasks.page_parts import split_table
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run

INTERVAL = "over cases, or over patients where they are known (bootstrap)"


def selected_by(score: str, run: Run) -> str:
    """What chose the epoch of a run: this score, or the loss where validation leaves it undefined."""
    is_score = run.facts["best"].get(OURS, {}).get("validation_score") is not None
    return f"highest validation {score}" if is_score else "lowest validation loss"


def splits_part(found: Mapping[str, Mapping[str, Any]]) -> Part:
    """Cases, patients and classes of each split."""
    titles = {"cases": "Cases", "patients": "Patients", "classes": "Classes"}
    alone = " No patient is in two of them." if any(part.get("patients") for part in found.values()) else ""
    side = ["Fitted on the first, chosen on the second, scored once on the last." + alone]
    return Part(id="splits", title="Splits", side=side, content=[split_table(found, titles, total="cases")])
