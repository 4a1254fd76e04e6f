"""Audit of stocks: our protocols pass, published labels do not, and each planted leak is found."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from market_files import write_stocks
from multiway import workflows
from multiway.data.stocks import build_samples, read_stocks
from multiway.tasks.stocks import auditing, lookahead
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.scale import StockScale


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("stocks")
    write_stocks(made)
    return made


def config_of(folder, texts=True, **protocol):
    read = {"texts": str(folder / "texts.jsonl")} if texts else {}
    return StockConfig.parse({"data": str(folder / "prices.csv"), "read": read, "protocol": protocol})


def parts(config):
    panel, texts = read_stocks(config.data, config.read)
    return panel, texts, build_samples(panel, texts, config.protocol)


def found(report):
    return {finding.kind for finding in report.findings if finding.severity == "error"}


def planted(config, monkeypatch, panel=None, **changes):
    """Audit what the samples would be with these changes."""
    own, texts, samples = parts(config)
    monkeypatch.setattr(auditing, "read", lambda *_: (panel or own, texts))
    monkeypatch.setattr(auditing, "build_samples", lambda *_: dataclasses.replace(samples, **changes))
    return auditing.audit(config)


@pytest.mark.parametrize(
    "protocol", [{}, {"up": 0.005, "down": 0.004}, {"complete": True}, {"borders": ["2022-07-01", "2022-08-01"]}]
)
def test_movements_in_the_order_of_time_pass(protocol, folder):
    report = auditing.audit(config_of(folder, **protocol))
    assert not report.leaks, report.lines()
    assert any("from a day before the target day" in line for line in report.passed)
    assert any(line.startswith("100.00%") and "direction of the adjusted close" in line for line in report.passed)


def test_prices_alone_pass(folder):
    report = auditing.audit(config_of(folder, texts=False))
    assert not report.leaks and not any("texts that are shown" in line for line in report.passed)


def test_labels_of_the_day_before_disagree(folder, monkeypatch):
    config = config_of(folder)
    labels = parts(config)[2].labels
    report = planted(config, monkeypatch, labels=np.roll(labels, 1, axis=0))
    assert "labels" in found(report)
    assert any("should be" in line for line in report.lines())


def test_labels_that_the_weekday_gives_away_are_found(folder, monkeypatch):
    config = config_of(folder)
    samples = parts(config)[2]
    days = samples.days[samples.targets].astype("datetime64[D]").astype(int)
    told = ((days + 3) % 7 == 1).astype(np.int8)  # Tuesday, whether or not Monday was a holiday
    labels = np.where(samples.labels >= 0, told[:, None], -1).astype(np.int8)
    report = planted(config, monkeypatch, labels=labels)
    assert found(report) >= {"lookup", "labels"}
    assert "a look-up of weekday of the next day alone" in "\n".join(report.lines())


def test_splits_that_share_days_are_found(folder, monkeypatch):
    config = config_of(folder)
    splits = parts(config)[2].splits
    mixed = {**splits, "train": np.append(splits["train"], splits["test"][:3])}
    report = planted(config, monkeypatch, splits=mixed)
    assert found(report) >= {"overlap", "groups", "duplicates"}


def test_a_text_of_the_target_day_is_found(folder, monkeypatch):
    config = config_of(folder)
    panel, texts, samples = parts(config)
    later = dataclasses.replace(texts, day=texts.day + np.timedelta64(1, "D"))
    assert isinstance(lookahead.check_texts(samples, texts), str)
    finding = lookahead.check_texts(samples, later)
    assert (finding.kind, finding.severity) == ("future", "error")
    assert "windows show a text of the target day or later" in finding.line()
    assert panel.tickers[0] in finding.line()


def test_inputs_that_know_the_day_are_found(folder, monkeypatch):
    """Features that lie a row too early hold the close of the target day."""
    config = config_of(folder)
    panel, texts, _ = parts(config)

    def early(*given):
        built = build_samples(*given)
        return dataclasses.replace(built, features=np.roll(built.features, -1, axis=0))

    monkeypatch.setattr(lookahead, "build_samples", early)
    assert lookahead.check_prices(config, panel, texts, early(panel, texts, config.protocol)).severity == "error"
    monkeypatch.undo()
    assert isinstance(lookahead.check_prices(config, panel, texts, build_samples(panel, texts, config.protocol)), str)


def test_scaling_of_all_days_is_found(folder):
    config = config_of(folder)
    samples = parts(config)[2]
    whole = dataclasses.replace(samples, splits={"train": np.arange(len(samples.targets))})
    run = SimpleNamespace(state=SimpleNamespace(scale=StockScale.fit(whole, None), encoder=None))
    report = auditing.audit(config, run)
    assert found(report) == {"statistics"} and "as over all rows" in report.findings[0].line()


def test_columns_that_lie_a_day_early_are_found(folder, monkeypatch):
    """The next day's high and low stand in the row of this one."""
    config = config_of(folder)
    panel = parts(config)[0]
    prices = panel.prices.copy()
    prices[:, :-1, 1:3] = panel.prices[:, 1:, 1:3]
    report = planted(config, monkeypatch, dataclasses.replace(panel, prices=prices))
    assert "quotes" in found(report)
    assert "the row of prices before the target day tells the label" in "\n".join(report.lines())


def test_texts_that_say_what_comes_are_found(folder, monkeypatch):
    config = config_of(folder)
    panel, texts, _ = parts(config)
    day = np.searchsorted(panel.days, texts.day, side="right")
    kept = np.flatnonzero(day < len(panel.days))
    rises = panel.movement[texts.ticker[kept], day[kept]] > 0
    said = list(texts.text)
    for place, is_rise in zip(kept.tolist(), rises, strict=True):
        said[place] += f" {('falls', 'rises')[int(is_rise)]} tomorrow"
    monkeypatch.setattr(auditing, "read", lambda *_: (panel, dataclasses.replace(texts, text=tuple(said))))
    report = auditing.audit(config)
    assert found(report) == {"texts"} and "words stand beside one outcome nearly always" in report.findings[0].line()


def test_an_encoder_from_after_the_test_days_is_named(folder):
    config = StockConfig.parse({**config_of(folder).plain(), "text": {"encoder": "BAAI/bge-small-en-v1.5"}})
    lines = auditing.audit(config).lines()
    assert any("was trained until 2023-09, after the test days, 2022-" in line for line in lines)


def test_published_labels_are_flagged_on_real_data(real_data):
    report = workflows.audit("stocks", {"data": "stocknet", "protocol": {"name": "published-code"}})
    assert found(report) == {"lookup", "texts", "untraded", "labels"}
    line = next(finding for finding in report.findings if finding.kind == "lookup").line()
    assert "gives ACC 0.9868, MCC 0.9695 on 2,956 test labels" in line


def test_the_protocol_of_stocknet_passes_on_real_data(real_data):
    report = workflows.audit("stocks", {"data": "stocknet"})
    assert not report.leaks and "train 20,345, validation 2,555, test 3,720; stocknet" in report.source
