"""The table of every method on StockNet is what the rows say."""

import json
from pathlib import Path
from types import SimpleNamespace

from multiway_papers.stocks.task import intervals_of_baselines

ROOT = Path(__file__).parents[2]
BASELINES = {
    "always the larger class": "majority", "a fair coin": "random", "the direction of the day before": "previous",
    "the calendar": "calendar", "ARIMA of each price": "arima", "logistic regression": "logistic",
    "TF-IDF of words": "tfidf", "TF-IDF, one for each ticker": "tfidf_ticker",
}  # fmt: skip
NETWORKS = {"the default network, hashed words": "rescored-stocknet"} | {
    f"HOT, {seen}, {kind}": f"hot-stocks-{modality}-{attention}-all-trainable"
    for seen, modality in (("prices", "price"), ("texts", "text"), ("both", "multimodal"))
    for kind, attention in (("softmax", "softmax"), ("kernel", "kernelised"))
}


def test_every_method_on_stocknet_has_the_scores_of_its_row():
    rows = {row["recipe"]: row for row in map(json.loads, (ROOT / "results" / "stocks.jsonl").read_text().splitlines())}
    page = (ROOT / "docs" / "papers" / "hot-stocks.md").read_text()
    part = page.partition("### StockNet re-scored")[2].partition("\n#")[0]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")
    ]
    shown = {name: cells for name, *cells in lines if name in BASELINES or name in NETWORKS}
    assert list(shown) == [*BASELINES, *NETWORKS]
    scored = rows["rescored-stocknet"]
    for words, name in BASELINES.items():
        bounds = scored["intervals"][name]
        assert shown[words] == ["–", *scores(scored, f"{name}_", bounds["acc"], bounds["mcc"])], words
    for words, name in NETWORKS.items():
        row = rows[name]
        bounds = [[row[f"{metric}_{end}"] for end in ("low", "high")] for metric in ("acc", "mcc")]
        assert shown[words] == [str(row["seeds"]), *scores(row, "", *bounds)], words
        assert row["counts"]["test"] == 3720 and row["test_rises"] == 1908


def scores(row, prefix, *bounds):
    for metric, (low, high) in zip(("acc", "mcc"), bounds, strict=True):
        yield printed(row[f"{prefix}{metric}"])
        yield "–" if low is None else f"{printed(low)} to {printed(high)}"


def printed(value):
    return "–" if value is None else f"{value:.3f}".replace("0.", ".", 1)


def test_a_row_has_the_intervals_of_the_baselines_of_its_first_run():
    run = SimpleNamespace(
        scores=[
            {"model": model, "split": split, "metric": metric, "value": 0.5, "low": low, "high": 0.75}
            for model in ("network", "majority", "calendar")
            for split in ("validation", "test")
            for metric in ("acc", "mcc", "auc")
            for low in [0.25 if split == "test" else 0.125]
        ]
    )
    bounds = {"acc": [0.25, 0.75], "mcc": [0.25, 0.75]}
    assert intervals_of_baselines(run) == {"majority": bounds, "calendar": bounds}
