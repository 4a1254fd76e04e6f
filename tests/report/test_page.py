"""A page is one file that loads nothing else, escapes everything, cuts nothing, and sets every kind of section."""

import base64
import dataclasses
import hashlib
import html
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from multiway.explain.planes import WARM
from multiway.report import Page as Content
from multiway.report import PagePart, render
from multiway.report import sections as kinds
from multiway.report.attention import MAX_SLICES
from multiway.report.forecasts import groups
from multiway.tasks.forecasting.headline import forecast_values
from report.filled import COLOURS, error_sections, every_page, forecasts, heat_maps, make_panels, make_planes
from report_pages import HOSTILE, Page


def body(*content):
    return Content(title="t", kicker="k", parts=[PagePart(id="p", title="P", content=content)])


def picture(uri):
    """Decode an embedded PNG with another program's reader than the one that wrote it."""
    return imread(io.BytesIO(base64.b64decode(uri.partition(",")[2], validate=True)))


def test_every_part_is_there_in_well_formed_html():
    content = every_page()
    page = Page(render(content))
    shown = [part.id for part in content.parts if not part.is_method]
    assert page.sections() == [*shown, "splits"]
    assert [attrs["href"] for attrs in page.all("a")] == [f"#{name}" for name in (*shown[1:], "method")]


def test_the_page_holds_a_section_of_every_kind():
    shown = {type(section) for part in every_page().parts for section in part.content}
    assert shown == set(kinds.Section.__args__)


def test_labels_of_a_chart_have_room_for_the_widest():
    text = render(every_page())
    charts = re.findall(r'--y:(\d+)ch" data-chart.*?<div class="ys">(.*?)</div>', text, re.DOTALL)
    assert len(charts) > 3
    for width, labels in charts:
        assert int(width) >= max(map(len, re.findall(r">([^<]+)</span>", labels)), default=1)


def test_the_network_is_not_called():
    text = render(every_page())
    bare = re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]*", "", text)
    assert not re.search(r"https?:|//[a-z]|@import|<link|xlink|javascript:", bare, re.IGNORECASE)
    assert all(not url.strip("'\"") or url.startswith("#heat-") for url in re.findall(r"url\(([^)]*)\)", bare))
    for _, attrs in Page(text).elements:
        assert "src" not in attrs or attrs["src"].startswith("data:image/png;base64,")
        assert attrs.get("href", "#").startswith("#")
        assert not any(name.startswith("on") for name in attrs)


