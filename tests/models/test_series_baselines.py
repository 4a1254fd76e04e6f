"""Kernels of MultiRocket and Hydra, QUANT, and the baselines of series, against loops and scikit-learn."""

import itertools

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from multiway import ops
from multiway.errors import ShapeError
from multiway.models.baselines import Linear, fit_leaving_out, fit_ridge
from multiway.models.series_baselines import CompetingKernels, FlatLinear, IntervalForest, PositivePools, Rocket
from multiway.ops.series_features import LENGTH
from tolerances import LONG64, assert_same


def waves(count: int, steps: int = 40, variates: int = 2, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Series of two classes, which a bump somewhere tells apart."""
    draw = torch.Generator().manual_seed(seed)
    x, y = 0.3 * torch.randn(count, steps, variates, generator=draw), torch.arange(count) % 2
    for row in range(1, count, 2):
        start = int(torch.randint(steps - 8, (), generator=draw))
        x[row, start : start + 8, 0] += torch.sin(torch.arange(8) * 0.8) * 2
    return x, y


def pools(**fields: int) -> PositivePools:
    torch.manual_seed(1)
    return PositivePools(**({"variates": 2, "steps": 40, "biases": 7} | fields))


def answer_at(x: np.ndarray, weight: np.ndarray, step: int, dilation: int) -> float:
    """Of one kernel (variates, 9) on (variates, steps), zeros beyond the ends."""
    places = [step + dilation * (at - LENGTH // 2) for at in range(LENGTH)]
    seen = [x[:, at] if 0 <= at < x.shape[1] else np.zeros(len(x)) for at in places]
    return float((weight.T * np.array(seen)).sum())


def pools_by_loop(module: PositivePools, x: np.ndarray, kept: np.ndarray) -> dict[tuple[int, int, int], list[float]]:
    """The four pools by dilation, bias and kernel, as the formulas say."""
    found, first = {}, 0
    for index, (dilation, count) in enumerate(module.dilations):
        for kernel, ones in enumerate(itertools.combinations(range(9), 3)):
            weight = np.where(np.isin(np.arange(9), ones), 2.0, -1.0) * module.sees[index, kernel].numpy()
            reach = 4 * dilation if (index + kernel) % 2 and 8 * dilation < x.shape[1] else 0
            steps = [step for step in range(reach, x.shape[1] - reach) if kept[step]]
            answers = {step - reach: answer_at(x, weight, step, dilation) for step in steps}
            for bias in range(count):
                over = {step: answer - float(module.bias[first + bias, kernel]) for step, answer in answers.items()}
                above = [step for step in over if over[step] > 0]
                run = longest = 0
                for step in range(x.shape[1]):
                    run = run + 1 if step in above else 0
                    longest = max(longest, run)
                means = [np.mean([over[step] for step in above]), np.mean(above)] if above else [0, -1]
                found[index, bias, kernel] = [len(above) / max(len(over), 1), *means, longest]
        first += count
    return found


def by_place(module: PositivePools, features: torch.Tensor) -> dict[tuple[int, int, int], torch.Tensor]:
    """Features of one series by dilation, bias and kernel."""
    found, first = {}, 0
    for index, (_, count) in enumerate(module.dilations):
        for start in (index % 2, 1 - index % 2):
            kernels = range(start, 84, 2)
            block = features[first : first + 4 * count * len(kernels)].view(4, count, len(kernels))
            found |= {
                (index, bias, each): block[:, bias, at] for bias in range(count) for at, each in enumerate(kernels)
            }
            first += block.numel()
    assert first == len(features)
    return found


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "with gaps"])
def test_pools_are_those_of_the_formulas(is_whole):
    module, x = pools(), waves(3)[0].mT.contiguous()
    kept = torch.ones(3, 40)
    if not is_whole:
        kept[1, 29:], kept[2, 5] = 0, 0
    module.fit(x, kept)
    assert len(module.dilations) > 1
    got = module(x, None if is_whole else kept)
    for row in range(3):
        expected = pools_by_loop(module, x[row].numpy(), kept[row].numpy())
        found = by_place(module, got[row])
        assert found.keys() == expected.keys()
        ours = torch.stack([found[place] for place in sorted(found)])
        theirs = torch.tensor([expected[place] for place in sorted(found)], dtype=torch.float32)
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_biases_are_quantiles_of_the_answers_to_a_training_series():
    module, x = pools(variates=1, biases=5), waves(1, variates=1)[0].mT.contiguous()
    module.fit(x, None)
    place, first = 0, 0
    for dilation, count in module.dilations:
        for kernel, ones in enumerate(itertools.combinations(range(9), 3)):
            weight = np.where(np.isin(np.arange(9), ones), 2.0, -1.0)[None]
            answers = [answer_at(x[0].numpy(), weight, step, dilation) for step in range(40)]
            shares = (np.arange(place + 1, place + count + 1) * (np.sqrt(5) + 1) / 2) % 1
            np.testing.assert_allclose(
                module.bias[first : first + count, kernel], np.quantile(answers, shares), rtol=1e-4, atol=1e-5
            )
            place += count
        first += count


def test_a_group_counts_the_kernel_that_answers_most_and_the_one_that_answers_least():
    torch.manual_seed(3)
    module, x = CompetingKernels(3, 37), waves(2, steps=37, variates=3)[0].mT.contiguous()
    kept = torch.ones(2, 37)
    kept[1, 31:] = 0
    got = module(x, kept).view(2, len(module.weight), 2, 32, 8)
    for row, index, group in [(0, 0, 0), (0, 2, 31), (1, 1, 5), (1, 0, 17)]:
        seen = x[row, module.sees[index, group]].sum(0, keepdim=True).numpy()
        most, least = np.zeros(8), np.zeros(8)
        for step in range(37):
            weights = module.weight[index, 8 * group : 8 * group + 8].numpy()
            answers = [answer_at(seen, weight, step, 2**index) for weight in weights]
            most[np.argmax(answers)] += max(answers) * float(kept[row, step])
            least[np.argmin(answers)] += float(kept[row, step])
        expected = np.sqrt(np.maximum([most, least], 0))
        np.testing.assert_allclose(got[row, index, :, group], expected, rtol=1e-4, atol=1e-5)


def test_a_series_depends_on_itself_and_one_without_values_has_an_answer():
    torch.manual_seed(0)
    (x, y), model = waves(12), Rocket(2, 40, 2, 12)
    x[3, 20:] = torch.nan
    model.fit(x, y, x, y)
    torch.testing.assert_close(model(x)[3:5], model(x[3:5]), rtol=1e-4, atol=1e-4)
    assert model(torch.full((1, 40, 2), torch.nan)).isfinite().all()


def test_kernels_are_drawn_by_the_seed_and_kept_as_buffers():
    def drawn(seed: int, **fields: int) -> Rocket:
        torch.manual_seed(seed)
        return Rocket(**({"variates": 3, "steps": 11, "num_classes": 2, "num_series": 10} | fields))

    first, second, other = drawn(1), drawn(1), drawn(2)
    assert all(torch.equal(one, two) for one, two in zip(first.buffers(), second.buffers(), strict=True))
    assert not list(first.parameters()) and not torch.equal(first.groups[0].weight, other.groups[0].weight)
    other.load_state_dict(first.state_dict())
    x = waves(2, steps=11, variates=3)[0]
    assert torch.equal(other.features(x), first.features(x))
    few = drawn(1, num_series=10_000)
    assert len(few.pools[0].bias) == 7 and len(first.pools[0].bias) == 74
    assert drawn(1, steps=1).features(x[:, :1]).isfinite().all()


def test_samples_that_are_left_out_choose_the_penalty(generator):
    x = torch.randn(11, 17, generator=generator, dtype=torch.float64)
    y = torch.randn(11, 3, generator=generator, dtype=torch.float64)
    model, penalties = Linear(17, 3), [0.03, 0.3, 3.0]
    scores, facts = fit_leaving_out(model, x, y, penalties)
    scaled = ((x - x.mean(0)) / x.std(0, correction=0)).numpy()
    rest = [np.delete(np.arange(11), row) for row in range(11)]
    out = {
        each: np.stack(
            [
                Ridge(alpha=11 * each).fit(scaled[some], y[some]).predict(scaled[[row]])[0]
                for row, some in enumerate(rest)
            ]
        )
        for each in penalties
    }
    losses = {each: float(np.square(out[each] - y.numpy()).mean()) for each in penalties}
    best = min(losses, key=lambda each: losses[each])
    assert facts["penalty"] == best
    assert facts["left_out_loss"] == pytest.approx({f"{each:g}": loss for each, loss in losses.items()})
    np.testing.assert_allclose(scores, out[best], rtol=LONG64)
    np.testing.assert_allclose(model(x), Ridge(alpha=11 * best).fit(scaled, y).predict(scaled), rtol=LONG64)


def test_ridge_with_more_features_than_samples_is_scikit_learns(generator):
    x = torch.randn(20, 35, generator=generator, dtype=torch.float64)
    y = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    model = Linear(35, 3)
    fit_ridge(model, x, y, x, y, [0.3])
    scaled = (x - x.mean(0)) / x.std(0, correction=0)
    theirs = Ridge(alpha=20 * 0.3).fit(scaled, y)
    np.testing.assert_allclose(model(x), theirs.predict(scaled), rtol=LONG64)


@pytest.mark.parametrize("name", ["logistic", "rocket"])
def test_a_bump_somewhere_is_found_by_kernels_alone(name):
    (x, y), (held, held_y), (test, test_y) = waves(60), waves(30, seed=1), waves(40, seed=2)
    torch.manual_seed(0)
    model = Rocket(2, 40, 2, 60) if name == "rocket" else FlatLinear(80, 2)
    model.fit(x, y, held, held_y)
    right = float((model(test).argmax(1) == test_y).double().mean())
    assert right >= 0.9 if name == "rocket" else right < 0.9


def test_of_very_many_series_validation_chooses(monkeypatch):
    monkeypatch.setattr("multiway.models.series_baselines.MOST_LEFT_OUT", 59)
    (x, y), (held, held_y) = waves(60), waves(30, seed=1)
    torch.manual_seed(0)
    model = Rocket(2, 40, 2, 10_000)
    facts = model.fit(x, y, held, held_y)
    assert sorted(map(float, facts["validation_loss"])) == pytest.approx(np.logspace(-4, 4, 9))
    scores = model.linear(model.features(held))
    losses = {each: torch.nn.functional.cross_entropy(each * scores, held_y) for each in (1.0, 2.0, 4.0, 8.0, 16.0)}
    assert float(model.sharpness) == min(losses, key=lambda each: losses[each])
    assert_same(model(held), float(model.sharpness) * scores)


def test_what_does_not_fit():
    with pytest.raises(ShapeError, match=r"x must be \(batch, steps, 2\)\. Got \(4, 7, 3\)\."):
        Rocket(2, 40, 2, 5)(torch.zeros(4, 7, 3))


def quantiles_by_loop(series: np.ndarray) -> list[float]:
    """QUANT's features of one variate without gaps, as the paper says."""
    slopes = np.diff(series)
    edges = np.pad(slopes, 2, mode="edge")
    smooth = np.array([edges[at : at + 5].mean() for at in range(len(slopes))])
    found = []
    for part in (series, smooth, np.diff(slopes), np.abs(np.fft.rfft(series))):
        level = 0
        while level < 6 and 2**level <= len(part):
            ends = [int(len(part) * place / 2**level) for place in range(2**level + 1)]
            spans, length = list(itertools.pairwise(ends)), int(np.median(np.diff(ends)))
            half = int(np.ceil(len(part) / 2**level / 2))
            if level and length > 1:
                spans += [(start + half, stop + half) for start, stop in spans[:-1]]
            for start, stop in spans:
                values, number = part[start:stop], 1 + (stop - start - 1) // 4
                levels = np.linspace(0, 1, number) if number > 1 else np.array([0.5])
                quantiles = np.quantile(values, levels)
                if number == 1:  # the lower of two in the middle is not taken: both are averaged
                    quantiles = [np.median(values)]
                found += [float(each) - (place % 2) * values.mean() for place, each in enumerate(quantiles)]
            level += 1
    return found


@pytest.mark.parametrize("steps", [2, 3, 11, 61])
def test_quantiles_of_intervals_are_those_of_a_loop(steps):
    x = torch.randn(5, 3, steps, dtype=torch.float64, generator=torch.Generator().manual_seed(steps))
    found = ops.interval_quantiles(x)
    for row in range(5):
        each = np.stack([quantiles_by_loop(x[row, variate].numpy()) for variate in range(3)])
        by_interval, first = [], 0
        for size in interval_sizes(steps):  # quantiles of an interval, variate by variate
            by_interval += each[:, first : first + size].ravel().tolist()
            first += size
        np.testing.assert_allclose(found[row], by_interval, atol=LONG64)


def interval_sizes(steps: int) -> list[int]:
    """How many quantiles each interval of each representation has."""
    lengths = [each for each in (steps, steps - 1, steps - 2, steps // 2 + 1) if each]
    return [1 + (stop - start - 1) // 4 for each in lengths for start, stop in ops.dyadic_intervals(each)]


def test_missing_values_are_left_out_of_their_intervals():
    x = torch.randn(4, 1, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    gap = x.clone()
    gap[..., 16:] = torch.nan
    count = sum(interval_sizes(32)[:1])
    whole = ops.interval_quantiles(gap)[:, :count]
    levels = torch.linspace(0, 1, count, dtype=torch.float64)
    expected = x[..., :16].quantile(levels, dim=2).permute(1, 2, 0).flatten(1)
    expected[:, 1::2] -= x[..., :16].mean(2)
    np.testing.assert_allclose(whole, expected, atol=LONG64)
    assert ops.interval_quantiles(gap).isfinite().all()


def test_quant_tells_classes_that_a_bump_somewhere_makes_and_repeats_itself():
    (x, y), (test, test_y) = waves(60), waves(40, seed=1)
    model, copy = IntervalForest(2), IntervalForest(2)
    model.fit(x, y, 3)
    copy.fit(x, y, 3)
    assert (model(test).argmax(1) == test_y).float().mean() >= 0.9
    assert torch.equal(model(test), copy(test))
