"""Tables on stdout."""

from multiway.cli import show


def test_a_column_that_only_a_later_row_has_is_shown(capsys):
    show.table([{"run": "a", "auc": 0.5}, {"run": "b", "auc": None, "auc sd": 0.25}]).show(as_json=False)
    assert capsys.readouterr().out.splitlines() == ["run     auc  auc sd", "a    0.5000       -", "b         -  0.2500"]
