"""What every test shares: one thread, a generator of its own, and shape annotations that are checked."""

import os
from pathlib import Path

import jaxtyping
import pytest
import torch

torch.set_num_threads(1)
os.environ.setdefault("OMP_NUM_THREADS", "1")  # for the processes that tests start
jaxtyping.install_import_hook(["multiway.ops", "multiway.nn"], "beartype.beartype")

ROOT = Path(__file__).parent.parent
os.environ["PYTHONPATH"] = str(ROOT / "src")


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(20261)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of benchmark files, where a checkout has one beside it; the fast suite does without."""
    folder = Path(os.environ.get("MULTIWAY_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("benchmark data absent: set MULTIWAY_DATA to its folder")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the documents: each takes long, and at the end one process would wait for the other."""
    items.sort(key=lambda item: "test_documents" not in item.nodeid)
