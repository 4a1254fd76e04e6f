"""The choice of the answer on planted losses: ties, clear winners, blends, clusters."""

from types import SimpleNamespace

import numpy as np
import pytest

from multiway.errors import ConfigError
from multiway.tasks import choice
from multiway.tasks.candidate import CONSTANT, LINEAR, TREES
from multiway.tasks.choice import BLEND, Choice, Evidence
from multiway.tasks.protocol import NETWORK, choose_by

CASES = 211
RANKS = {
    **dict.fromkeys(("majority", "mean"), CONSTANT),
    **dict.fromkeys(("logistic", "ridge", "tfidf", "threshold", "vectors"), LINEAR),
    "trees": TREES,
}


def choose(evidence: Evidence, **more: str) -> Choice:
    return choice.choose(evidence, RANKS, **more)


def normal(seed: int, *sizes: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=sizes)


def losses(**shifts: float) -> dict[str, np.ndarray]:
    """Alike losses with noise of mean zero of their own, each shifted."""
    common, noise = np.abs(normal(0, CASES)) + 1, 0.1 * normal(1, len(shifts), CASES)
    noise -= noise.mean(1, keepdims=True)
    return {name: common + shift + own for (name, shift), own in zip(shifts.items(), noise, strict=True)}


def test_equal_candidates_leave_the_answer_to_the_simplest():
    same = np.abs(normal(0, CASES))
    chosen = choose(Evidence(losses={NETWORK: same, "trees": same, "logistic": same, "majority": same}))
    assert chosen.name == "majority"


def test_of_candidates_within_one_standard_error_the_simpler_answers_and_of_equal_rank_the_better():
    evidence = Evidence(losses=losses(network=0.0, vectors=0.006, tfidf=0.004, majority=0.5))
    chosen = choose(evidence)
    near = {row.name for row in chosen.candidates if row.difference <= row.error}
    assert near == {NETWORK, "tfidf", "vectors"}
    assert chosen.name == "tfidf"
    assert "simpler and within one standard error of the network" in chosen.line()


def test_the_complement_of_a_score_is_told_as_the_score():
    known = {"unet": np.full(20, 0.306), "threshold": np.full(20, 0.0764)}
    chosen = choose(Evidence(losses=known, loss="1 - Dice"))
    assert chosen.line() == (
        "Answer: threshold, the best of the candidates (Dice 0.924 against 0.694 of unet, validation of 20 cases)."
    )
    assert [row.loss for row in chosen.candidates] == pytest.approx([0.0764, 0.306])


def test_a_constant_answers_where_nothing_is_better_by_one_standard_error():
    near = losses(network=0.0, logistic=0.004, majority=0.004)
    chosen = choose(Evidence(losses=near))
    assert chosen.name == "majority"
    assert chosen.line().startswith(
        "Answer: majority, a constant, as none of logistic and network is better by more than one standard error; more "
        "cases, other inputs or another network may help (loss"
    )
    assert "as network is not better" in choose(Evidence(losses=losses(network=0.0, majority=0.004))).line()
    assert choose(Evidence(losses=near | {"logistic": near["logistic"] - 0.1})).name == "logistic"


def test_a_constant_that_one_candidate_beats_is_not_the_simpler_one():
    """The network is the best but unsteady; the logistic regression is surely better than the constant."""
    known = losses(logistic=0.0)["logistic"]
    unsteady = known - 0.01 + 3 * normal(7, CASES)
    unsteady += known.mean() - 0.01 - unsteady.mean()
    given = {NETWORK: unsteady, "logistic": known, "majority": known + 0.05 + 0.01 * normal(8, CASES)}
    assert choose(Evidence(losses=given)).name == "logistic"


@pytest.mark.parametrize("few", [False, True])
def test_a_constant_is_no_tie_of_a_rare_class_or_of_few_cases(few):
    near = losses(network=0.0, logistic=0.004, majority=0.004)
    units = np.arange(CASES) * 9 // CASES if few else None
    evidence = Evidence(losses=near, units=units, is_rare=not few)
    assert choose(evidence).name == "logistic"
    best = near | {"majority": near["majority"] - 0.1}
    assert choose(Evidence(losses=best, units=units, is_rare=not few)).name == "majority"


def test_a_clearly_better_network_answers():
    chosen = choose(Evidence(losses=losses(network=0.0, trees=0.1, logistic=0.2), loss="Brier", unit="rows"))
    assert chosen.name == NETWORK
    assert chosen.line().startswith("Answer: network, the best of the candidates (Brier ")
    assert chosen.line().endswith(f" of trees, validation of {CASES} rows).")


