"""`python -m benchmarks.report_picture`: forecast the sales that come with the package, and take the README's pictures.

The report of that run is opened in a headless Chromium, once in light and once in dark.
"""

import tempfile
from pathlib import Path

import pandas as pd

import multiway as mw
from benchmarks.browser import Browser

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
WIDTH, HEIGHT = 1200, 800


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sales = pd.concat([mw.load_example("store_sales"), mw.load_example("store_plan")])
        sales.to_csv(folder / "store_sales.csv", index=False)
        page = folder / "report.html"
        page.write_text(reported(folder / "store_sales.csv"), encoding="utf-8")
        with Browser(folder / "profile") as browser:
            for name in ("light", "dark"):
                browser.open(page, WIDTH, HEIGHT, is_dark=name == "dark")
                browser.picture(PICTURES / f"report-{name}.png")
                print(PICTURES / f"report-{name}.png")


def reported(data: Path) -> str:
    forecaster = mw.Forecaster(horizon=14, lookback=56, future=("holiday",)).fit(str(data))
    run = forecaster.run_
    return str(run.task.report([run]))


if __name__ == "__main__":
    main()
