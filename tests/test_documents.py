"""What the README and the guides say runs, and does what is written."""

import base64
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from docs.build.gallery import GALLERY, write_sea
from docs.build.notebooks import NOTEBOOKS, executed
from docs.build.site import describe_estimators, options_table, page_of, public_names
from PIL import Image

import multiway
from documents import code_of, names_used, run_document
from fewer import draw_fewer, fit_fewer, show_fewer
from market_files import write_stocks
from multiway.models import list_models, registry
from multiway.tasks.settings import TASKS, settings_of
from multiway.training import TrainingConfig
from scan_files import write_scans
from tasks.forecasting.panels import shop, weather
from tasks.images.shapes import write_folder
from tasks.tabular.rows import patients
from tasks.text.reviews import long_reviews
from tasks.tiny import waves

ROOT = Path(__file__).parent.parent
NEEDS = {
    "guides/adapters.md": "peft", "guides/serve.md": "fastapi", "reference/compress.md": "transformers",
    "reference/explain.md": "captum", "reference/peft.md": "peft",
}  # fmt: skip
"""Packages without which a document is skipped."""
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
LONG = {
    "adapters.md", "audit.md", "compress.md", "distillation.md", "explain.md", "forecast.md", "images.md",
    "language.md", "layers.md", "multiway.md", "peft.md", "segment.md", "series.md", "serve.md", "stocks.md",
    "tabular.md", "text.md", "tune.md", "volumes.md", "workflows.md",
}  # fmt: skip
"""Documents whose blocks take a second or more; the README is run always."""
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
NOTES = sorted(NOTEBOOKS.glob("*.ipynb"))
REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))
TRAINED = {"multiway.md", "workflows.md"}
"""Pages of the reference that train models of tasks."""
ONLINE = {
    "multiway.compress.storage.push_to_hub",
    "multiway.data.datasets.fetch_dataset",
}
"""Names that need the network: their examples are not run."""


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """The files that the examples speak of."""
    folder = tmp_path_factory.mktemp("examples")
    generator = np.random.default_rng(0)
    days = pd.date_range("2022-01-01", periods=700, freq="D")
    week = 10 * np.sin(2 * np.pi * np.arange(700) / 7)
    shops = {name: 100 + week + generator.normal(0, 3, 700).cumsum() * 0.2 for name in ("north", "south", "west")}
    pd.DataFrame({"date": days, **{name: shop.round(3) for name, shop in shops.items()}}).to_csv(
        folder / "sales.csv", index=False
    )
    stores = shop(rows=400)
    is_ahead = stores["date"] >= stores["date"].unique()[-14]
    stores[~is_ahead].to_csv(folder / "stores.csv", index=False)
    stores[is_ahead].drop(columns=["sales", "visitors"]).to_csv(folder / "plan.csv", index=False)
    loads = weather(days=300, reach=15)
    last = loads["date"].min() + pd.Timedelta(days=285)
    is_plan = (loads["date"] > last) & (loads["issued"] == last)
    loads[(loads["date"] <= last) & (loads["issued"] <= last)].to_csv(folder / "loads.csv", index=False)
    loads[is_plan].drop(columns="load").to_csv(folder / "weather.csv", index=False)
    write_scans(folder)
    write_stocks(folder)
    write_folder(folder / "shapes")
    patients(400).to_csv(folder / "patients.csv", index=False)
    waves().to_csv(folder / "beats.csv", index=False)
    long_reviews(120).to_csv(folder / "reviews.csv", index=False)
    write_sea(folder)
    (folder / "stories.txt").write_text("\n\n".join(tales(60)))
    return folder


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """An empty folder for one document; models that it registers, and the precision that it sets, end with it."""
    list_models()  # registers those that are imported only when a name is missed
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def folder(examples, bare, monkeypatch):
    """A copy of them for one document, in which little is trained, measured and drawn."""
    shutil.copytree(examples, bare, dirs_exist_ok=True)
    monkeypatch.setattr(TrainingConfig, "epochs_of", lambda self, samples: 1)  # what is learned is not looked at
    show_fewer(monkeypatch)
    draw_fewer(monkeypatch)
    fit_fewer(monkeypatch)
    return bare


def tales(count: int) -> list[str]:
    """Texts of words that anything may follow, so that no two share a line."""
    draw = np.random.default_rng(0)
    words = [first + last for first in ("ba", "de", "fi", "go", "hu", "ka") for last in ("lo", "min", "ra", "s", "ten")]
    return [" ".join(draw.choice(words, 24)) + ".\n" for _ in range(count)]


def case_of(path: Path):
    return pytest.param(path, id=path.relative_to(ROOT).as_posix(), marks=[pytest.mark.slow] * (path.name in LONG))


@pytest.mark.parametrize("path", [*map(case_of, [ROOT / "README.md", *GUIDES])])
def test_every_block_runs(path, folder):
    skip_without_packages(path)
    assert run_document(path, folder) > 0


