"""Things that belong together, such as the scans of a patient, on both sides of a split."""

from collections.abc import Mapping, Sequence

from multiway.auditing.report import Verdict, found
from multiway.data.findings import quoted


def check_groups(groups: Mapping[str, Sequence[str]], what: str) -> Verdict:
    """Whether a group is in two splits.

    Args:
        groups: For each split, the group of each case.
        what: What a group is, in the singular; an s makes it plural.
    """
    splits: dict[str, list[str]] = {}
    for split, every in groups.items():
        for group in dict.fromkeys(every):
            splits.setdefault(group, []).append(split)
    torn = [f"{quoted(group)} in {' and '.join(where)}" for group, where in splits.items() if len(where) > 1]
    if not torn:
        return f"none of {len(splits):,} {what}s is in two splits"
    return found(
        "groups", "error", f"{len(torn):,} of {len(splits):,} {what}s are in two splits",
        f"Give each {what} to one split.", torn[:3], len(torn),
    )  # fmt: skip
