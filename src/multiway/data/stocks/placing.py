"""From gathered texts to entries: their ticker's position, their day, and why others are left out."""

import collections
import dataclasses
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Unreadable, listed
from multiway.data.stocks.options import StockOptions
from multiway.data.stocks.panel import StockPanel
from multiway.data.stocks.raw_texts import RawTexts
from multiway.data.stocks.stamps import exchange_days, parse_stamps, plain_days, says_zone
from multiway.data.stocks.texts import StockTexts

MAX_TEXT = 20_000
"""Characters of a text that are kept."""
DAYS_BEFORE = 7
"""Days before the first trading day from which texts are kept, since a first window looks back."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """Texts of one file that are kept."""

    ticker: NDArray[np.int64]
    day: NDArray[np.datetime64]
    stamp: NDArray[np.datetime64]
    text: list[str] | None
    vectors: NDArray[np.float32] | None


def place_texts(raws: list[RawTexts], panel: StockPanel, options: StockOptions, findings: Findings) -> StockTexts:
    """Keep texts of known tickers, with something in them, from days that a window of the panel can reach."""
    dropped: collections.Counter[str] = collections.Counter()
    strangers: set[str] = set()
    cut = 0
    parts = []
    for raw in raws:
        raw = _once(_of_known_tickers(raw, panel, dropped, strangers), dropped)
        raw, shortened = _with_words(raw, dropped)
        cut += shortened
        parts.append(_in_reach(raw, panel, options, findings, dropped))
    if findings.errors():
        raise Unreadable
    _report(parts, dropped, strangers, cut, findings)
    return _sorted(parts, dropped, findings)


def _of_known_tickers(
    raw: RawTexts, panel: StockPanel, dropped: collections.Counter[str], strangers: set[str]
) -> RawTexts:
    known = np.isin(raw.ticker.astype(str), panel.tickers) if len(raw.ticker) else np.zeros(0, dtype=bool)
    if not known.all():
        dropped["unknown ticker"] += int((~known).sum())
        strangers.update(map(str, raw.ticker[~known]))
    return raw.kept(known)


def _once(raw: RawTexts, dropped: collections.Counter[str]) -> RawTexts:
    """The first of the texts of one ticker that share an id."""
    if raw.id is None:
        return raw
    ids = pd.Series(raw.id, dtype=object)
    repeated = (pd.DataFrame({"ticker": raw.ticker, "id": ids.astype(str)}).duplicated() & ids.notna()).to_numpy(bool)
    if repeated.any():
        dropped["duplicate id"] += int(repeated.sum())
    return raw.kept(~repeated)


def _with_words(raw: RawTexts, dropped: collections.Counter[str]) -> tuple[RawTexts, int]:
    """Texts that say something and can be written; long ones are cut, and counted."""
    if raw.text is None:
        return raw, 0
    reasons = [_flaw(text) for text in raw.text]
    dropped.update(reason for reason in reasons if reason is not None)
    kept = raw.kept(np.array([reason is None for reason in reasons], dtype=bool))
    texts = [text.strip() for text in kept.text or ()]
    cut = sum(len(text) > MAX_TEXT for text in texts)
    return dataclasses.replace(kept, text=[text[:MAX_TEXT] for text in texts]), cut


def _flaw(text: Any) -> str | None:
    if not isinstance(text, str):
        return "empty" if text is None or text is pd.NA or text != text else "no text"
    if not text.strip():
        return "empty"
    if "\x00" in text:
        return "NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "lone surrogate"
    return None


def _in_reach(
    raw: RawTexts, panel: StockPanel, options: StockOptions, findings: Findings, dropped: collections.Counter[str]
) -> _Part:
    """Give each text its day; keep what lies in the days of the prices, to the eve of the next session."""
    if raw.dated is not None and (raw.by_day or (options.time_zone is None and not says_zone(raw.stamp))):
        day = plain_days(raw.dated, raw.place, findings)
        stamp = parse_stamps(raw.stamp, options.replace(time_zone="UTC"), raw.place, findings).utc
    else:
        stamps = parse_stamps(raw.stamp, options, raw.place, findings)
        day, stamp = exchange_days(stamps, options), stamps.utc
    keep = (day >= panel.days[0] - np.timedelta64(DAYS_BEFORE, "D")) & (day < panel.next_session)
    dropped["outside the prices' days"] += int((~keep).sum())
    kept = raw.kept(keep)
    ticker = np.searchsorted(np.array(panel.tickers), kept.ticker.astype(str)) if len(kept.ticker) else np.zeros(0)
    return _Part(ticker=ticker.astype(np.int64), day=day[keep], stamp=stamp[keep], text=kept.text, vectors=kept.vectors)


def _report(
    parts: list[_Part], dropped: collections.Counter[str], strangers: set[str], cut: int, findings: Findings
) -> None:
    """Say what was left out; refuse when nothing is left."""
    reasons = {reason: count for reason, count in dropped.items() if count}
    said = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
    unknown = f"; unknown tickers are {listed(sorted(strangers))}" if strangers else ""
    if not sum(len(part.ticker) for part in parts):
        rule = f"no text is left ({said or 'there was none'}{unknown})"
        raise findings.fatal("texts", rule, "Give texts of the tickers and days of the prices, or --texts none.")
    if reasons:
        findings.add("dropped", "note", f"texts left out: {said}{unknown}", count=sum(reasons.values()))
    if cut:
        findings.add("long", "note", f"{cut} texts of more than {MAX_TEXT:,} characters were cut there", count=cut)


def _sorted(parts: list[_Part], dropped: collections.Counter[str], findings: Findings) -> StockTexts:
    texts = [text for part in parts for text in part.text or ()]
    vectors = _vectors(parts, findings)
    ticker, day, stamp = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("ticker", "day", "stamp")
    )
    order = np.lexsort((stamp, day, ticker))
    return StockTexts(
        ticker=ticker[order], day=day[order], stamp=stamp[order],
        text=tuple(texts[row] for row in order) if vectors is None else None,
        vectors=None if vectors is None else vectors[order],
        dropped={reason: count for reason, count in dropped.items() if count}, source=findings.source,
        notes=tuple(finding.line() for finding in findings.found if finding.severity != "error"),
    )  # fmt: skip


def _vectors(parts: list[_Part], findings: Findings) -> NDArray[np.float32] | None:
    """Vectors of all files in one array; None where they hold texts."""
    given = [part.vectors for part in parts if part.vectors is not None]
    if not given:
        return None
    if len(given) < len(parts) or len({one.shape[1] for one in given}) > 1:
        raise findings.fatal("vectors", "all files must hold vectors of one length, or all texts", "Make them again.")
    return np.concatenate(given)