@pytest.mark.parametrize("path", [*map(case_of, REFERENCE)])
def test_every_block_of_the_reference_runs(path, request):
    skip_without_packages(path)
    assert run_document(path, request.getfixturevalue("folder" if path.name in TRAINED else "bare")) > 0


def skip_without_packages(path: Path) -> None:
    package = NEEDS.get(f"{path.parent.name}/{path.name}")
    if package is not None:
        pytest.importorskip(package, reason=f"{package} is not installed")


def test_a_failing_block_is_seen(tmp_path):
    (tmp_path / "bad.md").write_text("# Bad\n\n```bash\nmultiway check absent.csv\n```\n")
    with pytest.raises(AssertionError, match=r"bad\.md:4: multiway check absent\.csv"):
        run_document(tmp_path / "bad.md", tmp_path)


def files_named() -> set[tuple[str, str, str]]:
    """Documents, the files of the code that they name, and the commit where a file is said to be in git alone."""
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = re.compile(r"`([\w/]+\.py)`(?:\s+of\s+commit\s+`(\w+)`)?")
    return {(path.name, *found) for path in documents for found in named.findall(path.read_text())}


def test_every_file_of_the_code_that_a_document_names_is_there():
    parts = ("src", "tests", "benchmarks", "docs")
    files = [path.as_posix() for part in parts for path in (ROOT / part).rglob("*.py")]
    named = [(document, name) for document, name, commit in files_named() if not commit]
    absent = sorted(
        (document, name) for document, name in named if not any(file.endswith(f"/{name}") for file in files)
    )
    assert named and not absent


def test_every_file_that_a_document_names_with_a_commit_is_in_that_commit():
    if not (ROOT / ".git").exists() or git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("needs the whole history")
    named = [(document, f"{commit}:{name}") for document, name, commit in files_named() if commit]
    assert named and not [each for each in named if git("cat-file", "-e", each[1]).returncode]


def git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_link_between_documents_leads_somewhere():
    documents = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    link = re.compile(r"(?:\]\(|src(?:set)?=\")(?!\w+:)([^)\"#\s]+)")
    absent = [
        (document.name, target)
        for document in documents
        for target in link.findall(document.read_text())
        if "." in target and not (document.parent / target).exists()
    ]
    assert len(documents) > 30 and not absent


def test_the_readme_is_short_and_begins_with_an_install_and_a_picture():
    lines = (ROOT / "README.md").read_text().splitlines()
    first = {
        word: next(place for place, line in enumerate(lines, 1) if word in line) for word in ("pip install ", "<img")
    }
    assert len(lines) <= 120 and first["pip install "] <= 25 and first["<img"] <= 30


def test_the_citation_is_of_this_version_and_names_the_papers_as_their_pages_do():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    titles = [" ".join(work["title"].split()).lower() for work in cited["references"]]
    pages = [
        path.read_text()
        for path in sorted((ROOT / "docs" / "papers").glob("*.md"))
        if path.stem not in ("README", "forecaster", "kronecker-rank")
    ]
    assert cited["version"] == multiway.__version__ and len(titles) == len(pages) == 4
    assert all(any(title in " ".join(page.split()).lower() for page in pages) for title in titles)
    assert all(work["authors"] and work["type"] == "article" for work in cited["references"])


def test_every_task_has_a_report_in_the_gallery_and_its_picture_in_the_guide():
    guide = (ROOT / "docs" / "guides" / "report.md").read_text()
    assert set(GALLERY) == set(TASKS)
    assert [task for task in TASKS if f"(../pictures/report-{task}.png)" not in guide] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTES, ids=lambda path: path.stem)
