"""What every task promises of later data told in another way: the answers stay what they are."""

import pytest

from fewer import TWO
from tasks.answered import answered, assert_same_answers, own_answers
from tasks.finished import finished
from tasks.later_data import copied
from tasks.relations import RELATIONS
from tasks.tiny import TASKS

SHARES = {"half of the samples": 1 / 2, "every sample twice": 2}
QUICK = (*TWO, "images")
"""Tables, a series and a folder, whose relations are looked at always; those of the other tasks in the slow suite."""
APPLIED = [(task, name) for task in TASKS for name, relation in RELATIONS.items() if task not in relation.excepted]


@pytest.mark.parametrize(
    ("task", "name"),
    [pytest.param(*each, marks=() if each[0] in QUICK else pytest.mark.slow) for each in APPLIED],
)
def test_an_answer_does_not_depend_on_how_its_data_are_told(task, name, tmp_path_factory, tmp_path):
    made = finished(task, tmp_path_factory)
    expected = own_answers(made, tmp_path)
    result = answered(task, made.run, RELATIONS[name].change(copied(made, tmp_path / "later")), tmp_path / "out")
    assert len(result) == round(SHARES.get(name, 1) * len(expected))
    assert_same_answers(result, expected)


def test_every_relation_holds_of_a_task_or_says_why_not():
    assert len(RELATIONS) >= 20
    for relation in RELATIONS.values():
        assert set(relation.excepted) < set(TASKS)
        assert all(len(reason.split()) > 3 for reason in relation.excepted.values())
