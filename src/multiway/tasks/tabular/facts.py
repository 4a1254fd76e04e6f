"""Schema of what a stored run says of its rows."""

from multiway.config import Config
from multiway.tasks.stored import Facts


class SplitFacts(Config):
    """Rows of a split; classes where the target is one."""

    rows: int
    groups: int | None
    classes: dict[str, int] | None


class TabularFacts(Facts):
    """Of a table."""

    splits: dict[str, SplitFacts]
