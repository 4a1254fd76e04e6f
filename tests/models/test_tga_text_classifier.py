"""The classifier of TGA's figure 2: twins, counts, padding, sentences of words, depth."""

import pytest
import torch

from fewer import few
from multiway.errors import ConfigError, ShapeError
from multiway.models import TGATextClassifier, create_model
from tolerances import assert_same

KINDS = ["graph", "dot_product", "additive"]
IDS = torch.tensor([[3, 4, 5, 0, 0, 0], [6, 2, 0, 0, 0, 0], [7, 8, 9, 10, 1, 2]])
DOCUMENTS = torch.tensor([[[3, 4, 5], [6, 0, 0]], [[7, 8, 0], [0, 0, 0]]])


def build(**fields):
    torch.manual_seed(3)
    usual = {"num_words": 11, "num_tokens": 6, "num_classes": 3, "dim": 8, "dropout": 0.0}
    model = create_model("tga_text_classifier", **{**usual, **fields})
    assert isinstance(model, TGATextClassifier)
    return model.double().eval()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("positions", ["none", "learnt"])
def test_a_text_does_not_depend_on_its_batch(kind, positions):
    model = build(attention={"kind": kind}, num_blocks=2, positions=positions)
    alone = torch.cat([model(IDS[row : row + 1]) for row in range(3)])
    assert_same(model(IDS), alone)


def test_words_begin_small_and_padding_as_nothing():
    table = build(num_words=2000).embedding.weight.detach()
    assert float(table[1:].std()) == pytest.approx(0.1, rel=0.05) and not table[0].any()


def test_one_block_is_the_printed_filter_then_the_mean_and_the_head():
    model = build(attention={"preset": "paper"}, residual=False)
    words = model.embedding(IDS[0, :3])
    filtered = model.axes[0][0].attention(words)
    assert_same(model(IDS)[0], filtered.mean(0) @ model.head.weight.T + model.head.bias)


def test_twins_differ_in_the_attention_alone():
    shapes = {
        kind: {name: each.shape for name, each in build(attention={"kind": kind}).named_parameters()} for kind in KINDS
    }
    rest = [{name: size for name, size in each.items() if ".attention." not in name} for each in shapes.values()]
    assert rest[0] == rest[1] == rest[2] and all(len(each) > len(rest[0]) for each in shapes.values())


@pytest.mark.parametrize("modes", range(2, 9))
def test_attention_parameters_are_those_of_the_paper(modes):
    """A head of TGA has K and V, 16 (N - 1) each; DPA has 3 · 4^N, and ADA a vector more."""
    counts = [build(dim=2**modes, attention={"kind": kind}).attention_parameters for kind in KINDS]
    assert counts == [32 * (modes - 1), 3 * 4**modes, 3 * 4**modes + 2**modes]
    assert build(dim=2**modes, num_blocks=2).attention_parameters == 2 * counts[0]


def test_at_256_features_attention_has_a_two_hundredth_of_the_parameters_and_less():
    ours, *others = (build(dim=256, attention={"kind": kind}).attention_parameters for kind in KINDS)
    assert ours == 224 and all(200 * ours < other for other in others)


def test_word_order_counts_for_the_graph_and_not_for_products_without_positions():
    turned = IDS[2:].flip(1)
    assert not torch.allclose(build()(IDS[2:]), build()(turned.roll(2, 1)))
    for kind in KINDS[1:]:
        assert_same(build(attention={"kind": kind})(turned), build(attention={"kind": kind})(IDS[2:]))
        placed = build(attention={"kind": kind}, positions="learnt")
        assert not torch.allclose(placed(turned), placed(IDS[2:]))


def test_word_vectors_can_be_a_tensor_train():
    model = build(embedding={"layer": "tensor_train", "rank": 2})
    assert model.embedding.sizes == (2, 2, 2) and model.embedding.words == (3, 2, 2)
    assert model.embedding.num_words == 11 and not model.embedding(torch.tensor(0)).any()
    assert build(dim=32, embedding={"layer": "tensor_train"}).embedding.sizes == (4, 4, 2)
    alone = torch.cat([model(IDS[row : row + 1]) for row in range(3)])
    assert_same(model(IDS), alone)


@pytest.mark.parametrize("kind", KINDS)
def test_sentences_of_words_are_filtered_along_both_axes(kind):
    model = build(attention={"kind": kind}, num_axes=2)
    alone = torch.cat([model(document[None]) for document in DOCUMENTS])
    assert_same(model(DOCUMENTS), alone)
    words, sentences = model.axes[0][0], model.axes[1][0]
    vectors, kept = model.embedded(DOCUMENTS)
    rows = [words(vectors[0, row][None], kept[0, row][None])[0, kept[0, row]].mean(0) for row in range(2)]
    text = sentences(torch.stack(rows)[None], torch.ones(1, 2, dtype=torch.bool)).mean(1)
    assert_same(model(DOCUMENTS)[:1], model.head(text))
    moved = model(DOCUMENTS.roll(1, 1))  # an empty sentence in front changes nothing but the distance between others
    assert_same(moved[1], model(DOCUMENTS)[1])


def test_a_text_without_words_is_the_bias():
    model = build()
    assert_same(model(torch.zeros(1, 6, dtype=torch.int64))[0], model.head.bias)


LONG = torch.randint(1, 11, (16, 50), generator=torch.Generator().manual_seed(0))
DEEP = {"num_blocks": 8, "num_tokens": 50, "num_classes": 2, "dim": 16}


def deep(**fields):
    """Eight blocks over vectors of unit size, in float32."""
    model = build(**DEEP, **fields).float()
    with torch.no_grad():
        model.embedding.weight.mul_(10)
    return model


def learn(model, steps=60):
    """Losses of some steps on texts whose class is whether one word is among their first ten."""
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    ids, losses = LONG[:, :10], []
    target = (ids == 3).any(1).long()
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(model(ids), target)
        optimizer.zero_grad()
        loss.backward()
        assert all(bool(each.grad.isfinite().all()) for each in model.parameters())
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def test_the_printed_filter_explodes_with_depth_and_the_normalised_one_does_not():
    printed, normalised = (deep(residual=False, attention={"preset": each}) for each in ("paper", "normalised"))
    assert not printed(LONG).isfinite().all()
    out = normalised(LONG)
    gradients = torch.autograd.grad(out.square().sum(), list(normalised.parameters()))
    assert out.isfinite().all() and all(each.isfinite().all() and each.any() for each in gradients)


@pytest.mark.parametrize("residual", few([False, True], False))
def test_eight_normalised_blocks_train(residual):
    losses = learn(deep(residual=residual).train())
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dim": 6}, r"attention\.sizes must multiply to dim=6, or dim must be a power of two"),
        ({"dim": 6, "attention": {"sizes": [2, 2]}}, r"attention\.sizes must multiply to dim=6"),
        ({"attention": {"kind": "additive", "num_heads": 3}}, r"attention\.num_heads must divide dim=8\. Got 3"),
        ({"embedding": {"layer": "tensor_train", "sizes": [2, 2]}}, r"embedding\.sizes must multiply to dim=8\. Got"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        build(**fields)


def test_texts_of_another_shape_are_refused():
    with pytest.raises(ShapeError, match=r"must be \(batch, words\), of at most 6 words\. Got \(2, 7\)"):
        build()(torch.ones(2, 7, dtype=torch.int64))
    with pytest.raises(ShapeError, match=r"must be \(batch, sentences, words\)"):
        build(num_axes=2)(IDS)
