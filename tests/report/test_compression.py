"""The page of a compression shows every layer, leaves out what is not known, and trusts no name."""

import re

from multiway.report import CompressedLayer, CompressionReport, render_compression_report

LAYER = CompressedLayer(
    name="blocks.0.fc1",
    becomes="low rank 8",
    parameters=(2000, 500),
    flops=(4000, 1000),
    seconds=(0.002, 0.001),
    weight_error=0.1234,
    output_error=0.0456,
    input_shape=(32, 64),
)


def page_of(**changes):
    content = {"title": "small", "verdict": "1 of 1 layers swapped.", "parameters": (3000, 1500), "layers": [LAYER]}
    return render_compression_report(CompressionReport(**{**content, **changes}))


def said(page):
    body = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_a_layer_is_shown_with_what_it_saves_and_loses():
    page = said(page_of(output_error=0.0123))
    assert "blocks.0.fc1 low rank 8 2,000 500 25.0 % 25.0 % 2 ms 1 ms 2.00× 0.123 0.046" in page
    assert "Share left 50.0 %" in page and "Change of outputs 1.23 %" in page
    assert "2K → 500" in page


def test_what_was_not_measured_is_a_dash_or_left_out():
    changes = {**vars_of(LAYER), "seconds": None, "output_error": None}
    page = said(page_of(layers=[CompressedLayer(**changes)]))
    assert "25.0 % – – – 0.123 –" in page
    assert "Change of outputs" not in page and "Advice" not in page and "Environment" not in page


def test_advice_and_refusals_have_a_section():
    page = said(page_of(advice=["fc1: slower"], refused=[("head", "tied")], environment={"torch": "2.13"}))
    assert "Advice" in page and "fc1: slower" in page and "head tied" in page and "torch 2.13" in page


def test_names_are_escaped_and_nothing_is_fetched():
    page = page_of(title="<script>alert(1)</script>", refused=[("<img src=x>", "<b>")])
    assert "<script>alert" not in page and "<img src=x>" not in page
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)


def vars_of(layer):
    return {name: getattr(layer, name) for name in layer.__dataclass_fields__}
