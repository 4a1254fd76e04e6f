"""The page of claims is written from its data and from results/; a verdict says what its interval says."""

import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.costs import timed
from docs.build.claims_page import (
    COSTS,
    CUT,
    VERDICTS,
    claims,
    commands_of,
    count,
    difference_of,
    kind_of,
    left,
    measured,
    page,
)
from docs.build.results_page import overridden, read_rows, recipe_rows

from loops import check_all
from multiway.config import leaves
from multiway.tasks import lifecycle
from multiway.tasks.series.task import TASK
from multiway.training.steps import Steps
from multiway.workflows.recipe import Recipe, load_recipe
from multiway_papers import reproducible_names
from multiway_papers.cells import recipe_names, table_names
from multiway_papers.printed import published_tables
from networks import config_of, network_of
from reproduced import reproduced, settings_apart
from tasks.tiny import TINY

ROOT = Path(__file__).parents[1]
ROWS = recipe_rows()
CLAIMED = {"higher": (0.0, float("inf")), "lower": (float("-inf"), 0.0)}


def test_the_page_has_a_line_for_every_claim():
    told = page()
    assert all(f"| {claim.claim} | {claim.where} | **{claim.verdict}** |" in told for claim in claims())


def test_the_page_of_the_papers_counts_the_claims_of_each_verdict():
    told = (ROOT / "docs" / "papers" / "README.md").read_text()
    found = {verdict: int(count) for verdict, count in re.findall(r"^\| \*\*(.+?)\*\* \| (\d+) \|", told, re.MULTILINE)}
    assert found == Counter(claim.verdict for claim in claims())


def test_the_readme_counts_the_claims_of_each_verdict():
    told = " ".join((ROOT / "README.md").read_text().split())
    count = Counter(claim.verdict for claim in claims())
    words = "{holds} hold, {does not} do not, {leaks} measure something else, and {untested} are untested."
    assert f"at {count.total()} of their claims: {words.format_map(count)}" in told


def test_every_paper_has_claims_and_each_a_verdict_and_what_says_so():
    assert len(claims()) >= 30 and {claim.paper for claim in claims()} == {"HOT", "stock HOT", "NdLinear", "TGA"}
    for claim in claims():
        assert claim.verdict in VERDICTS and commands_of(claim, ROWS), claim.claim
        assert claim.row is None or claim.row in ROWS, claim.claim
        assert claim.test is None or (ROOT / claim.test).is_file(), claim.claim


def test_a_verdict_says_what_the_interval_of_its_rows_says():
    check_all(check_verdict, [claim for claim in claims() if claim.row])


def check_verdict(*fields):
    claim = type(claims()[0])(*fields)
    if claim.verdict in ("leaks", "untested"):
        assert claim.direction is None
        return
    found = difference_of(claim, ROWS)
    assert found is not None, "holds and does not need an interval"
    if claim.direction == "level":
        says = found.low <= 0.0 <= found.high
    else:
        low, high = CLAIMED[claim.direction]
        says = low < found.low and found.high < high
    assert says == (claim.verdict == "holds")


def test_what_was_cut_short_decides_no_claim():
    for claim in claims():
        short = [
            name
            for name in (claim.row, claim.against)
            if name in ROWS and kind_of(load_recipe(name), ROWS[name]) == "short"
        ]
        assert not short or claim.verdict == "untested", claim.claim


def test_recipes_that_are_cut_down_are_short_whatever_their_epochs():
    assert set(table_names()) >= CUT
    for name in ("vit-small-cifar10-nd-30-6", "vit-equal-flops-cifar10-dense-30-3", "opt-wikitext2-ndlinear"):
        assert kind_of(load_recipe(name)) == kind_of(load_recipe(name), ROWS[name]) == "short"
    assert kind_of(load_recipe("vit-cifar10-nd-200-3")) == "paper"


def test_rows_that_were_cut_short_say_their_epochs_and_samples():
    told = page().partition("## Cut short")[2].partition("\n## ")[0]
    assert "| `hot-exchange-96` | 3 of 100 | mse |" in told and "| `adrenal-resnet18` | 6 of 40 | auc |" in told
    assert "| `text-sst2-tuned-ndlinear` | 2 of 2, first 6,735 of each split | acc |" in told


ABOUT = {
    "attended_modes", "attention", "feature_map", "hidden", "hidden_sizes", "kind", "layer", "modality", "num_heads",
    "preset", "rank", "sizes", "use_attention", "use_ffn",
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
    check_all(check_words, [claim for claim in claims() if claim.row in ROWS and claim.against in ROWS])


def check_words(*fields):
    claim = type(claims()[0])(*fields)
    row, other = run_of(claim.row), run_of(claim.against)
    apart = {name.rpartition(".")[2] for name in row.keys() | other if row.get(name) != other.get(name)}
    unsaid = {name for name in apart - ABOUT - UNCOMPARED if SAID.get(name, "\0") not in claim.words}
    assert not unsaid, f"{claim.claim}: {unsaid}"


def run_of(name: str) -> dict[str, object]:
    """Settings of a row's run and fields of its network, each with today's defaults, and the kind of its device."""
    row = ROWS[name]
    settings = leaves(config_of(name).plain()) | leaves(row["settings"])
    network = network_of(config_of(name, row["settings"]["model"]))
    others = {key: value for key, value in settings.items() if not key.startswith("model.")}
    return {**others, **network, "device": row["environment"]["device"].partition(",")[0]}


def test_a_difference_that_is_not_said_is_seen():
    claim = next(claim for claim in claims() if claim.against == "image-cifar10-linear")
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
    r"|hot-(type|order|heads)-(ettm1|exchange)-.*|hot-later-code-.*|hot-etth[12]-.*|hot-exchange-(192|336)"
)
"""Cells of the paper's tables: one epoch of 100, many in bfloat16."""

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
    differing = {name: overridden(load_recipe(name), row).keys() - may_differ(name) for name, row in ROWS.items()}
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
    assert count() == (len(cells), len(own - cut | shared), len(cut)) and cut > {"hot-adrenal", "short-hot-ettm1-both"}
    assert f"{len(own | shared)} of {len(cells)} cells in the papers' form have rows:" in page()


def test_cells_with_the_same_runs_share_a_row():
    whole = measured()
    for name in ("hot-stocks-multimodal-kernelised-all", "hot-stocks-attends-both-all"):
        assert config_of(name) == config_of("hot-stocks") and name not in ROWS and name not in left()
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
    commands = [shlex.split(claim.command) for claim in claims() if claim.command]
    known = {"reproduce": reproducible_names(), "published": published_tables()}
    assert len(commands) >= 8 and all(words[0] == "multiway" for words in commands)
    assert all(words[2] in known.get(words[1], words) for words in commands)


def test_a_claims_commands_measure_its_rows_with_their_settings():
    check_all(check_commands, [claim for claim in claims() if claim.row])


def check_commands(*fields):
    claim = type(claims()[0])(*fields)
    measured = [each for each in commands_of(claim, ROWS) if each.startswith("multiway reproduce")]
    cells = {name: command for command in measured for name in reproduced(command)}
    assert cells.keys() == {claim.row, claim.against} - {None}
    assert all(settings_apart(command, name, ROWS[name]) == {} for name, command in cells.items())
