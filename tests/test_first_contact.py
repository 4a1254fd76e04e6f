"""Files as people have them are read as they are meant; the benchmark of the same name trains on all of them."""

import json
import shlex

import pytest

from command import outcome
from corpora.first_contact import measured
from corpora.first_files import CASES

CHEAP = (
    "long, two id columns",
    "German, long",
    "sixty months, twelve ahead",
    "Excel, second sheet",
    "texts, other names",
)


def read_wrongly(case, folder):
    """What `check` says otherwise than it is meant."""
    folder.mkdir()
    code, out, err = outcome("check", case.write(folder), *shlex.split(case.words), "--json")
    assert code == 0, out + err
    document = json.loads(out)
    found = {"task": document["task"], **{name: str(document["summary"].get(name)) for name in case.facts}}
    meant = {"task": case.task, **{name: str(value) for name, value in case.facts.items()}}
    assert document["train"].startswith(f"multiway train {case.task} --data ")
    return {name: found[name] for name in meant if found[name] != meant[name]}


def test_there_are_forty_files_of_different_names():
    assert len(CASES) == len({case.name for case in CASES}) == 40 and set(CHEAP) < {case.name for case in CASES}


def test_some_files_are_read_as_they_are_meant(tmp_path):
    cases = [case for case in CASES if case.name in CHEAP]
    wrong = {case.name: read_wrongly(case, tmp_path / str(place)) for place, case in enumerate(cases)}
    assert not any(wrong.values()), wrong


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_command_that_check_prints_trains(case):
    row = measured(case)
    assert row["holds"], row
