"""`python docs/build/formulas.py build/site`: formulas of the site as MathML, which browsers draw without a script.

`bin/docs` calls it with the tools of the site, so it imports nothing of this repository.
"""

import html
import re
import sys
from pathlib import Path

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(div|span) class="arithmatex">\\([\[(])(.*?)\\[\])]</\1>', re.DOTALL)


def drawn(page: str) -> str:
    """A page whose formulas are MathML; those between brackets stand in a line of their own."""
    return FORMULA.sub(lambda found: _markup(*found.groups()), page)


def _markup(tag: str, bracket: str, formula: str) -> str:
    display = "block" if bracket == "[" else "inline"
    wide = ' style="overflow-x: auto"' if bracket == "[" else ""  # on a narrow screen it scrolls, and the page does not
    return f'<{tag} class="formula"{wide}>{convert(html.unescape(formula), display=display)}</{tag}>'


if __name__ == "__main__":
    for path in Path(sys.argv[1]).rglob("*.html"):
        path.write_text(drawn(path.read_text()))
