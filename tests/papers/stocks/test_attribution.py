"""Contributions against a score that is known, against another derivation, and what must hold of any network."""

import numpy as np
import pytest
import torch

from multiway.models import create_model
from multiway_papers.stocks.attribution import (
    SampleTexts,
    contributions,
    deletion_of_texts,
    scores_without,
    text_contributions,
    texts_of_rows,
)
from tolerances import LONG32, ROUNDING64, SUMS32

STOCKS, SLOTS, FEATURES, EMBEDDING = 7, 5, 3, 11


def make_texts(seed=0, dtype=torch.float32):
    """Up to three texts for most slots, standardised vectors at random."""
    chance = np.random.default_rng(seed)
    sizes = chance.integers(0, 4, (STOCKS, SLOTS))
    sizes[2] = [3, 0, 1, 2, 0]
    rows = np.where(sizes > 0, 1 + np.arange(sizes.size).reshape(sizes.shape), 0).astype(np.int32)
    items = np.split(np.arange(sizes.sum()), np.cumsum(sizes.ravel())[:-1])
    vectors = torch.from_numpy(chance.normal(size=(sizes.sum(), EMBEDDING))).to(dtype)
    return texts_of_rows(rows, lambda row: items[row - 1], lambda item: vectors[torch.from_numpy(item)])


def test_the_texts_of_every_group_are_gathered_the_first_too():
    rows = np.array([[0, 1, 0], [3, 0, 2]], np.int32)
    items = {1: [4], 2: [0, 1], 3: [2, 3]}
    vectors = torch.arange(10.0).reshape(5, 2)
    texts = texts_of_rows(rows, lambda row: np.array(items[row]), lambda item: vectors[torch.from_numpy(item)])
    assert (texts.stock.tolist(), texts.slot.tolist()) == ([0, 1, 1, 1, 1], [1, 0, 0, 2, 2])
    assert texts.item.tolist() == [4, 2, 3, 0, 1]
    assert torch.equal(texts.vectors, vectors[[4, 2, 3, 0, 1]])


def make_batch(texts, seed=0, dtype=torch.float32):
    """A batch of one sample whose vectors are the means of the texts, by plain loops."""
    generator = torch.Generator().manual_seed(seed)
    text = torch.zeros(1, STOCKS, SLOTS, EMBEDDING, dtype=dtype)
    valid = torch.zeros(1, STOCKS, SLOTS, dtype=torch.bool)
    for stock in range(STOCKS):
        for slot in range(SLOTS):
            here = [row for row in range(len(texts)) if (texts.stock[row], texts.slot[row]) == (stock, slot)]
            if here:
                text[0, stock, slot] = texts.vectors[here].mean(0)
                valid[0, stock, slot] = True
    price_valid = torch.rand(1, STOCKS, SLOTS, generator=generator) < 0.8
    return {
        "prices": torch.randn(1, STOCKS, SLOTS, FEATURES, generator=generator, dtype=torch.float64).to(dtype),
        "price_valid": price_valid,
        "dates": torch.randn(1, SLOTS, 3, generator=generator, dtype=torch.float64).to(dtype),
        "text": text,
        "text_valid": valid,
    }


def network_score(**fields):
    torch.manual_seed(3)
    sizes = {"num_stocks": STOCKS, "num_slots": SLOTS, "price_features": FEATURES, "text_features": EMBEDDING}
    model = create_model("hot_stock_classifier", **sizes, dim=16, num_heads=2, **fields).eval()

    def score(batch):
        found = model(batch["prices"], batch["price_valid"], batch["dates"], batch.get("text"), batch.get("text_valid"))
        return found[..., 1] - found[..., 0]

    return score


def straight_score(weights, stock=2):
    """The sum of weighted inputs of one stock, alike for every stock."""

    def score(batch):
        text = torch.where(batch["text_valid"][..., None], batch["text"], 0)
        own = (text[:, stock] * weights).sum((-1, -2)) + batch["prices"][:, stock].sum((-1, -2))
        return own[:, None].expand(-1, STOCKS)

    return score


def test_of_a_straight_score_the_contributions_are_its_terms():
    texts = make_texts(dtype=torch.float64)
    batch = make_batch(texts, dtype=torch.float64)
    batch["price_valid"][:] = True
    weights = torch.from_numpy(np.random.default_rng(1).normal(size=(SLOTS, EMBEDDING)))
    found = contributions(straight_score(weights), batch, 2)
    assert found.prices.sum() + found.texts.sum() == pytest.approx(found.score, rel=ROUNDING64)
    assert found.texts[2] == pytest.approx((batch["text"][0, 2] * weights).sum(-1).numpy(), rel=ROUNDING64)
    others = [stock for stock in range(STOCKS) if stock != 2]
    assert not found.texts[others].any() and not found.prices[others].any()


