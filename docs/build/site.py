"""`python -m docs.build.site pages|index|links`: gather the pages of the site, write its index for disks, check links.

`bin/docs` calls the first before Zensical, the others after it. All is written into `build/`, which git ignores.
"""

import ast
import functools
import inspect
import json
import re
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from docs.build import claims_page, results_page

import multiway
from multiway.lazy import extensions
from multiway.tasks.estimator import Estimator
from multiway.tasks.settings import TASKS, settings_of

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
PAGES, SITE = BUILD / "pages", BUILD / "site"
PACKAGES = ("nn", "ops", "models", "compress", "explain", "data", "report", "training", "workflows", "auditing", "peft")
OUTSIDE = re.compile(r"\[[^\]]*\]\((?:\.\./)*((?:results|src|tests|benchmarks|build)/[^)]*|claims\.yaml)\)")
"""Links to files of the repository that no page shows."""
FILE_NAMED = re.compile(r"\[[\w/.-]+\.md\]\(([^)#]+\.md)(#[^)]*)?\)")
"""Links that are named after a file, which a reader of the site does not see."""
ROWS = re.compile(r"\]\((?:\.\./)*results/(?:[\w-]+\.jsonl(#[\w-]+))?\)")
"""Links to measured rows: to the folder, or to a file and the section that shows its rows on the page of results."""
STYLE = """
.md-typeset td code, .md-typeset th code { word-break: normal; overflow-wrap: normal; }
.md-typeset img { max-width: 100%; }
"""
"""Names in tables are not broken within: a table that is too wide scrolls."""
CONFIG = """
[project]
site_name = "multiway"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
extra_css = ["site.css"]
nav = [
  {{ "Home" = "index.md" }},
  {{ "Guides" = [{guides}] }},
  {{ "Notebooks" = [{notebooks}] }},
  {{ "Gallery" = ["gallery/README.md"] }},
  {{ "Papers" = [{papers}] }},
  {{ "Results" = ["numbers.md", "results.md"] }},
  {{ "Reference" = [{reference}] }},
  {{ "About" = ["roadmap.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE.md"] }},
]
[project.theme]
font = false
[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle = {{ icon = "lucide/sun", name = "dark" }}
[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle = {{ icon = "lucide/moon", name = "light" }}
[project.plugins.search]
[project.plugins.mkdocstrings.handlers.python]
paths = ["{source}"]
[project.plugins.mkdocstrings.handlers.python.options]
heading_level = 3
show_source = false
show_root_heading = true
show_root_full_path = false
merge_init_into_class = true
docstring_style = "google"
extensions = ["{extension}"]
"""


def public_names() -> dict[str, dict[str, str]]:
    """By page, where each public name is defined: those of `multiway`, and what its packages export."""
    pages = {"multiway": dict(_exported("multiway", multiway.__file__, set(multiway.__all__)))}
    pages["multiway"] |= {name: place.replace(":", ".") for name, place in extensions("estimators").items()}
    for package in PACKAGES:
        pages[package] = dict(_exported(f"multiway.{package}", ROOT / "src" / "multiway" / package / "__init__.py"))
    packages = {f"multiway.{name}" for name in (*PACKAGES, "errors", "tasks")}
    return {page: {name: at for name, at in names.items() if at not in packages} for page, names in pages.items()}


def _exported(package: str, path: str | Path, kept: set[str] | None = None) -> Iterator[tuple[str, str]]:
    """Names that a package imports to export them, each with its place."""
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("multiway"):
            for alias in node.names:
                name = alias.asname or alias.name
                if name in kept if kept is not None else alias.asname == alias.name:
                    yield name, _defined(node.module, alias.name)


@functools.cache
def _defined(module: str, name: str) -> str:
    """Where a name that a module has from another is written."""
    folder = ROOT / "src" / module.replace(".", "/")
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module not in (None, module) and "multiway" in str(node.module):
            if any(alias.name == name and alias.asname in (None, name) for alias in node.names):
                return _defined(str(node.module), name)
    return f"{module}.{name}"


def write_pages() -> None:
    """Documents as they are, the README as the first page; under the examples of the reference, an entry per name."""
    shutil.rmtree(BUILD / "pages", ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES, ignore=shutil.ignore_patterns("*.yaml", "build"))
    for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY"):
        text = (ROOT / f"{name}.md").read_text().replace("](LICENSE)", "](LICENSE.md)")
        page = PAGES / f"{'index' if name == 'README' else name}.md"
        page.write_text(text.replace("](docs/", "](").replace('"docs/', '"'))
    (PAGES / "LICENSE.md").write_text(f"# Licence\n\n```text\n{(ROOT / 'LICENSE').read_text()}```\n")
    (PAGES / "site.css").write_text(STYLE)
    (PAGES / "results.md").write_text(results_page.page())
    with (PAGES / "papers" / "README.md").open("a") as file:
        file.write(f"\n{claims_page.page()}")
    for task in TASKS:
        with (PAGES / "guides" / f"{task}.md").open("a") as file:
            file.write(f"\n{options_table(task)}")
    for page in PAGES.rglob("*.md"):
        page.write_text(as_on_the_site(page.read_text(), page.parent))
    for notebook in (PAGES / "notebooks").glob("*.ipynb"):
        notebook.with_suffix(".md").write_text(page_of(notebook))
    shutil.copytree(BUILD / "gallery", PAGES / "gallery")
    names = public_names()
    for page, places in names.items():
        entries = "\n\n".join(f"::: {place}" for _, place in sorted(places.items()))
        with (PAGES / "reference" / f"{page}.md").open("a") as file:
            file.write(f"\n## All names\n\n{entries}\n")
    (BUILD / "arguments.json").write_text(json.dumps(dict(describe_estimators())))
    parts = {part: _listed(part) for part in ("guides", "notebooks", "papers", "reference")}
    files = {"source": ROOT / "src", "extension": ROOT / "docs" / "build" / "signatures.py"}
    (BUILD / "zensical.toml").write_text(
        CONFIG.format(**{name: path.as_posix() for name, path in files.items()}, **parts)
    )
    print(f"{len(list(PAGES.rglob('*.md')))} pages, {sum(map(len, names.values()))} public names")


