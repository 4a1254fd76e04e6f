"""What an audit of a table finds: copies of the target, repeated rows, and scaling that saw other rows."""

import numpy as np
import pandas as pd

from multiway.auditing.tables import audit_table
from multiway.data.splitting import SplitShares
from multiway.tasks.tabular.encode import TableState
from multiway.tasks.tabular.source import TableOptions
from tasks.tabular.rows import patients, prepare_table


def prepared(frame, target):
    return prepare_table(frame, TableOptions(target=target), SplitShares())


def words(report):
    return "\n".join(report.lines())


def test_copies_of_the_target_and_repeated_rows_leak():
    frame = patients(200).assign(code=lambda frame: np.where(frame["ill"] == "yes", 7, 3))
    leaky = pd.concat([frame, frame[:60]], ignore_index=True)
    report = audit_table(prepared(leaky, "ill"))
    assert report.leaks and "1 columns are the target under another name: code" in words(report)
    assert "rows are in two splits" in words(report)
    assert "no column is the target" in words(audit_table(prepared(leaky, "weight")))


def test_scaling_is_that_of_the_training_rows():
    table = prepared(patients(200), "ill")
    right = "comes from the training rows alone"
    assert right in words(audit_table(table))
    assert right not in words(audit_table(table, TableState.fit(table.raw).scaler))
