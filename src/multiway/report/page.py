"""Set a page into one HTML file that needs nothing else: style, script and pictures inside."""

import base64
import functools
import hashlib
import itertools
from collections.abc import Callable
from importlib import resources
from typing import Any

from markupsafe import Markup

from multiway.report import text
from multiway.report.attention import share
from multiway.report.charts import HEIGHT, WIDTH, Readouts, pct
from multiway.report.sections import Fact, Page, TableCell


def render(page: Page) -> str:
    """Write the page as one self-contained HTML file.

    It loads nothing from the network, opens from the disk, and a content security policy inside it forbids both
    requests and any script but its own. Names from data are escaped and cleaned of control characters.
    """
    script = _read("script.js")
    template = _environment().get_template("page.html.j2")
    parts = [part for part in page.parts if part is not None and (part.lead or any(part.content))]
    return template.render(
        page=page,
        parts=parts,
        shown=[part for part in parts if not part.is_method],
        folded=[part for part in parts if part.is_method],
        readouts=Readouts(),
        fresh=functools.partial(next, itertools.count()),
        style=Markup(_read("style.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


@functools.cache
def _environment() -> Any:
    import jinja2  # what reads scores needs none

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("multiway.report", "."),
        autoescape=True,
        finalize=text.finalize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., object]] = {
        "name": text.name,
        "whole": text.whole,
        "sentence_case": text.sentence_case,
        "script_json": text.script_json,
        "kind": lambda section: type(section).__name__.lower(),
        "pct": pct,
        "share": share,
        "fact": lambda item: Fact(*item),
        "cell": lambda item: TableCell(item) if isinstance(item, str) else item,
    }
    environment.filters |= filters
    environment.globals |= {"zip": zip, "view_box": f"0 0 {WIDTH} {HEIGHT}"}
    return environment


def _read(file: str) -> str:
    return resources.files("multiway.report").joinpath(file).read_text(encoding="utf-8")
