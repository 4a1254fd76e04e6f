"""The page of claims is written from its data and from results/; a verdict says what its interval says."""

import functools
import re
import shlex
import statistics
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.costs import timed
from docs.build.claims import (
    COSTS,
    HOLDS,
    REFUTED,
    UNDECIDED,
    UNTESTED,
    VERDICTS,
    Claim,
    Sides,
    claims,
    cost_of,
    decide,
    decides,
    pairs_of,
    sides_of,
    standing_of,
    verdict_of,
)
from docs.build.claims_page import commands_of, count, joined, left, measured, page
from docs.build.results_page import deciding
from docs.build.rows import (
    CUT,
    is_whole,
    kind_of,
    overridden,
    read_rows,
    recipe_rows,
    stopping_patience,
    training_of,
)

import independent_verdicts
from loops import check_all
from multiway.config import leaves
from multiway.tasks import lifecycle
from multiway.tasks.series.task import TASK
from multiway.training.steps import Steps
from multiway.workflows.recipe import Recipe, load_recipe
from multiway_papers import reproducible_names
from multiway_papers.cells import recipe_names, table_names
from multiway_papers.printed import Printing, published_tables
from multiway_papers.verdicts import difference_of_means
from networks import config_of, network_of
from reproduced import reproduced, settings_apart
from tasks.tiny import TINY

ROOT = Path(__file__).parents[1]
ROWS = recipe_rows()
CLAIMS = claims()
PAGE = functools.cache(page)
FOUND = [decide(claim, ROWS).verdict for claim in CLAIMS]
COUNT = Counter(FOUND)


def test_the_page_has_a_line_for_every_claim():
    told = PAGE()
    for claim, verdict in zip(CLAIMS, FOUND, strict=True):
        assert f"| {claim.claim} | {claim.where} | **{verdict}** |" in told


def test_the_page_of_the_papers_counts_the_claims_of_each_verdict():
    told = (ROOT / "docs" / "papers" / "README.md").read_text()
    found = {verdict: int(count) for verdict, count in re.findall(r"^\| \*\*(.+?)\*\* \| (\d+) \|", told, re.MULTILINE)}
    assert found == COUNT and f"We read {len(CLAIMS)} claims" in told
    scores = [claim.paper for claim, verdict in zip(CLAIMS, FOUND, strict=True) if verdict == HOLDS and claim.row]
    assert scores == ["NdLinear"] * 4 and "Four about scores hold, all on NdLinear." in told


@pytest.mark.parametrize("place", ["README.md", "docs/numbers.md"])
def test_the_front_page_and_the_numbers_count_the_claims_of_each_verdict(place):
    told = " ".join((ROOT / place).read_text().split())
    words = "{holds} hold, {refuted} are refuted, {undecided} are undecided, and {untested} are untested"
    assert f"{len(CLAIMS)} claims: {words.format_map(COUNT)}" in told.replace("of their claims", "claims")


def test_there_are_claims_of_four_papers_and_each_has_what_says_so():
    assert len(CLAIMS) >= 81 and {claim.paper for claim in CLAIMS} == {"HOT", "stock HOT", "NdLinear", "TGA"}
    for claim, verdict in zip(CLAIMS, FOUND, strict=True):
        assert verdict in VERDICTS and claim.words, claim.claim
        assert claim.test is None or (ROOT / claim.test).is_file(), claim.claim
        assert verdict == UNTESTED or commands_of(claim, ROWS), claim.claim
        assert (claim.says is None) == bool(claim.row or claim.lacks), claim.claim
        assert claim.says in (None, HOLDS, REFUTED, UNDECIDED), claim.claim


def test_words_alone_say_a_verdict_where_no_rows_do_and_a_test_or_a_command_does():
    told = [claim for claim in CLAIMS if claim.says]
    assert len(told) > 40 and all(claim.row is None and (claim.test or claim.command) for claim in told)


def test_an_untested_claim_says_what_it_takes():
    for claim, verdict in zip(CLAIMS, FOUND, strict=True):
        cost = cost_of(claim, ROWS)
        assert verdict != UNTESTED or cost.hours or cost.missing or claim.lacks, claim.claim


def test_an_independent_script_finds_the_same_verdicts():
    assert independent_verdicts.verdicts() == {
        f"{claim.paper}: {claim.claim}": found for claim, found in zip(CLAIMS, FOUND, strict=True)
    }


def sides(*values, against=(0.0, 0.01, 5), sign=1):
    return [Sides(Printing(value, 0.01, 5, 16), Printing(*against, 16), sign, measured=True) for value in values]


