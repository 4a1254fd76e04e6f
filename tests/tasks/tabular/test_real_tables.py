"""The two tables of the NdLinear paper, where they are: sizes, and the number of inputs of its networks."""

import pytest

from multiway.data.catalogue import entries
from multiway.data.options import SplitShares
from multiway.data.splitting import split
from multiway.errors import DataError
from multiway.tasks.known import settings_for
from multiway.tasks.tabular.config import TableOptions
from multiway.tasks.tabular.encode import TableState
from tasks.tabular.rows import check_table, read_table


@pytest.mark.parametrize(("name", "inputs", "classes"), [("cardio", 11, ("0", "1")), ("food_delivery", 14, None)])
def test_a_published_table(name, inputs, classes, real_data):
    known = entries()[name]
    table = read_table(real_data / "tabular" / f"{name}.parquet", TableOptions.parse(settings_for(name)["read"]))
    assert len(table) == known.size[0] and table.classes == classes
    encoding = TableState.fit(table.take(split(table, SplitShares())["train"]))
    assert encoding.inputs(table.inputs).shape == (known.size[0], inputs)
    assert not any(name != name.strip() for name in encoding.names)


def test_identifiers_are_found_without_being_named(real_data):
    cardio = read_table(real_data / "tabular" / "cardio.parquet", TableOptions(target="cardio"))
    assert "id" not in cardio.columns and len(cardio.columns) == 11
    report = check_table(real_data / "tabular" / "food_delivery.parquet", TableOptions(target="Time_taken(min)"))
    assert "column 'ID'" in " ".join(report.lines())
    assert "'Delivery_person_ID' has 1,321 levels" in " ".join(report.lines())


def test_a_table_behind_a_login_says_where_it_is(tmp_path):
    with pytest.raises(DataError, match=r"cardio: https://www\.kaggle\.com/.* needs a login\. Download it there"):
        entries()["cardio"].fetch("cardio", tmp_path)
    header = ",".join(f"c{column}" for column in range(13))
    (tmp_path / "cardio.csv").write_text(f"{header}\n" + f"{'1,' * 12}1\n" * 70_000)
    assert entries()["cardio"].fetch("cardio", tmp_path) == tmp_path / "cardio.csv"
