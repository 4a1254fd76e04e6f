"""The classification report: every part, its numbers, its pictures slice by slice, and hostile names as text."""

import base64
import dataclasses
import html
import io
import json
import re

import numpy as np
import pytest
from matplotlib.image import imread

from multiway.errors import DataError
from multiway.explain.planes import WARM
from multiway.report import (
    ClassificationReport,
    ClassScore,
    Confusion,
    render_classification_comparison,
    render_classification_report,
)
from multiway.report.slices import MAX_SLICES
from report_pages import HOSTILE, Page
from tolerances import LONG32

SECTIONS = {
    "summary": {},
    "data-check": {"check": None},
    "splits": {"splits": ()},
    "scores": {"scores": (), "costs": (), "notes": ()},
    "errors": {"confusion": None, "roc": ()},
    "calibration": {"reliability": ()},
    "cases": {"cases": ()},
    "attention": {"maps": (), "deletion": None},
    "training": {"training": ()},
    "environment": {"environment": {}, "command": ""},
}


def picture(uri):
    """Decode an embedded PNG with another program's reader than the one that wrote it."""
    return imread(io.BytesIO(base64.b64decode(uri.partition(",")[2])))


def own(metric, value, **more):
    return ClassScore(model="multiway", metric=metric, value=value, **more)


def test_every_section_is_there_in_well_formed_html(make_classification):
    page = Page(render_classification_report(make_classification()))
    assert page.sections() == list(SECTIONS)
    assert [attrs["href"] for attrs in page.all("a")] == [f"#{name}" for name in list(SECTIONS)[1:]]


@pytest.mark.parametrize("name", list(SECTIONS)[1:])
def test_a_part_without_content_vanishes(make_classification, name):
    page = Page(render_classification_report(make_classification(**SECTIONS[name])))
    assert page.sections() == [section for section in SECTIONS if section != name]
    assert f"#{name}" not in [attrs["href"] for attrs in page.all("a")]


def test_a_title_alone_makes_a_report():
    page = Page(render_classification_report(ClassificationReport(title="nothing yet")))
    assert page.sections() == []
    assert "None" not in page.text


def test_nothing_is_asked_of_the_network(make_classification):
    text = render_classification_report(make_classification())
    bare = re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]*", "", text)
    assert not re.search(r"https?:|//[a-z]|@import|<link|xlink|javascript:", bare, re.IGNORECASE)
    for _, attrs in Page(text).elements:
        assert "src" not in attrs or attrs["src"].startswith("data:image/png;base64,")
        assert not any(name.startswith("on") for name in attrs)


def test_hostile_names_stay_text_everywhere(make_classification, make_view):
    hostile = make_view(0, name=HOSTILE, patient=HOSTILE, group=HOSTILE, predicted=HOSTILE, axes=(HOSTILE,) * 3)
    content = make_classification(
        (HOSTILE, "b"),
        title=HOSTILE,
        source=HOSTILE,
        chosen=HOSTILE,
        setting={HOSTILE: HOSTILE},
        environment={HOSTILE: HOSTILE},
        command=HOSTILE,
        notes=[HOSTILE],
        case_note=HOSTILE,
        cases=[hostile],
        scores=[ClassScore(model=HOSTILE, metric=HOSTILE, value=0.5, split=split) for split in ("test", HOSTILE)],
    )
    text = render_classification_report(content)
    page = Page(text)
    assert len(page.all("script")) == 2
    assert all(attrs["src"].startswith("data:") for attrs in page.all("img"))
    assert not set("\x00\x1b\u202e\ud800") & set(html.unescape(text))
    assert text.encode()
    assert len(Page(render_classification_comparison([content, content])).all("script")) == 2


def test_the_verdict_sets_the_score_beside_the_best_baseline(make_classification):
    text = Page(render_classification_report(make_classification())).text
    assert (
        "Multiway has a test AUC of 0.886 (0.856–0.916); its interval meets that of the best baseline, "
        "ResNet-18 3D, with 0.827 (0.797–0.857)." in text
    )
    assert "It names 78.6 % of the test cases rightly; always naming the most frequent class is right in" in text
    assert "those at 0.310 for malignant, a threshold chosen on validation" in text


