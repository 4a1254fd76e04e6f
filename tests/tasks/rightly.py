"""A run whose answer has every test sample right, whatever it learnt."""

import dataclasses

import numpy as np


def all_right(run):
    """The same run; where its answer named another class, their probabilities are swapped."""
    table = run.tables["predictions"].copy()
    columns = [f"p_{name}" for name in run.state.classes]
    for row in table.index[(table["split"] == "test") & (table["model"] == run.answer.name)]:
        shares, true = table.loc[row, columns].to_numpy(float), f"p_{table.loc[row, 'label']}"
        best = columns[int(np.argmax(shares))]
        table.loc[row, [best]], table.loc[row, [true]] = table.loc[row, true], table.loc[row, best]
        table.loc[row, "predicted"] = table.loc[row, "label"]
    return dataclasses.replace(run, tables={**run.tables, "predictions": table})
