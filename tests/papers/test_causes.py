"""No sentence of cause in the papers' pages without two rows that differ in that cause alone."""

import re
from pathlib import Path

import pytest

from multiway.config import leaves
from multiway.workflows.recipe import load_recipe

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*sorted((DOCS / "papers").glob("*.md")), DOCS / "numbers.md"]
CAUSE = re.compile(
    r"\b(because|since|explain(?:s|ed)?|c[ao]mes? from|owing to|due to|thanks to|causes?|caused|therefore|hence|thus"
    r"|the reason|leads? to|led to|results? from|must have|by heart|what it (?:saves|keeps) is)\b",
    re.I,
)
LINK = re.compile(r"\bso that\b|[,;] so\b|, as\b|\bby (?:that|this)\b", re.I)
OUTCOME = re.compile(
    r"\b(learns?|learnt|gain(?:s|ed)?|loses?|lost|decides?|better|worse|best|higher|lower|ahead|behind|accura\w+|errors?"
    r"|sees?|falls?|comparable|reads?|helps?|costs?)\b",
    re.I,
)
"""With such a link what was measured is a sentence of cause too."""
DEFINED = (
    "so its z-score is negative, and", "Movements have six digits, so that", "as the authors' code does, and lets it",
    "The means of table 1 do, as printed;",
)  # fmt: skip
"""Sentences with both that follow from a definition."""
CODE = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", re.S)


def sentences(text: str) -> list[str]:
    """Lines of tables and sentences of prose, without blocks of code."""
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    blocks = [line for block in prose.split("\n\n") for line in ([block] if "|" not in block else block.splitlines())]
    return [part for block in blocks for part in re.split(r"(?<=[.:])\s+|\n- ", block)]


def unlinked(text: str) -> list[str]:
    """Sentences of cause that do not name two recipes which differ in one setting."""
    found = [part for part in sentences(text) if is_of_cause(CODE.sub("", part))]
    return [part for part in found if not differ_in_one(re.findall(r"`([\w-]+)`", part))]


def is_of_cause(sentence: str) -> bool:
    """Whether it says why a figure is what it is."""
    plain = " ".join(sentence.split())
    is_linked = LINK.search(plain) and OUTCOME.search(plain) and not any(part in plain for part in DEFINED)
    return bool(CAUSE.search(plain) or is_linked)


def differ_in_one(names: list[str]) -> bool:
    """Whether there are two recipes, and one setting apart."""
    if len(names) != 2:
        return False
    left, right = (leaves(load_recipe(name).settings) for name in names)
    return sum(left.get(key) != right.get(key) for key in left.keys() | right) == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_cause_is_a_run_that_changes_it_alone(page):
    assert unlinked(page.read_text()) == []


def test_a_cause_without_its_two_rows_is_seen():
    assert unlinked("It is higher, because the order is lost.") == ["It is higher, because the order is lost."]
    assert unlinked("A row `hot-ecl-96` explains it: `tests/explain/test_spectra.py`.") == [
        "A row `hot-ecl-96` explains it:"
    ]
    assert unlinked("A head cannot, so its accuracy falls.") == ["A head cannot, so its accuracy falls."]
    assert unlinked("Cores are normal, so that a train keeps the variance.") == []
    linked = "The order is lost because of the mean (`short-hot-ettm1-none`, `short-hot-ettm1-mean-none`)."
    assert unlinked(linked) == [] and unlinked("See `explain/spectra.py`.") == []
    two = linked.replace("short-hot-ettm1-mean-none", "short-hot-ettm1-mean-time")
    assert unlinked(two) == [two]
