"""The report is one file that asks for nothing, escapes everything, and says the numbers it was given."""

import base64
import hashlib
import html
import json
import re

import numpy as np
import pandas as pd
import pytest

from multiway.report import ForecastReport, SplitSpan, render_forecast_report
from report_pages import HOSTILE, Page
from tolerances import LONG32

SECTIONS = {
    "summary": {},
    "data-check": {"check": None},
    "splits": {"splits": ()},
    "scores": {"scores": (), "costs": (), "notes": (), "selection": None},
    "forecasts": {"forecasts": ()},
    "errors": {"step_errors": None, "variate_errors": None},
    "coverage": {"coverage": ()},
    "training": {"training": ()},
    "attention": {"maps": (), "deletion": ()},
    "environment": {"environment": {}, "command": ""},
}


def embedded(text):
    return json.loads(re.search(r'id="readouts">(.*?)</script>', text, re.DOTALL)[1])


def test_every_section_is_there_in_well_formed_html(make_report):
    page = Page(render_forecast_report(make_report()))
    assert page.sections() == list(SECTIONS)
    links = [attrs["href"] for tag, attrs in page.elements if tag == "a"]
    assert links == [f"#{name}" for name in list(SECTIONS)[1:]]


def test_nothing_is_asked_of_the_network(make_report):
    text = render_forecast_report(make_report())
    page = Page(text)
    assert not re.search(r"https?:|//[a-z]|@import|<link|xlink|javascript:", text, re.IGNORECASE)
    assert all(not url.strip("'\"") or url.startswith("#heat-") for url in re.findall(r"url\(([^)]*)\)", text))
    for _, attrs in page.elements:
        assert attrs.get("src", "data:").startswith("data:image/png;base64,") or "src" not in attrs
        assert attrs.get("href", "#").startswith("#")
        assert not any(name.startswith("on") for name in attrs)


