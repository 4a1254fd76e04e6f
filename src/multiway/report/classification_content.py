"""What a classification report says, as plain values: the task fills it, `render_classification_report` sets it.

Every part but the title may be absent: its section is then left out. Model names are free text and tie the
parts together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from multiway.explain.planes import Spacing
from multiway.explain.voxels import DeletionCurves
from multiway.report.content import Floats, RunReport

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ClassScore:
    """One score; rows that differ in `seed` alone are shown as a mean over seeds.

    value: `None` where the metric is undefined (AUC of one class).
    low, high: Its 95 % interval over cases.
    """

    model: str
    metric: str
    value: float | None
    low: float | None = None
    high: float | None = None
    split: str = "test"
    seed: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SplitCases:
    """One split: how many cases and patients (if known), and cases per class."""

    name: str
    cases: int
    patients: int | None = None
    classes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RocCurve:
    """One curve, both rates rising from 0 to 1: of a model, or of one class against the rest."""

    name: str
    false_positive: Floats
    true_positive: Floats
    auc: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Confusion:
    """Cases by their class (rows) and the class named by the model (columns), `(classes, classes)`."""

    classes: Sequence[str]
    counts: Counts


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ReliabilityBin:
    """Cases whose confidence is alike: their mean confidence, the share named rightly, and their number."""

    confidence: float
    accuracy: float
    count: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CaseView:
    """One case in three planes with what the network made of it.

    group: Under which heading: "Most confident errors".
    probability: That of the class named, and of the actual one.
    volume: `(*sizes)`, one channel, in the orientation that the network saw.
    attention: Relative, 1 is an even look, `(*sizes)`.
    gradients: Signed, `(*sizes)`.
    sums: Sum of the gradients, and the change of the logit that it should equal.
    """

    name: str
    group: str
    predicted: str
    probability: float
    volume: npt.NDArray[np.generic]
    actual: str | None = None
    actual_probability: float | None = None
    patient: str | None = None
    axes: Sequence[str] = ("depth", "height", "width")
    spacing: Spacing | None = None
    orientation: str | None = None
    attention: Floats | None = None
    gradients: Floats | None = None
    sums: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ClassificationReport(RunReport):
    """Everything in the report of a classification.

    chosen: The model that this run is about.
    classes: Names of the classes, in order.
    majority: Share of the most frequent class among the test cases.
    threshold: Of the second of two classes, chosen on validation.
    scores: One row per model, metric, split and seed.
    splits: Train, validation and test.
    roc: Curves on the test cases.
    confusion: Of the chosen model on the test cases.
    reliability: Of the chosen model on the test cases.
    cases: Views in the order they are shown.
    case_note: Why cases are absent, or what they were made of.
    deletion: Mean over test cases; `deletion_cases` says of how many.
    """

    chosen: str = "multiway"
    classes: Sequence[str] = ()
    majority: float | None = None
    threshold: float | None = None
    scores: Sequence[ClassScore] = ()
    splits: Sequence[SplitCases] = ()
    roc: Sequence[RocCurve] = ()
    confusion: Confusion | None = None
    reliability: Sequence[ReliabilityBin] = ()
    cases: Sequence[CaseView] = ()
    case_note: str = ""
    deletion: DeletionCurves | None = None
    deletion_cases: int = 0