@pytest.mark.parametrize(
    ("own_score", "rival", "said"),
    [
        ({"value": 0.9, "low": 0.88, "high": 0.92}, {"value": 0.8, "low": 0.78, "high": 0.82}, "that is above"),
        ({"value": 0.8, "low": 0.78, "high": 0.82}, {"value": 0.9, "low": 0.88, "high": 0.92}, "that is below"),
        (
            {"value": 0.8, "low": 0.7, "high": 0.9},
            {"value": 0.9, "low": 0.85, "high": 0.95},
            "its interval meets that of",
        ),
        ({"value": 0.8}, {"value": 0.9}, "that is no better than"),
    ],
    ids=["above", "below", "meets", "bare"],
)
def test_a_baseline_that_is_as_good_is_said_to_be(make_classification, own_score, rival, said):
    scores = [own("AUC", **own_score), ClassScore(model="logistic", metric="AUC", **rival)]
    text = Page(render_classification_report(make_classification(scores=scores))).text
    assert f"; {said} the best baseline, logistic, with" in text


def test_an_undefined_metric_is_a_word_and_not_a_zero(make_classification):
    scores = [own("AUC", None), own("ACC", 0.75), ClassScore(model="majority", metric="AUC", value=None)]
    text = Page(render_classification_report(make_classification(scores=scores, roc=()))).text
    assert "AUC is undefined: the test cases are all of one class." in text
    assert "Multiway has a test ACC of 0.750." in text
    assert text.count("undefined") >= 3
    assert "0.000" not in text


def test_seeds_become_a_mean_with_its_interval(make_classification):
    scores = [own("AUC", value, seed=seed, low=0.1, high=0.9) for seed, value in enumerate((0.871, 0.872, 0.873))]
    text = Page(render_classification_report(make_classification(scores=scores, seeds=(0, 1, 2)))).text
    assert "0.872 ± 0.002" in text  # 4.303 * 0.001 / sqrt(3)
    assert "half the 95" in text


def test_ece_is_best_when_lowest_and_the_rest_when_highest(make_classification):
    text = render_classification_report(make_classification())
    best = re.findall(r'<td class="best"><data>([^<]*)</data>', text)
    assert best == ["0.886", "0.786", "0.100"]


def test_the_matrix_says_counts_and_shares(make_classification):
    text = Page(render_classification_report(make_classification())).text
    assert "benign 200 87 % 29 13 % 229" in text
    assert "malignant 15 22 % 54 78 % 69" in text
    empty = Confusion(classes=("a", "b"), counts=np.array([[0, 0], [1, 2]]))
    assert not re.search(r"\bnan\b", Page(render_classification_report(make_classification(confusion=empty))).text)


def test_charts_read_out_what_was_given(make_classification):
    content = make_classification()
    text = render_classification_report(content)
    data = json.loads(re.search(r'id="readouts">(.*?)</script>', text, re.DOTALL)[1])
    roc, reliability, _, deletion = data["charts"]
    assert [item["n"] for item in roc["s"]] == ["multiway", "ResNet-18 3D", "logistic regression", "majority"]
    assert roc["s"][0]["v"][0] == 0
    assert roc["s"][0]["v"][50] == pytest.approx(0.5**0.114, rel=LONG32)
    assert reliability["s"][0]["v"] == [0.5, 0.91]
    low, high = reliability["s"][1]["v"][0], reliability["s"][1]["w"][0]
    assert (low, high) == pytest.approx((0.299298, 0.700702), rel=LONG32)  # Wilson, 10 of 20
    assert [item["n"] for item in deletion["s"]] == ["attention", "gradients", "at random"]
    assert deletion["s"][1]["v"] == [0.9, 0.3, 0.2, 0.2]
    assert 'class="rule best" style="left:99' in text  # the epoch of the highest score, the last


def test_the_deletion_table_compares_areas(make_classification):
    text = Page(render_classification_report(make_classification())).text
    assert "attention 0.450 −0.065 gradients 0.295 −0.220 at random 0.515" in text


