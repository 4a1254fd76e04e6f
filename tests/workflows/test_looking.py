"""What data are for is seen from the data."""

import numpy as np
import pytest

from market_files import write_stocks
from multiway import workflows
from scan_files import write_scans


@pytest.mark.parametrize(
    ("name", "content", "task"),
    [
        ("sales.csv", "date,north\n2024-01-01,3\n", "forecast"),
        ("path.csv", "date,path\n2024-01-01,3\n", "forecast"),
        ("empty.csv", "", "forecast"),
        ("scans.csv", "file,kind\na.nii.gz,x\n", "volumes"),
        ("series.csv", "path,label\nfolder-a,x\n", "volumes"),
        ("datalist.json", "{}", "volumes"),
        ("closes.csv", "ticker,date,open,close\nA,2024-01-02,3,4\n", "stocks"),
        ("long.csv", "unique_id,ds,y\nA,2024-01-02,3\n", "forecast"),
    ],
)
def test_a_table_is_of_series_of_scans_or_of_prices(name, content, task, tmp_path):
    (tmp_path / name).write_text(content)
    assert workflows.task_of_data(tmp_path / name) == task


def test_folders_arrays_and_known_sets(tmp_path):
    write_scans(tmp_path, patients=1)
    np.savez(tmp_path / "organs.npz", train_images=np.zeros((1, 2, 2, 2)))
    for path in (tmp_path / "new-scans", tmp_path / "new-scans" / "new-0.nii.gz", tmp_path / "organs.npz"):
        assert workflows.task_of_data(path) == "volumes"
    assert workflows.task_of_data("adrenalmnist3d") == "volumes"
    assert workflows.task_of_data(write_stocks(tmp_path)) == workflows.task_of_data("stocknet") == "stocks"
    assert workflows.task_of_data("ett_h1") == workflows.task_of_data(tmp_path / "absent.csv") == "forecast"
