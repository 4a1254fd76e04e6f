import re
from pathlib import Path

import multiway.tasks
from multiway.metrics.meanings import MEANINGS, meaning

DECLARED = re.compile(r'(?:Metric|MEAN_METRIC)\(\s*name="(\w+)"')


def declared() -> set[str]:
    source = Path(multiway.tasks.__file__).parents[2]
    files = [*(source / "multiway" / "tasks").rglob("*.py"), *(source / "multiway_papers").rglob("*.py")]
    return {name for file in files for name in DECLARED.findall(file.read_text())}


def test_every_declared_score_has_a_meaning_and_no_other() -> None:
    said = {meaning(name) for name in declared()} | {meaning("coverage_80")}
    assert said == set(MEANINGS.values())


def test_meanings_are_short_sentences() -> None:
    assert [said for said in MEANINGS.values() if len(said.split()) > 20 or not said.endswith(".")] == []


def test_a_score_of_part_of_the_rows_means_what_that_of_all_does() -> None:
    assert meaning("mse_24") == meaning("mse") != meaning("macro_f1")