def test_strips_hold_the_slices_of_the_volume(make_classification, make_view):
    """The window shows slice `at` of the strip, and that is the slice of the volume that its words name."""
    chance = np.random.default_rng(7)
    volume = chance.integers(0, 200, (7, 8, 10))
    attention = np.ones((7, 8, 10))
    attention[2, 5, 3] = 99
    text = render_classification_report(
        make_classification(cases=[make_view(volume=volume, attention=attention, gradients=None)])
    )
    films = re.findall(r'<div class="film" style="--r:([\d.]+);--n:(\d+);--at:(\d+)".*?</div>', text, re.DOTALL)
    assert films == [("1.25", "7", "2"), ("0.2857", "8", "5"), ("0.2286", "10", "3")]
    images = [attrs for attrs in Page(text).all("img") if "data-layer" not in attrs]
    strip = picture(images[0]["src"]).reshape(7, 8, 10)
    order = np.argsort(volume[2].ravel(), kind="stable")
    assert (np.diff(strip[2].ravel()[order]) >= 0).all()
    over = picture(images[1]["src"]).reshape(7, 8, 10, 4)
    assert tuple(np.round(255 * over[2, 5, 3]).astype(int)) == WARM[-1]
    assert (over[..., 3] > 0).sum() == 1
    words = json.loads(Page(text).all("div", class_="plane")[1]["data-words"])
    assert words[5] == "slice 5 of 0–7, 5.5 mm"
    assert "slice 2 of 0–6, 12.5 mm" in Page(text).text


def test_large_volumes_are_thinned_and_the_page_stays_small(make_classification, make_view):
    noise = np.random.default_rng(1).integers(0, 4000, (120, 130, 140))
    text = render_classification_report(
        make_classification(cases=[make_view(volume=noise, attention=None, gradients=None)])
    )
    assert {film["max"] for film in Page(text).all("input", type="range")} == {str(MAX_SLICES - 1)}
    assert len(text) < 1_000_000


def test_every_case_has_its_own_switch_and_works_without_a_script(make_classification):
    page = Page(render_classification_report(make_classification()))
    radios = page.all("input", type="radio")
    assert len({attrs["name"] for attrs in radios}) == 4
    assert [attrs["value"] for attrs in radios[:3]] == ["none", "attention", "gradients"]
    assert [attrs["value"] for attrs in radios if "checked" in attrs] == ["attention"] * 4
    films = page.all("div", class_="film")
    assert len(films) == 12
    assert all("--at:" in attrs["style"] for attrs in films)
    assert "Most confident errors" in page.text
    assert "Is malignant (3 %), named benign with 97 %" in page.text
    assert "The gradients sum to +1.31; the logit changes by +1.30." in page.text
    assert "Attention is not attribution:" in page.text


def test_a_case_without_label_or_overlay_is_shown(make_classification, make_view):
    bare = make_view(actual=None, attention=None, gradients=None, sums=None, spacing=None, orientation="LPS")
    text = Page(render_classification_report(make_classification(cases=[bare]))).text
    assert "Named benign with 97 %" in text
    assert "coronal" in text
    assert "mm" not in text[text.index("Named benign") : text.index("Attention over depth")]


def test_runs_are_compared_by_split_with_what_differs(make_classification):
    one = make_classification()
    other = dataclasses.replace(one, title="other", setting={"Volumes": "64 × 64 × 64", "Channels": "1"})
    page = Page(render_classification_comparison([one, other]))
    assert page.sections() == ["scores", "differences"]
    assert "Volumes 28 × 28 × 28 64 × 64 × 64" in page.text
    assert "Channels" not in page.text
    assert "ResNet-18 3D" not in page.text
    elsewhere = dataclasses.replace(one, splits=one.splits[:0])
    assert "different test cases" not in Page(render_classification_comparison([one, elsewhere])).text
    fewer = dataclasses.replace(one, splits=[dataclasses.replace(one.splits[1], cases=7)])
    assert "scored on different test cases" in Page(render_classification_comparison([one, fewer])).text
    with pytest.raises(DataError, match=r"give 2 to 8 runs\. Got 1"):
        render_classification_comparison([one])
