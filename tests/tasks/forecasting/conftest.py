"""One file, and one finished run that tests read and leave alone."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from fewer import search_fewer
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.run import Run
from tasks.forecasting.panels import make_config, make_frame


@pytest.fixture(scope="package", autouse=True)
def _a_short_search() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        search_fewer(monkeypatch)
        yield


@pytest.fixture
def frame() -> pd.DataFrame:
    return make_frame()


@pytest.fixture
def data_file(frame: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "loads.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run with a network, made once; tests read it and leave it alone."""
    folder = tmp_path_factory.mktemp("finished")
    make_frame().to_csv(folder / "loads.csv", index=False)
    return lifecycle.start(TASK, make_config(data=str(folder / "loads.csv"), answer="network"), folder / "run")
