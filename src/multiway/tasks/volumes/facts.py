"""Schema of what a stored run says of its scans."""

from multiway.config import Config
from multiway.tasks.stored import Facts


class SplitFacts(Config):
    """Cases of a split."""

    cases: int
    patients: int | None
    classes: dict[str, int]


class VolumeFacts(Facts):
    """Of labelled cases."""

    cases: int
    splits: dict[str, SplitFacts]
