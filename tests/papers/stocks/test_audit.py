"""Audit of stocks: our protocols pass, published labels do not, and each planted leak is found."""

import dataclasses

import numpy as np
import pytest

from market_files import write_stocks
from multiway import workflows
from multiway_papers.stocks import audit as auditing
from multiway_papers.stocks.audit import audit_stocks
from multiway_papers.stocks.options import StockOptions
from multiway_papers.stocks.protocols import StockProtocol
from multiway_papers.stocks.source import read_stocks
from multiway_papers.stocks.state import StockScale
from papers.stocks.stock_panels import build_samples


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("stocks")
    write_stocks(made)
    return made


def parts(folder, texts=True, **protocol):
    """Prices, texts, protocol and samples."""
    read = {"texts": str(folder / "texts.jsonl")} if texts else {}
    panel, found_texts = read_stocks(str(folder / "prices.csv"), StockOptions.parse(read))
    rules = StockProtocol.parse(protocol)
    return panel, found_texts, rules, build_samples(panel, found_texts, rules)


def found(report):
    return {finding.kind for finding in report.findings if finding.severity == "error"}


def planted(folder, **changes):
    """Audit what the samples would be with these changes."""
    *_, protocol, samples = parts(folder)
    return audit(dataclasses.replace(samples, **changes), protocol)


def audit(samples, protocol, **options):
    return audit_stocks(samples, samples.splits, protocol, **options)


@pytest.mark.parametrize(
    "protocol", [{}, {"up": 0.005, "down": 0.004}, {"complete": True}, {"borders": ["2022-07-01", "2022-08-01"]}]
)
def test_movements_in_the_order_of_time_pass(protocol, folder):
    *_, rules, samples = parts(folder, **protocol)
    report = audit(samples, rules)
    assert not report.leaks, report.lines()
    assert any("from a day before the target day" in line for line in report.passed)
    assert any(line.startswith("100.00%") and "direction of the adjusted close" in line for line in report.passed)


def test_prices_alone_pass(folder):
    *_, rules, samples = parts(folder, texts=False)
    report = audit(samples, rules)
    assert not report.leaks and not any("texts that are shown" in line for line in report.passed)


def test_labels_of_the_day_before_disagree(folder):
    labels = parts(folder)[3].labels
    report = planted(folder, labels=np.roll(labels, 1, axis=0))
    assert "labels" in found(report)
    assert any("should be" in line for line in report.lines())


def test_labels_that_the_weekday_weekday_gives_away_are_found(folder):
    samples = parts(folder)[3]
    days = samples.days[samples.targets].astype("datetime64[D]").astype(int)
    told = ((days + 3) % 7 == 1).astype(np.int8)  # Tuesday, whether or not Monday was a holiday
    labels = np.where(samples.labels >= 0, told[:, None], -1).astype(np.int8)
    report = planted(folder, labels=labels)
    assert found(report) >= {"lookup", "labels"}
    assert "a look-up of weekday of the next day alone" in "\n".join(report.lines())


def test_splits_that_share_days_are_found(folder):
    splits = parts(folder)[3].splits
    mixed = {**splits, "train": np.append(splits["train"], splits["test"][:3])}
    report = planted(folder, splits=mixed)
    assert found(report) >= {"overlap", "groups", "duplicates"}


def test_a_text_of_the_target_day_is_found(folder):
    panel, texts, _, samples = parts(folder)
    later = dataclasses.replace(texts, day=texts.day + np.timedelta64(1, "D"))
    assert isinstance(auditing.check_stock_texts(samples, texts), str)
    finding = auditing.check_stock_texts(samples, later)
    assert (finding.kind, finding.severity) == ("future", "error")
    assert "windows show a text of the target day or later" in finding.line()
    assert panel.tickers[0] in finding.line()


def test_inputs_that_know_the_day_are_found(folder, monkeypatch):
    """Features that lie a row too early hold the close of the target day."""
    panel, texts, protocol, samples = parts(folder)

    def early(*given):
        built = build_samples(*given)
        return dataclasses.replace(built, features=np.roll(built.features, -1, axis=0))

    monkeypatch.setattr(auditing, "cut", early)
    finding = auditing.check_prices(protocol, early(panel, texts, protocol), samples.splits)
    assert finding.severity == "error"
    monkeypatch.undo()
    assert isinstance(auditing.check_prices(protocol, samples, samples.splits), str)


def test_scaling_of_all_days_is_found(folder):
    *_, protocol, samples = parts(folder)
    report = audit(samples, protocol, scale=StockScale.fit(samples, None))
    assert found(report) == {"statistics"} and "as over all rows" in report.findings[0].line()


def test_columns_that_lie_a_day_early_are_found(folder):
    """The next day's high and low stand in the row of this one."""
    panel, *others = parts(folder)[:3]
    prices = panel.prices.copy()
    prices[:, :-1, 1:3] = panel.prices[:, 1:, 1:3]
    changed = dataclasses.replace(panel, prices=prices)
    report = audit(build_samples(changed, *others), others[1])
    assert "quotes" in found(report)
    assert "the row of prices before the target day tells the label" in "\n".join(report.lines())


def test_texts_that_say_what_comes_are_found(folder):
    panel, texts, protocol, _ = parts(folder)
    day = np.searchsorted(panel.days, texts.day, side="right")
    kept = np.flatnonzero(day < len(panel.days))
    rises = panel.movement[texts.ticker[kept], day[kept]] > 0
    said = list(texts.text)
    for place, is_rise in zip(kept.tolist(), rises, strict=True):
        said[place] += f" {('falls', 'rises')[int(is_rise)]} tomorrow"
    report = audit(build_samples(panel, dataclasses.replace(texts, text=tuple(said)), protocol), protocol)
    assert found(report) == {"texts"} and "words occur with one outcome nearly always" in report.findings[0].line()


def test_so_are_vectors_that_do_alone_or_with_others_of_their_day(folder):
    panel, texts, protocol, _ = parts(folder)
    vectors = np.random.default_rng(5).normal(size=(texts.count, 6)).astype(np.float32)
    day = np.searchsorted(panel.days, texts.day, side="right")
    kept = np.flatnonzero(day < len(panel.days))
    given = dataclasses.replace(texts, text=None, vectors=vectors)
    assert not audit(build_samples(panel, given, protocol), protocol).leaks
    side = 9 * np.sign(panel.movement[texts.ticker[kept], day[kept]])
    vectors[kept, 4] += side
    vectors[kept, 2] -= side  # so that the mean over features tells nothing
    report = audit(build_samples(panel, given, protocol), protocol)
    (finding,) = (one for one in report.findings if one.severity == "error")
    assert finding.kind == "texts"


def test_an_encoder_from_after_the_test_days_is_named(folder):
    *_, protocol, samples = parts(folder)
    lines = audit(samples, protocol, encoder="BAAI/bge-small-en-v1.5").lines()
    assert any("was trained until 2023-09, after the test days, 2022-" in line for line in lines)


@pytest.mark.slow
def test_published_labels_are_flagged_on_real_data(real_data):
    report = workflows.audit("stocks", {"data": "stocknet", "protocol": {"name": "published-code"}})
    assert found(report) == {"lookup", "texts", "untraded", "labels"}
    line = next(finding for finding in report.findings if finding.kind == "lookup").line()
    assert "gives ACC 0.9868, MCC 0.9695 on 2,956 test labels" in line


@pytest.mark.slow
def test_the_protocol_of_stocknet_passes_on_real_data(real_data):
    report = workflows.audit("stocks", {"data": "stocknet"})
    assert not report.leaks and "train 20,345, validation 2,555, test 3,720; stocknet" in report.source
