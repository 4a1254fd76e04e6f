"""What moved an answer that no gradient tells: its probability without each day's prices, its texts, and each text."""

import dataclasses

import numpy as np
import torch
from numpy.typing import NDArray

from multiway.tasks.run import Run
from multiway.tasks.stocks.attribution import Contributions, SampleTexts
from multiway.tasks.stocks.encode import StockInputs
from multiway.tasks.stocks.network import rises_of
from multiway.tasks.stocks.panel import Groups

Values = NDArray[np.float64]


def without_days(run: Run, one: StockInputs, stock: int) -> Contributions:
    """How far the probability of a rise falls where prices or texts of one of the stock's own days are hidden."""
    stocks, slots = one.windows.slot_valid.shape[1:]
    many = one[np.zeros(1 + 2 * slots, np.int64)]
    windows = many.windows
    for slot in range(slots):
        windows.slot_valid[1 + slot, stock, slot] = False
        windows.text_rows[1 + slots + slot, stock, slot] = 0
    windows.previous[slots, stock] = np.nan  # the last movement is what the last slot shows
    rises = rises_of(run, many)[:, stock]
    parts = np.zeros((2, stocks, slots))
    parts[:, stock] = (rises[0] - rises[1:]).reshape(2, slots)
    return Contributions(score=float(rises[0]), prices=parts[0], texts=parts[1], text_gradient=None)


def without_texts(run: Run, one: StockInputs, stock: int, texts: SampleTexts) -> Values:
    """How far it falls without each of the sample's texts; 0 for those about other stocks."""
    own = np.flatnonzero(texts.stock == stock)
    many, groups = one[np.zeros(1 + len(own), np.int64)], one.windows.groups
    rows = many.windows.text_rows
    left = [items[items != texts.item[text]] for text in own
            for items in [groups.of(int(rows[0, stock, texts.slot[text]]))]]  # fmt: skip
    for number, (text, items) in enumerate(zip(own, left, strict=True)):
        rows[1 + number, stock, texts.slot[text]] = groups.num_rows + number if len(items) else 0
    falls = np.zeros(len(texts))
    rises = rises_of(run, _with_groups(many, left))[:, stock]
    falls[own] = rises[0] - rises[1:]
    return falls


def _with_groups(inputs: StockInputs, more: list[NDArray[np.int64]]) -> StockInputs:
    """The same with more groups of texts behind those that there are, and their mean vectors."""
    groups, tables = inputs.windows.groups, inputs.tables
    ends = groups.starts[-1] + np.cumsum([len(items) for items in more], dtype=np.int64)
    longer = Groups(starts=np.append(groups.starts, ends), items=np.concatenate([groups.items, *more]))
    if tables.vectors is not None:
        means = [inputs.text_vectors(items).mean(0) if len(items) else tables.vectors[0] for items in more]
        tables = dataclasses.replace(tables, vectors=torch.stack([*tables.vectors, *means]))
    return StockInputs(windows=dataclasses.replace(inputs.windows, groups=longer), tables=tables)