def test_only_its_own_script_may_run():
    text = render(every_page())
    policy = next(attrs["content"] for tag, attrs in Page(text).elements if attrs.get("http-equiv"))
    script = re.search(r"<script>(.*)</script>\n</body>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_a_title_alone_makes_a_page():
    page = Page(render(Content(title="nothing yet", kicker="Report")))
    assert page.sections() == []
    assert "nothing yet" in page.text
    assert "None" not in page.text


def test_hostile_names_stay_text_everywhere():
    text = render(every_page(HOSTILE))
    page = Page(text)
    assert len(page.all("script")) == 2 + 1  # the script, what charts read out, and the figures of a table
    assert all(attrs["src"].startswith("data:") for attrs in page.all("img"))
    assert page.text.count("<img src=x onerror=alert(2)>") > 30
    assert not set("\x00\x1b\u202e\ud800") & set(html.unescape(text))
    assert text.encode()


def test_a_name_that_is_none_is_shortened_and_a_command_is_whole():
    page = Page(render(every_page("a" * 9000)))
    assert "a" * 9000 in page.text
    assert page.text.count("a" * 5000) == 1
    assert "a" * 500 + "… (8,500 more letters)" in page.text and "a" * 4000 + "… (5,000 more letters)" in page.text


def test_names_are_whole():
    """Questions of a survey are columns, and sentences are classes."""
    name = " ".join(f"word{place}" for place in range(60))
    text = render(every_page(name))
    assert Page(text).text.count(name) > 30 and "…" not in re.sub(
        "<style>.*?</style>|<script>.*?</script>", "", text, flags=re.DOTALL
    )


def test_ends_of_lines_in_a_text_are_blanks():
    page = Page(render(body(kinds.Table(columns=["Text"], rows=[["\nThe\then\r\nwalks \x07"]]))))
    assert "The hen walks \ufffd" in page.text and page.text.count("\ufffd") == 1


def test_a_table_says_its_cells_and_marks_the_best():
    cells = [kinds.TableCell("ridge", swatch="s1"), kinds.TableCell("0.38", small="± 0.01", is_best=True), "x"]
    table = kinds.Table(columns=["Model", "MSE", "b"], rows=[cells], groups=[("", 1), ("scaled", 2)], title="Test")
    text = render(body(table))
    assert '<td class="best"><data>0.38</data><span class="unseen"> (best)</span><small>± 0.01</small></td>' in text
    assert '<th scope="colgroup" colspan="2" class="group">scaled</th>' in text
    assert "Test scaled Model MSE b ridge 0.38 (best) ± 0.01 x" in Page(text).text


def test_a_wide_table_scrolls_in_its_box_and_says_so():
    text = render(every_page())
    tables = len(Page(text).all("table"))
    assert tables > 5
    assert text.count('<div class="scroll"') == text.count('class="more"') == tables


def test_the_check_lists_a_hundred_findings_and_counts_the_rest():
    none = Page(render(body(kinds.CheckLines()))).text
    many = Page(render(body(kinds.CheckLines(findings=[kinds.CheckLine("note", f"flaw {n}.") for n in range(130)]))))
    assert "The check found nothing to report." in none
    assert "flaw 99." in many.text and "flaw 100." not in many.text
    assert "The first 100 of 130 findings are listed." in many.text


def test_strips_hold_the_slices_of_the_volume():
    """The window shows slice `at` of the strip, and that is the slice of the volume that its words name."""
    volume = np.random.default_rng(7).integers(0, 200, (7, 8, 10))
    attention = np.ones((7, 8, 10))
    attention[2, 5, 3] = 99
    text = render(body(make_planes(volume=volume, attention=attention, gradients=None)))
    films = re.findall(r'<div class="film" style="--r:([\d.]+);--n:(\d+);--at:(\d+)".*?</div>', text, re.DOTALL)
    assert films == [("1.25", "7", "2"), ("0.2857", "8", "5"), ("0.2286", "10", "3")]
    images = Page(text).all("img")
    strip = picture(images[0]["src"]).reshape(7, 8, 10)
    order = np.argsort(volume[2].ravel(), kind="stable")
    assert (np.diff(strip[2].ravel()[order]) >= 0).all()
    over = picture(images[1]["src"]).reshape(7, 8, 10, 4)
    assert tuple(np.round(255 * over[2, 5, 3]).astype(int)) == WARM[-1]
    assert (over[..., 3] > 0).sum() == 1
    words = json.loads(Page(text).all("div", class_="plane")[1]["data-words"])
    assert words[5] == "slice 6 of 8, 5.5 mm" and words[0] == "slice 1 of 8, 0.5 mm"


def test_pictures_of_a_real_size_are_whole():
    noise = np.random.default_rng(1).normal(size=(64, 64, 64))
    page = Page(render(body(make_planes(volume=noise, attention=np.abs(noise), gradients=noise))))
    images = page.all("img")
    assert len(images) == 9 and min(len(attrs["src"]) for attrs in images) > 8000
    assert {picture(attrs["src"]).shape[:2] for attrs in images} == {(MAX_SLICES * 64, 64)}


def test_large_volumes_are_thinned_and_the_page_stays_small():
    noise = np.random.default_rng(1).integers(0, 4000, (120, 130, 140))
    text = render(body(make_planes(volume=noise, attention=None, gradients=None)))
    assert {film["max"] for film in Page(text).all("input", type="range")} == {str(MAX_SLICES - 1)}
    assert len(text) < 1_000_000


def test_every_case_has_its_own_switch_shows_the_bare_volume_and_works_without_a_script():
    page = Page(render(body(make_planes(), make_planes())))
    radios = page.all("input", type="radio")
    assert len({attrs["name"] for attrs in radios}) == 2
    assert [attrs["value"] for attrs in radios if "checked" in attrs] == ["none"] * 2
    assert all("--at:" in attrs["style"] for attrs in page.all("div", class_="film"))
    assert "case-0 , patient p0. Is malignant (3 %), predicted benign with 97 %" in page.text


def test_charts_share_axes_and_read_out_what_they_were_given():
    text = render(body(forecasts(), *error_sections()))
    data = json.loads(re.search(r'id="readouts">(.*?)</script>', text, re.DOTALL)[1])
    numbers = [int(attrs["data-chart"]) for attrs in Page(text).all("div") if "data-chart" in attrs]
    assert numbers == list(range(len(data["charts"])))
    assert len({chart["a"] for chart in data["charts"][:6]}) == 1
    assert [item["n"] for item in data["charts"][-1]["s"]] == ["train", "validation"]


def test_the_epoch_whose_weights_were_kept_is_marked():
    text = render(body(error_sections()[2]))
    assert text.count('class="rule best"') == 1
    assert re.search(r'class="rule best" style="left:50(\.0)?%"><b>kept</b>', text)


def test_hundreds_of_variates_do_not_explode_the_file():
    names = tuple(f"sensor {index}" for index in range(862))
    text = render(body(forecasts(names, 96), *error_sections(names), heat_maps(names)))
    page = Page(text)
    assert len(text) < 2_000_000
    assert "The first 12 of 862 series are drawn." in page.text  # of the past; of the future all are
    assert all(name in page.text for name in names)
    assert "The worst 40 of 862 series are listed." in page.text
    assert "Shown are the 48 of 862 variates looked at most" in page.text


def test_every_one_of_300_series_is_reached_in_less_than_400_kilobytes():
    names = [f"store {index:03d} downtown" for index in range(300)]
    times = pd.date_range("2024-01-01", periods=70, freq="D")
    panels = [
        dataclasses.replace(panel, lines={"blend": panel.lines["blend"]})
        for panel in make_panels(names, times[:56], times[56:])
    ]
    figures = forecast_values([panel for panel in panels if panel.actual is None], "stores.csv")
    text = render(body(kinds.Panels(groups=groups(panels, COLOURS), values=figures)))
    assert len(text) < 370_000
    assert list(figures.rows) == names and figures.columns == ["forecast", "low, 80 %", "high, 80 %"]
    assert text.count("<figure data-panel>") == 300 - 12


@pytest.mark.parametrize("words", ["", "a,\n b"], ids=["empty", "lines"])
def test_a_command_keeps_its_lines(words):
    assert f"<code>{words}</code>" in render(body(kinds.Code(words=words)))