def test_a_claim_holds_where_every_interval_supports_it():
    assert verdict_of(sides(0.05, 0.06), better=True, margin=0.0) == HOLDS
    assert verdict_of(sides(0.05, 0.001), better=True, margin=0.0) == UNDECIDED
    assert verdict_of(sides(-0.05, -0.06, sign=-1), better=True, margin=0.0) == HOLDS


def test_one_interval_of_all_together_refutes():
    assert verdict_of(sides(0.05, -0.05), better=True, margin=0.0) == REFUTED
    alone, among = sides(-0.017), sides(-0.017, *[0.05] * 48)
    assert verdict_of(alone, better=True, margin=0.0) == REFUTED
    assert verdict_of(among, better=True, margin=0.0) == UNDECIDED


def test_as_good_is_within_the_margin():
    assert verdict_of(sides(0.0), better=False, margin=0.02) == HOLDS
    assert verdict_of(sides(0.0), better=False, margin=0.01) == UNDECIDED
    assert verdict_of(sides(-0.05), better=False, margin=0.1) == HOLDS
    assert verdict_of(sides(-0.05), better=False, margin=0.01) == REFUTED


def test_an_open_claim_says_the_smallest_number_of_seeds_that_decides():
    claims_ = [
        (claim, decide(claim, ROWS)) for claim, verdict in zip(CLAIMS, FOUND, strict=True) if verdict == UNDECIDED
    ]
    assert claims_
    for claim, found in claims_:
        if found.seeds:
            compared = [sides_of(claim, pair, ROWS) for pair in pairs_of(claim)]
            at, before = (verdict_of(compared, claim.better, claim.margin, found.seeds - less) for less in (0, 1))
            assert at != UNDECIDED == before


def test_attention_of_graphs_is_ahead_level_and_behind_in_49_cells():
    claim = next(claim for claim in CLAIMS if claim.claim == "As accurate as dot-product attention")
    compared = [sides_of(claim, pair, ROWS) for pair in pairs_of(claim)]
    assert len(compared) == 49 and standing_of(compared) == (2, 41, 6)
    assert "ahead in 2, level in 41, behind in 6 of 49" in PAGE()


def test_the_table_of_the_parts_of_graph_attention_is_that_of_the_rows():
    told = (ROOT / "docs" / "papers" / "tga.md").read_text().partition("## What each part does")[2]
    lines = re.findall(r"^\| (MR|Subj|CR|MPQA|TREC|SST-2|CoLA) \| (.+) \|$", told, re.MULTILINE)
    variants = ("tga-256", "dpa-256", "none", "no-time", "dense", "trains", "filter")
    assert len(lines) == 7
    for name, figures in lines:
        for variant, figure in zip(variants, figures.split(" | "), strict=True):
            row = ROWS.get(f"tga-{name.lower().replace('-', '')}-{variant}")
            expected = f"{row['acc']:.3f} ± {row['acc_sd']:.3f}".replace("0.", ".") if row else "–"
            assert figure == expected, (name, variant)


def test_what_was_cut_short_decides_no_claim():
    for claim, verdict in zip(CLAIMS, FOUND, strict=True):
        names = {name for pair in pairs_of(claim) for name in (pair.row, pair.against) if name}
        if any(name not in ROWS or not decides(ROWS[name]) for name in names):
            assert verdict in (UNTESTED, REFUTED), claim.claim
        if not any(name in ROWS and decides(ROWS[name]) for name in names) and claim.row:
            assert verdict == UNTESTED, claim.claim


@pytest.mark.parametrize(
    "name",
    [
        "hot-searched-adrenal",
        "hot-stocks-code-grid",
        "text-cola-tuned-ndlinear",
        "text-searched-cola-linear",
        "image-cifar100-12k-linear",
    ],
)
def test_a_row_is_cut_where_it_ran_less_than_print_names_whatever_its_recipe_says(name):
    recipe = load_recipe(name)
    assert kind_of(recipe, ROWS[name]) == "short" and not overridden(recipe, ROWS[name]).keys() & {"training.epochs"}


def test_a_training_that_stopped_is_whole_where_print_or_the_evidence_says_so():
    """Ten epochs without a gain are not the hundred of the public code of stocks; for HOT it takes evidence."""
    name = "hot-stocks-code-complete"
    row, recipe = ROWS[name], load_recipe(name)
    patient = {**row["settings"], "training": {**row["settings"]["training"], "patience": 10}}
    assert is_whole(recipe, row) and not is_whole(recipe, {**row, "settings": patient})
    assert training_of(load_recipe("hot-exchange-96")).patience is None


