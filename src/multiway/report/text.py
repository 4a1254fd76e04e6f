"""Text that is safe to set: names from data cleaned, numbers and durations in words, JSON for a script."""

import json
import math
import re
import unicodedata
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from markupsafe import Markup, escape

MAX_NAME = 500
MAX_TEXT = 4000
MISSING = "–"
_NARROW_SPACE = "\u202f"
_BLANKS = str.maketrans("\t\n\r", "   ")
_TURNS_DIRECTION = {*"\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}
HUGE = 1e9
"""From here on the digits of a number say nothing that its power of ten does not."""


def clean(text: object) -> str:
    """Replace what could hide or break text: control, direction and surrogate characters; ends of lines by blanks."""
    shown = str(text).translate(_BLANKS)
    is_unsafe = (
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _TURNS_DIRECTION
        for character in shown
    )
    return "".join("\ufffd" if unsafe else character for character, unsafe in zip(shown, is_unsafe, strict=True))


def name(text: object) -> str:
    """Clean a name from data, whole unless it is longer than any name."""
    return clean(_shorten(" ".join(str(text).split()), MAX_NAME))


def finalize(value: object) -> object:
    """Clean every value that a template prints, whole unless no reader would read it; markup stays as it is."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else clean(_shorten(value, MAX_TEXT))


def _shorten(words: str, most: int) -> str:
    """So many letters of a text, and how many more there are: a page keeps its size whatever the data hold."""
    return words if len(words) <= most else f"{words[:most]}… ({len(words) - most:,} more letters)"


def whole(text: object) -> Markup:
    """Clean and escape, however long, and keep the lines: for commands."""
    return escape("\n".join(map(clean, str(text).split("\n"))))


def script_json(value: Any) -> Markup:
    """Write JSON that cannot end its script element: no `<`, `>`, `&` and nothing but ASCII."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&'":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def decimals_for(values: Iterable[float]) -> int:
    """Choose decimals that show about four digits of the largest value, for a column to share."""
    power = math.floor(math.log10(max((abs(value) for value in values if value and math.isfinite(value)), default=1.0)))
    return min(max(4 - max(power, 0), 0) + max(-power - 2, 0), 9)


def number(value: float | None, decimals: int) -> str:
    """Write a number with a true minus sign, a huge one by its power of ten; what is missing or infinite is a dash.

    Halves are rounded away from zero, so that a share and its percentage have the same digits: 0.8625 and 86.25 %.
    """
    if value is None or not math.isfinite(value):
        return MISSING
    if abs(value) >= HUGE:
        return f"{value:.3e}".replace("-", "\u2212")
    exact = Decimal(f"{value:.15g}")  # a float's noise decides no half
    return f"{exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):,.{decimals}f}".replace("-", "\u2212")


def figure(value: float) -> str:
    """Write a number with three digits, for a sentence."""
    decimals = max(0, 2 - math.floor(math.log10(abs(value)))) if value and math.isfinite(value) else 0
    return number(value, min(decimals, 9))


def with_unit(value: float, sign: str) -> str:
    """Write an error with three digits and the sign of its unit; one of shares is in percentage points."""
    size = figure(value)
    if sign == "%":
        return f"{size} percentage points"
    return f"{size}{_NARROW_SPACE}{sign}" if sign == "€" else f"{sign}{size}"


def with_sign(value: float, decimals: int) -> str:
    """Write a difference with its sign."""
    return ("+" if value > 0 else "") + number(value, decimals)


def percent(value: float, decimals: int = 1) -> str:
    """Write a number that is already in percent."""
    return number(value, decimals) + f"{_NARROW_SPACE}%"


def relative(value: float, other: float) -> str:
    """Write how far a value is from another, in percent with its sign; nothing where that has no meaning."""
    if not (math.isfinite(value) and math.isfinite(other) and other):
        return ""
    return f"{with_sign(100 * (value / other - 1), 1)}{_NARROW_SPACE}%"


def count(value: int) -> str:
    """Write a whole number with thousands parted."""
    return f"{value:,}"


def magnitude(value: float | None, unit: str = "") -> str:
    """Write a large number with K, M, G or T: "620K", "1.3 GFLOP"."""
    if value is None or not math.isfinite(value):
        return MISSING
    size = 0
    while abs(value) >= 999.5 and size < 4:
        value, size = value / 1000, size + 1
    digits = f"{value:.3g}" if size else f"{value:g}"
    prefix = ["", "K", "M", "G", "T"][size]
    return f"{digits}{_NARROW_SPACE}{prefix}{unit}" if unit else f"{digits}{prefix}"


def duration(seconds: float | None) -> str:
    """Write a time in the unit that suits it: "3.1 ms", "42 s", "2 h 05 min"."""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    if seconds < 120:
        scale, unit = (1.0, "s") if seconds >= 1 else (1e-3, "ms") if seconds >= 1e-3 else (1e-6, "µs")
        return f"{seconds / scale:.3g}{_NARROW_SPACE}{unit}"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes}{_NARROW_SPACE}min"
    return f"{minutes // 60}{_NARROW_SPACE}h {minutes % 60:02d}{_NARROW_SPACE}min"


def sentence_case(text: str) -> str:
    """Raise the first letter and leave the rest."""
    return text[:1].upper() + text[1:]


def within(title: str) -> str:
    """A title within a sentence: words are small there, names and abbreviations stay."""
    return title if title.startswith("Dice") or not title[1:2].islower() else title[:1].lower() + title[1:]


def title_of_stem(stem: str) -> str:
    """The name of a file as a title: dashes and underscores between words become blanks."""
    return sentence_case(re.sub(r"(?<=\w)[-_]+(?=[a-zA-Z])", " ", stem))


def listing(parts: list[str]) -> str:
    """Join with commas and a last "and"."""
    return ", ".join(parts[:-1]) + f" and {parts[-1]}" if len(parts) > 1 else "".join(parts)
