"""From gathered texts to entries: their ticker's position, their day, and why others are left out."""

import collections

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Unreadable, listed
from multiway.errors import Fix
from multiway.tasks.stocks.options import NO_TEXTS, StockOptions
from multiway.tasks.stocks.panel import StockPanel, StockTexts
from multiway.tasks.stocks.stamps import exchange_days, parse_stamps, plain_days, says_zone
from multiway.tasks.stocks.texts import RawTexts

MAX_TEXT = 20_000
"""Characters of a text that are kept."""
DAYS_BEFORE = 7
"""Days before the first trading day from which texts are kept, since a first window looks back."""
Marks = NDArray[np.bool_]


def place_texts(raws: list[RawTexts], panel: StockPanel, options: StockOptions, findings: Findings) -> StockTexts:
    """Keep texts of known tickers, with something in them, from days that a window of the panel can reach."""
    placing = _Placing(panel, options, findings)
    parts = [placing.kept(raw) for raw in raws]
    if findings.errors():
        raise Unreadable
    placing.report(sum(len(part.frame) for part in parts))
    return placing.sorted(parts)


class _Placing:
    """What the files of one source share while their texts find their places.

    dropped: Texts left out, by the reason.
    strangers: Tickers without prices.
    long: Texts that were cut.
    """

    def __init__(self, panel: StockPanel, options: StockOptions, findings: Findings) -> None:
        self.panel, self.options, self.findings = panel, options, findings
        self.dropped, self.strangers, self.long = collections.Counter[str](), set[str](), 0

    def kept(self, raw: RawTexts) -> RawTexts:
        """Texts of one file that stay, with columns day and stamp as they count."""
        known = raw.frame["ticker"].astype(str).isin(self.panel.tickers).to_numpy(bool)
        self.strangers.update(map(str, raw.frame["ticker"][~known]))
        raw = self._without(~known, "unknown ticker", raw)
        if "id" in raw.frame:
            ids = raw.frame[["ticker", "id"]]
            repeated = ids.astype(str).duplicated() & ids["id"].notna()
            raw = self._without(repeated.to_numpy(bool), "duplicate id", raw)
        return self._in_reach(self._with_words(raw))

    def _without(self, marks: Marks, reason: str, raw: RawTexts) -> RawTexts:
        if marks.any():
            self.dropped[reason] += int(marks.sum())
        return raw.kept(~marks)

    def _with_words(self, raw: RawTexts) -> RawTexts:
        """Texts that say something and can be written; long ones are cut, and counted."""
        if "text" not in raw.frame:
            return raw
        flaws = raw.frame["text"].map(_flaw)
        self.dropped.update(flaws[flaws != ""])
        raw = raw.kept((flaws == "").to_numpy(bool))
        texts = [text.strip() for text in raw.frame["text"]]
        self.long += sum(len(text) > MAX_TEXT for text in texts)
        return raw.kept(np.ones(len(texts), bool), text=[text[:MAX_TEXT] for text in texts])

    def _in_reach(self, raw: RawTexts) -> RawTexts:
        """Give each text its day; keep what lies in the days of the prices, to the eve of the next session."""
        frame, options, findings, panel = raw.frame, self.options, self.findings, self.panel
        if "day" in frame and (raw.by_day or (options.time_zone is None and not says_zone(frame["stamp"]))):
            day = plain_days(frame["day"], raw.place, findings)
            stamps = parse_stamps(frame["stamp"], options.replace(time_zone="UTC"), raw.place, findings)
        else:
            stamps = parse_stamps(frame["stamp"], options, raw.place, findings)
            day = exchange_days(stamps, options)
        keep = (day >= panel.days[0] - np.timedelta64(DAYS_BEFORE, "D")) & (day < panel.next_session)
        self.dropped["outside the prices' days"] += int((~keep).sum())
        return raw.kept(keep, day=day[keep].astype("datetime64[s]"), stamp=stamps.utc[keep])

    def report(self, left: int) -> None:
        """Say what was left out; refuse when nothing is left."""
        reasons = {reason: count for reason, count in self.dropped.items() if count}
        counts = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
        unknown = f"; unknown tickers are {listed(sorted(self.strangers))}" if self.strangers else ""
        if not left:
            rule = f"no text is left ({counts or 'there was none'}{unknown})"
            fix = ("Give texts of the tickers and days of the prices, or ", Fix("read.texts", NO_TEXTS), ".")
            raise self.findings.fatal("texts", rule, fix)
        if reasons:
            self.findings.add("dropped", "note", f"texts left out: {counts}{unknown}", count=sum(reasons.values()))
        if self.long:
            rule = f"{self.long} texts of more than {MAX_TEXT:,} characters were cut there"
            self.findings.add("long", "note", rule, count=self.long)

    def sorted(self, parts: list[RawTexts]) -> StockTexts:
        """Texts of all files by ticker, day and stamp."""
        frame, vectors = pd.concat([part.frame for part in parts], ignore_index=True), self._vectors(parts)
        ticker = np.searchsorted(np.array(self.panel.tickers), frame["ticker"].to_numpy(str)).astype(np.int64)
        day, stamp = frame["day"].to_numpy().astype("datetime64[D]"), frame["stamp"].to_numpy().astype("datetime64[s]")
        order = np.lexsort((stamp, day, ticker))
        return StockTexts(
            ticker=ticker[order], day=day[order], stamp=stamp[order],
            text=tuple(frame["text"].iloc[order]) if vectors is None else None,
            vectors=None if vectors is None else vectors[order],
            dropped={reason: count for reason, count in self.dropped.items() if count}, source=self.findings.source,
            notes=self.findings.remarks(),
        )  # fmt: skip

    def _vectors(self, parts: list[RawTexts]) -> NDArray[np.float32] | None:
        """Vectors of all files in one array; None where they hold texts."""
        given = [part.vectors[part.frame.index] for part in parts if part.vectors is not None]
        if not given:
            return None
        if len(given) < len(parts) or len({vectors.shape[1] for vectors in given}) > 1:
            rule = "all files must hold vectors of one length, or all texts"
            raise self.findings.fatal("vectors", rule, "Make them again.")
        return np.concatenate(given)


def _flaw(text: object) -> str:
    """Why a text cannot be read; empty where it can."""
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
    return ""
