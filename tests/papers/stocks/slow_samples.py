"""Samples one ticker and day at a time, in loops over lists, as the protocols say it in words."""

import datetime

import numpy as np

from multiway_papers.stocks.panel import FIELDS

DAY = datetime.timedelta(days=1)


def rows_of(panel, stock):
    """The ticker's rows, oldest first."""
    return [
        {"day": day.astype(object), "movement": float(panel.movement[stock, place])}
        | dict(zip(FIELDS, panel.prices[stock, place].tolist(), strict=True))
        for place, day in enumerate(panel.days)
        if panel.traded[stock, place]
    ]


def texts_by_day(texts, stock):
    """Words of a ticker's texts by their day."""
    found = {}
    for ticker, day, words in zip(texts.ticker, texts.day, texts.text, strict=True):
        if ticker == stock:
            found.setdefault(day.astype(object), set()).add(words)
    return found


def put(words, first, last, slots):
    """Put the texts of the days from `first` to `last` on the first slot after each."""
    result, day = {}, first
    while day <= last:
        later = [slot for slot in slots if slot > day]
        if later and day in words:
            result.setdefault(later[0], set()).update(words[day])
        day += DAY
    return result


def price_of(rows, slot, prices="changes"):
    """What the row before the slot's day says, None if that row, or for changes the one before it, is not there."""
    before = [row for row in rows if row["day"] < slot]
    if prices == "levels":
        return [before[-1][name] for name in ("adj_close", "high", "low")] if before else None
    if len(before) < 2:
        return None
    base, row = before[-2]["adj_close"], before[-1]
    factor = row["adj_close"] / row["close"]
    return [row["adj_close"] / base - 1, row["high"] * factor / base - 1, row["low"] * factor / base - 1]


def stocknet(panel, texts, complete):
    """By (ticker, target day): label, slots, prices and texts of every slot."""
    result = {}
    for stock, ticker in enumerate(panel.tickers):
        rows, words = rows_of(panel, stock), texts_by_day(texts, stock)
        for row in rows:
            target, movement = row["day"], row["movement"]
            if not datetime.date(2014, 1, 1) <= target < datetime.date(2016, 1, 1):
                continue
            if np.isnan(movement) or -0.005 <= movement < 0.0055:
                continue
            slots = [other["day"] for other in rows if target - 4 * DAY <= other["day"] <= target]
            on_slot = put(words, target - 5 * DAY, target - DAY, slots)
            prices = {slot: price_of(rows, slot) for slot in slots}
            if complete and not all(prices[slot] is not None and slot in on_slot for slot in slots):
                continue
            label = 0 if movement <= 1e-7 else 1
            result[ticker, target] = {"label": label, "slots": slots, "prices": prices, "texts": on_slot}
    return result


def chronological(panel, texts, look_back, down, up, prices="changes"):
    """The same for windows of trading days."""
    result = {}
    calendar = [day.astype(object) for day in panel.days]
    for stock, ticker in enumerate(panel.tickers):
        rows, words = rows_of(panel, stock), texts_by_day(texts, stock)
        own = {row["day"] for row in rows}
        for row in rows:
            target, movement = row["day"], row["movement"]
            place = calendar.index(target)
            if place < 2 or np.isnan(movement) or -down <= movement < up:
                continue
            window = calendar[max(place - look_back + 1, 0) : place + 1]
            start = calendar.index(window[0])
            first = calendar[start - 1] if start else window[0] - DAY
            slots = [day for day in window if day in own]
            result[ticker, target] = {
                "label": int(movement > 0),
                "slots": slots,
                "prices": {slot: price_of(rows, slot, prices) for slot in slots},
                "texts": put(words, first, target - DAY, slots),
            }
    return result


def unfolded(samples, texts):
    """What the fast samples say, in the same form, with the price mask as None."""
    result = {}
    for sample, stock in zip(*np.nonzero(samples.labels >= 0), strict=True):
        target = samples.days[samples.targets[sample]].astype(object)
        entry = {"label": int(samples.labels[sample, stock]), "slots": [], "prices": {}, "texts": {}}
        valid = samples.price_valid[sample, stock]
        for slot in np.flatnonzero(samples.slot_valid[sample, stock]):
            position = samples.slots[sample, slot]
            day = samples.days[position].astype(object)
            entry["slots"].append(day)
            entry["prices"][day] = samples.features[position, stock].tolist() if valid[slot] else None
            row = samples.text_rows[sample, stock, slot]
            if row:
                entry["texts"][day] = {texts.text[item] for item in samples.groups.of(row)}
        result[samples.tickers[stock], target] = entry
    return result
