"""No sentence of the README, the guides and the reference is longer than a reader takes in at once."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST = 20
"""Words of a sentence; a name or a command in backticks is one word."""
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *(page for folder in (".", "guides", "reference") for page in sorted((ROOT / "docs" / folder).glob("*.md"))),
]
LEFT_OUT = re.compile(r"^```.*?^```|^<(\w+).*?^</\1>|^(?:[|#!]|\$\$).*?$", re.MULTILINE | re.DOTALL)
"""Blocks of code and of HTML, rows of tables, headings, pictures and formulas."""
PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )")
END = re.compile(r"(?<=[.!?])[\")*]* +(?=[\"(*]*[A-Z0-9`\[])")


def sentences(text: str) -> Iterator[str]:
    """Those of Markdown's prose, with the words of a link in the place of its target."""
    prose = re.sub(r"\]\([^)]*\)", "]", LEFT_OUT.sub("\n", text))
    prose = re.sub(r"`[^`]*`", lambda code: "`" + re.sub(r"[\s.!?]", "_", code[0][1:-1]) + "`", prose)
    for paragraph in PARAGRAPH.split(prose):
        whole = re.sub(r"^(?:[-*]|\d+\.) ", "", " ".join(paragraph.split()))
        yield from (sentence for sentence in END.split(whole) if sentence)


def length(sentence: str) -> int:
    """Its words and figures; signs that stand alone are none."""
    return sum(bool(re.search(r"\w", word)) for word in sentence.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_sentence_is_long(page):
    found = list(sentences(page.read_text()))
    long = [f"{page.name}: {length(each)} words: {each}" for each in found if length(each) > LONGEST]
    assert len(found) >= 5 and not long, "\n".join(long)


def test_sentences_of_prose_are_counted_and_nothing_else():
    word = "word "
    text = (
        f"# {word * 30}\n\n```bash\n{word * 30}\n```\n\n| {word * 30}|\n\n<picture>\n{word * 30}\n</picture>\n\n"
        f"A [link](a/long/path) and `code of. Many words`. **Two** ends here: {word * 20}\n{word * 4}\n"
        f"- An item, e.g. one\n- {word * 26}\n"
    )
    assert [length(each) for each in sentences(text)] == [4, 27, 4, 26]