def options_table(task: str) -> str:
    """Every option of the training of a task, from the flags of its config: what its guide ends with."""
    rows = [
        f"| `--{each.name.replace('_', '-')}` | `{each.field}` | {_usual(each.default)} | {each.help} |"
        for each in settings_of(task).options_of("train").values()
    ]
    head = f"## Options of `multiway train {task}`\n\n| option | field | usual value | |\n|---|---|---|---|"
    return "\n".join([head, *rows, ""])


def _usual(value: object) -> str:
    return "" if value in (None, ()) else f"`{value}`"


def describe_estimators() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every estimator by its place: what is said of it, and of each argument its type and its usual value."""
    for name in dir(multiway):
        found = getattr(multiway, name)
        if inspect.isclass(found) and issubclass(found, Estimator):
            known = inspect.signature(found).parameters.values()
            kinds = {each.name: inspect.formatannotation(each.annotation).replace("typing.", "") for each in known}
            arguments = {each.name: (kinds[each.name], repr(each.default)) for each in known}
            yield f"{found.__module__}.{name}", {"words": found.__doc__, "arguments": arguments}


def as_on_the_site(text: str, folder: Path) -> str:
    """A document whose links lead to pages, and are named after their titles where they were named after files."""

    def titled(link: re.Match[str]) -> str:
        path = folder / link[1]
        title = path.read_text().partition("# ")[2].partition("\n")[0] if path.is_file() else link[1]
        return f"[{title}]({link[1]}{link[2] or ''})"

    up = "../" * len(folder.relative_to(PAGES).parts)
    text = ROWS.sub(lambda link: f"]({up}results.md{link[1] or ''})", text)
    text = OUTSIDE.sub(r"`\1`", text).replace("](../../CONTRIBUTING", "](../CONTRIBUTING").replace(".ipynb)", ".md)")
    return FILE_NAMED.sub(titled, text)


def page_of(notebook: Path) -> str:
    """A notebook as a page: its words, its code, what that printed and drew, and a link to the file under the title."""
    title, *cells = [part for cell in json.loads(notebook.read_text())["cells"] for part in _parts(cell)]
    heading, _, rest = title.partition("\n")
    return "\n\n".join([heading, f"[Download the notebook]({notebook.name})", rest.strip(), *cells]) + "\n"


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    yield source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
    yield from map(_shown, cell.get("outputs", ()))


def _shown(output: dict[str, Any]) -> str:
    """What a cell prints, draws, or ends with: a picture rather than a table, and a table rather than text."""
    data = output.get("data", {})
    if "image/png" in data:
        return f'<img alt="What this cell draws" src="data:image/png;base64,{data["image/png"].strip()}">'
    if "text/html" in data:
        table = re.sub(r"(?s)<style.*?</style>|</?div>| border=.*?(?=>)", "", "".join(data["text/html"]))
        return re.sub(r"\n\s*", "\n", table).strip()
    return f"```text\n{''.join(output.get('text') or data['text/plain']).rstrip()}\n```"


def _listed(part: str) -> str:
    paths = sorted((PAGES / part).glob("*.md"), key=lambda path: (path.stem not in ("README", "multiway"), path.stem))
    return ", ".join(f'"{path.relative_to(PAGES).as_posix()}"' for path in paths)


def write_index() -> None:
    """What the search reads of a site that is opened from disk, where a page may not load JSON."""
    (SITE / "search.js").write_text(f"var __index = {(SITE / 'search.json').read_text()};\n")


class _Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {str(given[key]) for key in ("id", "name") if given.get(key)}
        self.targets += [str(given[key]) for key in ("href", "src", "srcset") if given.get(key)]


def broken_links() -> list[str]:
    """Links within the site that lead nowhere, formulas that are not drawn, and public names without an entry."""
    pages = {path.resolve(): _Links(path.read_text()) for path in SITE.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for target in page.targets:
            if re.match(r"[a-z]+:|//|/", target) or path.name == "404.html":
                continue
            file, _, place = target.partition("#")
            at = (path.parent / file.split("?")[0]).resolve() if file else path
            at = at / "index.html" if at.is_dir() else at
            if not at.is_file() or (place and at in pages and place not in pages[at].ids and place != "__codelineno"):
                found.append(f"{path.relative_to(SITE.resolve())}: {target}")
    found += [f"{path.name}: a formula that is not drawn" for path in pages if "arithmatex" in path.read_text()]
    for page, places in public_names().items():
        ids = pages[(SITE / "reference" / f"{page}.html").resolve()].ids
        found += [f"reference/{page}: {place} has no entry" for place in places.values() if place not in ids]
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["pages"]:
        write_pages()
    elif sys.argv[1:] == ["index"]:
        write_index()
    else:
        broken = broken_links()
        print("\n".join(broken) or f"{len(list(SITE.rglob('*.html')))} pages, no broken link")
        sys.exit(bool(broken))