def rows_of(seeds, patience, scores):
    training = {"epochs": 100, "patience": patience}
    return [
        {
            "recipe": name,
            "seeds": seeds,
            "each": [{"mse": each} for each in found[:seeds]],
            "queue": {"set": {}},
            "settings": {"training": training},
        }
        for name, found in scores.items()
    ]


def test_stopping_is_enough_where_five_cells_or_more_have_the_same_answer(monkeypatch):
    names = ["hot-exchange-96", "hot-exchange-720", "hot-etth1-96", "hot-etth2-96", "hot-ettm1-96"]
    scores = {name: [0.1, 0.2, 0.3] for name in names}
    other = {**scores, names[0]: [0.15, 0.2, 0.3]}
    few = {name: scores[name] for name in names[1:]}
    for whole, stopped, enough in ((scores, scores, 10), (scores, other, None), (few, few, None)):
        monkeypatch.setattr(
            "docs.build.rows.all_rows",
            lambda whole=whole, stopped=stopped: rows_of(1, 0, whole) + rows_of(3, 10, stopped),
        )
        stopping_patience.cache_clear()
        assert stopping_patience() == enough
    stopping_patience.cache_clear()


def test_commands_of_all_combinations_are_one():
    each = [f"multiway reproduce t --rows {row} --variants {kind} --seeds 3" for row in "ab" for kind in "cd"]
    assert joined(each) == ["multiway reproduce t --rows a,b --variants c,d --seeds 3"]
    assert joined(each[:3]) == each[:3]


def test_recipes_that_are_cut_down_are_short_whatever_their_epochs():
    assert set(table_names()) >= CUT
    for name in ("vit-small-cifar10-nd-30-6", "vit-equal-flops-cifar10-dense-30-3", "opt-wikitext2-ndlinear"):
        assert kind_of(load_recipe(name)) == kind_of(load_recipe(name), ROWS[name]) == "short"
    assert kind_of(load_recipe("vit-cifar10-nd-200-3")) == "paper"


def test_rows_that_were_cut_short_say_their_epochs_and_samples():
    told = PAGE().partition("## Cut short")[2].partition("\n## ")[0]
    assert "| `hot-exchange-96` | 3 of 100 | mse |" in told and "| `adrenal-resnet18` | 6 of 40 | auc |" in told
    assert "| `hot-stocks-complete` | 1000 of 1000, patience 10 of 100 | acc |" in told
    assert "| `text-sst2-tuned-ndlinear` | 2 of 2, first 6,735 of each split | acc |" in told


ABOUT = {
    "attended_modes", "attention", "control", "feature_map", "hidden", "hidden_sizes", "kind", "layer", "modality",
    "num_blocks", "num_heads", "preset", "rank", "sizes", "step_sizes", "use_attention", "use_ffn",
}  # fmt: skip
"""Fields of a network by their last names, which claims are about."""
SAID = {
    "device": "GPU", "precision": "bf16", "epochs": "epochs", "learning_rate": "rate", "batch_size": "batch",
    "dim": "width",
    "hidden_dropout": "dropout", "logit_dropout": "dropout",
}  # fmt: skip
"""What the words of a claim have to say where its two rows differ in more."""
UNCOMPARED = {"baselines", "draws", "max_bytes", "max_files", "rows"}


def test_words_say_what_else_its_two_rows_differ_in():
    check_all(check_words, [claim for claim in CLAIMS if claim.against])


def check_words(*fields):
    claim = Claim(*fields)
    for pair in pairs_of(claim):
        if pair.row not in ROWS or pair.against not in ROWS:
            continue
        row, other = run_of(pair.row), run_of(pair.against)
        apart = {name.rpartition(".")[2] for name in row.keys() | other if row.get(name) != other.get(name)}
        unsaid = {name for name in apart - ABOUT - UNCOMPARED if SAID.get(name, "\0") not in claim.words}
        assert not unsaid, f"{claim.claim}: {unsaid}"


def test_words_name_an_encoder_that_stands_in_for_prints():
    for claim in CLAIMS:
        names = {pair.row for pair in pairs_of(claim)} & ROWS.keys()
        stands_in = any("text.encoder" in deciding(load_recipe(name), ROWS[name]) for name in names)
        assert not stands_in or "MiniLM" in claim.words, claim.claim