def test_the_texts_of_a_slot_share_its_contribution_exactly():
    texts = make_texts()
    found = contributions(network_score(), make_batch(texts), 4)
    parts = text_contributions(found, texts)
    sums = np.zeros((STOCKS, SLOTS))
    np.add.at(sums, (texts.stock, texts.slot), parts)
    np.testing.assert_allclose(sums, found.texts, rtol=LONG32, atol=SUMS32)
    assert np.abs(found.texts).max() > 100 * SUMS32


def test_contributions_are_slopes_times_inputs():
    """By finite differences in float64, through the whole network."""
    texts = make_texts(dtype=torch.float64)
    batch = make_batch(texts, dtype=torch.float64)
    torch.set_default_dtype(torch.float64)
    try:
        score = network_score()
    finally:
        torch.set_default_dtype(torch.float32)
    found = contributions(score, batch, 1)
    step = 1e-5
    for stock, slot in ((1, 2), (3, 4), (6, 0)):
        changed = []
        for factor in (1 + step, 1 - step):
            text = batch["text"].clone()
            text[0, stock, slot] *= factor
            changed.append(float(score({**batch, "text": text})[0, 1].detach()))
        assert found.texts[stock, slot] == pytest.approx((changed[0] - changed[1]) / (2 * step), rel=1e-6, abs=1e-9)


def test_without_attention_no_other_stock_contributes():
    batch = make_batch(make_texts())
    scores = ({"attended_modes": (), "tokens": "learnt"}, {"attended_modes": ()}, {"attended_modes": (0, 1)})
    blind, alone, together = (contributions(network_score(**fields), batch, 3) for fields in scores)
    others = [stock for stock in range(STOCKS) if stock != 3]
    assert not blind.texts.any() and not blind.prices.any()  # the token that is read sees no day, not its own either
    assert alone.of_stocks[3] and not alone.texts[others].any() and not alone.prices[others].any()
    assert together.of_stocks[others].all()


def test_what_is_not_valid_contributes_nothing_whatever_it_holds():
    texts = make_texts()
    batch = make_batch(texts)
    clean = contributions(network_score(), batch, 3)
    batch["text"][~batch["text_valid"]] = float("nan")
    batch["prices"][~batch["price_valid"]] = float("nan")
    dirty = contributions(network_score(), batch, 3)
    assert not clean.texts[~batch["text_valid"][0].numpy()].any()
    np.testing.assert_array_equal(clean.texts, dirty.texts)
    np.testing.assert_array_equal(clean.prices, dirty.prices)


def test_a_network_of_prices_has_no_part_of_texts():
    batch = {name: value for name, value in make_batch(make_texts()).items() if not name.startswith("text")}
    found = contributions(network_score(modality="price"), batch, 3)
    assert found.text_gradient is None and not found.texts.any() and found.prices.any()
    assert text_contributions(found, make_texts()).shape == (len(make_texts()),)


def test_a_network_of_texts_has_no_part_of_prices():
    found = contributions(network_score(modality="text"), make_batch(make_texts()), 3)
    assert not found.prices.any() and found.texts.any()


def test_hiding_texts_is_reading_the_mean_of_the_rest():
    texts, score = make_texts(), network_score()
    batch = make_batch(texts)
    hidden = np.random.default_rng(2).random((9, len(texts))) < 0.5
    hidden[0], hidden[1] = False, True
    found = scores_without(score, batch, texts, 2, hidden)
    for case in range(len(hidden)):
        kept = np.flatnonzero(~hidden[case])
        rest = SampleTexts(
            stock=texts.stock[kept], slot=texts.slot[kept], item=texts.item[kept], vectors=texts.vectors[kept]
        )
        expected = float(score(make_batch(rest))[0, 2].detach())
        assert float(found[case]) == pytest.approx(expected, rel=LONG32, abs=SUMS32)
    assert float(found[0]) == pytest.approx(float(score(batch)[0, 2].detach()), rel=LONG32)


def test_the_deletion_test_falls_faster_where_the_parts_are_the_truth():
    texts = make_texts()
    batch = make_batch(texts)
    weights = torch.from_numpy(np.random.default_rng(1).normal(size=(SLOTS, EMBEDDING))).float()
    batch["prices"] *= 0
    score = straight_score(weights)
    parts = text_contributions(contributions(score, batch, 2), texts)
    curves = deletion_of_texts(score, batch, texts, 2, parts, draws=40)
    assert curves.area("gradients") < curves.area()
    worst = deletion_of_texts(score, batch, texts, 2, -parts, draws=40)
    assert worst.area("gradients") > worst.area()
    ends = [0, -1]
    np.testing.assert_allclose(curves.marked["gradients"][ends], curves.random[ends], rtol=LONG32)
    assert curves.random[0] > 0.5


def test_one_text_cannot_be_tested():
    texts = make_texts()
    lone = SampleTexts(stock=texts.stock[:1], slot=texts.slot[:1], item=texts.item[:1], vectors=texts.vectors[:1])
    stock = int(lone.stock[0])
    assert deletion_of_texts(network_score(), make_batch(lone), lone, stock, np.ones(1)) is None