def planted(seed: int = 3) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Two outputs with errors of their own, and one that is worse in every way."""
    truth = normal(seed, CASES, 2)
    errors = {"logistic": normal(seed + 1, CASES, 2), NETWORK: 0.9 * normal(seed + 2, CASES, 2)}
    errors["mean"] = 5 * normal(seed + 3, CASES, 2)
    return {name: truth + error for name, error in errors.items()}, truth


def test_complementary_candidates_are_blended_by_weights_that_others_cases_support():
    outputs, truth = planted()
    chosen = choose(Evidence.from_squares(outputs, truth))
    assert chosen.name == BLEND and set(chosen.weights) == {"logistic", NETWORK}
    assert sum(chosen.weights.values()) == pytest.approx(1)
    assert chosen.weights[NETWORK] == pytest.approx(1 / (1 + 0.81), abs=0.1)  # by the inverse variances
    mixed = chosen.mix(outputs)
    assert ((mixed - truth) ** 2).sum(1).mean() < min(
        row.loss for row in chosen.candidates if row.name != BLEND
    )  # fmt: skip


def test_no_blend_of_candidates_whose_errors_are_the_same():
    outputs, truth = planted()
    same = {"logistic": outputs[NETWORK], NETWORK: outputs[NETWORK] + 1e-3 * normal(9, CASES, 2)}
    assert choose(Evidence.from_squares(same, truth)).name == "logistic"


def test_who_is_far_behind_and_of_no_use_to_a_blend_is_measured_no_further():
    rng = np.random.default_rng(3)
    truth = rng.normal(size=200)
    near, other = truth + rng.normal(0, 0.5, 200), truth + rng.normal(0, 0.5, 200)
    outputs = {
        "near": near,
        "other": other,
        "far but apart": truth + rng.normal(0, 0.9, 200),  # far behind, and its own errors help a blend
        "far": near + 1.5 * (near - truth),  # errors of another, and larger: nothing for a blend
    }
    evidence = Evidence.from_squares({name: each[:, None] for name, each in outputs.items()}, truth[:, None])
    losses = {name: (each - truth) ** 2 for name, each in outputs.items()}
    for name, gap in {"far but apart": True, "far": True, "other": False}.items():
        above = losses[name] - losses["near"]
        assert (above.mean() > 3 * above.std(ddof=1) / np.sqrt(200)) == gap
    assert choice.far_behind(evidence) == ["far"]
    few = Evidence.from_squares({name: each[:9, None] for name, each in outputs.items()}, truth[:9, None])
    assert choice.far_behind(few) == []


def test_losses_and_products_by_loops():
    outputs, truth = planted()
    evidence = Evidence.from_squares(outputs, truth)
    names = list(outputs)
    for case in (0, 17):
        for first, one in enumerate(names):
            for second, other in enumerate(names):
                expected = sum(
                    (outputs[one][case, i] - truth[case, i]) * (outputs[other][case, i] - truth[case, i])
                    for i in (0, 1)
                )
                assert evidence.products[case, first, second] == pytest.approx(expected)
            assert evidence.losses[one][case] == pytest.approx(evidence.products[case, first, first])


def test_clusters_widen_the_error_and_change_the_answer():
    patients = np.repeat(np.arange(13), 17)[:CASES]
    own = normal(5, 13)[patients]
    simple = np.abs(normal(0, CASES)) + 1
    given = {NETWORK: simple - 0.15 + 0.6 * own, "logistic": simple + 0.6 * own.mean()}
    alone, grouped = choose(Evidence(losses=given)), choose(Evidence(losses=given, units=patients, unit="patients"))
    error = {each.unit: max(row.error for row in each.candidates) for each in (alone, grouped)}
    assert error["patients"] > 2 * error["cases"]
    assert (alone.cases, grouped.cases) == (CASES, 13)
    assert alone.name != grouped.name == "logistic"


def test_the_settings_can_name_the_answer_and_an_unknown_name_is_refused():
    evidence = Evidence(losses=losses(network=0.5, logistic=0.0))
    assert choose(evidence, answer="network").name == NETWORK
    assert choose(evidence, answer="logistic").reason.startswith(", as the settings say")
    with pytest.raises(ConfigError, match=r"models of this run are network, logistic\. Got forest"):
        choose(evidence, answer="forest")


def test_no_model_is_fitted_anew_for_an_answer_that_the_settings_name():
    refits = []

    def evidence(run, prepared, *, refit):
        refits.append(refit)
        return Evidence(losses=losses(network=0.5, logistic=0.0))

    task = SimpleNamespace(candidates=dict)
    for answer in ("auto", "network"):
        choose_by(evidence, SimpleNamespace(config=SimpleNamespace(answer=answer), task=task), None)
    assert refits == [True, False]


def test_a_candidate_of_an_infinite_loss_takes_no_part():
    given = losses(network=0.5, logistic=0.0)
    given["logistic"][5] = np.inf
    assert choose(Evidence(losses=given)).name == NETWORK


@pytest.mark.parametrize(("shift", "name"), [(0.0, "trees"), (-0.003, "trees"), (-0.2, NETWORK)])
def test_a_candidate_that_is_measured_on_some_cases_is_compared_on_these(shift, name):
    given = losses(trees=0.0, logistic=0.1, network=shift)
    easy = np.arange(CASES) < 30
    for each in given.values():
        each[easy] -= 0.8
    given[NETWORK][~easy] = np.nan  # its mean is far below that of the others, which were measured on hard cases too
    chosen = choose(Evidence(losses=given, measured="5 folds"))
    assert chosen.name == name
    assert {row.name: row.cases for row in chosen.candidates} == {"trees": CASES, "logistic": CASES, NETWORK: 30}
    measured = "validation of 30 cases" if name == NETWORK else f"5 folds of {CASES} cases"
    assert measured in chosen.reason


def test_a_candidate_that_is_measured_on_a_few_cases_does_not_displace_one_of_many():
    given = losses(trees=0.0, logistic=0.1, network=-0.5)
    given[NETWORK][9:] = np.nan
    chosen = choose(Evidence(losses=given, measured="5 folds"))
    assert chosen.name == "trees" and f"of logistic, 5 folds of {CASES} " in chosen.reason
    assert choose(Evidence(losses={name: each[:9] for name, each in given.items()})).name == NETWORK
    assert choose(Evidence(losses=given), answer=NETWORK).name == NETWORK


def test_a_choice_survives_its_plain_form():
    outputs, truth = planted()
    chosen = choose(Evidence.from_squares(outputs, truth, measured="5 folds"))
    assert Choice.parse(chosen.plain()) == chosen
