"""Sentences on the papers, drawn by a seed: each needs a row, a line of the text, a test, or a printed figure.

`python tests/draw_sentences.py SEED [COUNT]` prints COUNT (60) of README.md and docs/papers, numbered, with their page.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path

from test_sentences import ROOT, length, sentences

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "papers").glob("*.md"))]
LEAST = 5
"""Words; what has fewer, such as the bold start of an item, stands with the sentence after it."""


def draw_sentences(seed: int, count: int = 60) -> list[tuple[str, str]]:
    """Pages and sentences, in the order of the pages; the same seed draws the same of the same pages."""
    every = [(page.name, sentence) for page in PAGES for sentence in whole_sentences(page)]
    return [every[place] for place in sorted(random.Random(seed).sample(range(len(every)), count))]


def whole_sentences(page: Path) -> Iterator[str]:
    """Those of a page, short ones with the next."""
    held = ""
    for sentence in sentences(page.read_text()):
        held = f"{held} {sentence}".strip()
        if length(held) >= LEAST:
            yield held
            held = ""


if __name__ == "__main__":
    seed, *count = map(int, sys.argv[1:])
    for number, (page, sentence) in enumerate(draw_sentences(seed, *count), start=1):
        print(f"{number:3} {page}: {sentence}")