@functools.cache
def run_of(name: str) -> dict[str, object]:
    """Settings of a row's run and fields of its network, each with today's defaults, and the kind of its device."""
    row = ROWS[name]
    settings = leaves(config_of(name).plain()) | leaves(row["settings"])
    network = network_of(config_of(name, row["settings"]["model"]))
    unused = ("model.", *(["text."] if settings.get("inputs") == "words" else []))
    others = {key: value for key, value in settings.items() if not key.startswith(unused)}
    return {**others, **network, "device": row["environment"]["device"].partition(",")[0]}


def test_a_difference_that_is_not_said_is_seen():
    claim = next(claim for claim in CLAIMS if claim.against == "image-cifar10-linear")
    with pytest.raises(AssertionError, match="precision"):
        check_words(*claim._replace(words=claim.words.replace("bf16", "")))


def test_tuned_heads_on_cola_are_at_the_majority_class():
    rows = [row for name, row in ROWS.items() if name.startswith("text-cola-tuned-")]
    assert len(rows) == 5 and all(0.659 <= round(row["acc"], 3) <= 0.665 for row in rows)
    assert all(round(row["majority_acc"], 4) == 0.6567 and 0.506 <= round(row["hard_auc"], 3) <= 0.535 for row in rows)


OVERRIDDEN = {
    "adrenal-resnet18": {"training.epochs", "training.precision"}, "text-sst2-ndlinear": {"text.encoder", "baselines"},
    "hot-exchange-96": {"model.dim", "model.num_heads", "model.pooling", "training.epochs"},
    **{
        f"image-cifar10-{each}": {"training.precision"}
        for each in ("linear-logits", "ndlinear", "matched-logits", "low-rank-logits")
    },
    "image-cifar10-ndlinear-ours": {"training.precision"},
    **{f"image-cifar100-12k-{each}": {"training.precision"} for each in ("linear-logits", "ndlinear")},
    **{
        f"text-sst2-tuned-{each}": {"read.first"}
        for each in ("linear", "ndlinear", "dense-matched", "low-rank", "tensor-train")
    },
}  # fmt: skip
SHORT = re.compile(
    r"hot-adrenal(-trainable)?|hot-(type|order|heads|components)-adrenal-.*|hot-components-.*"
    r"|hot-(type|order|heads)-(ettm1|exchange)-.*|hot-later-code-.*|hot-etth[12]-.*|hot-exchange-(192|336)|place-cnn-.*"
)
"""Cells of fewer epochs than their recipes, most of one, many in bfloat16."""

MEANS = re.compile(r"hot-components-weather-|hot-order-ettm1-")
"""Of these, rows with the mean over patches, where the recipe now takes them all."""


def may_differ(name: str) -> set[str]:
    """Settings of a row that are not its recipe's, which the tables say; texts may have had a smaller encoder.

    A recipe of a table names no baselines, which are the usual ones of its target.
    """
    if SHORT.fullmatch(name):
        return {"training.epochs", "training.precision", *(["model.pooling"] if MEANS.match(name) else [])}
    if name.startswith("tabular-"):
        return {"baselines"}
    return OVERRIDDEN.get(name, {"text.encoder"})


def test_a_measured_row_has_the_settings_of_its_recipe():
    queued = {name: leaves(row.get("queue", {}).get("set", {})).keys() for name, row in ROWS.items()}
    differing = {
        name: overridden(load_recipe(name), row).keys() - may_differ(name) - queued[name] for name, row in ROWS.items()
    }
    assert {name: fields for name, fields in differing.items() if fields} == {}


def test_a_row_has_every_score_of_each_baseline_in_its_settings():
    scores = {
        (name, f"{baseline}_{metric}")
        for name, row in ROWS.items()
        for baseline in baselines_of(row)
        for metric in row["each"][0].keys() & row.keys() & {"acc", "auc", "mse", "mae", "rmse", "ppl", "weighted_f1"}
    }
    assert len(scores) > 600 and {score for score in scores if score[1] not in ROWS[score[0]]} == set()


def baselines_of(row) -> tuple[str, ...]:
    """Names of a row's baselines; those of tables stand there as they were called when these rows were measured."""
    names = tuple(row["settings"].get("baselines") or ())
    of_table = ("majority", "logistic", "trees") if "acc" in row else ("mean", "ridge", "trees")
    return of_table if names == ("constant", "linear", "trees") else names


def test_cells_in_the_papers_form_are_counted_whole_and_cut_short():
    papers = {name: recipe for name in recipe_names() if (recipe := load_recipe(name)).form == "paper"}
    cells = {name: recipe for name, recipe in papers.items() if name != "hot-stocks-code-grid"}  # of our own training
    own = {name for name in cells if name in ROWS}
    shared = {"hot-stocks-multimodal-kernelised-all", "hot-stocks-attends-both-all"}
    cut = {name for name in own if kind_of(cells[name], ROWS[name]) == "short"}
    assert count() == (len(cells), len(own - cut), len(cut | shared)) and cut > {"hot-adrenal", "short-hot-ettm1-both"}
    assert f"{len(own | shared)} of {len(cells)} cells in the papers' form have rows:" in PAGE()


