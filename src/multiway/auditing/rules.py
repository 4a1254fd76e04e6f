"""Numbers of the rules of an audit, by the kind of a finding; `docs/guides/audit-rules.md` has a section for each."""

KINDS = (
    "overlap order statistics future lookup duplicates near groups labels shifted interpolated copy formula known "
    "quotes texts encoder border smoothed painted untraded complete selection parts pairs names rank filled form "
    "neighbours places times strong calendar lines issued vocabulary"
).split()
"""In the order in which they were added: a number stays with its rule."""
NUMBERS = {kind: f"MW{place:03}" for place, kind in enumerate(KINDS, start=1)}
