"""`python -m docs.build.gallery [pictures]`: a report of each task on the data that ship, for the site.

Reports and their page go to `build/gallery`. With `pictures`, a headless Chromium draws the first screen of each into
`docs/pictures`, which the guide to the report shows.
"""

import contextlib
import io
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from docs.build.browser import Browser

import multiway as mw
from multiway import workflows

ROOT = Path(__file__).parents[2]
FOLDER, PICTURES = ROOT / "build" / "gallery", ROOT / "docs" / "pictures"
SCREEN = (1200, 800)
ABOUT = """# Gallery of reports

Each is one file that `multiway report` wrote, of a run on a small data set that comes with the package.
Open one: nothing is fetched.

"""


class Shown(NamedTuple):
    """A report of the gallery: what it is about, how its data are written, and its settings."""

    words: str
    write: Callable[[Path], Path]
    settings: dict[str, Any]


def misnamed(names: Sequence[str]) -> list[str]:
    """Classes, every eleventh of them named wrongly, as in data of the world: a report has to show them."""
    known = sorted({*map(str, names)})
    return [known[known.index(str(name)) - (place % 11 == 4)] for place, name in enumerate(names)]


def table(name: str, *more: str) -> Callable[[Path], Path]:
    """Writes examples, one below the other, as CSV."""

    def write(folder: Path) -> Path:
        path = folder / f"{name}.csv"
        pd.concat([mw.load_example(each) for each in (name, *more)]).to_csv(path, index=False)
        return path

    return write


def arrays(name: str, column: str) -> Callable[[Path], Path]:
    """Writes a file for each case, and a table of them with their classes or masks."""

    def write(folder: Path) -> Path:
        rows = []
        cases, known = mw.load_example(name)
        for place, (case, label) in enumerate(zip(cases, known if column == "mask" else misnamed(known), strict=True)):
            np.save(folder / f"case-{place:02d}.npy", case)
            if column == "mask":
                np.save(folder / f"mask-{place:02d}.npy", label.astype(np.uint8))
            rows.append(
                {"path": f"case-{place:02d}.npy", column: f"mask-{place:02d}.npy" if column == "mask" else label}
            )
        pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False)
        return folder / f"{name}.csv"

    return write


def pictures_of_classes(folder: Path) -> Path:
    """Images and their classes as arrays, with a split."""
    images, names = mw.load_example("shapes")
    names = np.array(misnamed(names))
    parts = {"train": slice(0, 100), "val": slice(100, 130), "test": slice(130, 160)}
    of_parts = {f"{part}_images": images[rows] for part, rows in parts.items()}
    np.savez(folder / "shapes.npz", **of_parts, **{f"{part}_labels": names[rows] for part, rows in parts.items()})
    return folder / "shapes.npz"


def stories(folder: Path) -> Path:
    path = folder / "stories.txt"
    path.write_text("\n\n".join(mw.load_example("stories")))
    return path


def write_sea(folder: Path) -> Path:
    """Months of a made-up sea around land: a season, and anomalies that last and drift eastward."""
    draw, lat, lon = np.random.default_rng(0), np.arange(-30.0, 31.0, 5.0), np.arange(0.0, 180.0, 6.0)
    times, sea = np.arange("1990-01", "2005-01", dtype="datetime64[M]"), np.zeros((180, len(lat), len(lon)))
    for row in range(1, len(times)):
        fresh = sum(draw.normal() * np.cos(np.deg2rad(lon * wave + draw.uniform(0, 360))) for wave in (1, 2, 3))
        sea[row] = 0.85 * np.roll(sea[row - 1], 1, axis=1) + fresh * np.cos(np.deg2rad(lat))[:, None] / 2
    season = np.sin(2 * np.pi * np.arange(len(times)) / 12)[:, None, None] * lat[:, None] / 10
    values = 24 + season - np.abs(lat)[:, None] / 6 + sea
    values[:, 3:8, 10:15] = np.nan
    days = np.array([f"{month}-15" for month in times])
    axes = {"axes": np.array(["time", "lat", "lon"]), "time": days, "lat": lat, "lon": lon}
    np.savez(folder / "sea.npz", sst=values.astype(np.float32), units=np.array(["degC"]), **axes)
    return folder / "sea.npz"


SHORT = {"epochs": 6, "warmup_steps": 5, "batch_size": 16}
GALLERY = {
    "forecast": Shown(
        "Four stores and their holidays",
        table("store_sales", "store_plan"),
        {"horizon": 14, "lookback": 56, "future": ["holiday"]},
    ),
    "tabular": Shown("Who is ill", table("patients"), {"read": {"target": "ill"}, "training": SHORT}),
    "series": Shown("Early and late beats", table("beats"), {"training": SHORT}),
    "text": Shown("Good and bad reviews", table("reviews"), {"text": {"encoder": "hashed"}, "training": SHORT}),
    "images": Shown("Dots and discs, a few named wrongly", pictures_of_classes, {"training": SHORT}),
    "volumes": Shown("Small and large balls, a few named wrongly", arrays("scans", "label"), {"training": SHORT}),
    "segment": Shown("Where the ball is", arrays("lesions", "mask"), {"training": SHORT}),
    "stocks": Shown("Four stocks", table("prices"), {"training": SHORT}),
    "language": Shown("Stories of a farm", stories, {"training": SHORT}),
    "grids": Shown("A made-up sea", write_sea, {"horizon": 3}),
}


def write_reports() -> None:
    """Train each run, and write its report and the page that lists them."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    lines = []
    for task, shown in GALLERY.items():
        with tempfile.TemporaryDirectory() as scratch:
            write_report(task, Path(scratch), FOLDER / f"{task}.html")
        lines.append(f"## [{shown.words}]({task}.html)\n\n`multiway train {task}`\n")
        if (PICTURES / f"report-{task}.png").is_file():
            lines.append(f"[![{shown.words}: the first screen](../pictures/report-{task}.png)]({task}.html)\n")
    (FOLDER / "README.md").write_text(ABOUT + "\n".join(lines))


def write_report(task: str, folder: Path, page: Path) -> None:
    """Train in a folder, where its command names the file of the data alone, and write the report."""
    shown = GALLERY[task]
    data = shown.write(folder)
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        workflows.train({"data": data.name, **shown.settings}, task=task, out="run")
        workflows.report("run", out=page)


def draw_pictures() -> None:
    """The first screen of each report; that of the forecast in the dark too, for the README."""
    with tempfile.TemporaryDirectory() as scratch, Browser(Path(scratch) / "profile") as browser:
        for task in GALLERY:
            draw_picture(browser, task, PICTURES / f"report-{task}.png")
        draw_picture(browser, "forecast", PICTURES / "report-forecast-dark.png", is_dark=True)


def draw_picture(browser: Browser, task: str, path: Path, *, is_dark: bool = False) -> None:
    """The first screen of a report, in 64 colours."""
    from PIL import Image

    browser.open(FOLDER / f"{task}.html", *SCREEN, is_dark=is_dark)
    browser.picture(path)
    seen = Image.open(io.BytesIO(path.read_bytes())).convert("RGB")
    seen.quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    write_reports()
    if "pictures" in sys.argv:
        draw_pictures()