def test_every_notebook_runs_and_prints_what_it_holds(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = outputs_of(json.loads(path.read_text()))
    made = outputs_of(executed(json.loads(path.read_text())))
    assert kept and [sorted(output) for output in made] == [sorted(output) for output in kept]
    for output, before in zip(made, kept, strict=True):
        text, known = words_of(output), words_of(before)
        assert NUMBER.sub("#", text).split() == NUMBER.sub("#", known).split()
        assert numbers(text) == pytest.approx(numbers(known), rel=0.1, abs=0.1)
        assert picture_of(output).size == picture_of(before).size


@pytest.mark.parametrize("path", NOTES, ids=lambda path: path.stem)
def test_every_notebook_holds_a_picture_that_is_small_and_not_blank(path):
    drawn = [output for output in outputs_of(json.loads(path.read_text())) if "image/png" in output.get("data", {})]
    assert drawn and len(path.read_bytes()) < 100_000
    assert all(len(picture_of(output).getcolors()) > 8 and picture_of(output).width > 500 for output in drawn)


def test_a_cell_is_stored_as_jupyter_stores_it():
    code = ["import matplotlib.pyplot as plt\nprint('said')\nfigure = plt.figure()", "'words\\nof two lines'"]
    code += ["import pandas as pd\npd.DataFrame({'a': [1]})"]
    cells = [{"cell_type": "code", "source": source} for source in code]
    said, drawn, text, table = outputs_of(executed({"cells": cells}))
    assert said == {"output_type": "stream", "name": "stdout", "text": ["said\n"]}
    assert drawn["output_type"] == "display_data" and picture_of(drawn).size == (640, 480)
    assert text["output_type"] == "execute_result" and text["execution_count"] == 2
    assert text["data"] == {"text/plain": ["'words\\nof two lines'"]}
    assert sorted(table["data"]) == ["text/html", "text/plain"]


def outputs_of(notebook: dict) -> list[dict]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", ())]


def words_of(output: dict) -> str:
    """What is printed, or a value as text; of a picture that it is one."""
    return "".join(output.get("text") or output["data"]["text/plain"])


def picture_of(output: dict) -> Image.Image:
    """The picture of an output; an empty one where it has none."""
    drawn = output.get("data", {}).get("image/png")
    return Image.new("P", (0, 0)) if drawn is None else Image.open(io.BytesIO(base64.b64decode(drawn)))


def numbers(text: str) -> list[float]:
    """Those of a text, which another processor may round elsewhere."""
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def test_every_public_name_is_written_where_a_reference_finds_it():
    absent = []
    for place in sorted({place for places in public_names().values() for place in places.values()}):
        module, _, name = place.rpartition(".")
        path = (ROOT / "src" / module.replace(".", "/")).with_suffix(".py")
        pattern = rf"^(?:class|def) {name}\b|^{name}(?:: [^=]+)? = "
        if not (path.is_file() and re.search(pattern, path.read_text(), re.MULTILINE)):
            absent.append(place)
    assert not absent


def test_every_public_name_has_an_example():
    public = {
        f"multiway.{name}" if page == "multiway" else f"multiway.{page}.{name}": place
        for page, places in public_names().items()
        for name, place in places.items()
    }
    run, described = (
        {public[name] for name in names_shown(*languages) & set(public)} for languages in (["python"], ["python", ""])
    )
    assert set(public.values()) - run == ONLINE and set(public.values()) == described


def names_shown(*languages: str) -> set[str]:
    """Names that examples use; blocks that are not run count in the reference alone."""
    documents = [ROOT / "README.md", *GUIDES, *NOTEBOOKS.glob("*.ipynb")]
    codes = [code_of(path, "python") for path in documents] + [code_of(path, *languages) for path in REFERENCE]
    return set().union(*map(names_used, codes))


def test_a_name_that_is_only_imported_is_not_used():
    code = "import multiway as mw\nfrom multiway import nn, ops\nfrom multiway.ops import fold\nops.unfold(mw.x.y())"
    assert names_used(code) == {"multiway", "multiway.x", "multiway.x.y", "multiway.ops", "multiway.ops.unfold"}


def test_every_page_of_the_reference_is_of_a_package():
    assert [path.stem for path in REFERENCE] == sorted(public_names())


@pytest.mark.parametrize("path", NOTES, ids=lambda path: path.stem)
def test_the_page_of_a_notebook_holds_its_words_its_code_and_what_it_printed_and_drew(path):
    page = page_of(path)
    notebook = json.loads(path.read_text())
    said = [words_of(output).rstrip() for output in outputs_of(notebook) if len(output.get("data", {})) < 2]
    drawn = [output["data"]["image/png"].strip() for output in outputs_of(notebook) if picture_of(output).width]
    assert said and all(f"```text\n{words}\n```" in page for words in said)
    assert drawn and all(f'src="data:image/png;base64,{picture}"' in page for picture in drawn)
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(f"```python\n{source}\n```" in page for source in code)
    assert page.startswith("# ") and page.splitlines()[2] == f"[Download the notebook]({path.name})"


@pytest.mark.parametrize("task", TASKS)
def test_the_guide_of_a_task_ends_with_its_options(task):
    """The site adds them, from the flags of the config."""
    assert (ROOT / "docs" / "guides" / f"{task}.md").is_file()
    rows = [re.split(r" *\| *", row)[1:-1] for row in options_table(task).splitlines()[4:]]
    known = settings_of(task).options_of("train").values()
    assert [(row[0], row[1], row[3]) for row in rows] == [
        (f"`--{each.name.replace('_', '-')}`", f"`{each.field}`", each.help) for each in known
    ]


def test_the_reference_says_every_argument_of_an_estimator():
    described = dict(describe_estimators())
    assert described.keys() >= {"multiway.tasks.forecasting.estimator.Forecaster"}
    for estimator in described.values():
        assert all(f"    {name}: " in estimator["words"] for name in estimator["arguments"])