def test_cells_with_the_same_runs_share_a_row():
    whole = measured()
    for name in ("hot-stocks-multimodal-kernelised-all", "hot-stocks-attends-both-all"):
        assert config_of(name) == config_of("hot-stocks") and name not in ROWS and name in left()
        assert whole[name] == ROWS["hot-stocks"]
    assert "hot-stocks-price-kernelised-all" not in whole


def test_every_cell_left_names_its_hours_or_what_it_lacks():
    told = {row["cell"]: row for row in read_rows(COSTS)}
    assert left().keys() <= told.keys(), "python -m benchmarks.costs --out results/costs.jsonl adds them"
    for row in told.values():
        assert row.get("missing") or min(row[key] for key in ("seconds_per_step", "steps", "seeds")) > 0
        hours = row.get("seconds_per_step", 0) * row.get("steps", 0) * row.get("seeds", 0) / 7200
        assert abs(row.get("hours_of_2_cores", 0) - hours) < 0.02 + 0.01 * hours, row["cell"]


def test_the_steps_of_a_cell_are_timed_and_counted(tmp_path):
    data, take = str(TINY["series"](tmp_path).data), Steps.take
    settings = {"model": {"dim": 8, "num_heads": 2}, "baselines": [], "training": {"epochs": 7, "batch_size": 8}}
    recipe = Recipe(task="series", table="", row="", data=data, settings=settings)
    seconds, steps = timed(recipe, *recipe.settings_of_runs())
    trained = len(lifecycle.make(TASK, TASK.configure(*recipe.settings_of_runs()), data).prepared.part("train"))
    assert steps == 7 * -(-trained // 8) and seconds > 0 and Steps.take is take


def test_commands_name_tables_and_recipes_that_exist():
    commands = [shlex.split(claim.command) for claim in CLAIMS if claim.command]
    known = {"reproduce": reproducible_names(), "published": published_tables()}
    ours = [words for words in commands if words[0] == "multiway"]
    assert len(ours) >= 8 and all(words[:2] == ["python", "-m"] for words in commands if words not in ours)
    assert all(words[2] in known.get(words[1], words) for words in ours)


def test_a_claims_commands_measure_its_rows_with_their_settings():
    check_all(check_commands, [claim for claim in CLAIMS if claim.row])


def check_commands(*fields):
    claim = Claim(*fields)
    made = [each for each in commands_of(claim, ROWS) if each.startswith("multiway reproduce")]
    cells = {name: command for command in made for name in reproduced(command)}
    assert cells.keys() == {name for pair in pairs_of(claim) for name in (pair.row, pair.against) if name in ROWS}
    assert all(settings_apart(command, name, ROWS[name]) == {} for name, command in cells.items())


def test_what_is_said_of_weights_follows_from_their_rows():
    """The interval over seeds of what NdLinear has more of than the dense network."""
    rows = read_rows(ROOT / "results" / "weights.jsonl")

    def more(value):
        found = [
            [value(row) for row in rows if row["network"] == f"image-cifar10-{kind}"] for kind in ("ndlinear", "linear")
        ]
        assert [len(values) for values in found] == [3, 3]
        ours, theirs = (Printing(statistics.fmean(each), statistics.stdev(each), 3, 16) for each in found)
        return difference_of_means(ours, theirs)

    said = {claim.claim: claim.says for claim in CLAIMS if "benchmarks.weights" in (claim.command or "")}
    assert said["Weights of NdLinear are nearly Gaussian"] == HOLDS
    assert more(lambda row: row["hidden_from_normal_after"]).high < 0
    assert said["They make the weights of the next layer Gaussian and its picture wider"] == HOLDS
    assert more(lambda row: row["head_from_normal_after"]).high < 0 < more(lambda row: row["head_width_after"]).low
    assert said["They move more in training than dense ones"] == UNDECIDED
    assert (
        more(lambda row: row["hidden_moved"]).high
        < 0
        < more(lambda row: row["hidden_moved"] * row["hidden_width_before"]).low
    )
    assert said["It overfits less than a dense layer"] == UNDECIDED
    gap = more(lambda row: row["train_acc"] - row["test_acc"])
    assert gap.low < 0 < gap.high and len(said) == 4