def test_only_its_own_script_may_run(make_report):
    text = render_forecast_report(make_report())
    policy = next(attrs["content"] for tag, attrs in Page(text).elements if attrs.get("http-equiv"))
    script = re.search(r"<script>(.*)</script>\n</body>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


@pytest.mark.parametrize("name", list(SECTIONS)[1:])
def test_a_part_without_content_vanishes(make_report, name):
    page = Page(render_forecast_report(make_report(**SECTIONS[name])))
    assert page.sections() == [section for section in SECTIONS if section != name]
    assert f"#{name}" not in [attrs.get("href") for _, attrs in page.elements]


def test_a_title_alone_makes_a_report():
    page = Page(render_forecast_report(ForecastReport(title="nothing yet")))
    assert page.sections() == []
    assert "nothing yet" in page.text
    assert "None" not in page.text


def test_hostile_names_stay_text_everywhere(make_report, make_panels):
    names = (HOSTILE, "OT", "a" * 5000)
    times = pd.date_range("2020-01-01", periods=24, freq="h")
    content = make_report(
        names,
        title=HOSTILE,
        source=HOSTILE,
        created=HOSTILE,
        setting={HOSTILE: HOSTILE},
        environment={HOSTILE: HOSTILE},
        command=HOSTILE,
        notes=[HOSTILE],
        splits=[SplitSpan(name=HOSTILE, first=times[0], last=times[-1], rows=24)],
        forecasts=make_panels(names, times[:12], times[12:]),
    )
    text = render_forecast_report(content)
    page = Page(text)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 2
    assert [attrs for tag, attrs in page.elements if tag == "img" and not attrs["src"].startswith("data:")] == []
    assert "<img src=x onerror=alert(2)>" in page.text
    assert not set("\x00\x1b\u202e\ud800") & set(html.unescape(text))
    assert "a" * 200 not in text
    assert text.encode()
    assert embedded(text)["charts"]


def test_hostile_model_names_stay_text(make_report):
    content = make_report()
    rows = [type(row)(model=HOSTILE, metric=HOSTILE, value=row.value, split=HOSTILE) for row in content.scores[:3]]
    lines = type(content.step_errors)(lines={HOSTILE: np.ones(3)}, metric=HOSTILE)
    text = render_forecast_report(make_report(scores=rows, step_errors=lines, selection=None))
    assert [tag for tag, _ in Page(text).elements].count("script") == 2


def test_the_tables_say_the_contents_numbers(make_report):
    text = Page(render_forecast_report(make_report())).text
    assert "0.3800" in text  # ridge, one value
    assert "0.3720 ± 0.0025" in text  # blend, 0.371 to 0.373 over three seeds: 4.303 * 0.001 / sqrt(3)
    for said in (
        "14,400",
        "row 411",
        "-9999",
        "76.0",
        "−4.0",
        "1.12",
        "629K",
        "4.1 ms",
        "0.4300",
        "f18de3ad",
    ):
        assert said in text, said


def test_charts_read_out_the_values_that_were_given(make_report):
    content = make_report()
    data = embedded(render_forecast_report(content))
    chart = data["charts"][0]
    panel = content.forecasts[0]
    series = {item["n"]: item for item in chart["s"]}
    np.testing.assert_allclose(series["ridge"]["v"], panel.lines["ridge"], rtol=LONG32)
    np.testing.assert_allclose(series["80 % band"]["w"], panel.bands[80][1], rtol=LONG32)
    np.testing.assert_allclose(series["actual"]["v"], np.concatenate([panel.history, panel.actual]), rtol=LONG32)
    axis = data["axes"][chart["a"]]
    assert axis["t"][12] == "2016-07-01 12:00"
    assert axis["x"] == sorted(axis["x"])
    assert series["ridge"]["o"] == 12


def test_missing_values_break_the_line_and_reach_no_number(make_report, make_panels):
    times = pd.date_range("2020-01-01", periods=24, freq="h")
    found = make_panels(["OT"], times[:12], times[12:])
    found[0].history[3:5] = np.nan
    found[0].actual[:] = np.nan
    found[1].lines["ridge"][4] = np.inf
    text = render_forecast_report(make_report(forecasts=found))
    assert not re.search(r"nan|infinity", text[: text.rindex("<script>")], re.IGNORECASE)
    past = re.search(r'<path class="line past" d="([^"]*)"', text)[1]
    assert past.count("M") == 2
    values = embedded(text)["charts"][0]["s"][0]["v"]
    assert values[3:5] == [None, None]


@pytest.mark.parametrize(
    "times",
    [
        pd.RangeIndex(100, 124),
        pd.date_range("2020-01-01", periods=24, freq="MS"),
        pd.date_range("2020-10-25", periods=24, freq="h", tz="Europe/Berlin"),
        pd.date_range("2020-01-01", periods=24, freq="s"),
        pd.date_range("1900-01-01", periods=24, freq="10YS"),
        pd.period_range("2020-01", periods=24, freq="M"),
        pd.Index([f"day {index}" for index in range(24)]),
        pd.Index([5.0] * 24),
    ],
    ids=lambda times: f"{times.dtype}",
)
def test_any_kind_of_time_is_drawn(make_report, make_panels, times):
    found = make_panels(["OT"], times[:12], times[12:])
    splits = [SplitSpan(name="all", first=times[0], last=times[-1], rows=24)]
    page = Page(render_forecast_report(make_report(forecasts=found, splits=splits)))
    assert "forecasts" in page.sections()


def test_a_forecast_without_history_bands_or_actual_is_drawn(make_report, make_panels):
    times = pd.date_range("2020-01-01", periods=12, freq="h")
    bare = type(make_panels(["OT"], times, times)[0])(name="OT", times=times, lines={"ridge": np.ones(12)})
    one_step = type(bare)(name="OT", times=times[:1], lines={"ridge": np.ones(1)}, group="One step")
    page = Page(render_forecast_report(make_report(forecasts=[bare, one_step])))
    assert "One step" in page.text


def test_one_step_and_one_epoch_are_drawn(make_report):
    content = make_report(horizon=12)
    steps = type(content.step_errors)(lines={"ridge": np.ones(1)})
    page = Page(render_forecast_report(make_report(step_errors=steps, training=content.training[:1])))
    assert "Where the error lies" in page.text


def test_a_usual_report_stays_below_a_megabyte(make_report):
    names = tuple(f"variate {index}" for index in range(7))
    assert len(render_forecast_report(make_report(names, horizon=96))) < 1_000_000


def test_hundreds_of_variates_do_not_explode_the_file(make_report):
    names = tuple(f"sensor {index}" for index in range(862))
    text = render_forecast_report(make_report(names, horizon=96))
    assert len(text) < 2_000_000
    page = Page(text)
    assert "The first 24 of 862 variates are drawn." in page.text
    assert "The worst 200 of 862 variates are listed." in page.text
    assert "Shown are the 48 of 862 variates looked at most" in page.text
